//! Changes of owners: nodes that come and go, partitions that are rebuilt or handed over, sessions that go on
//! elsewhere.
//!
//! Changes know streams, partitions and places. Everything else that has an owner they know by the trait
//! [`Owned`](super::owners::owned::Owned) alone: no kind of things is named here.

pub(crate) mod carry;
pub(crate) mod handover;
pub(crate) mod moves;
pub(crate) mod rebind;
pub(crate) mod rebuild;
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
    /// Messages from places that this one does not know of yet, or that know of a change before this one does, in
    /// order.
    pub early: BTreeMap<Place, VecDeque<Message>>,
    /// Partitions that this place owns and does not know all of yet.
    pub rebuilding: BTreeMap<Partition, Rebuilding>,
    /// Partitions that just became complete after their owner's death, until other owners are told.
    pub rebuilt: Vec<Partition>,
    pub handovers: Handovers,
    pub unkept: Unkept,
    /// Number of partitions whose recovery data did not come in time.
    pub late: u64,
    /// Number of messages that were for another owner.
    pub misdirected: u64,
}

impl Changes {
    /// Whether this place owns a partition since this epoch and is still rebuilding it.
    pub(crate) fn rebuilds(&self, partition: Partition, epoch: Epoch) -> bool {
        self.rebuilding.get(&partition).is_some_and(|rebuilding| rebuilding.epoch == epoch)
    }

    /// The number of messages that wait until this place knows more.
    pub(crate) fn kept_back(&self) -> usize {
        let held = self.rebuilding.values().map(|rebuilding| rebuilding.held.len());
        held.sum::<usize>() + self.early.values().map(VecDeque::len).sum::<usize>()
    }
}
