//! Orders about sessions, wherever they are, given by those who may: game code.

use muster_domain::ids::{SessionId, UserId};

use crate::close::CloseReason;
use crate::registry::SessionKey;
use crate::stream::StreamKey;

/// An order about sessions of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The sessions.
    pub whom: Whom,
    /// The errand that is done with them.
    pub what: Errand,
}

/// A choice of sessions of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The session with this public id.
    Id {
        /// The id.
        session: SessionId,
        /// The user whose session it must be; `None` for any user.
        user: Option<UserId>,
    },
    /// The sessions with these keys.
    Keys(Vec<SessionKey>),
}

/// An errand with sessions. A look is answered by a listing, a join as any join, and all others by the number of
/// sessions that the errand was done with. If there is no such session, the answer is a refusal that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// The session comes to a stream.
    Join {
        /// The stream.
        stream: StreamKey,
        /// Whether the presence is in neither events nor snapshots.
        hidden: bool,
        /// Whether messages of the session to the stream are to be stored.
        persistence: bool,
        /// The status text, on status streams.
        status: Option<String>,
        /// Whether a presence that the session already has there is replaced.
        replaces: bool,
    },
    /// The session leaves a stream.
    Leave(StreamKey),
    /// The presence of the session on a stream is looked up.
    Look(StreamKey),
    /// The session begins to hear the status of these users.
    Follow(Vec<UserId>),
    /// The session stops hearing the status of these users.
    Unfollow(Vec<UserId>),
    /// The session's socket closes.
    Close(CloseReason),
}
