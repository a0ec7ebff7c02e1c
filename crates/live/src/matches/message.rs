//! Requests to the owner of a match.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;

use super::call::Joiner;
use super::carried::CarriedMatch;
use super::effect::MatchAnswer;
use super::listing::ListQuery;
use super::owner::{Creation, MatchId};
use crate::party::Member;
use crate::plane::RequestRef;
use crate::stream::{SessionRef, StreamKey};

/// A join attempt of a player.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The match.
    pub id: MatchId,
    /// The player, with the listener by which its session will hear the match's stream.
    pub member: Member,
    /// Facts about the player's client.
    pub joiner: Arc<Joiner>,
    /// Request that waits for the answer.
    pub reply_to: Option<RequestRef>,
}

/// Matches whose callbacks wait for an answer, one for the next, the first of them in front. Empty when no match waits.
pub type Chain = Arc<[MatchId]>;

/// Limit of the callbacks that wait for one another.
pub const CHAIN_MAX: usize = 8;

/// A request to the owner of a match.
#[derive(Clone, Debug)]
pub enum MatchAsk {
    /// Creates the match.
    Create(Creation),
    /// A player wants to join.
    Join {
        /// The player, with the listener by which its session will hear the match's stream.
        member: Box<Member>,
        /// Facts about the player's client.
        joiner: Arc<Joiner>,
    },
    /// A player sends a message.
    Input {
        /// Session of the player.
        session: SessionRef,
        /// Kind of message, as the game defines it.
        op_code: i64,
        /// Content of the message.
        data: Bytes,
        /// Whether the client marked the message as reliable.
        reliable: bool,
        /// Moment at which the message came to the server.
        received_at: Timestamp,
    },
    /// Game code sends a signal to the handler.
    Signal {
        /// Data of the signal.
        data: Arc<str>,
        /// Matches whose callbacks wait for the answer.
        chain: Chain,
    },
    /// Asks for the match's entry in a listing.
    Get,
}

/// A question to the owner of matches.
#[derive(Clone, Debug)]
pub enum MatchesAsk {
    /// A request to one match.
    One {
        /// The match's stream.
        stream: StreamKey,
        /// The request.
        what: Box<MatchAsk>,
    },
    /// A question for the matches of this owner.
    Find(ListQuery),
}

/// An answer of the owner of matches.
pub type MatchesAnswer = muster_domain::Result<MatchAnswer>;

/// A match on its way to its partition's next owner.
pub type MatchPart = Box<CarriedMatch>;

/// A message of a player, without its sender.
#[derive(Clone, Debug)]
pub(super) struct PlayerMessage {
    /// Kind of message, as the game defines it.
    pub(super) op_code: i64,
    pub(super) data: Bytes,
    /// Whether the client marked the message as reliable.
    pub(super) reliable: bool,
    /// Moment at which the message came to the server.
    pub(super) received_at: Timestamp,
}
