//! The desk of a template: it places players in its rooms, one part-filled room of a size after the other.
//!
//! It counts the seats that it sends players for, so that a crowd that comes at once is spread before any of it has
//! arrived. Each room's owner has the last word; what a room refuses is placed elsewhere. Rooms that players made
//! themselves are none of its business.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result};

use super::carry::{CarriedDesk, CarriedFilling, PIECE_ROOMS_MAX};
use super::effect::Effect;
use super::limits::ATTEMPTS_MAX;
use super::message::{Across, Origin, Owner, Place, Report, Request, RoomId, Seat};
use super::template::Template;
use crate::plane::Map;

/// A room by what speaks for it: few free seats, then age.
type Rank = (u32, u64, RoomId);

#[derive(Clone, Copy, Debug)]
struct Known {
    size: u32,
    /// The number of rooms opened before it.
    age: u64,
    /// Players sent.
    sent: i64,
    report: Report,
}

impl Known {
    /// Seats that will be free once everything under way has arrived.
    fn free(&self) -> u32 {
        let taken = self.sent + self.report.offset;
        if self.report.open { u32::try_from(i64::from(self.size) - taken).unwrap_or(0) } else { 0 }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Desk {
    template: Arc<Template>,
    rooms: Map<RoomId, Known>,
    /// Rooms with free seats, by size.
    part_filled: BTreeMap<u32, BTreeSet<Rank>>,
    opened: u64,
}

impl Desk {
    pub(super) fn new(template: Arc<Template>) -> Self {
        Self { template, rooms: Map::default(), part_filled: BTreeMap::new(), opened: 0 }
    }

    /// Sends somebody to the fullest room that takes them, or opens one.
    ///
    /// # Errors
    /// `InvalidArgument` for a size that the template does not have, `Unavailable` when too many rooms refused.
    pub(super) fn place(&mut self, request: Request<Place>, out: &mut Vec<Effect>) -> Result<()> {
        let Request { caller, reply_to, what: place } = request;
        let size = self.template.size(place.size, place.random)?;
        if place.tried.len() >= ATTEMPTS_MAX {
            let message = "Every room that was tried filled up meanwhile. Please try again.";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let (room, open) = match self.best(&place) {
            Some(room) => (room, None),
            None => {
                self.open(place.fresh, size);
                (place.fresh, Some(size))
            }
        };
        self.update(room, |known| known.sent += 1);
        let what = Seat { room, origin: Origin::Desk { place, open } };
        out.push(Effect::Send(Owner::Room(room), Across::Seat(Request { caller, reply_to, what })));
        Ok(())
    }

    pub(super) fn report(&mut self, room: RoomId, report: Report) {
        self.update(room, |known| known.report = report);
    }

    /// A room that another desk filled before.
    pub(super) fn adopt(&mut self, room: RoomId, size: u32, report: Report) {
        self.closed(room);
        self.open(room, size);
        self.report(room, report);
    }

    pub(super) fn closed(&mut self, room: RoomId) {
        if let Some(known) = self.rooms.remove(&room) {
            self.unlist(room, &known);
        }
    }

    /// These rooms are gone.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&RoomId) -> bool) {
        let gone: Vec<RoomId> = self.rooms.keys().copied().filter(is_gone).collect();
        gone.into_iter().for_each(|room| self.closed(room));
    }

    /// All that it knows, its oldest rooms first.
    pub(super) fn carried(&self, template: &Arc<str>) -> impl Iterator<Item = CarriedDesk> {
        let room = |(room, known): (&RoomId, &Known)| {
            let Known { size, age, sent, report } = *known;
            CarriedFilling { room: *room, size, age, sent, report }
        };
        let mut rooms: Vec<CarriedFilling> = self.rooms.iter().map(room).collect();
        rooms.sort_unstable_by_key(|room| (room.age, room.room));
        let (template, opened) = (template.clone(), self.opened);
        let pieces: Vec<CarriedDesk> = rooms
            .chunks(PIECE_ROOMS_MAX)
            .map(|rooms| CarriedDesk { template: template.clone(), opened, rooms: rooms.to_vec() })
            .collect();
        pieces.into_iter()
    }

    /// Goes on with what it knew elsewhere.
    pub(super) fn take_in(&mut self, carried: CarriedDesk) {
        for CarriedFilling { room, size, age, sent, report } in carried.rooms {
            self.closed(room);
            self.rooms.insert(room, Known { size, age, sent, report });
            self.update(room, |_| {});
        }
        self.opened = self.opened.max(carried.opened);
    }

    /// Whether nothing is known that a new desk would not know.
    pub(super) fn is_unused(&self) -> bool {
        self.rooms.is_empty()
    }

    fn best(&self, place: &Place) -> Option<RoomId> {
        let first = |ranks: &BTreeSet<Rank>| ranks.iter().find(|(_, _, room)| !place.tried.contains(room)).copied();
        let best = match place.size {
            Some(size) => first(self.part_filled.get(&size)?),
            None => self.part_filled.values().filter_map(first).min(),
        };
        best.map(|(_, _, room)| room)
    }

    fn open(&mut self, room: RoomId, size: u32) {
        let known = Known { size, age: self.opened, sent: 0, report: Report { offset: 0, open: true } };
        self.opened += 1;
        self.rooms.insert(room, known);
    }

    /// Changes what is known of a room, and ranks it anew.
    fn update(&mut self, room: RoomId, change: impl FnOnce(&mut Known)) {
        let Some(mut known) = self.rooms.remove(&room) else { return };
        self.unlist(room, &known);
        change(&mut known);
        if known.free() > 0 {
            self.part_filled.entry(known.size).or_default().insert((known.free(), known.age, room));
        }
        self.rooms.insert(room, known);
    }

    fn unlist(&mut self, room: RoomId, known: &Known) {
        if let Some(ranks) = self.part_filled.get_mut(&known.size) {
            ranks.remove(&(known.free(), known.age, room));
            if ranks.is_empty() {
                self.part_filled.remove(&known.size);
            }
        }
    }
}

#[cfg(test)]
impl Desk {
    /// Part-filled rooms by size.
    pub(super) fn part_filled(&self) -> impl Iterator<Item = (u32, usize)> {
        self.part_filled.iter().map(|(size, ranks)| (*size, ranks.len()))
    }

    /// Seats that it takes for taken, by room.
    pub(super) fn believed(&self) -> impl Iterator<Item = (RoomId, i64)> {
        self.rooms.iter().map(|(room, known)| (*room, known.sent + known.report.offset))
    }
}
