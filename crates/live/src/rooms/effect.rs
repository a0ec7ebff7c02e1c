//! Results of requests to owners of rooms: answers, events for sessions that are in a room or watch the lobby, and
//! messages for other owners. Delivers nothing itself.

use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::{Result, UserId};

use super::message::{OwnerMessage, RoomId, RoomOwner, ViewKey};
use super::state::{RoomState, Summary};
use super::variables::Delta;
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RoomAnswer {
    /// The request was carried out.
    Done,
    /// Variables were changed; they are at this version now.
    Version(u64),
    /// A seat is held for the caller.
    Reserved(Box<Reserved>),
    /// The caller is in the room.
    Joined(Box<Joined>),
    /// The room's public state, for a caller who is not in it.
    Room(Box<RoomState>),
    /// A page of a listing.
    Page(Page),
}

/// A seat held for the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserved {
    /// The room.
    pub room: Arc<Summary>,
    /// The seat.
    pub seat: u32,
    /// Time for which the seat is held.
    pub held_ms: Millis,
}

/// The room that the caller is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The caller's seat; none for spectators.
    pub seat: Option<u32>,
    /// The room's state, the caller included.
    pub state: RoomState,
}

/// One page of a listing of rooms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The rooms.
    pub rooms: Vec<Arc<Summary>>,
    /// Position behind which the next page begins; `None` on the last page. The next page may be empty.
    pub next: Option<u32>,
    /// For a page of a view: the revision of the view's last push. Later pushes have higher revisions.
    pub revision: Option<u64>,
}

/// Receivers of an event, among the sessions in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomAudience {
    /// All sessions in the room.
    All,
    /// Only the given sessions.
    Only(Vec<SessionRef>),
}

/// The member who did something, as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The session.
    pub session_id: SessionId,
    /// The user.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
}

/// The reason for which a session was taken out of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// The user left by another session or over HTTP.
    Left,
    /// The room's owner threw the user out.
    Kicked,
    /// The same user joined by another session.
    Replaced,
}

/// The cause for which a room closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// The room was empty for long enough.
    Empty,
    /// The room's lifetime is over.
    Expired,
    /// The node that owned the room has gone.
    Lost,
}

/// An event in a room, for the sessions in it. Joins and leaves are told as events of the room's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomEvent {
    /// A member said something to all.
    Message(Actor, Arc<str>),
    /// A member said something to the receivers alone.
    Private(Actor, Arc<str>),
    /// A member changed room variables.
    Variables(Actor, Delta),
    /// A member's own variables changed; private ones are in the event for that member alone.
    PlayerVariables(Actor, Delta),
    /// The owner changed settings of the room; the summary holds the new ones.
    Updated(Arc<Summary>),
    /// A member has another seat, or none.
    Seat(Actor, Option<u32>),
    /// The room has another owner, or none.
    Owner(Option<UserId>),
    /// The receiver is no longer in the room.
    Out(LeaveReason),
    /// The room closed.
    Closed(CloseCause),
}

/// Changes of a view since its last push, merged.
#[derive(Clone, Debug, Default)]
pub struct LobbyDelta {
    /// The number of the push. Each push of a view has the next number, unless the directory's former state was lost:
    /// then the numbers go on from a higher one.
    pub revision: u64,
    /// Whether the directory's former state was lost: rooms that neither this push nor the next ones name are gone.
    pub anew: bool,
    /// Rooms that appeared or changed, as they are now.
    pub rooms: Vec<Arc<Summary>>,
    /// Rooms that closed or no longer fit the view.
    pub gone: Vec<RoomId>,
}

/// One thing that an owner of rooms asks the plane to do.
#[derive(Debug)]
pub enum RoomEffect {
    /// Answer a request.
    Reply(RequestRef, Result<RoomAnswer>),
    /// Put a session on the room's stream, or change the seat that its presence there shows.
    Track {
        /// The room's id.
        room: RoomId,
        /// The member whose presence it is.
        who: Actor,
        /// The session, with the encoding and serial number by which it hears the stream.
        listener: Listener,
        /// The member's seat; `None` for spectators.
        seat: Option<u32>,
    },
    /// Take a session from the room's stream.
    Untrack {
        /// The room's id.
        room: RoomId,
        /// The session, with the encoding and serial number by which it hears the stream.
        listener: Listener,
        /// Whether the other members are told that the session left.
        seen: bool,
    },
    /// Tell an event to sessions in a room.
    Tell {
        /// The room's id.
        room: RoomId,
        /// The receivers.
        to: RoomAudience,
        /// The event.
        event: RoomEvent,
    },
    /// Push changes to those who watch a view of the lobby.
    Lobby {
        /// The view.
        view: Arc<ViewKey>,
        /// The changes.
        delta: LobbyDelta,
    },
    /// Send a message to another owner of rooms, desks or the directory.
    Send(RoomOwner, OwnerMessage),
}
