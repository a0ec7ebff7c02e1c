//! Sessions that go on at another place: the demands for them, and their state on the way.

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId};
use muster_domain::sessions::Claims;

use super::Standing;
use crate::matchmaker::OnTicket;
use crate::place::{Epoch, Place};
use crate::stream::{Encoding, SessionRef, StreamKey};

/// The demand for a session, by the place where its next socket arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The session's public id.
    pub session_id: SessionId,
    /// The user of the socket.
    pub user_id: UserId,
    /// The encoding in which the socket talks.
    pub encoding: Encoding,
    /// Number of the session's frames that its client has.
    pub received: u64,
    /// The session at its next place.
    pub to: SessionRef,
}

/// The reason why a session does not go on where it was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// There is no such session of this user any more.
    Gone,
    /// The client lacks frames that are not kept any more.
    Overflow,
    /// The session has frames in the other encoding.
    Format,
    /// The session has gone to this place, and may be claimed there.
    Elsewhere(Place),
}

/// A session on its way to another place.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The claims of the token that the session was opened with.
    pub claims: Claims,
    /// The session's part of the plane.
    pub departed: Departed,
    /// Number of messages of the client that were taken.
    pub received: u64,
    /// Number of frames that the client has.
    pub sent: u64,
    /// The frames that the client lacks, in order, ready for its socket.
    pub frames: Vec<Bytes>,
}

/// A session's part of the plane when it leaves its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Departed {
    /// Serial number of the session's latest join or listen.
    pub serial: u32,
    /// The session's relations to owned things besides its streams.
    pub belongings: Belongings,
    /// The session's relations to streams, each with the epoch of the stream's owner.
    pub standings: Vec<(Standing, Epoch)>,
    /// Streams that the session has come to, for which it may have to leave others.
    pub arrivals: Vec<StreamKey>,
    /// See [`SessionInfo::only_session_since`].
    pub only_session_since: Option<Timestamp>,
}

/// A demand to a stream's owner, to bind a session to another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebind {
    /// The session at its former place.
    pub from: SessionRef,
    /// The session at its new place.
    pub to: SessionRef,
    /// The relation of the session to the stream, at its new place.
    pub standing: Standing,
}

/// A session's relations to owned things besides its streams, as the session takes them along to its next place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belongings {
    /// Whether the session ever asked the matchmaker for anything.
    pub may_have_tickets: bool,
    /// The session's tickets.
    pub tickets: Vec<OnTicket>,
    /// The epoch of the pool's owner that knows the session's next place, if the session may be on tickets.
    pub pool: Option<Epoch>,
}
