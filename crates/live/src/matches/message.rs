//! What the owner of a match is asked.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;

use super::owner::{Creation, MatchId};
use crate::party::Member;
use crate::plane::RequestRef;
use crate::stream::SessionRef;

/// A session that wants to come into a match.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Which match.
    pub id: MatchId,
    /// Who, and how it will hear the match's stream.
    pub member: Member,
    /// What the client said with it.
    pub metadata: Arc<[(String, String)]>,
    /// Who waits for the answer.
    pub reply_to: Option<RequestRef>,
}

/// The matches whose callbacks wait for what is asked, the one that began first. Empty when none does.
pub type Chain = Arc<[MatchId]>;

/// So many callbacks may wait for one another.
pub const CHAIN_MAX: usize = 8;

/// What is asked of the owner of a match.
#[derive(Clone, Debug)]
pub enum MatchAsk {
    /// Make it.
    Create(Creation),
    /// Somebody wants to come in.
    Join {
        /// Who, and how it will hear the match's stream.
        member: Box<Member>,
        /// What the client said with it.
        metadata: Arc<[(String, String)]>,
    },
    /// A session sends something.
    Input {
        /// Who.
        session: SessionRef,
        /// What kind of message it is.
        op_code: i64,
        /// The message.
        data: Bytes,
        /// As the client said.
        reliable: bool,
        /// When it came to the server.
        received_at: Timestamp,
    },
    /// Game code says something to the handler.
    Signal {
        /// What.
        data: Arc<str>,
        /// On whose behalf.
        chain: Chain,
    },
    /// What it is like.
    Get,
}
