//! The input and output of a node's membership: events that it is told, and actions that it wants carried out.

use std::sync::Arc;

use bytes::Bytes;
use muster_live::Millis;

use super::compatibility::Incompatible;
use super::view::View;
use crate::bus::{Address, Probe};
use crate::registry::{RegistryEvent, Revision, Written};
use muster_live::place::{Epoch, Partition};

/// Number of a request, by which its answer is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestRef(pub u64);

/// Gives numbers to requests.
#[derive(Debug, Default)]
pub(super) struct Requests(u64);

impl Requests {
    pub(super) fn next(&mut self) -> RequestRef {
        self.0 += 1;
        RequestRef(self.0)
    }
}

/// An input of a membership step.
#[derive(Clone, Debug)]
pub enum MembershipEvent {
    /// Time passed; see [`Membership::next_due`](super::Membership::next_due).
    Tick,
    /// An event of the registry's watch. Events must be passed on in the order in which the watch reports them.
    Registry(RegistryEvent),
    /// A write was answered. A write that is never answered may have happened.
    Written {
        /// Number of the request.
        request: RequestRef,
        /// Result of the write.
        outcome: Written,
    },
    /// A probe was answered.
    Probed {
        /// Number of the request.
        request: RequestRef,
        /// Result of the probe.
        probe: Probe,
    },
    /// The bus knows that this node listens under the address of [`Action::Joined`]. Until then the node is an island,
    /// since others may find that nobody listens.
    Listening,
    /// The connection to the bus went up or down. This event must be passed on at once and before any other that waits:
    /// a node that does not hear of a loss within 100 ms may be voted out before it knows that it is an island.
    Connection {
        /// Whether the connection is up now.
        is_up: bool,
        /// Number of times that the connection was lost since the process started.
        losses: u64,
    },
    /// The next owner of a partition has received everything from this node, which handed the partition over and is not
    /// its owner any more.
    HandedOver {
        /// The partition.
        partition: Partition,
        /// Epoch of the next owner: [`Move::epoch`](super::Move::epoch).
        epoch: Epoch,
    },
    /// The node is to give everything away.
    Drain,
    /// Whether the node is overloaded. The event should be rare: each change moves partitions.
    Busy(bool),
    /// The node is to leave. From now on it owns nothing; [`Action::Left`] comes when the registry took the change.
    Leave,
    /// A node that was voted out has put away everything it owned, and joins again under a new incarnation.
    Rejoin {
        /// The new incarnation, freshly drawn.
        incarnation: u128,
    },
}

/// An output of a membership step.
#[derive(Clone, Debug)]
pub enum Action {
    /// Write a value under a key that has none.
    Create {
        /// Number of the request, for the answer.
        request: RequestRef,
        /// The key.
        key: String,
        /// The value.
        value: Bytes,
        /// Time to live, if the value has one.
        time_to_live_ms: Option<Millis>,
    },
    /// Write a value in place of an expected revision.
    Update {
        /// Number of the request, for the answer.
        request: RequestRef,
        /// The key.
        key: String,
        /// The value.
        value: Bytes,
        /// Revision that the key must have.
        expected: Revision,
        /// Time to live, if the value has one.
        time_to_live_ms: Option<Millis>,
    },
    /// Remove a value of an expected revision. The answer need not be passed back.
    Delete {
        /// Number of the request.
        request: RequestRef,
        /// The key.
        key: String,
        /// Revision that the key must have.
        expected: Revision,
    },
    /// Ask the bus whether a node listens.
    Probe {
        /// Number of the request, for the answer.
        request: RequestRef,
        /// Address of the node.
        node: Address,
    },
    /// This node is a member: it must listen under this address and then say so ([`MembershipEvent::Listening`]).
    /// [`Action::BackOnline`] follows.
    Joined(Address),
    /// The view changed.
    ViewChanged {
        /// The view before.
        old: Arc<View>,
        /// The view now.
        new: Arc<View>,
    },
    /// This node became an island: from now on it claims nothing and writes nothing as an owner.
    BecameIsland,
    /// This node is confirmed to be in the view, and owns the partitions that the view gives it.
    BackOnline,
    /// This node is not in the view any more. [`MembershipEvent::Rejoin`] lets it join again.
    VotedOut,
    /// This node does not join, since it is incompatible with a member.
    Refused(Incompatible),
    /// This node is draining and owns nothing any more, or no other node can take what it owns.
    Drained,
    /// This node has left.
    Left,
}
