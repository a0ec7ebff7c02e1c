//! What a handler is called with, and what it answers.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::SessionId;
use muster_domain::{Timestamp, UserId};

use super::message::Chain;
use super::owner::MatchId;
use super::timers::Timers;
use crate::stream::Presence;

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRef {
    /// Of which match.
    pub id: MatchId,
    /// Of which of its lives at this place: what comes of a call of an earlier one is for nobody.
    pub life: u64,
}

/// A handler is to be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// For which match.
    pub id: MatchId,
    /// In which of its lives at this place.
    pub life: u64,
    /// Which handler.
    pub handler: Arc<str>,
    /// The loops that there were so far.
    pub tick: u64,
    /// Loops a second; 0 before the match has begun.
    pub tick_rate: u32,
    /// By what the match is found.
    pub label: Arc<str>,
    /// Which matches' callbacks wait for it.
    pub chain: Chain,
    /// The timers of the match.
    pub timers: Timers,
    /// Which of its callbacks.
    pub callback: Callback,
}

impl Call {
    /// Whose it is.
    pub fn reference(&self) -> CallRef {
        CallRef { id: self.id, life: self.life }
    }

    /// Whether its match outlives the place that runs it: the callback's effects leave when its inputs are kept.
    pub fn is_durable(&self) -> bool {
        self.id.is_durable()
    }
}

/// The callbacks of a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum Callback {
    /// The match begins. Answered by [`Outcome::Begun`].
    Init {
        /// What it was created with.
        params: Bytes,
        /// When it was asked for.
        created_at: Timestamp,
    },
    /// Somebody wants to come in. Answered by [`Outcome::Decided`].
    JoinAttempt {
        /// Who.
        presence: Arc<Presence>,
        /// What the client said with it.
        metadata: Arc<[(String, String)]>,
    },
    /// These are in the match now. Answered by [`Outcome::Goes`], as are the others below but the last.
    Join(Vec<Arc<Presence>>),
    /// These are in the match no more.
    Leave(Vec<Left>),
    /// A timer fires, before the loop of this tick. It is over then, and may be set again.
    Timer {
        /// Its name.
        name: Arc<str>,
        /// What it was set with.
        data: Arc<str>,
    },
    /// A tick, with what came since the last, in order.
    Loop(Vec<Input>),
    /// The server stops, so many seconds from now.
    Terminate {
        /// How long the match goes on.
        grace_sec: u32,
    },
    /// Other game code says something. Answered by [`Outcome::Signalled`].
    Signal(Arc<str>),
}

impl Callback {
    /// The name of the timer that fires by it.
    pub fn timer(&self) -> Option<&str> {
        match self {
            Self::Timer { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// Who went from a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// Who.
    pub presence: Arc<Presence>,
    /// Why.
    pub reason: LeaveReason,
}

/// Why somebody went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// By a message.
    Left,
    /// The socket closed.
    Disconnected,
    /// The handler wanted it.
    Kicked,
}

/// What a player sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Who.
    pub sender: Arc<Presence>,
    /// What kind of message it is.
    pub op_code: i64,
    /// The message.
    pub data: Bytes,
    /// As the client said.
    pub reliable: bool,
    /// When it came to the server.
    pub received_at: Timestamp,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Return {
    /// What the callback answered.
    pub outcome: Outcome,
    /// What it wants done, in order.
    pub acts: Vec<Act>,
}

/// What a callback answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The match begins.
    Begun {
        /// Loops a second.
        tick_rate: u32,
        /// By what it is found.
        label: Arc<str>,
    },
    /// Whether somebody may come in.
    Decided(Result<(), Arc<str>>),
    /// The match goes on.
    Goes,
    /// The match goes on, and answers a signal.
    Signalled(Arc<str>),
    /// The match goes on, but its handler cannot be asked, for this reason.
    Refused(Arc<str>),
    /// The match is over: there is no state any more.
    Over,
    /// The callback failed, for this reason.
    Failed(Arc<str>),
}

/// What a callback wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Something for players.
    Broadcast(Broadcast),
    /// The same, behind all else that the callback sends.
    Defer(Broadcast),
    /// These sessions are to go.
    Kick(Vec<SessionId>),
    /// The match is found by this from now on.
    Label(Arc<str>),
    /// The handler is to be called at the first tick after so many milliseconds, in place of another timer of this name.
    SetTimer {
        /// By this name.
        name: Arc<str>,
        /// After so many milliseconds.
        after_ms: u64,
        /// With this.
        data: Arc<str>,
    },
    /// The timer of this name is to fire no more.
    CancelTimer(Arc<str>),
}

/// Something for players.
#[derive(Clone, Debug, PartialEq)]
pub struct Broadcast {
    /// What kind of message it is.
    pub op_code: i64,
    /// The message.
    pub data: Bytes,
    /// For whom: everybody, or those of these that are in the match.
    pub to: Option<Vec<SessionId>>,
    /// From whom it shows to be.
    pub sender: Option<Sender>,
    /// Whether it must arrive.
    pub reliable: bool,
}

/// From whom a message shows to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The session.
    pub session_id: SessionId,
    /// The user.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
}
