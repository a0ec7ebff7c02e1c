//! Effects of matches, which the plane carries out.

use std::sync::Arc;

use muster_domain::Result;
use muster_domain::ids::SessionId;

use super::call::{Broadcast, Call};
use super::listing::Listed;
use super::owner::MatchId;
use crate::party::Member;
use crate::plane::{Listener, RequestRef};
use crate::stream::{Presence, SessionRef};

/// An effect of a match. Effects are carried out in their order.
#[derive(Debug)]
pub enum MatchEffect {
    /// Answers a request.
    Reply(RequestRef, Result<MatchAnswer>),
    /// Calls a handler.
    Call(Box<Call>),
    /// Removes the handler's state of the match.
    DropState(MatchId),
    /// Puts a player on the match's stream.
    Enter(MatchId, Member),
    /// Tells the place of a session that the session is not let onto the match's stream.
    Refuse(MatchId, Listener),
    /// Takes a player off the match's stream, and tells the player and the others.
    Expel(MatchId, Listener),
    /// Tells the players on the match's stream that the match has failed, for this reason, if players of this server
    /// are told reasons.
    TellFailure(MatchId, Arc<str>),
    /// Sends something to players on the match's stream.
    Tell {
        /// The match.
        id: MatchId,
        /// Sessions of the players; `None` for all.
        to: Option<Vec<SessionId>>,
        /// Event that the players are told.
        event: MatchEvent,
        /// Number of the broadcast; `None` if the match is not durable. A session drops a broadcast whose number is not
        /// greater than the number of the latest broadcast that the session had.
        number: Option<u64>,
    },
}

/// Event that players are told.
#[derive(Clone, Debug, PartialEq)]
pub enum MatchEvent {
    /// A broadcast of the handler.
    Data(Broadcast),
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum MatchAnswer {
    /// The match has begun.
    Created,
    /// The player is in the match.
    Entered(Box<Entered>),
    /// Answer of the handler to a signal.
    Signalled(Arc<str>),
    /// Matches that a listing has found, in order.
    Listed(Vec<Listed>),
}

/// Answer to a player who is in a match now.
#[derive(Clone, Debug, PartialEq)]
pub struct Entered {
    /// The match.
    pub id: MatchId,
    /// Label by which listings find the match.
    pub label: Arc<str>,
    /// Whether the player was not in the match before.
    pub is_new: bool,
    /// Players in the match, up to the limit on presences in an answer. A new player's own presence is left out. The
    /// owner of the stream fills this in.
    pub presences: Arc<[Presence]>,
    /// Number of players, including those above the limit, but without a new player's own presence.
    pub total: usize,
    /// Session of the player.
    pub session: SessionRef,
}

/// Reason for which a match ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchEnd {
    /// A callback returned no state.
    Over,
    /// The match had no players for `match.max_empty_sec` seconds.
    Empty,
    /// The server stops, and the time that it gave the match is over.
    Terminated,
    /// The next owner has found nothing of the match in the log.
    Lost,
    /// A callback failed, for this reason.
    Failed(Arc<str>),
}
