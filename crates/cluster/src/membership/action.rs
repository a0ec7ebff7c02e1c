//! What a node's membership asks to be done, and what it is told.

use std::sync::Arc;

use bytes::Bytes;
use muster_live::Millis;

use super::compatibility::Incompatible;
use super::view::View;
use crate::bus::{Address, Probe};
use crate::registry::{self, Revision, Written};
use muster_live::place::{Epoch, Partition};

/// What an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestRef(pub u64);

/// Numbers for requests.
#[derive(Debug, Default)]
pub(super) struct Requests(u64);

impl Requests {
    pub(super) fn next(&mut self) -> RequestRef {
        self.0 += 1;
        RequestRef(self.0)
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Time passed; see [`Membership::next_due`](super::Membership::next_due).
    Tick,
    /// The watch of the registry tells something. Its events come in the order in which it tells them.
    Registry(registry::Event),
    /// A write was answered. One that is not answered may have happened.
    Written {
        /// Which.
        request: RequestRef,
        /// How.
        outcome: Written,
    },
    /// A probe was answered.
    Probed {
        /// Which.
        request: RequestRef,
        /// How.
        probe: Probe,
    },
    /// The bus knows that this node listens under its address, see [`Action::Joined`]. Until then it is an island, since
    /// others may find that nobody listens.
    Listening,
    /// The connection to the bus is up or down, and was lost so often. To be told at once, and before anything else that
    /// waits: a node that does not hear of it within 100 ms may be voted out before it is an island.
    Connection {
        /// Whether there is one now.
        is_up: bool,
        /// How often it was lost since the process started.
        losses: u64,
    },
    /// This node handed over a partition, with all fences, to the next owner under that owner's epoch. It is not its
    /// owner any more.
    HandedOver {
        /// Which.
        partition: Partition,
        /// [`Move::epoch`](super::Move::epoch).
        epoch: Epoch,
    },
    /// Everything is to be given away.
    Drain,
    /// Whether the node has more to do than it should. To be told seldom: each change moves partitions.
    Busy(bool),
    /// The node is to leave. It owns nothing from now on; [`Action::Left`] comes when the registry took it.
    Leave,
    /// A node that was voted out has put away what it owned, and comes again as this incarnation.
    Rejoin {
        /// Drawn anew.
        incarnation: u128,
    },
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Action {
    /// Write where there is nothing.
    Create {
        /// For the answer.
        request: RequestRef,
        /// Where.
        key: String,
        /// What.
        value: Bytes,
        /// For how long.
        time_to_live_ms: Option<Millis>,
    },
    /// Write in place of a revision.
    Update {
        /// For the answer.
        request: RequestRef,
        /// Where.
        key: String,
        /// What.
        value: Bytes,
        /// What is there.
        expected: Revision,
        /// For how long.
        time_to_live_ms: Option<Millis>,
    },
    /// Remove a revision. Nobody waits for the answer.
    Delete {
        /// For the answer.
        request: RequestRef,
        /// Where.
        key: String,
        /// What is there.
        expected: Revision,
    },
    /// Ask whether a node listens.
    Probe {
        /// For the answer.
        request: RequestRef,
        /// Who.
        node: Address,
    },
    /// This node belongs to the cluster: it is to listen under this address, and to say when it does
    /// ([`Event::Listening`]). [`Action::BackOnline`] follows.
    Joined(Address),
    /// The view changed.
    ViewChanged {
        /// It was.
        old: Arc<View>,
        /// It is.
        new: Arc<View>,
    },
    /// From now on this node claims nothing and writes nothing as an owner.
    BecameIsland,
    /// This node is confirmed to be in the view, and owns what that says.
    BackOnline,
    /// This node is not in the view any more. It may come again, see [`Event::Rejoin`].
    VotedOut,
    /// This node does not join, since it does not fit to one that is there.
    Refused(Incompatible),
    /// This node is draining and owns nothing any more, or there is nobody to give it to.
    Drained,
    /// This node left.
    Left,
}
