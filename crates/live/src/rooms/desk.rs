//! The desk of a template places players in the template's rooms. It fills one room of each size before it opens the
//! next.
//!
//! A desk counts the seats that it sends players to, so that a crowd that comes at once is spread over rooms before any
//! of its players has arrived. The owner of a room decides in the end: a player whom a room refuses is placed
//! elsewhere. A desk never fills rooms that players made themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result};

use super::carry::{CarriedDesk, CarriedFilling, PIECE_ROOMS_MAX};
use super::effect::RoomEffect;
use super::limits::ATTEMPTS_MAX;
use super::message::{Origin, OwnerMessage, Placement, Report, Request, RoomId, RoomOwner, Seat};
use super::template::Template;
use crate::plane::Map;

/// The rank by which rooms are filled: number of free seats, then age, then id. The lowest rank comes first.
type Rank = (u32, u64, RoomId);

#[derive(Clone, Copy, Debug)]
struct DeskRoom {
    size: u32,
    /// Number of rooms that were opened before this one.
    age: u64,
    /// Number of players that the desk sent to the room.
    sent: i64,
    report: Report,
}

impl DeskRoom {
    /// Number of seats that will be free once all players on their way have arrived; 0 for a room that takes nobody.
    fn free(&self) -> u32 {
        let taken = self.sent + self.report.offset;
        if self.report.open { u32::try_from(i64::from(self.size) - taken).unwrap_or(0) } else { 0 }
    }
}

/// The placement of players in the rooms of one template.
#[derive(Debug)]
pub(super) struct Desk {
    template: Arc<Template>,
    rooms: Map<RoomId, DeskRoom>,
    /// Rooms with free seats, by number of seats.
    part_filled: BTreeMap<u32, BTreeSet<Rank>>,
    opened: u64,
}

impl Desk {
    pub(super) fn new(template: Arc<Template>) -> Self {
        Self { template, rooms: Map::default(), part_filled: BTreeMap::new(), opened: 0 }
    }

    /// Sends a player to the fullest room that may take them, or opens a room.
    ///
    /// # Errors
    /// `InvalidArgument` for a size that the template does not have, `Unavailable` when too many rooms refused.
    pub(super) fn place(&mut self, request: Request<Placement>, out: &mut Vec<RoomEffect>) -> Result<()> {
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
        out.push(RoomEffect::Send(RoomOwner::Room(room), OwnerMessage::Seat(Request { caller, reply_to, what })));
        Ok(())
    }

    pub(super) fn report(&mut self, room: RoomId, report: Report) {
        self.update(room, |known| known.report = report);
    }

    /// Adds a room that another desk of the template filled before.
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

    /// Removes the chosen rooms, so that no more players are sent there.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&RoomId) -> bool) {
        let gone: Vec<RoomId> = self.rooms.keys().copied().filter(is_gone).collect();
        gone.into_iter().for_each(|room| self.closed(room));
    }

    /// The desk's state in pieces, oldest rooms first.
    pub(super) fn carried(&self, template: &Arc<str>) -> impl Iterator<Item = CarriedDesk> {
        let room = |(room, known): (&RoomId, &DeskRoom)| {
            let DeskRoom { size, age, sent, report } = *known;
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

    /// Takes over the state of a former desk.
    pub(super) fn take_in(&mut self, carried: CarriedDesk) {
        for CarriedFilling { room, size, age, sent, report } in carried.rooms {
            self.closed(room);
            self.rooms.insert(room, DeskRoom { size, age, sent, report });
            self.update(room, |_| {});
        }
        self.opened = self.opened.max(carried.opened);
    }

    /// Whether the desk knows no room, so that it can be dropped.
    pub(super) fn is_unused(&self) -> bool {
        self.rooms.is_empty()
    }

    fn best(&self, place: &Placement) -> Option<RoomId> {
        let first = |ranks: &BTreeSet<Rank>| ranks.iter().find(|(_, _, room)| !place.tried.contains(room)).copied();
        let best = match place.size {
            Some(size) => first(self.part_filled.get(&size)?),
            None => self.part_filled.values().filter_map(first).min(),
        };
        best.map(|(_, _, room)| room)
    }

    fn open(&mut self, room: RoomId, size: u32) {
        let known = DeskRoom { size, age: self.opened, sent: 0, report: Report { offset: 0, open: true } };
        self.opened += 1;
        self.rooms.insert(room, known);
    }

    /// Changes the entry of a room, and ranks the room anew.
    fn update(&mut self, room: RoomId, change: impl FnOnce(&mut DeskRoom)) {
        let Some(mut known) = self.rooms.remove(&room) else { return };
        self.unlist(room, &known);
        change(&mut known);
        if known.free() > 0 {
            self.part_filled.entry(known.size).or_default().insert((known.free(), known.age, room));
        }
        self.rooms.insert(room, known);
    }

    fn unlist(&mut self, room: RoomId, known: &DeskRoom) {
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
    /// Counts of part-filled rooms by size.
    pub(super) fn part_filled(&self) -> impl Iterator<Item = (u32, usize)> {
        self.part_filled.iter().map(|(size, ranks)| (*size, ranks.len()))
    }

    /// Seats that the desk counts as taken, by room.
    pub(super) fn believed(&self) -> impl Iterator<Item = (RoomId, i64)> {
        self.rooms.iter().map(|(room, known)| (*room, known.sent + known.report.offset))
    }
}
