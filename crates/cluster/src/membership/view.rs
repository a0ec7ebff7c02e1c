//! The view: which nodes belong to the cluster, and which place owns each partition since which epoch.
//!
//! A view is a value. Its epoch is one more than that of the view it was made from, and everything that changes in it
//! gets that epoch. Compare-and-swap lets only one view of each epoch succeed. Epochs do not depend on the registry's
//! revisions, so they go on rising when the registry has to be set up anew.

use std::sync::Arc;

use bytes::Bytes;
use muster_live::ShardIndex;
use muster_wire::membership as wire;
use muster_wire::nodes::RegistryValueError;

use super::assign::{fair_shares, pull, slack};
use super::compatibility::{Compatibility, FOREIGN_KEYS};
use crate::NodeNumber;
use crate::bus::Address;
use crate::registry::Revision;
use crate::seal::SealUse;
use muster_live::place::{self, Epoch, NODES_MAX, PARTITIONS, Partition, Place, Routes};

/// Highest epoch that is believed. Nodes count from 1, and no cluster comes so far. A view of a higher epoch is
/// damaged, and needs successors all the same.
const EPOCH_MAX: u64 = u64::MAX >> 1;

/// The kinds of work that a node takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// The node takes sockets.
    pub gateway: bool,
    /// The node owns partitions.
    pub live: bool,
    /// The node runs jobs.
    pub jobs: bool,
}

impl Roles {
    /// All roles.
    pub const ALL: Self = Self { gateway: true, live: true, jobs: true };
}

/// A process that belongs to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Number of the node; never given to another node.
    pub number: NodeNumber,
    /// Name of the node, which no other living node has.
    pub name: Arc<str>,
    /// Random number that the process drew when it joined.
    pub incarnation: u128,
    /// Number of shards.
    pub shards: ShardIndex,
    /// Weight of the node: partitions are shared out in proportion to it.
    pub weight: u32,
    /// The kinds of work that the node takes.
    pub roles: Roles,
    /// The node gives away all it owns and gets nothing.
    pub is_draining: bool,
    /// The node is overloaded: its share is smaller until that has changed.
    pub is_busy: bool,
    /// Properties that the node must share with the other members.
    pub compatibility: Compatibility,
}

impl Node {
    /// The bus address under which the node listens.
    pub fn address(&self) -> Address {
        Address { number: self.number, incarnation: self.incarnation }
    }

    /// Whether the node may be given partitions.
    pub(crate) fn takes_partitions(&self) -> bool {
        self.roles.live && !self.is_draining && self.shards > 0 && self.weight > 0
    }

    /// The node's pull: its share is proportional to this number.
    pub fn pull(&self) -> usize {
        pull(self.weight, self.is_busy)
    }
}

/// The move of a partition between two living nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The next owner.
    pub to: Place,
    /// The epoch that the next owner will have. If the partition gets another epoch instead, the move did not happen.
    pub epoch: Epoch,
}

/// The ownership of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The owner; `None` if no node can own partitions.
    pub owner: Option<Place>,
    /// Epoch of the owner.
    pub epoch: Epoch,
    /// The move under way, if the owner is handing the partition over.
    pub moving: Option<Move>,
}

impl Holding {
    /// The owner once the move under way is done.
    pub fn eventual_owner(&self) -> Option<Place> {
        self.moving.map(|moving| moving.to).or(self.owner)
    }
}

/// The members of the cluster and the owners of all partitions, at one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Registry revision that this view has; 0 for a view that is not from the registry.
    pub revision: Revision,
    /// Epoch of this view, given to everything that changed in it.
    pub epoch: Epoch,
    /// Number that the next node to join gets.
    pub next_number: NodeNumber,
    /// The nodes, in order of their numbers.
    nodes: Vec<Node>,
    /// The owners, by partition.
    holdings: Vec<Holding>,
}

impl View {
    /// A view without nodes.
    pub fn empty(epoch: Epoch) -> Self {
        let holdings = vec![Holding { epoch, ..Holding::default() }; usize::from(PARTITIONS)];
        Self { revision: Revision(0), epoch, next_number: 1, nodes: Vec::new(), holdings }
    }

    /// The nodes, in order of their numbers.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node by its number.
    pub fn node(&self, number: NodeNumber) -> Option<&Node> {
        self.nodes.iter().find(|node| node.number == number)
    }

    pub(crate) fn node_mut(&mut self, number: NodeNumber) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.number == number)
    }

    /// A node by its incarnation.
    pub fn incarnation(&self, incarnation: u128) -> Option<&Node> {
        self.nodes.iter().find(|node| node.incarnation == incarnation)
    }

    /// The ownership of a partition.
    pub fn holding(&self, partition: Partition) -> &Holding {
        &self.holdings[partition.row()]
    }

    pub(crate) fn holding_mut(&mut self, partition: Partition) -> &mut Holding {
        &mut self.holdings[partition.row()]
    }

    /// All partitions with their owners.
    pub fn holdings(&self) -> impl Iterator<Item = (Partition, &Holding)> {
        Partition::all().zip(&self.holdings)
    }

    pub(crate) fn holdings_mut(&mut self) -> impl Iterator<Item = (Partition, &mut Holding)> {
        Partition::all().zip(&mut self.holdings)
    }

    /// The node that runs a job, by the job's name: the owner of the partition of that name, or, if that node takes no
    /// jobs, another that does. Every node computes the same result from the same view.
    pub fn job_runner(&self, job: &str) -> Option<NodeNumber> {
        let runs = |number: &NodeNumber| self.node(*number).is_some_and(|node| node.roles.jobs);
        let owner = self.holding(Partition::of_name(job)).owner.map(Place::node);
        owner.filter(runs).or_else(|| {
            // The node with the highest score runs the job; a change of the nodes changes the runner of few jobs.
            let score = |number: &NodeNumber| (Partition::of_name(&format!("{job}/{number}")).number(), *number);
            let stays = |node: &&Node| node.roles.jobs && !node.is_draining;
            self.nodes.iter().filter(stays).map(|node| node.number).max_by_key(score)
        })
    }

    /// Whether a node should get no players, since what they need has no owner yet: nobody owns anything, or the node
    /// owns nothing although its share is so large that it gets some.
    pub fn lacks_its_share(&self, number: NodeNumber) -> bool {
        let owners = || self.holdings.iter().filter_map(|holding| holding.owner.map(Place::node));
        let takers: Vec<&Node> = self.nodes.iter().filter(|node| node.takes_partitions()).collect();
        let pulls: Vec<usize> = takers.iter().map(|node| node.pull()).collect();
        let me = takers.iter().zip(fair_shares(&pulls)).find(|(node, _)| node.number == number);
        let is_due_some = me.is_some_and(|(_, fair)| fair > slack(fair));
        owners().next().is_none() || (is_due_some && !owners().any(|owner| owner == number))
    }

    /// Number of moves under way.
    pub fn moving(&self) -> usize {
        self.holdings.iter().filter(|holding| holding.moving.is_some()).count()
    }

    /// The base of the next view: the same content with the next epoch, which is above `epoch_floor`.
    pub(crate) fn successor(&self, epoch_floor: Epoch) -> Self {
        Self { epoch: Epoch(self.epoch.max(epoch_floor).0 + 1), ..self.clone() }
    }

    /// Adds a node under the next number. Answers whether a number was left.
    pub(crate) fn add(&mut self, node: Node) -> bool {
        let number = self.next_number;
        if number >= NODES_MAX {
            return false;
        }
        self.next_number += 1;
        self.nodes.push(Node { number, ..node });
        true
    }

    /// Removes a node. Its partitions go to the nodes that it was handing them to, or lose their owner; moves to the
    /// removed node are cancelled. All changed partitions get a new epoch, since their content may be lost.
    pub(crate) fn remove(&mut self, number: NodeNumber) {
        self.nodes.retain(|node| node.number != number);
        let epoch = self.epoch;
        for holding in &mut self.holdings {
            let next = holding.moving.map(|moving| moving.to).filter(|to| to.node() != number);
            let is_owner = holding.owner.is_some_and(|owner| owner.node() == number);
            let is_next = holding.moving.is_some() && next.is_none();
            if is_owner {
                *holding = Holding { owner: next, epoch, moving: None };
            } else if is_next {
                *holding = Holding { epoch, moving: None, ..*holding };
            }
        }
    }

    /// The view as a node takes it if it has no seal of its keys. Nothing in it can be believed, so that its nodes own
    /// nothing and have other keys: with their leases they keep this node out, and without them the view is replaced.
    pub(crate) fn of_strangers(bytes: &[u8], revision: Revision) -> Self {
        let mut view = Self::empty(Epoch::default());
        for node in Self::from_bytes(bytes, revision).iter().flat_map(|read| read.nodes.iter()) {
            let compatibility = Compatibility { keys: FOREIGN_KEYS, ..node.compatibility };
            let roles = Roles::default();
            view.add(Node { compatibility, roles, ..node.clone() });
        }
        view
    }

    /// Whether a node of this view has other keys than this process.
    pub(crate) fn has_strangers(&self) -> bool {
        self.nodes.iter().any(|node| node.compatibility.keys == FOREIGN_KEYS)
    }

    /// Cancels all moves, since it is not known how far they came. Their partitions get a new epoch, as their content
    /// may be lost.
    pub(crate) fn cancel_moves(&mut self) {
        let epoch = self.epoch;
        for holding in self.holdings.iter_mut().filter(|holding| holding.moving.is_some()) {
            *holding = Holding { epoch, moving: None, ..*holding };
        }
    }

    /// The routes of this view, for planes.
    pub fn routes(&self) -> Routes {
        let nodes: Vec<(NodeNumber, ShardIndex)> = self.nodes.iter().map(|node| (node.number, node.shards)).collect();
        let moves = self.holdings().filter_map(|(partition, holding)| {
            let Move { to, epoch } = holding.moving?;
            Some(place::Move { partition, to, epoch })
        });
        Routes::of_cluster(&nodes, self.next_number, |partition| {
            let holding = self.holding(partition);
            (holding.owner.unwrap_or(Place::NONE), holding.epoch)
        })
        .with_moves(moves)
    }

    /// The view as stored in the registry.
    pub fn to_bytes(&self) -> Bytes {
        let age = |epoch: Epoch| self.epoch.0.saturating_sub(epoch.0);
        let moves = self.holdings().filter_map(|(partition, holding)| {
            let Move { to, epoch } = holding.moving?;
            Some(wire::Move { partition: partition.row() as u32, to: to.number() + 1, age: age(epoch) })
        });
        wire::View {
            epoch: self.epoch.0,
            next_number: self.next_number,
            nodes: self.nodes.iter().map(node_to_wire).collect(),
            owners: self.holdings.iter().map(|holding| holding.owner.map_or(0, |owner| owner.number() + 1)).collect(),
            ages: self.holdings.iter().map(|holding| age(holding.epoch)).collect(),
            moves: moves.collect(),
        }
        .to_bytes()
    }

    /// Reads a view from the registry, which stored it under this revision.
    ///
    /// # Errors
    /// [`RegistryValueError`] if the bytes are not a view.
    pub fn from_bytes(bytes: &[u8], revision: Revision) -> Result<Self, RegistryValueError> {
        let read = wire::View::from_bytes(bytes)?;
        let read = wire::View { epoch: read.epoch.min(EPOCH_MAX), ..read };
        let mut view = Self {
            revision,
            next_number: read.next_number.max(1),
            nodes: read.nodes.into_iter().map(node_from_wire).collect(),
            ..Self::empty(Epoch(read.epoch))
        };
        view.nodes.sort_by_key(|node| node.number);
        let epoch_of = |age: u64| Epoch(read.epoch.saturating_sub(age));
        for (holding, (owner, age)) in view.holdings.iter_mut().zip(read.owners.into_iter().zip(read.ages)) {
            *holding = Holding { owner: place_from_wire(owner), epoch: epoch_of(age), moving: None };
        }
        for wire::Move { partition, to, age } in read.moves {
            let partition = u16::try_from(partition).ok().and_then(Partition::new);
            if let (Some(partition), Some(to)) = (partition, place_from_wire(to)) {
                view.holding_mut(partition).moving = Some(Move { to, epoch: epoch_of(age) });
            }
        }
        Ok(view)
    }
}

fn place_from_wire(place: u32) -> Option<Place> {
    place.checked_sub(1).map(Place::from_number)
}

fn node_to_wire(node: &Node) -> wire::Node {
    let Roles { gateway, live, jobs } = node.roles;
    let Compatibility { wire_version, readable_from, keys, database, recovers_parties, seals } = node.compatibility;
    wire::Node {
        number: node.number,
        name: node.name.to_string(),
        incarnation: node.incarnation.to_be_bytes().to_vec().into(),
        shards: node.shards.into(),
        gateway,
        live,
        jobs,
        draining: node.is_draining,
        busy: node.is_busy,
        wire_version,
        weight: node.weight,
        readable_from,
        keys: keys.to_be_bytes().to_vec().into(),
        database,
        recovers_parties,
        seals: seals_to_wire(seals),
    }
}

fn seals_to_wire(seals: Option<SealUse>) -> u32 {
    match seals {
        None => 0,
        Some(SealUse::Require) => 1,
        Some(SealUse::Accept) => 2,
        Some(SealUse::Off) => 3,
    }
}

fn seals_from_wire(seals: u32) -> Option<SealUse> {
    [SealUse::Require, SealUse::Accept, SealUse::Off].into_iter().find(|known| seals_to_wire(Some(*known)) == seals)
}

fn node_from_wire(node: wire::Node) -> Node {
    let wire::Node { number, gateway, live, jobs, wire_version, weight, readable_from, .. } = node;
    let (database, recovers_parties) = (node.database, node.recovers_parties);
    let number_of = |bytes: &Bytes| bytes.first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
    Node {
        number,
        name: node.name.into(),
        incarnation: number_of(&node.incarnation),
        shards: ShardIndex::try_from(node.shards).unwrap_or(ShardIndex::MAX),
        roles: Roles { gateway, live, jobs },
        weight,
        is_draining: node.draining,
        is_busy: node.busy,
        compatibility: Compatibility {
            wire_version,
            readable_from,
            keys: number_of(&node.keys),
            database,
            recovers_parties,
            seals: seals_from_wire(node.seals),
        },
    }
}
