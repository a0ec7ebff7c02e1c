//! Where things live: places, partitions, and which place owns which.
//!
//! Whatever has one owner belongs to a partition by its name, and a partition to a place. On a node of its own the places
//! are the shards, and nothing ever moves. Among several nodes a partition's owner changes, and with it its epoch.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A shard's number on its node, from 0.
pub type ShardIndex = u16;

/// A node's number in its cluster: never used again while the cluster lives. A node on its own is 0.
pub type NodeNumber = u32;

/// Shards that a node may have.
pub const NODE_SHARDS_MAX: ShardIndex = 1 << SHARD_BITS;

/// Nodes that a cluster may have seen. The numbers of places beyond are partitions in ids of matches.
pub const NODES_MAX: NodeNumber = SHARED >> SHARD_BITS;

/// Partitions of a cluster: the grain in which it shares out what has an owner.
pub const PARTITIONS: u16 = 1_024;

const SHARD_BITS: u32 = 10;

/// Added to the number of a partition that is shared out, where ids of matches have the number of a place.
const SHARED: u32 = 0xffff_0000;

/// A shard of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(u32);

impl Place {
    /// No place.
    pub const NONE: Self = Self(u32::MAX);

    /// A shard, below [`NODE_SHARDS_MAX`], of a node, below [`NODES_MAX`].
    pub const fn new(node: NodeNumber, shard: ShardIndex) -> Self {
        Self(node << SHARD_BITS | shard as u32)
    }

    /// The place of this number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// As a number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its node.
    pub const fn node(self) -> NodeNumber {
        self.0 >> SHARD_BITS
    }

    /// Its number on its node.
    pub const fn shard(self) -> ShardIndex {
        (self.0 & ((1 << SHARD_BITS) - 1)) as ShardIndex
    }
}

impl From<ShardIndex> for Place {
    /// A shard of a node on its own.
    fn from(shard: ShardIndex) -> Self {
        Self::new(0, shard)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node(), self.shard())
    }
}

/// A part of everything that has an owner: one of those that are shared out, or what stays at one place and ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(u64);

/// Added to the number of a place.
const ANCHORED: u64 = 1 << u32::BITS;

impl Partition {
    /// The partition of this number among those that are shared out, if there is one.
    pub fn new(number: u16) -> Option<Self> {
        (number < PARTITIONS).then_some(Self(number.into()))
    }

    /// What stays at a place as long as that is there, and has no owner after it.
    pub fn anchored(place: Place) -> Self {
        Self(ANCHORED | u64::from(place.number()))
    }

    /// The partition that the last four bytes of a match's id name.
    pub(crate) fn of_id(number: u32) -> Self {
        let shared = number.checked_sub(SHARED).and_then(|number| u16::try_from(number).ok());
        shared.and_then(Self::new).unwrap_or(Self::anchored(Place::from_number(number)))
    }

    /// The last four bytes of the ids of its matches.
    pub(crate) fn id_number(self) -> u32 {
        // The lower half of what is anchored is its place.
        let number = self.0 as u32;
        if self.anchor().is_some() { number } else { SHARED | number }
    }

    /// Where it stays, if it is not shared out.
    pub fn anchor(self) -> Option<Place> {
        // The lower half.
        (self.0 >= ANCHORED).then_some(Place::from_number(self.0 as u32))
    }

    /// Its number, below [`PARTITIONS`] for those that are shared out.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Its row in a table of those that are shared out.
    pub fn row(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..u64::from(PARTITIONS)).map(Self)
    }

    /// The partition of what a name alone identifies: a template, a pool, a job.
    pub fn of_name(name: &str) -> Self {
        let mut hash = Hash::default();
        hash.write(name.as_bytes());
        hash.partition()
    }
}

/// FNV-1a: the same on every node and in every build.
pub(crate) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The low bits of FNV are weak, so the high ones are folded in.
    pub(crate) fn partition(&self) -> Partition {
        let folded = self.0 ^ (self.0 >> 32);
        Partition(folded % u64::from(PARTITIONS))
    }
}

/// Counts what changed in a cluster: who owns a partition since a later epoch owns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// A partition on its way from one living owner to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub partition: Partition,
    /// The next owner.
    pub to: Place,
    /// Since when that owns it, as soon as it has it.
    pub epoch: Epoch,
}

/// Who had a partition that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Former {
    /// The owner that hands it over.
    pub owner: Place,
    /// Since when that owned it.
    pub epoch: Epoch,
}

/// Which place owns each partition and since when, and which places there are.
///
/// A partition on its way counts as the next owner's: everything further is told to that.
#[derive(Clone, Debug)]
pub struct Routes {
    owners: Arc<[Place]>,
    /// By partition; `None` on a node of its own.
    epochs: Option<Arc<[Epoch]>>,
    /// Who hands over what is on its way.
    formers: Arc<BTreeMap<Partition, Former>>,
    places: Arc<[Place]>,
    /// No node has had this number or a higher one.
    next_node: NodeNumber,
}

impl Routes {
    /// Of a node on its own with so many shards.
    pub fn alone(shards: ShardIndex) -> Self {
        let places: Arc<[Place]> = (0..shards.max(1)).map(Place::from).collect();
        let owners = Partition::all().map(|partition| places[partition.row() % places.len()]).collect();
        Self { owners, epochs: None, formers: Arc::default(), places, next_node: 1 }
    }

    /// Of a node that joins a cluster, until it is told who is there: whatever comes to it waits for that.
    pub fn of_newcomer() -> Self {
        Self::of_cluster(&[], 0, |_| (Place::NONE, Epoch::default()))
    }

    /// Of a cluster: its nodes with how many shards each has, the number that the next node will get, and who owns each
    /// partition since which epoch, from 1 on.
    pub fn of_cluster(
        nodes: &[(NodeNumber, ShardIndex)],
        next_node: NodeNumber,
        owned: impl FnMut(Partition) -> (Place, Epoch),
    ) -> Self {
        let shards = |(node, shards): &(NodeNumber, ShardIndex)| {
            let node = *node;
            (0..*shards).map(move |shard| Place::new(node, shard))
        };
        let mut places: Vec<Place> = nodes.iter().flat_map(shards).collect();
        places.sort_unstable();
        let (owners, epochs): (Vec<Place>, Vec<Epoch>) = Partition::all().map(owned).unzip();
        let (owners, epochs) = (owners.into(), Some(epochs.into()));
        Self { owners, epochs, formers: Arc::default(), places: places.into(), next_node }
    }

    /// The same with partitions on their way.
    #[must_use]
    pub fn with_moves(mut self, moves: impl IntoIterator<Item = Move>) -> Self {
        let mut formers = BTreeMap::clone(&self.formers);
        for Move { partition, to, epoch } in moves {
            formers.insert(partition, Former { owner: self.owner(partition), epoch: self.epoch(partition) });
            self.set(partition, to, epoch);
        }
        self.formers = Arc::new(formers);
        self
    }

    /// The same before these partitions were on their way, if they are.
    #[must_use]
    pub fn before_moves(&self, is_one: impl Fn(Partition) -> bool) -> Self {
        let mut before = self.clone();
        for (partition, Former { owner, epoch }) in self.formers.iter().filter(|(partition, _)| is_one(**partition)) {
            before.set(*partition, *owner, *epoch);
            Arc::make_mut(&mut before.formers).remove(partition);
        }
        before
    }

    fn set(&mut self, partition: Partition, owner: Place, epoch: Epoch) {
        Arc::make_mut(&mut self.owners)[partition.row()] = owner;
        if let Some(epochs) = &mut self.epochs {
            Arc::make_mut(epochs)[partition.row()] = epoch;
        }
    }

    /// The owner of a partition, or who will be it when it has been handed over; [`Place::NONE`] if it had one that has gone.
    pub fn owner(&self, partition: Partition) -> Place {
        match partition.anchor() {
            Some(place) if self.has(place) => place,
            Some(_) => Place::NONE,
            None => self.owners[partition.row()],
        }
    }

    /// Since when a partition has that owner; the least epoch on a node of its own, and of what never has another owner.
    pub fn epoch(&self, partition: Partition) -> Epoch {
        let shared = self.epochs.as_ref().filter(|_| partition.anchor().is_none());
        shared.map_or(Epoch::default(), |epochs| epochs[partition.row()])
    }

    /// Who hands a partition over, if it is on its way.
    pub fn former(&self, partition: Partition) -> Option<Former> {
        self.formers.get(&partition).copied()
    }

    /// All places, in order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Whether there may be other nodes, and owners may change.
    pub fn is_of_cluster(&self) -> bool {
        self.epochs.is_some()
    }

    /// Whether there is such a place.
    pub fn has(&self, place: Place) -> bool {
        self.places.binary_search(&place).is_ok()
    }

    /// Whether a place belongs to a node that these routes do not know of yet.
    pub fn is_yet_to_come(&self, place: Place) -> bool {
        place != Place::NONE && place.node() >= self.next_node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_its_node_and_its_shard() {
        for (node, shard) in [(0, 0), (0, 1_023), (1, 0), (NODES_MAX - 1, 7)] {
            let place = Place::new(node, shard);
            assert_eq!((place.node(), place.shard()), (node, shard));
            assert_eq!(Place::from_number(place.number()), place);
        }
        assert_eq!(Place::from(3), Place::new(0, 3));
    }

    #[test]
    fn no_place_has_the_number_of_a_partition() {
        assert!(Place::new(NODES_MAX - 1, NODE_SHARDS_MAX - 1).number() < SHARED);
        let anchored = [Place::new(0, 0), Place::new(NODES_MAX - 1, NODE_SHARDS_MAX - 1), Place::NONE];
        for partition in Partition::all().chain(anchored.map(Partition::anchored)) {
            assert_eq!(Partition::of_id(partition.id_number()), partition);
        }
        assert_eq!(Partition::of_id(SHARED + u32::from(PARTITIONS)).anchor().map(Place::number), Some(0xffff_0400));
    }

    #[test]
    fn partitions_are_spread_over_the_shards() {
        for shards in 1..=7 {
            let routes = Routes::alone(shards);
            let mut owned = vec![0; usize::from(shards)];
            Partition::all().for_each(|partition| owned[usize::from(routes.owner(partition).shard())] += 1);
            let fair = u32::from(PARTITIONS / shards);
            assert!(owned.iter().all(|count| (fair..=fair + 1).contains(count)), "{owned:?}");
        }
    }

    #[test]
    fn a_clusters_routes_tell_who_is_there_who_has_gone_and_who_is_to_come() {
        let routes = Routes::of_cluster(&[(7, 1), (3, 2)], 9, |partition| {
            (Place::new(if partition.number() < 10 { 3 } else { 7 }, 0), Epoch(partition.number()))
        });
        assert_eq!(routes.places(), [Place::new(3, 0), Place::new(3, 1), Place::new(7, 0)]);
        let partition = Partition::new(10).unwrap();
        assert_eq!((routes.owner(partition), routes.epoch(partition)), (Place::new(7, 0), Epoch(10)));
        for (place, owner) in [(Place::new(3, 1), Place::new(3, 1)), (Place::new(8, 0), Place::NONE)] {
            let anchored = Partition::anchored(place);
            assert_eq!(
                (anchored.anchor(), routes.owner(anchored), routes.epoch(anchored)),
                (Some(place), owner, Epoch(0))
            );
        }
        let is = |place| (routes.has(place), routes.is_yet_to_come(place));
        assert_eq!(is(Place::new(3, 1)), (true, false));
        assert_eq!(is(Place::new(8, 0)), (false, false), "it has gone");
        assert_eq!(is(Place::new(9, 0)), (false, true));
        assert_eq!(is(Place::NONE), (false, false));
    }

    #[test]
    fn names_are_spread_over_the_partitions() {
        let mut owned = vec![0; usize::from(PARTITIONS)];
        (0..100 * u32::from(PARTITIONS)).for_each(|n| {
            owned[Partition::of_name(&format!("template-{n}")).row()] += 1;
        });
        assert!(
            owned.iter().all(|count| (50..=160).contains(count)),
            "{:?}",
            owned.iter().min().zip(owned.iter().max())
        );
    }
}
