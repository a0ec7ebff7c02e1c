//! A durable match as plain data, which its owner hands over to the next owner of its partition.

use std::sync::Arc;

use super::call::{Input, Joiner, Left};
use super::durable::Outline;
use super::message::Chain;
use crate::party::Member;
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::Presence;

/// A match at rest, with all calls that are queued for its handler. Times are in milliseconds and count from the moment
/// of the handover.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedMatch {
    /// The match without its handler's state.
    pub outline: Outline,
    /// Listeners of the players on the match's stream, in the order in which the players entered.
    pub listeners: Vec<Listener>,
    /// Calls that are queued for the handler, in order.
    pub waiting: Vec<CarriedWaiting>,
    /// Messages of players since the last tick, in order.
    pub inputs: Vec<Input>,
    /// Time until the next tick is due.
    pub due_ms: Millis,
    /// Number of ticks in a row at which the match had no player.
    pub empty_ticks: u64,
}

/// A call that is queued for a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum CarriedWaiting {
    /// A player wants to join.
    Attempt {
        /// The player, with the listener by which its session will hear the match's stream.
        member: Box<Member>,
        /// Metadata of the client's request.
        joiner: Arc<Joiner>,
        /// Request that waits for the answer.
        reply_to: Option<RequestRef>,
        /// Time until the request is refused because no answer has come.
        left_ms: Millis,
    },
    /// A player has joined.
    Join(Arc<Presence>),
    /// A player has left.
    Leave(Left),
    /// A signal from other game code.
    Signal {
        /// Data of the signal.
        data: Arc<str>,
        /// Matches whose callbacks wait for the answer.
        chain: Chain,
        /// Request that waits for the answer.
        reply_to: Option<RequestRef>,
        /// Time until the request is refused because no answer has come.
        left_ms: Millis,
    },
}
