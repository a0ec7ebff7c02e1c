//! The directory lists every room that is not hidden, as the room's owner last described it, and finds rooms by path
//! and filter. It also runs the lobby, which tells watchers of changes.
//!
//! The directory hears of changes a little later than they happen, so it promises no seats: a player whom it sends to a
//! room asks the room for a seat.

use std::sync::Arc;

use muster_domain::query::{Candidates, Document, Found, Index, Query, Work, WorkTotals};
use muster_domain::{Error, ErrorKind, Result, UserId};

use super::carry::{CarriedListed, CarriedListing, CarriedView, PIECE_LISTED_MAX};
use super::effect::{Page, RoomEffect};
use super::limits::{
    ATTEMPTS_MAX, FILTER_BYTES_MAX, FIND_UNITS, LOBBY_INTERVAL_MS_MAX, LOBBY_INTERVAL_MS_MIN, LOBBY_SLICE_UNITS,
    PAGE_ROOMS_MAX,
};
use super::lobby::{Listed, Lobby};
use super::message::{Find, RoomId, ViewKey};
use super::path::RoomPath;
use super::state::Summary;
use crate::place::Epoch;
use crate::plane::Map;
use crate::session::Millis;

/// The largest number of rooms that one search looks at; the next page goes on behind them.
const LOOKED_AT_MAX: usize = 5_000;

/// Number of bits up to which JavaScript keeps integers exact.
const SAFE_BITS: u32 = 53;

/// Number of bits of a revision that hold the epoch. The remaining 24 bits suffice for 48 days of a push every 250 ms
/// in one epoch.
const EPOCH_BITS: u32 = 29;

/// The field of a room's document that holds the room's path and all paths above it.
const WITHIN: &str = "within";

#[derive(Debug)]
pub(super) struct ListedRoom {
    pub(super) summary: Arc<Summary>,
    /// Number of players sent to the room since the directory last heard of the room.
    promised: u32,
}

/// The listed rooms, and the lobby that shows them.
#[derive(Default)]
pub(super) struct Directory {
    index: Index,
    rooms: Map<u32, ListedRoom>,
    slots: Map<RoomId, u32>,
    next_slot: u32,
    pub(super) lobby: Lobby,
    /// Work of filters.
    pub(super) work: WorkTotals,
    /// Work of searches since the last slice.
    pub(super) searched: u64,
    /// Searches so far that ended before they had looked at all rooms.
    pub(super) searches_cut: u64,
}

/// The end of a search.
struct SearchEnd {
    /// The slot behind which the next page begins, if there may be more rooms.
    next: Option<u32>,
    /// Whether the search had looked at as many rooms, or had done as much work, as it may.
    is_cut: bool,
}

impl Directory {
    /// A directory that replaces one whose state is lost. Its views begin at revisions higher than those of the lost
    /// directory, so that watchers do not take its pushes for old ones.
    pub(super) fn following(epoch: Epoch) -> Self {
        let first = (epoch.0 % (1 << EPOCH_BITS)) << (SAFE_BITS - EPOCH_BITS);
        Self { lobby: Lobby::beginning(first), ..Self::default() }
    }

    /// An empty directory for this place, after the state of this one has moved to another owner.
    pub(super) fn successor(&self) -> Self {
        let (work, searches_cut) = (self.work, self.searches_cut);
        Self { lobby: self.lobby.successor(), work, searches_cut, ..Self::default() }
    }

    /// The listed rooms in pieces, in the order of their slots.
    pub(super) fn carried(&self) -> impl Iterator<Item = CarriedListing> {
        let listed = |(slot, listed): (&u32, &ListedRoom)| {
            let ListedRoom { summary, promised } = listed;
            CarriedListed { slot: *slot, promised: *promised, summary: summary.clone() }
        };
        let mut rooms: Vec<CarriedListed> = self.rooms.iter().map(listed).collect();
        rooms.sort_unstable_by_key(|listed| listed.slot);
        let next_slot = self.next_slot;
        let piece = |rooms: &[CarriedListed]| CarriedListing { next_slot, rooms: rooms.to_vec() };
        let mut pieces: Vec<CarriedListing> = rooms.chunks(PIECE_LISTED_MAX).map(piece).collect();
        // A page may refer to slots of rooms that are gone, so the next slot is carried even without rooms.
        pieces.extend((rooms.is_empty() && next_slot > 0).then(|| piece(&[])));
        pieces.into_iter()
    }

    /// Adds rooms that another directory listed. Views are not told of them.
    pub(super) fn take_in(&mut self, listing: CarriedListing) {
        for CarriedListed { slot, promised, summary } in listing.rooms {
            if self.slots.contains_key(&summary.id) {
                continue;
            }
            // An arriving room gets another slot if its own is in use here. The rooms here keep theirs, since pages
            // refer to slots.
            let slot = if self.rooms.contains_key(&slot) { self.take_slot() } else { slot };
            self.slots.insert(summary.id, slot);
            self.index.insert(slot, document(&summary));
            self.rooms.insert(slot, ListedRoom { summary, promised });
        }
        self.next_slot = self.next_slot.max(listing.next_slot);
    }

    pub(super) fn carried_views(&self, now: Millis) -> impl Iterator<Item = CarriedView> {
        self.lobby.carried(now)
    }

    /// Adds a view whose watchers were told of its rooms by another directory.
    pub(super) fn take_in_view(&mut self, now: Millis, view: CarriedView) {
        // No directory accepts a filter that cannot be read, so such a view never existed.
        if let Ok(query) = parse(&view.view.filter) {
            self.lobby.take_in(now, view, query);
        }
    }

    /// Adds, changes or removes rooms as their owners describe them; `None` stands for a room that closed.
    pub(super) fn update(&mut self, now: Millis, rooms: Vec<(RoomId, Option<Arc<Summary>>)>) {
        for (id, summary) in rooms {
            let known = self.slots.get(&id).copied();
            let before = match (known, summary) {
                (None, None) => continue,
                (Some(slot), None) => {
                    self.slots.remove(&id);
                    self.rooms.remove(&slot);
                    self.index.remove(slot)
                }
                (_, Some(summary)) => {
                    let slot = known.unwrap_or_else(|| self.take_slot());
                    self.slots.insert(id, slot);
                    let document = document(&summary);
                    self.rooms.insert(slot, ListedRoom { summary, promised: 0 });
                    self.index.insert(slot, document)
                }
            };
            self.lobby.changed(now, id, before);
        }
    }

    /// Ids of the listed rooms, in the order in which they were opened.
    pub(super) fn listed(&self) -> impl Iterator<Item = RoomId> {
        let mut listed: Vec<(u32, RoomId)> = self.slots.iter().map(|(room, slot)| (*slot, *room)).collect();
        listed.sort_unstable();
        listed.into_iter().map(|(_, room)| room)
    }

    /// A page of rooms, in the order in which they were opened. A page that has taken [`FIND_UNITS`] of work ends
    /// early.
    ///
    /// # Errors
    /// `InvalidArgument` for a filter that cannot be read, or a page that is too long.
    pub(super) fn find(&mut self, find: &Find) -> Result<Page> {
        if !(1..=PAGE_ROOMS_MAX).contains(&find.limit) {
            return Err(Error::invalid(format!("A page has 1 to {PAGE_ROOMS_MAX} rooms.")));
        }
        let query = parse(&find.filter)?;
        let (mut page, mut work) = (Page::default(), Work::new(FIND_UNITS));
        let end = self.look(&query, &find.path, find.after, &mut work, |_, room, work| {
            let has_room = page.rooms.len() < find.limit;
            if has_room {
                work.spend(room.summary.show_units());
                page.rooms.push(room.summary.clone());
            }
            has_room
        });
        page.next = end.next;
        self.count(&end, &work);
        Ok(page)
    }

    /// A room that fits the search and has a free seat, and further rooms to try if that one is full by then.
    ///
    /// # Errors
    /// `NotFound` when no room fits, `ResourceExhausted` when none fits among those that the search could look at,
    /// `InvalidArgument` for a filter that cannot be read.
    pub(super) fn candidates(&mut self, find: &Find) -> Result<(RoomId, Vec<RoomId>)> {
        let query = parse(&find.filter)?;
        let (mut found, mut work) = (Vec::new(), Work::new(FIND_UNITS));
        let end = self.look(&query, &find.path, None, &mut work, |slot, room, _| {
            let summary = &room.summary;
            if summary.open && !summary.locked && summary.free > room.promised {
                found.push((slot, summary.id));
            }
            found.len() < ATTEMPTS_MAX
        });
        let is_cut = end.is_cut && found.is_empty();
        self.count(&SearchEnd { is_cut, ..end }, &work);
        let mut found = found.into_iter();
        let Some((slot, first)) = found.next() else {
            let cut = "The search ended before it had seen all rooms: use a plainer filter, or name a path.";
            return Err(if is_cut {
                Error::new(ErrorKind::ResourceExhausted, cut)
            } else {
                Error::new(ErrorKind::NotFound, "No open room fits.")
            });
        };
        if let Some(room) = self.rooms.get_mut(&slot) {
            room.promised += 1;
        }
        Ok((first, found.map(|(_, id)| id).collect()))
    }

    fn count(&mut self, end: &SearchEnd, work: &Work) {
        self.work.count(work);
        self.searched += work.spent();
        self.searches_cut += u64::from(end.is_cut);
    }

    /// Adds a view, whose watchers are told of changes from now on, and returns the rooms that it shows now. `maker` is
    /// the user who asks.
    ///
    /// # Errors
    /// `InvalidArgument` when its filter or budget is wrong, `ResourceExhausted` when there are too many views.
    pub(super) fn subscribe(&mut self, now: Millis, view: ViewKey, maker: UserId) -> Result<Page> {
        let find = Find { path: view.path.clone(), filter: view.filter.clone(), ..Find::default() };
        let page = self.find(&find)?;
        let revision = self.lobby.add(now, view, parse(&find.filter)?, maker)?;
        Ok(Page { revision: Some(revision), ..page })
    }

    /// Adds a view that is already watched; its watchers are told anew of every room that it shows.
    pub(super) fn adopt_view(&mut self, now: Millis, view: ViewKey) {
        // No directory accepts a filter that cannot be read, so such a view never existed.
        if let Ok(query) = parse(&view.filter) {
            self.lobby.adopt(now, view, query);
        }
    }

    pub(super) fn drop_view(&mut self, view: &ViewKey) {
        self.lobby.drop_view(view);
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.lobby.next_due()
    }

    /// Notes the pushes whose time has come. [`Self::run_slice`] makes them.
    pub(super) fn turn(&mut self, now: Millis) {
        self.lobby.turn(now);
    }

    /// Whether views have rooms to judge, or pushes are due.
    pub(super) fn is_busy(&self) -> bool {
        self.lobby.is_busy()
    }

    /// Has views judge rooms and makes pushes, up to [`LOBBY_SLICE_UNITS`] of work.
    pub(super) fn run_slice(&mut self, now: Millis, out: &mut Vec<RoomEffect>) {
        let mut work = Work::new(LOBBY_SLICE_UNITS);
        let listed = Listed { index: &self.index, rooms: &self.rooms, slots: &self.slots };
        let pushes = self.lobby.run_slice(now, listed, &mut work);
        out.extend(pushes.into_iter().map(|(view, delta)| RoomEffect::Lobby { view, delta }));
        self.work.count(&work);
    }

    /// Passes rooms that fit the search to `show`, in order, until `show` returns false, [`LOOKED_AT_MAX`] rooms were
    /// looked at or the work is spent.
    fn look(
        &self,
        query: &Query,
        path: &RoomPath,
        after: Option<u32>,
        work: &mut Work,
        mut show: impl FnMut(u32, &ListedRoom, &mut Work) -> bool,
    ) -> SearchEnd {
        let within =
            if path.as_str().is_empty() { Candidates::all() } else { self.index.with_text(WITHIN, path.as_str()) };
        let Some(from) = after.map_or(Some(0), |after| after.checked_add(1)) else {
            return SearchEnd { next: None, is_cut: false };
        };
        let mut last = None;
        let mut scan = self.index.scan(within.and(self.index.candidates(query, work)), from);
        for looked_at in 0.. {
            if looked_at == LOOKED_AT_MAX || (looked_at > 0 && work.is_spent()) {
                return SearchEnd { next: last, is_cut: true };
            }
            let slot = match scan.next_within(work) {
                Found::Slot(slot) => slot,
                Found::Spent => {
                    return SearchEnd { next: scan.next_slot().and_then(|at| at.checked_sub(1)), is_cut: true };
                }
                Found::End => break,
            };
            let fits = self.index.document(slot).is_some_and(|document| query.matches(document, work).is_some());
            if let Some(room) = self.rooms.get(&slot).filter(|_| fits)
                && !show(slot, room, work)
            {
                return SearchEnd { next: last, is_cut: false };
            }
            last = Some(slot);
        }
        SearchEnd { next: None, is_cut: false }
    }

    /// The next free slot. Slots are given out in order, so that pages keep the order of opening.
    fn take_slot(&mut self) -> u32 {
        while self.rooms.contains_key(&self.next_slot) {
            self.next_slot = self.next_slot.wrapping_add(1);
        }
        let slot = self.next_slot;
        self.next_slot = slot.wrapping_add(1);
        slot
    }
}

/// Checks a view that somebody wants to watch, as far as this needs no directory.
///
/// # Errors
/// `InvalidArgument` when the filter cannot be read or the budget is not within the limits.
pub fn check_view(view: &ViewKey) -> Result<()> {
    parse(&view.filter)?;
    if !(LOBBY_INTERVAL_MS_MIN..=LOBBY_INTERVAL_MS_MAX).contains(&view.interval_ms) {
        let message = format!("A lobby is told every {LOBBY_INTERVAL_MS_MIN} to {LOBBY_INTERVAL_MS_MAX} milliseconds.");
        return Err(Error::invalid(message));
    }
    if !(1..=super::limits::LOBBY_PUSH_ROOMS_MAX).contains(&view.rooms_max) {
        let most = super::limits::LOBBY_PUSH_ROOMS_MAX;
        return Err(Error::invalid(format!("A lobby is told of 1 to {most} rooms at a time.")));
    }
    Ok(())
}

/// Whether a view of this path and query shows the room of this document.
pub(super) fn shows(path: &RoomPath, query: &Query, document: &Document, work: &mut Work) -> bool {
    let is_within = |value: &muster_domain::query::Value| *value == muster_domain::query::Value::from(path.as_str());
    (path.as_str().is_empty() || document.values(WITHIN).any(is_within)) && query.matches(document, work).is_some()
}

fn parse(filter: &str) -> Result<Query> {
    if filter.len() > FILTER_BYTES_MAX {
        return Err(Error::invalid(format!("A filter has at most {FILTER_BYTES_MAX} bytes.")));
    }
    Ok(Query::parse(filter)?)
}

/// The document that filters search, with the field names of a room's JSON.
pub(super) fn document(room: &Summary) -> Document {
    let mut document = Document::new()
        .with("capacity", f64::from(room.capacity))
        .with("free", f64::from(room.free))
        .with("id", room.id.to_string().as_str())
        .with("locked", room.locked)
        .with("name", &*room.name)
        .with("open", room.open)
        .with("path", room.path.as_str())
        .with("players", f64::from(room.players))
        .with("spectators", f64::from(room.spectators));
    for path in room.path.with_ancestors() {
        document.push(WITHIN, path);
    }
    if let Some(template) = &room.template {
        document.push("template", &**template);
    }
    if let Some(owner) = room.owner {
        document.push("owner", owner.to_string().as_str());
    }
    for (prefix, values) in [("properties", &room.properties), ("variables", &room.variables)] {
        for (name, value) in values {
            // A value with too many parts is indexed by its first parts alone.
            let _ = document.push_json_text(&format!("{prefix}.{name}"), value.as_json());
        }
    }
    document
}
