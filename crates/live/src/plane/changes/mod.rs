//! The part of a plane that changes owners: nodes come and go, partitions are rebuilt or handed over, and sessions move
//! to other places.
//!
//! The files here know streams, partitions and places. They know all other owned things by the trait
//! [`Owned`](super::owners::owned::Owned) alone, and name no kind of them.

pub(crate) mod carry;
pub(crate) mod handover;
pub(crate) mod moves;
pub(crate) mod rebind;
pub(crate) mod rebuild;
pub(crate) mod recall;
pub(crate) mod recovery;
pub(crate) mod reroute;
mod screen;
mod standings;

use std::collections::{BTreeMap, VecDeque};

use handover::Handovers;

use super::message::Message;
use super::owners::rebuilding::{Rebuilding, Unkept};
use crate::place::{Epoch, Partition, Place};

/// The changes that are under way at a place.
#[derive(Default)]
pub(crate) struct Changes {
    /// Messages that came too early, by sender and in order: this place does not know their sender yet, or has not
    /// heard of a change of owners that the sender knows of.
    pub early: BTreeMap<Place, VecDeque<Message>>,
    /// Partitions that this place owns although parts of their state are still missing here.
    pub rebuilding: BTreeMap<Partition, Rebuilding>,
    /// Partitions whose rebuild has just ended and whose things have yet to tell other owners of it.
    pub rebuilt: Vec<Partition>,
    pub handovers: Handovers,
    pub unkept: Unkept,
    /// The last time when this node was an island.
    pub isolation: recall::Isolation,
    /// Number of requests that this place refused because its node was an island.
    pub island_refusals: u64,
    /// Number of kept messages that were told again as an owner, because a node has gone.
    pub recalled: u64,
    /// Number of partitions whose recovery data did not come in time.
    pub late: u64,
    /// Number of messages that this place refused because they were for another owner, or for another epoch of this
    /// one.
    pub misdirected: u64,
}

impl Changes {
    /// Whether this place owns a partition since this epoch and is still rebuilding it.
    pub(crate) fn rebuilds(&self, partition: Partition, epoch: Epoch) -> bool {
        self.rebuilding.get(&partition).is_some_and(|rebuilding| rebuilding.epoch == epoch)
    }

    /// The number of messages that this place keeps until it can carry them out.
    pub(crate) fn kept_back(&self) -> usize {
        let held = self.rebuilding.values().map(|rebuilding| rebuilding.held.len());
        held.sum::<usize>() + self.early.values().map(VecDeque::len).sum::<usize>()
    }
}
