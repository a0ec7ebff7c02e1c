//! Recovery data: what an owner has kept elsewhere of what it owns, so that whoever owns it after a crash can go on.
//!
//! What changed is handed out at most once in [`RECOVERY_INTERVAL_MS`], as it is then. After a crash the next owner asks
//! for what was kept, and waits for it no longer than [`RECOVERY_WAIT_MS`]. Who is in a party or room is what living places
//! say of their sessions: the others have left. What there are sessions in and nothing was kept of ends, and they are told.

use std::collections::{BTreeMap, BTreeSet};

use muster_domain::ids::Uuid;

use super::effect::{Effect, Effects};
use super::message::{Listener, Standing};
use super::owner::Owning;
use super::pool::POOL;
use super::rebuild::Cause;
use super::{Carried, Plane, Timer};
use crate::matches::Outline;
use crate::matchmaker::{CarriedTicket, Owner, Ticket, TicketId};
use crate::party::{self, Member, PartyId};
use crate::place::{Epoch, Partition};
use crate::rooms::{self, CloseCause, RoomId, To};
use crate::session::Millis;
use crate::stream::{Presence, StreamKey, mode};
use crate::wheel::Wheel;

/// How often one thing is handed out at most, in milliseconds: what changed since may be lost with its owner.
pub const RECOVERY_INTERVAL_MS: Millis = 250;

/// How long a new owner waits for what was kept, in milliseconds.
pub const RECOVERY_WAIT_MS: Millis = 2_000;

/// Of what recovery data are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recover {
    /// Of all parties.
    pub parties: bool,
    /// Of the rooms that ask for it.
    pub rooms: bool,
    /// Of the tickets that servers put into the matchmaker: places know those of their sessions.
    pub tickets: bool,
    /// Of durable matches: their logs are asked for apart from the others, see [`super::HandlerOrder::TakeOver`].
    pub matches: bool,
}

impl Recover {
    /// Whether there may be any but logs of matches.
    fn any(self) -> bool {
        self.parties || self.rooms || self.tickets
    }
}

/// Something of which recovery data are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Thing {
    /// A party.
    Party(PartyId),
    /// A room.
    Room(RoomId),
    /// A ticket of a server.
    Ticket(Uuid),
}

impl Thing {
    /// Of what a piece is.
    pub(super) fn of(part: &Carried) -> Option<Self> {
        match part {
            Carried::Party(party) => Some(Self::Party(party.party)),
            Carried::Rooms(rooms::Carried::Room(room)) if room.recover => Some(Self::Room(room.id)),
            Carried::Ticket(ticket) => Self::of_ticket(&ticket.ticket.owner, &ticket.ticket.id),
            _ => None,
        }
    }

    /// A ticket, if a server put it in. Its id is the server's own making.
    pub(super) fn of_ticket(owner: &Owner, id: &TicketId) -> Option<Self> {
        let is_of_server = matches!(owner, Owner::Server(_));
        Uuid::try_parse(&id.0).ok().filter(|_| is_of_server).map(Self::Ticket)
    }

    /// The partition that it is of.
    pub fn partition(self) -> Partition {
        match self {
            Self::Party(party) => party.stream().partition(),
            Self::Room(room) => room.stream().partition(),
            Self::Ticket(_) => POOL.partition(),
        }
    }
}

/// What is to be kept of a thing, in place of what was.
#[derive(Clone, Debug)]
pub struct Recoverable {
    /// Since when its partition is owned here.
    pub epoch: Epoch,
    /// Of what.
    pub thing: Thing,
    /// The thing as it is, in pieces. None of one that has ended.
    pub parts: Vec<Carried>,
}

/// What was kept of a partition that this place is to go on with.
#[derive(Debug)]
pub(super) enum Kept<T> {
    /// It is asked for, and waited for until then.
    Awaited(Millis),
    Here(Vec<T>),
}

impl<T> Kept<T> {
    pub(super) fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    pub(super) fn is_late(&self, now: Millis) -> bool {
        matches!(self, Self::Awaited(until) if *until <= now)
    }

    /// What there is by now.
    pub(super) fn into_here(self) -> Vec<T> {
        if let Self::Here(here) = self { here } else { Vec::new() }
    }
}

/// What changed since it was last handed out.
#[derive(Debug, Default)]
pub(super) struct Changes {
    things: BTreeSet<Thing>,
    is_timed: bool,
    /// Partitions whose recovery data did not come in time.
    late: u64,
}

impl Changes {
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    pub(super) fn count_late(&mut self, partitions: usize) {
        self.late += partitions as u64;
    }

    /// Something changed, or is owned here from now on.
    pub(super) fn note(&mut self, thing: Thing, recover: Recover, now: Millis, wheel: &mut Wheel<Timer>) {
        let is_kept = match thing {
            Thing::Party(_) => recover.parties,
            Thing::Room(_) => recover.rooms,
            Thing::Ticket(_) => recover.tickets,
        };
        if is_kept && self.things.insert(thing) && !std::mem::replace(&mut self.is_timed, true) {
            wheel.set(now + RECOVERY_INTERVAL_MS, Timer::Changes);
        }
    }
}

impl Plane {
    /// What was kept of a partition, as [`super::Effect::Recover`] asked for it. What comes too late is passed over.
    pub fn recovered(
        &mut self,
        now: Millis,
        partition: Partition,
        epoch: Epoch,
        parts: Vec<Carried>,
        out: &mut Effects,
    ) {
        let rebuilding = self.rebuilding.get_mut(&partition).filter(|rebuilding| rebuilding.epoch == epoch);
        let Some(rebuilding) = rebuilding.filter(|rebuilding| matches!(rebuilding.kept, Kept::Awaited(_))) else {
            return;
        };
        rebuilding.kept = Kept::Here(parts);
        self.complete(now, partition, out);
        self.tell_forgotten_rooms(now, out);
    }

    /// The recovery data of a partition that this place takes over, as far as they are here.
    pub(super) fn kept_so_far(&self, now: Millis) -> Kept<Carried> {
        if self.config.recover.any() { Kept::Awaited(now + RECOVERY_WAIT_MS) } else { Kept::Here(Vec::new()) }
    }

    /// Asks for the recovery data of partitions that this place takes over.
    pub(super) fn ask_for_kept(&mut self, now: Millis, partitions: &[(Partition, Epoch)], out: &mut Effects) {
        if self.config.recover.any() && !partitions.is_empty() {
            self.wheel.set(now + RECOVERY_WAIT_MS, Timer::RecoveryLate);
            out.push(Effect::Recover(partitions.to_vec()));
        }
    }

    /// Goes on without what was asked for long ago.
    pub(super) fn recover_without(&mut self, now: Millis, out: &mut Effects) {
        let late = self.rebuilding.iter().filter(|(_, rebuilding)| rebuilding.kept.is_late(now));
        let late: Vec<(Partition, Epoch)> = late.map(|(partition, it)| (*partition, it.epoch)).collect();
        self.changes.count_late(late.len());
        late.into_iter().for_each(|(partition, epoch)| self.recovered(now, partition, epoch, Vec::new(), out));
        self.go_on_without_matches(now, out);
    }

    /// Hands out what changed. An island does so when it is back: until then it may not be the owner any more.
    pub(super) fn tell_changes(&mut self, now: Millis, out: &mut Effects) {
        let is_early = |thing: &Thing| self.is_island || self.rebuilding.contains_key(&thing.partition());
        let (early, due): (BTreeSet<Thing>, BTreeSet<Thing>) =
            std::mem::take(&mut self.changes.things).into_iter().partition(is_early);
        let due = due.into_iter().filter(|thing| self.is_owner(thing.partition()));
        let recoverable = due.map(|thing| {
            let epoch = self.owned_since(thing.partition());
            Recoverable { epoch, thing, parts: self.parts_of(now, thing) }
        });
        let recoverable: Vec<Recoverable> = recoverable.collect();
        if !recoverable.is_empty() {
            out.push(Effect::Keep(recoverable));
        }
        self.changes.is_timed = !early.is_empty();
        if self.changes.is_timed {
            self.wheel.set(now + RECOVERY_INTERVAL_MS, Timer::Changes);
        }
        self.changes.things = early;
    }

    fn parts_of(&self, now: Millis, thing: Thing) -> Vec<Carried> {
        match thing {
            Thing::Party(party) => {
                let party = self.parties.carried(party).map(Box::new);
                party.map(Carried::Party).into_iter().collect()
            }
            Thing::Room(room) => self.rooms.kept(now, room).into_iter().map(Carried::Rooms).collect(),
            Thing::Ticket(id) => {
                let ticket = self.pool.matchmaker.kept(now, &TicketId(id.to_string().into()));
                ticket.map(Box::new).map(Carried::Ticket).into_iter().collect()
            }
        }
    }

    /// Goes on with what was kept of a partition whose owner has died, and with what places say of their sessions in
    /// parties and rooms.
    pub(super) fn go_on(
        &mut self,
        now: Millis,
        partition: Partition,
        kept: Vec<Carried>,
        outlines: Vec<Outline>,
        mut gathered: BTreeMap<StreamKey, Vec<Standing>>,
        out: &mut Effects,
    ) {
        let (tickets, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(|part| matches!(part, Carried::Ticket(_)));
        tickets.into_iter().for_each(|part| self.go_on_with_ticket_of_server(now, part));
        for part in &kept {
            // Nobody may be in it any more.
            if let Some(Thing::Room(room)) = Thing::of(part) {
                gathered.entry(room.stream()).or_default();
            }
        }
        let node = self.config.node.clone();
        let mut outlines: BTreeMap<StreamKey, Outline> =
            outlines.into_iter().map(|outline| (outline.id.stream(&node), outline)).collect();
        for stream in outlines.keys() {
            gathered.entry(stream.clone()).or_default();
        }
        let lasts = |part: &Carried| match part {
            // It ends with the last who is in it.
            Carried::Party(party) => gathered.contains_key(&party.party.stream()),
            Carried::Rooms(rooms::Carried::Room(_) | rooms::Carried::Members(_)) => true,
            _ => false,
        };
        self.carry_in(now, partition, kept.into_iter().filter(lasts).collect());
        for (stream, standings) in gathered {
            let is_there = |standing: &Standing| {
                standing.listener.is_some_and(|listener| self.local.is_there(listener.session.place))
            };
            let standings: Vec<Standing> = standings.into_iter().filter(is_there).collect();
            match outlines.remove(&stream) {
                Some(outline) => self.owning(now, out).meet_match(&stream, outline, standings),
                None => self.owning(now, out).meet(&stream, standings),
            }
        }
        self.after_owning(now, out);
    }
}

impl Plane {
    /// Tickets that changed, perhaps, of which recovery data are kept.
    pub(super) fn note_tickets<'t>(&mut self, now: Millis, tickets: impl Iterator<Item = &'t Ticket<Presence>>) {
        for thing in tickets.filter_map(|ticket| Thing::of_ticket(&ticket.owner, &ticket.id)) {
            self.changes.note(thing, self.config.recover, now, &mut self.wheel);
        }
    }

    /// The pool has nothing yet, and there were never more tickets than it takes.
    fn go_on_with_ticket_of_server(&mut self, now: Millis, part: Carried) {
        let (Some(thing), Carried::Ticket(ticket)) = (Thing::of(&part), part) else { return };
        let CarriedTicket { ticket, waited_ms, .. } = *ticket;
        if self.pool.matchmaker.resume(now, ticket, waited_ms) {
            // What the former owner had kept goes with it.
            self.changes.note(thing, self.config.recover, now, &mut self.wheel);
        } else {
            self.pool.matchmaker.lose();
        }
    }
}

impl Owning<'_> {
    /// Something changed of which recovery data are kept.
    pub(super) fn note_change(&mut self, thing: Thing) {
        self.changes.note(thing, self.config.recover, self.now, self.wheel);
    }

    /// Puts those who are on a stream by their places there. Answers who they are, and those who wait to be.
    pub(super) fn install_those_inside(
        &mut self,
        standings: Vec<Standing>,
    ) -> (Vec<(Presence, Listener)>, Vec<Listener>) {
        let (mut inside, mut waiting) = (Vec::new(), Vec::new());
        for standing in standings {
            match (&standing.presence, standing.listener) {
                (Some(presence), Some(listener)) => {
                    inside.push((presence.clone(), listener));
                    self.streams.install(standing);
                }
                (None, Some(listener)) => waiting.push(listener),
                _ => {}
            }
        }
        (inside, waiting)
    }

    /// A party or room meets those who are in it by their places, or wait to be.
    fn meet(&mut self, stream: &StreamKey, standings: Vec<Standing>) {
        let (inside, waiting) = self.install_those_inside(standings);
        let (party, room) = (PartyId(stream.subject), RoomId(stream.subject));
        match stream.mode {
            mode::PARTY if self.parties.contains(party) => self.meet_party(stream, party, inside, &waiting),
            mode::ROOM if self.rooms.contains(room) => self.meet_room(stream, room, &inside, waiting),
            _ => self.end_lost(stream, inside.into_iter().map(|(_, listener)| listener).chain(waiting)),
        }
        self.drop_if_unused(stream);
    }

    fn meet_party(
        &mut self,
        stream: &StreamKey,
        party: PartyId,
        inside: Vec<(Presence, Listener)>,
        waiting: &[Listener],
    ) {
        self.send_rosters(stream, Cause::NewOwner);
        let mut effects = Vec::new();
        let inside = inside.into_iter().map(|(presence, listener)| Member { presence, listener });
        self.parties.meet(party, inside.collect(), waiting, &mut effects);
        // Whether it is another party than that of its tickets is not known for certain.
        if effects.extract_if(.., |effect| matches!(effect, party::Effect::CancelTickets)).count() > 0 {
            self.streams.cancelled.push((stream.subject, true));
        }
        self.carry_out(stream, effects);
        for listener in waiting {
            if !self.parties.knows(party, listener.session) {
                self.expel(stream, *listener, false);
            }
        }
    }

    fn meet_room(&mut self, stream: &StreamKey, room: RoomId, inside: &[(Presence, Listener)], waiting: Vec<Listener>) {
        let mut effects = Vec::new();
        let strangers = self.rooms.meet(self.now, room, inside, &mut effects);
        for (presence, listener) in inside {
            if let Some(seat) = self.rooms.seat_of(room, presence, *listener) {
                let status = Some(self.local.encode.seat_status(seat));
                self.streams.set_status(stream, presence.session, &status);
            }
        }
        self.send_rosters(stream, Cause::NewOwner);
        self.carry_out_rooms(effects);
        if !strangers.is_empty() {
            // Their seats are not known: for them it has ended.
            let to = To::Only(strangers.iter().map(|listener| listener.session).collect());
            self.tell_room(room, to, rooms::Event::Closed(CloseCause::Lost));
        }
        strangers.iter().for_each(|listener| self.expel(stream, *listener, true));
        waiting.iter().for_each(|listener| self.expel(stream, *listener, false));
    }

    /// A party, room or match of which nothing was kept has ended with its owner.
    fn end_lost(&mut self, stream: &StreamKey, sessions: impl Iterator<Item = Listener>) {
        match stream.mode {
            mode::PARTY => {
                self.streams.cancelled.push((stream.subject, true));
                self.tell_party(stream, None, party::Event::Closed);
            }
            mode::MATCH_AUTHORITATIVE => return self.end_lost_match(stream, sessions),
            _ => self.tell_room(RoomId(stream.subject), To::All, rooms::Event::Closed(CloseCause::Lost)),
        }
        sessions.for_each(|listener| self.expel(stream, listener, false));
    }
}
