//! Planted bugs in what joining and unpacking answer.

use muster_cluster::arrival::JoinedNode;
use muster_cluster::freight::Unpacked;

/// A planted bug. Each strikes at every occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Batches that came before a node was online are lost.
    LoseEarly,
    /// Batches that came before a node was online are taken in the wrong order.
    SwapEarly,
    /// A node that was voted out takes in what came under its former number.
    KeepFormer,
    /// Messages for one shard go to another.
    OtherLane,
    /// Messages for one shard come in the wrong order.
    SwapRun,
    /// A message for a shard comes twice.
    DoubleRun,
    /// Nobody is told that a message could not be read.
    KeepUnread,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 7] = [
        Self::LoseEarly,
        Self::SwapEarly,
        Self::KeepFormer,
        Self::OtherLane,
        Self::SwapRun,
        Self::DoubleRun,
        Self::KeepUnread,
    ];

    /// Lets the fault change what a node that is online begins with.
    pub(super) fn spoil_joined(self, joined: &mut JoinedNode) {
        match self {
            Self::LoseEarly => joined.early_batches.clear(),
            Self::SwapEarly => joined.early_batches.reverse(),
            _ => {}
        }
    }

    /// Lets the fault change what a batch held.
    pub(super) fn spoil_unpacked(self, unpacked: &mut Unpacked) {
        match self {
            Self::OtherLane => unpacked.lanes.rotate_left(1),
            Self::SwapRun => unpacked.lanes.iter_mut().flatten().for_each(|(_, messages)| messages.reverse()),
            Self::DoubleRun => {
                for (_, messages) in unpacked.lanes.iter_mut().flatten() {
                    let again = messages.last().and_then(super::world::again);
                    messages.extend(again);
                }
            }
            Self::KeepUnread => unpacked.back.clear(),
            _ => {}
        }
    }
}
