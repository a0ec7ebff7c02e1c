//! What comes of what owners of rooms are asked: answers, events for those who are in a room or watch the lobby, and
//! messages for other owners.

use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::{Result, UserId};

use super::message::{Across, Owner, RoomId, ViewKey};
use super::state::{RoomState, Summary};
use super::variables::Delta;
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// Variables changed; they are at this version now.
    Version(u64),
    /// A seat is held.
    Reserved(Box<Reserved>),
    /// Whoever asked is in the room.
    Joined(Box<Joined>),
    /// What the room is like, for whoever is not in it.
    Room(Box<RoomState>),
    /// Rooms.
    Page(Page),
}

/// A seat held for the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserved {
    /// The room.
    pub room: Arc<Summary>,
    /// The seat.
    pub seat: u32,
    /// How long it is held.
    pub held_ms: Millis,
}

/// The caller is in a room.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The caller's seat; none for spectators.
    pub seat: Option<u32>,
    /// What the room is like, the caller included.
    pub state: RoomState,
}

/// Some rooms of a listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The rooms.
    pub rooms: Vec<Arc<Summary>>,
    /// The next page is what comes after this, if there is one. It may be empty.
    pub next: Option<u32>,
    /// Of a view: how many times its changes were told so far. What is told later has a higher number.
    pub revision: Option<u64>,
}

/// Who of a room is told something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// Everybody in it.
    All,
    /// These sessions, which are in it.
    Only(Vec<SessionRef>),
}

/// Who did something, for the eyes of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The session.
    pub session_id: SessionId,
    /// The user.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
}

/// Why somebody was taken out of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// The user asked for it elsewhere.
    Left,
    /// Thrown out by the owner.
    Kicked,
    /// The same user came by another session.
    Replaced,
}

/// Why a room closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// It was empty for long enough.
    Empty,
    /// It has lived for as long as it may.
    Expired,
    /// The node that kept it has gone.
    Lost,
}

/// What happened in a room, for those in it. Who comes and goes is told as events of the room's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody said something to all.
    Message(Actor, Arc<str>),
    /// Somebody said something to the receiver.
    Private(Actor, Arc<str>),
    /// Room variables changed.
    Variables(Actor, Delta),
    /// A player's variables changed; private ones are in the event for that player alone.
    PlayerVariables(Actor, Delta),
    /// The room is another now in these respects.
    Updated(Arc<Summary>),
    /// Somebody has another seat, or none.
    Seat(Actor, Option<u32>),
    /// Somebody else owns the room.
    Owner(Option<UserId>),
    /// To a single session: it is no longer in the room, and why.
    Out(LeaveReason),
    /// The room is closed.
    Closed(CloseCause),
}

/// Changes of a view since its last push, merged.
#[derive(Clone, Debug, Default)]
pub struct LobbyDelta {
    /// Grows by 1 with each push of the view, from 1; by more where the directory has another owner.
    pub revision: u64,
    /// The directory has another owner: rooms that this push and the next do not name are gone.
    pub anew: bool,
    /// Rooms that came or changed, as they are now.
    pub rooms: Vec<Arc<Summary>>,
    /// Rooms that closed or fit no longer.
    pub gone: Vec<RoomId>,
}

/// What is to be done for the state machine.
#[derive(Debug)]
pub enum Effect {
    /// Answer a request.
    Reply(RequestRef, Result<Answer>),
    /// A session comes to the room's stream, or has another seat there.
    Track {
        /// Which room.
        room: RoomId,
        /// Who.
        who: Actor,
        /// How it hears the stream.
        listener: Listener,
        /// The seat, for others to see; none for spectators.
        seat: Option<u32>,
    },
    /// A session goes from the room's stream.
    Untrack {
        /// Which room.
        room: RoomId,
        /// Who.
        listener: Listener,
        /// Whether the others are told that it went.
        seen: bool,
    },
    /// Tell sessions what happened.
    Tell {
        /// Which room.
        room: RoomId,
        /// To whom.
        to: To,
        /// What.
        event: Event,
    },
    /// Tell those who hear a view of the lobby.
    Lobby {
        /// Which view.
        view: Arc<ViewKey>,
        /// What changed.
        delta: LobbyDelta,
    },
    /// Tell another owner.
    Send(Owner, Across),
}
