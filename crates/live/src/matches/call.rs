//! Calls of match handlers, and their returns.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::SessionId;
use muster_domain::{Timestamp, UserId};

use super::message::Chain;
use super::owner::MatchId;
use super::timers::Timers;
use crate::stream::Presence;

/// The match that a call belongs to, and the match's stay at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRef {
    /// The match.
    pub id: MatchId,
    /// Number of the match's stay at this place: a match that goes to another place and comes back gets another number.
    /// Returns of calls from an earlier stay are dropped.
    pub stay: u64,
}

/// A call of a match handler.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The match.
    pub id: MatchId,
    /// Number of the match's stay at this place; see [`CallRef::stay`].
    pub stay: u64,
    /// Name of the handler.
    pub handler: Arc<str>,
    /// Number of loops that have returned so far.
    pub tick: u64,
    /// Loops per second; 0 before the match has begun.
    pub tick_rate: u32,
    /// Label of the match, by which listings find it.
    pub label: Arc<str>,
    /// Matches whose callbacks wait for this call.
    pub chain: Chain,
    /// Timers that the match has set.
    pub timers: Timers,
    /// The callback, with its arguments.
    pub callback: Callback,
}

impl Call {
    /// The match and stay that the call belongs to.
    pub fn reference(&self) -> CallRef {
        CallRef { id: self.id, stay: self.stay }
    }

    /// Whether the match is durable. The effects of a durable match's callback leave only when the records of the call
    /// are durable.
    pub fn is_durable(&self) -> bool {
        self.id.is_durable()
    }
}

/// A callback of a handler, with its arguments. The answer is [`Outcome::GoesOn`] unless the variant names another one.
/// [`Outcome::Over`] and [`Outcome::Failed`] may answer every callback.
#[derive(Clone, Debug, PartialEq)]
pub enum Callback {
    /// The match begins. The answer is [`Outcome::Begun`].
    Init {
        /// Parameters from the code that creates the match, as an encoded value.
        params: Bytes,
        /// Moment of the request to create the match.
        created_at: Timestamp,
    },
    /// A player wants to join. The answer is [`Outcome::Decided`].
    JoinAttempt {
        /// The player.
        presence: Arc<Presence>,
        /// Facts about the player's client.
        joiner: Arc<Joiner>,
    },
    /// These players have joined.
    Join(Vec<Arc<Presence>>),
    /// These players have left.
    Leave(Vec<Left>),
    /// A timer fires, before the loop of this tick. The callback may set the timer again.
    Timer {
        /// Name of the timer.
        name: Arc<str>,
        /// Data that the timer was set with.
        data: Arc<str>,
    },
    /// A tick comes, with the messages that players have sent since the last tick, in order.
    Loop(Vec<Input>),
    /// The server stops.
    Terminate {
        /// Seconds until the match ends.
        grace_sec: u32,
    },
    /// Other game code sends a signal with this data. The answer is [`Outcome::Signalled`] or [`Outcome::Refused`].
    Signal(Arc<str>),
}

/// Facts about the client of a player who wants to join, for the match's handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joiner {
    /// Metadata of the client's request, as names and values.
    pub metadata: Vec<(String, String)>,
    /// Variables in the session's token, as names and values.
    pub vars: Vec<(String, String)>,
    /// Moment at which the session's token expires, in seconds since 1970. It is 0 if the facts come from a node or a
    /// record of a release that told handlers nothing but the metadata.
    pub token_expires_at_sec: i64,
    /// Address of the client; empty if it is not known.
    pub client_ip: String,
    /// Port of the client, in decimal; empty if it is not known.
    pub client_port: String,
}

impl Callback {
    /// Name of the callback in Lua's handlers, which logs have, too.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Init { .. } => "match_init",
            Self::JoinAttempt { .. } => "match_join_attempt",
            Self::Join(_) => "match_join",
            Self::Leave(_) => "match_leave",
            Self::Loop(_) => "match_loop",
            Self::Terminate { .. } => "match_terminate",
            Self::Signal(_) => "match_signal",
            Self::Timer { .. } => "match_timer",
        }
    }

    /// Name of the timer that fires; `None` for every other callback.
    pub fn timer(&self) -> Option<&str> {
        match self {
            Self::Timer { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// A player who has left a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// The player.
    pub presence: Arc<Presence>,
    /// Reason for which the player left.
    pub reason: LeaveReason,
}

/// Reason for which a player left a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// The player left the match, and the player's socket stayed open.
    Left,
    /// The player's socket closed.
    Disconnected,
    /// The handler kicked the player.
    Kicked,
}

/// A message of a player to a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The player.
    pub sender: Arc<Presence>,
    /// Kind of message, as the game defines it.
    pub op_code: i64,
    /// Content of the message.
    pub data: Bytes,
    /// Whether the client marked the message as reliable.
    pub reliable: bool,
    /// Moment at which the message came to the server.
    pub received_at: Timestamp,
}

/// The return of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Return {
    /// Answer of the callback.
    pub outcome: Outcome,
    /// Acts that the callback has asked for, in order.
    pub acts: Vec<Act>,
}

/// Answer of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The match begins.
    Begun {
        /// Loops per second.
        tick_rate: u32,
        /// Label by which listings find the match.
        label: Arc<str>,
    },
    /// The player may join. The error is the reason for which the player may not.
    Decided(Result<(), Arc<str>>),
    /// The match goes on.
    GoesOn,
    /// The match goes on, and answers a signal.
    Signalled(Arc<str>),
    /// The match goes on, but its handler cannot take the signal now, for this reason.
    Refused(Arc<str>),
    /// The match is over: the callback returned no state.
    Over,
    /// The callback failed, for this reason.
    Failed(Arc<str>),
}

/// An act that a callback asks for. Acts are carried out when the callback has returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Sends a message to players.
    Broadcast(Broadcast),
    /// Sends a message to players, behind all other messages of the callback.
    Defer(Broadcast),
    /// Kicks the players with these sessions.
    Kick(Vec<SessionId>),
    /// Sets the label.
    Label(Arc<str>),
    /// Sets a timer, in place of an earlier one of the same name. The timer fires before the loop of the first tick at
    /// or after its time.
    SetTimer {
        /// Name of the timer.
        name: Arc<str>,
        /// Time from the tick of the callback until the timer fires, in milliseconds.
        after_ms: u64,
        /// Data that the timer's callback is given.
        data: Arc<str>,
    },
    /// Removes the timer of this name.
    CancelTimer(Arc<str>),
}

/// A message of a match to its players.
#[derive(Clone, Debug, PartialEq)]
pub struct Broadcast {
    /// Kind of message, as the game defines it.
    pub op_code: i64,
    /// Content of the message.
    pub data: Bytes,
    /// Sessions of the players who get the message; `None` for all players. Sessions that are not in the match are
    /// skipped.
    pub to: Option<Vec<SessionId>>,
    /// Player who is shown as the sender; `None` if no player is shown.
    pub sender: Option<Sender>,
    /// Whether the handler marked the message as reliable.
    pub reliable: bool,
}

/// Player who is shown as the sender of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Session of the player.
    pub session_id: SessionId,
    /// User id of the player.
    pub user_id: UserId,
    /// Name of the user.
    pub username: Arc<str>,
}
