//! What comes of what happens to matches.

use std::sync::Arc;

use muster_domain::Result;
use muster_domain::ids::SessionId;

use super::call::{Broadcast, Call};
use super::listing::Listed;
use super::owner::MatchId;
use crate::party::Member;
use crate::plane::{Listener, RequestRef};
use crate::stream::{Presence, SessionRef};

/// What is to be done, in this order.
#[derive(Debug)]
pub enum Effect {
    /// An answer.
    Reply(RequestRef, Result<Answer>),
    /// A handler is to be called.
    Call(Box<Call>),
    /// What the handler keeps for the match is to be put away.
    Drop(MatchId),
    /// Somebody is on the match's stream from now on.
    Enter(MatchId, Member),
    /// Somebody who was to come does not.
    Refuse(MatchId, Listener),
    /// Somebody is taken off the match's stream, and told so, as are the others.
    Expel(MatchId, Listener),
    /// Something for those on the match's stream.
    Tell {
        /// Which match.
        id: MatchId,
        /// For all of them, or these sessions.
        to: Option<Vec<SessionId>>,
        /// What.
        event: Event,
        /// The number of what a durable match says: whoever had it is not to have it again.
        number: Option<u64>,
    },
}

/// What players are told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The handler says something.
    Data(Broadcast),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The match has begun.
    Created,
    /// Whoever asked is in the match.
    Entered(Box<Entered>),
    /// What the handler answered to a signal.
    Signalled(Arc<str>),
    /// Matches, in order.
    Listed(Vec<Listed>),
}

/// The caller is in a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Entered {
    /// The match.
    pub id: MatchId,
    /// By what it is found.
    pub label: Arc<str>,
    /// Whether the caller was not there before.
    pub is_new: bool,
    /// Players: without the caller if it is new. Cut, and filled in by the owner of the stream.
    pub presences: Arc<[Presence]>,
    /// How many that are uncut.
    pub total: usize,
    /// The caller's session.
    pub session: SessionRef,
}

/// Why a match ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchEnd {
    /// The handler said so.
    Over,
    /// Nobody was there for long enough.
    Empty,
    /// The server stops.
    Terminated,
    /// Its log had nothing of it where it was to go on.
    Lost,
    /// The handler failed, for this reason.
    Failed(Arc<str>),
}
