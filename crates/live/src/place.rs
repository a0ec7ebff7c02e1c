//! Places, partitions, and the routes that say which place owns which partition.
//!
//! Every owned thing belongs to the partition that its name decides, and each partition is owned by a place. On a node
//! that runs alone the places are its shards, and owners never change. In a cluster a partition's owner may change, and
//! its epoch grows with each change. This module decides nothing: membership does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A shard's number on its node, from 0.
pub type ShardIndex = u16;

/// A node's number in its cluster. A cluster never gives a number twice. A node that runs alone has number 0.
pub type NodeNumber = u32;

/// The largest number of shards of a node.
pub const NODE_SHARDS_MAX: ShardIndex = 1 << SHARD_BITS;

/// Upper bound of the numbers of nodes in the whole life of a cluster. The id of a match holds the number of a place;
/// higher numbers at that position stand for shared partitions.
pub const NODES_MAX: NodeNumber = SHARED >> SHARD_BITS;

/// Number of partitions of a cluster: the units in which ownership is shared out.
pub const PARTITIONS: u16 = 1_024;

const SHARD_BITS: u32 = 10;

/// The lowest number above those of all places. The ids of matches of a shared partition hold this number plus the
/// partition's, where other ids hold the number of a place.
const SHARED: u32 = 0xffff_0000;

/// A shard of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(u32);

impl Place {
    /// The value that means no place.
    pub const NONE: Self = Self(u32::MAX);

    /// The place of a shard of a node. The shard's number is below [`NODE_SHARDS_MAX`], the node's below [`NODES_MAX`].
    pub const fn new(node: NodeNumber, shard: ShardIndex) -> Self {
        Self(node << SHARD_BITS | shard as u32)
    }

    /// The place with this [`Place::number`].
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Numbers of node and shard, packed into 32 bits.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Number of the node.
    pub const fn node(self) -> NodeNumber {
        self.0 >> SHARD_BITS
    }

    /// Number of the shard on its node.
    pub const fn shard(self) -> ShardIndex {
        (self.0 & ((1 << SHARD_BITS) - 1)) as ShardIndex
    }
}

impl From<ShardIndex> for Place {
    /// The place of a shard of a node that runs alone.
    fn from(shard: ShardIndex) -> Self {
        Self::new(0, shard)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node(), self.shard())
    }
}

/// A unit of ownership. A shared partition may move from place to place; an anchored one stays at one place and ends
/// with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(u64);

/// The bit that the number of an anchored partition has beside the number of its place.
const ANCHORED: u64 = 1 << u32::BITS;

impl Partition {
    /// The shared partition with this number; `None` if the number is [`PARTITIONS`] or higher.
    pub fn new(number: u16) -> Option<Self> {
        (number < PARTITIONS).then_some(Self(number.into()))
    }

    /// The partition of the things that stay at one place as long as the place lives, and have no owner afterwards.
    pub fn anchored(place: Place) -> Self {
        Self(ANCHORED | u64::from(place.number()))
    }

    /// The partition that the last four bytes of a match's id stand for.
    pub(crate) fn of_id(number: u32) -> Self {
        let shared = number.checked_sub(SHARED).and_then(|number| u16::try_from(number).ok());
        shared.and_then(Self::new).unwrap_or(Self::anchored(Place::from_number(number)))
    }

    /// The last four bytes of the ids of the matches of this partition.
    pub(crate) fn id_number(self) -> u32 {
        // The lower half of the number of an anchored partition is the number of its place.
        let number = self.0 as u32;
        if self.anchor().is_some() { number } else { SHARED | number }
    }

    /// The place of an anchored partition; `None` for a shared one.
    pub fn anchor(self) -> Option<Place> {
        // The lower half of the number is the number of the place.
        (self.0 >= ANCHORED).then_some(Place::from_number(self.0 as u32))
    }

    /// The partition's number; below [`PARTITIONS`] for shared ones.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The row of a shared partition in a table of all shared ones.
    pub fn row(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// All shared partitions.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..u64::from(PARTITIONS)).map(Self)
    }

    /// The partition of a thing that its name alone identifies: a template, a pool, a job.
    pub fn of_name(name: &str) -> Self {
        let mut hash = PartitionHasher::default();
        hash.write(name.as_bytes());
        hash.partition()
    }
}

/// The hash FNV-1a, which is the same on every node and in every build.
pub(crate) struct PartitionHasher(u64);

impl Default for PartitionHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl PartitionHasher {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The partition that the hash decides. The low bits of FNV are weak, so the high ones are folded in.
    pub(crate) fn partition(&self) -> Partition {
        let folded = self.0 ^ (self.0 >> 32);
        Partition(folded % u64::from(PARTITIONS))
    }
}

/// The number of a change of ownership in a cluster. The epoch of a partition's owner is the change by which that owner
/// got the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// A partition on its way from one living owner to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The partition that moves.
    pub partition: Partition,
    /// The next owner.
    pub to: Place,
    /// The epoch with which the next owner will have the partition.
    pub epoch: Epoch,
}

/// The owner that a moving partition comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerOwner {
    /// The owner that hands the partition over.
    pub owner: Place,
    /// The epoch since which that owner had the partition.
    pub epoch: Epoch,
}

/// The table of owners: the place that owns each partition, the epoch since when, and the places that exist.
///
/// A moving partition counts as the next owner's already, so that every new message is sent to the next owner.
#[derive(Clone, Debug)]
pub struct Routes {
    owners: Arc<[Place]>,
    /// The epoch of each partition's owner; `None` on a node that runs alone.
    epochs: Option<Arc<[Epoch]>>,
    /// The former owner of each moving partition.
    formers: Arc<BTreeMap<Partition, FormerOwner>>,
    places: Arc<[Place]>,
    /// The lowest number that no node has had yet.
    next_node: NodeNumber,
}

impl Routes {
    /// Routes of a node that runs alone with this many shards.
    pub fn alone(shards: ShardIndex) -> Self {
        let places: Arc<[Place]> = (0..shards.max(1)).map(Place::from).collect();
        let owners = Partition::all().map(|partition| places[partition.row() % places.len()]).collect();
        Self { owners, epochs: None, formers: Arc::default(), places, next_node: 1 }
    }

    /// Routes of a node that joins a cluster, until it is told of the others. They know no place, so every message
    /// waits.
    pub fn of_newcomer() -> Self {
        Self::of_cluster(&[], 0, |_| (Place::NONE, Epoch::default()))
    }

    /// Routes of a cluster, from its nodes and the number of shards of each, the number that the next node will get,
    /// and the owner of each partition with its epoch, from 1 on.
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

    /// The same routes with some partitions moving.
    #[must_use]
    pub fn with_moves(mut self, moves: impl IntoIterator<Item = Move>) -> Self {
        let mut formers = BTreeMap::clone(&self.formers);
        for Move { partition, to, epoch } in moves {
            formers.insert(partition, FormerOwner { owner: self.owner(partition), epoch: self.epoch(partition) });
            self.set(partition, to, epoch);
        }
        self.formers = Arc::new(formers);
        self
    }

    /// The same routes as they were before the chosen partitions moved.
    #[must_use]
    pub fn before_moves(&self, is_one: impl Fn(Partition) -> bool) -> Self {
        let mut before = self.clone();
        for (partition, FormerOwner { owner, epoch }) in
            self.formers.iter().filter(|(partition, _)| is_one(**partition))
        {
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

    /// The owner of a partition; for a moving one, the next owner. [`Place::NONE`] if the owner has gone.
    pub fn owner(&self, partition: Partition) -> Place {
        match partition.anchor() {
            Some(place) if self.has(place) => place,
            Some(_) => Place::NONE,
            None => self.owners[partition.row()],
        }
    }

    /// The epoch of a partition's owner. Epoch 0 on a node that runs alone, and for anchored partitions, which have no
    /// epochs.
    pub fn epoch(&self, partition: Partition) -> Epoch {
        let shared = self.epochs.as_ref().filter(|_| partition.anchor().is_none());
        shared.map_or(Epoch::default(), |epochs| epochs[partition.row()])
    }

    /// The owner that hands a partition over, if the partition is moving.
    pub fn former(&self, partition: Partition) -> Option<FormerOwner> {
        self.formers.get(&partition).copied()
    }

    /// All places, in order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Whether other nodes may exist and owners may change.
    pub fn is_of_cluster(&self) -> bool {
        self.epochs.is_some()
    }

    /// Whether the place exists.
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
