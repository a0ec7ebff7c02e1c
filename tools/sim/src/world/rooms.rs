//! Rooms in a world: the model of each room, the relations of sessions to rooms, and requests that wait for answers.

mod act;
mod answer;
mod change;
mod hear;
mod lobby;
mod rest;

use std::collections::{BTreeMap, BTreeSet};

use muster_domain::UserId;
use muster_live::Millis;
use muster_live::plane::RequestRef;
use muster_live::rooms::{self, Caller, Change, MessageToRoomOwner, Request, RoomAction, RoomId};

use super::act::{session_id, user_id};
use super::{OpenRequest, World};
use crate::frames::StreamId;
use crate::model::{Filling, Ledger, Mirror, Order, Place, Receiver, Watching};
use crate::scenario::Who;
use crate::scenario::rooms::SeatPlan;
use crate::violation::Checked;

/// Serial number of a room that somebody wanted to make.
pub(super) type RoomNo = usize;

/// The number of the first stream of a room.
pub(super) const ROOMS_FROM: StreamId = 10_000;

/// The largest number of messages without credit that one request can cause.
const CONTROL: usize = 40;

/// The answer of an owner of rooms.
pub(super) type RoomResult = muster_domain::Result<rooms::RoomAnswer>;

/// A room that somebody wanted to make, or may be placed in.
#[derive(Debug)]
struct RoomModel {
    id: RoomId,
    /// Number of the template whose desk fills the room.
    desk: Option<usize>,
    /// The user who made the room, if no desk did.
    creator: Option<UserId>,
    hidden: bool,
    /// The most seats that the room has ever had.
    capacity_max: u32,
    /// Whether joining requires the first password.
    is_locked: bool,
    /// Whether the room may refuse players.
    may_be_shut: bool,
    /// Whether the room closes by itself after a while.
    is_brief: bool,
    /// Number of times that a user was kicked, or left over HTTP.
    expulsions: u32,
    /// Users who are certainly kept out, with the time until which they are.
    barred: BTreeMap<UserId, Millis>,
    /// Users who ever got a reservation.
    held: BTreeSet<UserId>,
    ledger: Ledger,
    order: Order,
    /// Whether the room was looked for at rest and not found.
    is_gone: bool,
}

/// A seat that was promised to a user.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldSeat {
    seat: u32,
    /// The time until which the seat is certainly held. It is counted from the request, so the room holds the seat a
    /// little longer.
    until: Millis,
    expulsions: u32,
    departures: u32,
}

/// The relation of a session to a room, as the session knows it.
#[derive(Debug, Default)]
struct RoomTie {
    /// Whether the session has asked to join, and not left since.
    may_hear: bool,
    /// Number of times that the session left or was put out, and of joins that it tried.
    generation: u64,
    /// The room as the session sees it; `None` while it is not in the room.
    mirror: Option<Mirror>,
    held: Option<HeldSeat>,
    place: Place,
}

impl RoomTie {
    fn go(&mut self) {
        (self.may_hear, self.mirror, self.place) = (false, None, Place::default());
        self.generation += 1;
    }
}

/// A session that is about to join a room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entering {
    pub(super) who: Who,
    room: RoomNo,
    entry: rooms::Entry,
    held: Option<HeldSeat>,
}

/// A request to an owner of rooms that waits for its answer.
#[derive(Clone, Debug)]
pub(super) enum OpenRoomRequest {
    /// To hold a seat.
    Hold { who: Who, then: SeatPlan, at: Millis, fresh: Option<RoomNo>, departures: u32 },
    /// To join a room, or only to look at it when `comes` is false.
    Enter { entering: Entering, generation: u64, comes: bool, barred_until: Millis },
    /// To send a message.
    Say { id: u32 },
    /// To change the room's variables.
    Set { room: RoomNo, change: Change },
    /// To kick a user.
    Kick { room: RoomNo, user: UserId, until: Millis, expulsions: u32 },
    /// To watch a view of the lobby.
    Watch { who: Who, view: usize, period: u64 },
    /// A request that the checks at rest make, by its number.
    Probe(usize),
    /// Any other request.
    Other,
}

/// The relation of a session to a view of the lobby.
#[derive(Debug, Default)]
struct Watch {
    period: u64,
    /// The view as the session sees it; `None` while it does not watch.
    watching: Option<Watching>,
}

/// Everything that a world knows of rooms.
#[derive(Default)]
pub(super) struct RoomWorld {
    known: Vec<RoomModel>,
    numbers: BTreeMap<RoomId, RoomNo>,
    ties: BTreeMap<(RoomNo, Who), RoomTie>,
    pub(super) entering: Vec<Entering>,
    watches: BTreeMap<(usize, Who), Watch>,
    /// The number of times that sessions of a user left rooms, by user.
    departures: BTreeMap<UserId, u32>,
    filling: Filling,
    barred_until: Millis,
    probes: BTreeMap<usize, RoomResult>,
}

impl RoomWorld {
    fn tie(&mut self, room: RoomNo, who: Who) -> &mut RoomTie {
        self.ties.entry((room, who)).or_default()
    }

    fn departed(&mut self, who: Who) {
        *self.departures.entry(user_id(who)).or_default() += 1;
        self.filling.disturb();
    }

    fn departures(&self, who: Who) -> u32 {
        self.departures.get(&user_id(who)).copied().unwrap_or_default()
    }

    /// Whether a session has been in a room without a break since a message was meant for it.
    pub(super) fn is_still(&self, stream: StreamId, due: Receiver) -> bool {
        let tie = self.ties.get(&(usize::from(stream - ROOMS_FROM), due.who));
        tie.is_some_and(|tie| tie.mirror.is_some() && tie.generation == due.period)
    }

    fn add(&mut self, known: RoomModel) -> RoomNo {
        let number = self.known.len();
        self.numbers.insert(known.id, number);
        self.known.push(known);
        number
    }

    /// Notes that a session closed.
    pub(super) fn left_all(&mut self, who: Who) {
        self.departed(who);
        self.ties.iter_mut().filter(|((_, other), _)| *other == who).for_each(|(_, tie)| tie.go());
        let watches = self.watches.iter_mut().filter(|((_, other), _)| *other == who);
        watches.for_each(|(_, watch)| watch.watching = None);
        self.entering.retain(|entering| entering.who != who);
    }

    /// Number of streams of rooms and views that a session may be on.
    pub(super) fn ties_of(&self, who: Who) -> usize {
        let ties = self.ties.keys().filter(|(_, other)| *other == who).count();
        ties + self.watches.keys().filter(|(_, other)| *other == who).count()
    }
}

impl World {
    /// The caller of a session's request over its socket.
    fn caller(&self, who: Who) -> Caller {
        let session = Some((self.clients[&who].at, session_id(who)));
        Caller { user_id: user_id(who), username: who.to_string().into(), session }
    }

    /// Sends a request to an owner of rooms.
    fn ask_rooms(
        &mut self,
        who: Who,
        asked: OpenRoomRequest,
        to: impl FnOnce(Caller, Option<RequestRef>) -> MessageToRoomOwner,
    ) -> Checked {
        let (caller, shard) = (self.caller(who), self.clients[&who].at.place.shard());
        let request = self.ask_of_rooms(shard, asked);
        let ask = to(caller, Some(request));
        self.trace.line(|| format!("  {ask:?}"));
        self.step(shard, |plane, now, out| plane.ask_rooms(now, ask, out))
    }

    fn ask_of_rooms(&mut self, shard: muster_live::ShardIndex, asked: OpenRoomRequest) -> RequestRef {
        self.control += CONTROL;
        self.ask(shard, OpenRequest::Room(Box::new(asked)))
    }

    /// Sends a request to the owner of a room.
    fn ask_room(&mut self, who: Who, room: RoomNo, asked: OpenRoomRequest, what: RoomAction) -> Checked {
        let id = self.rooms.known[room].id;
        self.ask_rooms(who, asked, |caller, reply_to| MessageToRoomOwner::Room(id, Request { caller, reply_to, what }))
    }
}
