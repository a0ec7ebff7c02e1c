//! A durable match as plain data: for the next owner of its partition, while both live.

use std::sync::Arc;

use super::call::{Input, Left};
use super::durable::Outline;
use super::message::Chain;
use crate::party::Member;
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::Presence;

/// A match that rests, with all that waits for its handler. Times are milliseconds that are left.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedMatch {
    /// What it is besides its handler's state.
    pub outline: Outline,
    /// How those of its players hear it who have not gone, in their order.
    pub listeners: Vec<Listener>,
    /// What waits for the handler, in order.
    pub waiting: Vec<CarriedWaiting>,
    /// What players sent since the last tick, in order.
    pub inputs: Vec<Input>,
    /// After what time the next tick is due.
    pub due_ms: Millis,
    /// For how many ticks nobody was in it.
    pub empty_ticks: u64,
}

/// Something that waits for a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum CarriedWaiting {
    /// Somebody wants to come in.
    Attempt {
        /// Who, and how it will hear the match's stream.
        member: Box<Member>,
        /// What the client said with it.
        metadata: Arc<[(String, String)]>,
        /// Who waits for the answer.
        reply_to: Option<RequestRef>,
        /// How long that is waited for.
        left_ms: Millis,
    },
    /// Somebody is in the match now.
    Join(Arc<Presence>),
    /// Somebody is in it no more.
    Leave(Left),
    /// Other game code says something.
    Signal {
        /// What.
        data: Arc<str>,
        /// On whose behalf.
        chain: Chain,
        /// Who waits for the answer.
        reply_to: Option<RequestRef>,
        /// How long that is waited for.
        left_ms: Millis,
    },
}
