//! Rooms in a world: what is known of each, what sessions have to do with them, and what was asked.

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
use muster_live::rooms::{self, Caller, Change, Request, RoomAction, RoomId, ToOwner};

use super::act::{session_id, user_id};
use super::{Asked, World};
use crate::frames::StreamId;
use crate::model::{Filling, Ledger, Mirror, Order, Place, Receiver, Watching};
use crate::scenario::Who;
use crate::scenario::rooms::Then;
use crate::violation::Checked;

/// A room's number in a world: the how manieth that was to be made.
pub(super) type RoomNo = usize;

/// Numbers of rooms' streams, for messages, begin here.
pub(super) const ROOMS_FROM: StreamId = 10_000;

/// Messages without credit that one request may cause, whatever comes of it.
const CONTROL: usize = 40;

/// What an owner of rooms answered.
pub(super) type RoomAnswer = muster_domain::Result<rooms::Answer>;

/// A room that somebody wanted to make, or may be placed in.
#[derive(Debug)]
struct Known {
    id: RoomId,
    /// Whose desk fills it.
    desk: Option<usize>,
    /// Who made it, otherwise.
    creator: Option<UserId>,
    hidden: bool,
    /// Nobody has more seats; ever.
    capacity_max: u32,
    /// Whoever comes must know the password; as long as that stays as it was made.
    is_locked: bool,
    /// It may take no players.
    may_be_shut: bool,
    /// It ends by itself.
    is_brief: bool,
    /// Somebody was thrown out, or went without a socket, so many times.
    expulsions: u32,
    /// Users who are certainly kept out until then.
    barred: BTreeMap<UserId, Millis>,
    /// Users for whom a seat was ever held.
    held: BTreeSet<UserId>,
    ledger: Ledger,
    order: Order,
    /// It was looked for at rest, and was not there.
    is_gone: bool,
}

/// A seat that was promised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    seat: u32,
    /// So long for certain: longer by what the answer took.
    until: Millis,
    expulsions: u32,
    departures: u32,
}

/// What a session has to do with a room, as the session knows it.
#[derive(Debug, Default)]
struct RoomTie {
    /// It has asked to come in, and not gone since.
    may_hear: bool,
    /// Grows whenever it goes or is put out.
    generation: u64,
    /// What it takes the room to be like; `None` while it is not in.
    mirror: Option<Mirror>,
    held: Option<Held>,
    place: Place,
}

impl RoomTie {
    fn go(&mut self) {
        (self.may_hear, self.mirror, self.place) = (false, None, Place::default());
        self.generation += 1;
    }
}

/// A session that is about to come in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entering {
    pub(super) who: Who,
    room: RoomNo,
    entry: rooms::Entry,
    held: Option<Held>,
}

/// What was asked of rooms.
#[derive(Clone, Debug)]
pub(super) enum RoomAsked {
    /// A seat.
    Hold { who: Who, then: Then, at: Millis, fresh: Option<RoomNo>, departures: u32 },
    /// To come in; otherwise only what it is like.
    Enter { entering: Entering, generation: u64, comes: bool, barred_until: Millis },
    /// To say something.
    Say { id: u32 },
    /// To change the room's variables.
    Set { room: RoomNo, change: Change },
    /// To throw somebody out.
    Kick { room: RoomNo, user: UserId, until: Millis, expulsions: u32 },
    /// To watch a view of the lobby.
    Watch { who: Who, view: usize, period: u64 },
    /// Something that somebody compares at rest, by a number.
    Probe(usize),
    /// Anything else.
    Other,
}

/// A view that a session watches.
#[derive(Debug, Default)]
struct Watch {
    period: u64,
    /// None while it does not.
    watching: Option<Watching>,
}

/// All that a world has of rooms.
#[derive(Default)]
pub(super) struct RoomWorld {
    known: Vec<Known>,
    numbers: BTreeMap<RoomId, RoomNo>,
    ties: BTreeMap<(RoomNo, Who), RoomTie>,
    pub(super) entering: Vec<Entering>,
    watches: BTreeMap<(usize, Who), Watch>,
    /// How often a session, or its user elsewhere, went from rooms.
    departures: BTreeMap<UserId, u32>,
    filling: Filling,
    barred_until: Millis,
    probes: BTreeMap<usize, RoomAnswer>,
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

    /// Whether somebody is in a room since a message was meant for it.
    pub(super) fn is_still(&self, stream: StreamId, due: Receiver) -> bool {
        let tie = self.ties.get(&(usize::from(stream - ROOMS_FROM), due.who));
        tie.is_some_and(|tie| tie.mirror.is_some() && tie.generation == due.period)
    }

    fn add(&mut self, known: Known) -> RoomNo {
        let number = self.known.len();
        self.numbers.insert(known.id, number);
        self.known.push(known);
        number
    }

    /// A session closed.
    pub(super) fn left_all(&mut self, who: Who) {
        self.departed(who);
        self.ties.iter_mut().filter(|((_, other), _)| *other == who).for_each(|(_, tie)| tie.go());
        let watches = self.watches.iter_mut().filter(|((_, other), _)| *other == who);
        watches.for_each(|(_, watch)| watch.watching = None);
        self.entering.retain(|entering| entering.who != who);
    }

    /// Streams of rooms and the lobby that a session may have to do with.
    pub(super) fn ties_of(&self, who: Who) -> usize {
        let ties = self.ties.keys().filter(|(_, other)| *other == who).count();
        ties + self.watches.keys().filter(|(_, other)| *other == who).count()
    }
}

impl World {
    /// A session as it asks over its socket.
    fn caller(&self, who: Who) -> Caller {
        let session = Some((self.clients[&who].at, session_id(who)));
        Caller { user_id: user_id(who), username: who.to_string().into(), session }
    }

    /// Asks an owner of rooms.
    fn ask_rooms(
        &mut self,
        who: Who,
        asked: RoomAsked,
        to: impl FnOnce(Caller, Option<RequestRef>) -> ToOwner,
    ) -> Checked {
        let (caller, shard) = (self.caller(who), self.clients[&who].at.place.shard());
        let request = self.ask_of_rooms(shard, asked);
        let ask = to(caller, Some(request));
        self.trace.line(|| format!("  {ask:?}"));
        self.step(shard, |plane, now, out| plane.ask_rooms(now, ask, out))
    }

    fn ask_of_rooms(&mut self, shard: muster_live::ShardIndex, asked: RoomAsked) -> RequestRef {
        self.control += CONTROL;
        self.ask(shard, Asked::Room(Box::new(asked)))
    }

    /// Asks the owner of a room.
    fn ask_room(&mut self, who: Who, room: RoomNo, asked: RoomAsked, what: RoomAction) -> Checked {
        let id = self.rooms.known[room].id;
        self.ask_rooms(who, asked, |caller, reply_to| ToOwner::Room(id, Request { caller, reply_to, what }))
    }
}
