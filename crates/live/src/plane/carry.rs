//! What an owner knows of a partition, as plain data: for another place that is to own it while both live.
//!
//! It is taken out and put in without a word to anybody; from then on the one place does what the other would have done.
//! Times are milliseconds that are left, since every node has a clock of its own. What comes in pieces is put in piece by
//! piece in order; nothing of it is due before the last piece.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::owner::{Stream, Streams};
use super::pool::POOL;
use super::presences::Here;
use super::recovery::Thing;
use super::{Plane, Timer};
use crate::matches::CarriedMatch;
use crate::matchmaker::{CarriedPasses, CarriedTicket};
use crate::party::CarriedParty;
use crate::place::{Partition, Place};
use crate::rooms;
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, StreamKey, mode};

/// Presences in one piece.
const PIECE_PRESENCES_MAX: usize = 1_000;

/// A piece of what the owner of a partition knows.
#[derive(Clone, Debug)]
pub enum Carried {
    /// Who is on a stream, and who hears it.
    Stream(CarriedStream),
    /// Who came to a stream and who went, of which those who hear it do not know yet; behind the stream.
    News(CarriedNews),
    /// A party.
    Party(Box<CarriedParty>),
    /// Of rooms, desks and the directory.
    Rooms(rooms::Carried),
    /// A ticket in the matchmaker.
    Ticket(Box<CarriedTicket<Presence>>),
    /// The matchmaker's pool itself, behind its tickets.
    Pool(CarriedPool),
    /// A durable match, without its handler's state.
    Match(Box<CarriedMatch>),
}

impl Carried {
    /// The partition that it is of.
    pub fn partition(&self) -> Partition {
        match self {
            Self::Stream(CarriedStream { stream, .. }) | Self::News(CarriedNews { stream, .. }) => stream.partition(),
            Self::Party(party) => party.party.stream().partition(),
            Self::Rooms(rooms) => rooms.owner().partition(),
            Self::Ticket(_) | Self::Pool(_) => POOL.partition(),
            Self::Match(carried) => carried.outline.id.partition(),
        }
    }
}

/// A stream, or more of its presences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedStream {
    /// Which.
    pub stream: StreamKey,
    /// How many came so far, around the end.
    pub came: u32,
    /// Which places hear it, by how many sessions of each encoding; in the first piece.
    pub listeners: Vec<(Place, [u32; 2])>,
    /// Some of those who are there, in their order.
    pub presences: Vec<CarriedPresence>,
}

/// A session on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedPresence {
    /// As what it is there.
    pub presence: Presence,
    /// In which encoding it hears the stream by its join.
    pub heard: Option<Encoding>,
    /// The how manieth it came.
    pub number: u32,
}

/// Joins and leaves that are kept back, or some of them: leaves first, as they are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedNews {
    /// Of which stream.
    pub stream: StreamKey,
    /// They are being told; otherwise more of them are collected.
    pub is_telling: bool,
    /// Who came, by the number of that.
    pub joins: Vec<(SessionRef, u32)>,
    /// Who went.
    pub leaves: Vec<Presence>,
    /// Nobody knows of who came from this number on.
    pub unknown_from: u32,
    /// After what time they are told, or the next of them.
    pub due_ms: Millis,
}

/// The matchmaker's pool, but for its tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedPool {
    /// Where its passes are.
    pub passes: CarriedPasses,
    /// After what time the next begins, if one is to.
    pub due_ms: Option<Millis>,
}

impl Plane {
    /// Takes out all that this place knows of partitions that it owns; those of which there is nothing are left out.
    /// Nobody is told, and nothing of it is due here any more. Each piece has a bounded size; those of a partition are to
    /// be given to [`Self::carry_in`] in this order. Several partitions at once cost hardly more than one.
    ///
    /// Messages for them that wait here, for a free way down say, are not among it.
    pub fn carry_out(&mut self, now: Millis, partitions: &BTreeSet<Partition>) -> BTreeMap<Partition, Vec<Carried>> {
        let is_one = |partition: Partition| partitions.contains(&partition);
        let mut parts = self.streams.carry_out(now, is_one);
        let parties = self.parties.carry_out(|party| is_one(party.stream().partition()));
        parts.extend(parties.into_iter().map(|party| Carried::Party(Box::new(party))));
        let rooms = self.rooms.carry_out(now, |owner| is_one(owner.partition()));
        parts.extend(rooms.into_iter().map(Carried::Rooms));
        let matches = self.matches.carry_out(now, is_one);
        parts.extend(matches.into_iter().map(|carried| Carried::Match(Box::new(carried))));
        if is_one(POOL.partition()) {
            self.carry_out_pool(now, &mut parts);
        }
        let mut of_partitions: BTreeMap<Partition, Vec<Carried>> = BTreeMap::new();
        for part in parts {
            of_partitions.entry(part.partition()).or_default().push(part);
        }
        of_partitions
    }

    /// Goes on with what another place knew of a partition, or a part of that. Nobody is told. What is of another
    /// partition is passed over.
    ///
    /// Sessions of places that have gone meanwhile are among it as they were: they are still to be taken off.
    pub fn carry_in(&mut self, now: Millis, partition: Partition, parts: Vec<Carried>) {
        for part in parts.into_iter().filter(|part| part.partition() == partition) {
            if let Some(thing) = Thing::of(&part) {
                // What the former owner had kept goes with it.
                self.changes.note(thing, self.config.recover, now, &mut self.wheel);
            }
            match part {
                Carried::Stream(stream) => self.streams.carry_in(stream),
                Carried::News(news) => {
                    if let Some((at, stream)) = self.streams.carry_in_news(now, news) {
                        self.wheel.set(at, Timer::Tell(stream));
                    }
                }
                Carried::Party(party) => self.parties.carry_in(*party),
                Carried::Rooms(rooms) => self.rooms.carry_in(now, rooms),
                Carried::Ticket(ticket) => self.pool.matchmaker.carry_in(now, *ticket),
                Carried::Pool(pool) => self.carry_in_pool(now, pool),
                Carried::Match(carried) => self.matches.carry_in(now, *carried),
            }
        }
        self.set_rooms_timer();
    }

    fn carry_out_pool(&mut self, now: Millis, parts: &mut Vec<Carried>) {
        let was_passing = std::mem::take(&mut self.pool.is_passing);
        let due_ms = self.pool.timed_at.take().map(|at| if was_passing { 0 } else { at.saturating_sub(now) });
        let (tickets, passes) = self.pool.matchmaker.carry_out(now);
        parts.extend(tickets.into_iter().map(|ticket| Carried::Ticket(Box::new(ticket))));
        if due_ms.is_some() {
            parts.push(Carried::Pool(CarriedPool { passes, due_ms }));
        }
    }

    fn carry_in_pool(&mut self, now: Millis, pool: CarriedPool) {
        self.pool.matchmaker.carry_in_passes(now, pool.passes);
        if let Some(left) = pool.due_ms {
            self.time_pass(now.saturating_add(left));
        }
    }
}

impl Streams {
    fn carry_out(&mut self, now: Millis, is_one: impl Fn(Partition) -> bool) -> Vec<Carried> {
        let mut keys: Vec<StreamKey> = self.map.keys().filter(|key| is_one(key.partition())).cloned().collect();
        // Matches in the order in which they are listed, the others in one that another run has too.
        keys.sort_by_cached_key(|key| (self.matches.get_index_of(key).unwrap_or(usize::MAX), key.clone()));
        let mut parts = Vec::new();
        for key in keys {
            self.matches.swap_remove(&key);
            if let Some(stream) = self.map.remove(&key) {
                self.presences -= stream.presences.len();
                stream.carried(now, key, &mut parts);
            }
        }
        parts
    }

    fn carry_in(&mut self, carried: CarriedStream) {
        let CarriedStream { stream: key, came, listeners, presences } = carried;
        if key.mode == mode::MATCH_RELAYED && !presences.is_empty() {
            self.matches.insert(key.clone());
        }
        let stream = self.map.entry(key).or_default();
        stream.listeners.extend(listeners);
        let before = stream.presences.len();
        for CarriedPresence { presence, heard, number } in presences {
            stream.presences.carry_in(Here { presence: Arc::new(presence), heard, number });
        }
        stream.presences.set_came(came);
        self.presences += stream.presences.len() - before;
    }

    /// Answers when they are to be told, if nothing else of the stream is.
    fn carry_in_news(&mut self, now: Millis, news: CarriedNews) -> Option<(Millis, StreamKey)> {
        let stream = self.map.get_mut(&news.stream)?;
        let (at, key) = (now.saturating_add(news.due_ms), news.stream.clone());
        stream.news.carry_in(at, news).then_some((at, key))
    }
}

impl Stream {
    fn carried(self, now: Millis, stream: StreamKey, parts: &mut Vec<Carried>) {
        let Self { presences, mut listeners, news } = self;
        let came = presences.came();
        let mut here = presences.into_all().peekable();
        loop {
            let carried = |Here { presence, heard, number }| CarriedPresence {
                presence: Arc::unwrap_or_clone(presence),
                heard,
                number,
            };
            let presences: Vec<_> = here.by_ref().take(PIECE_PRESENCES_MAX).map(carried).collect();
            let listeners = std::mem::take(&mut listeners);
            parts.push(Carried::Stream(CarriedStream { stream: stream.clone(), came, listeners, presences }));
            if here.peek().is_none() {
                break;
            }
        }
        parts.extend(news.carried(now, &stream, PIECE_PRESENCES_MAX).into_iter().map(Carried::News));
    }
}
