//! Everything that one shard owns of rooms: rooms, desks of templates, and, on one shard, the directory.
//!
//! Requests of sessions and messages of other owners come in, effects go out, and [`Rooms::turn`] runs the timers that
//! are due. Nothing here waits or delivers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexSet;
use muster_domain::query::WorkTotals;
use muster_domain::{Error, ErrorKind, Result, UserId};

use super::desk::Desk;
use super::directory::Directory;
use super::effect::{RoomAnswer, RoomEffect};
use super::holds::Holds;
use super::limits::{FIND_UNITS, LISTING_INTERVAL_MS, SEARCHES_WAITING_MAX};
use super::message::{
    Caller, Creation, DirectoryAction, MessageToRoomOwner, Origin, OwnerMessage, Placement, Report, Request,
    RoomAction, RoomId, RoomOwner, Seat, ViewKey,
};
use super::room::{ListingUrgency, Room};
use super::template::Templates;
use crate::place::Epoch;
use crate::plane::{Map, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;

/// Settings of rooms on this server.
#[derive(Clone, Debug)]
pub struct RoomsConfig {
    /// The setting `rooms.templates`.
    pub templates: Templates,
    /// The setting `rooms.reservation_sec` in milliseconds: the time for which a seat is held.
    pub reservation_ms: Millis,
    /// The setting `rooms.max_rooms_per_shard`: the largest number of rooms that one shard owns.
    pub rooms_max: usize,
    /// The setting `rooms.max_rooms_per_user`: the largest number of open rooms that one user made.
    pub rooms_per_creator_max: u32,
}

impl Default for RoomsConfig {
    fn default() -> Self {
        Self { templates: Templates::default(), reservation_ms: 10_000, rooms_max: 100_000, rooms_per_creator_max: 10 }
    }
}

/// Counts and gauges of rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomStats {
    /// Number of rooms that are open now.
    pub rooms: usize,
    /// Number of rooms opened so far.
    pub opened: u64,
    /// Number of times so far that a seat was held for a user.
    pub placed: u64,
    /// Number of requests for a seat so far that a room refused. Desks and the directory send such users to another
    /// room, if there is one.
    pub turned_away: u64,
    /// Number of requests so far that were refused because a user or the shard had as many rooms as allowed.
    pub limited: u64,
    /// Number of views of the lobby that are watched now.
    pub views: usize,
    /// Number of views so far that were refused at a limit.
    pub views_refused: u64,
    /// Number of times so far that a view was too far behind and began anew.
    pub views_restarted: u64,
    /// Number of searches so far that ended before they had looked at all rooms.
    pub searches_cut: u64,
    /// Number of searches so far that were refused because too many waited.
    pub searches_refused: u64,
    /// Number of requests so far that got no seat held, because the user had as many as allowed or let one go by.
    pub seats_refused: u64,
    /// Work of filters.
    pub work: WorkTotals,
}

/// The rooms, desks and directory that one shard owns.
pub struct Rooms {
    config: Arc<RoomsConfig>,
    pub(super) rooms: Map<RoomId, Room>,
    pub(super) desks: BTreeMap<Arc<str>, Desk>,
    pub(super) directory: Directory,
    /// Requests to the directory that wait for slices, in order.
    searches: VecDeque<Request<DirectoryAction>>,
    /// Count of open rooms by the user who made them.
    pub(super) made: Map<UserId, u32>,
    /// Whether the last slice was for views.
    is_for_views: bool,
    /// Rooms in which seats are held, by user.
    pub(super) holds: Holds,
    /// Times at which rooms must be settled next, in order.
    due: BTreeSet<(Millis, RoomId)>,
    due_of: Map<RoomId, Millis>,
    /// Rooms whose changes the directory must hear of.
    pub(super) changed: IndexSet<RoomId, foldhash::fast::RandomState>,
    /// The time by which the directory must hear of the changed rooms.
    pub(super) tell_at: Option<Millis>,
    /// Rooms with recovery data that changed or closed since the last call of [`Self::take_touched`].
    pub(super) touched: Vec<RoomId>,
    stats: RoomStats,
}

impl Rooms {
    /// An owner without rooms.
    pub fn new(config: Arc<RoomsConfig>) -> Self {
        Self {
            config,
            rooms: Map::default(),
            desks: BTreeMap::new(),
            directory: Directory::default(),
            searches: VecDeque::new(),
            made: Map::default(),
            is_for_views: false,
            holds: Holds::default(),
            due: BTreeSet::new(),
            due_of: Map::default(),
            changed: IndexSet::default(),
            tell_at: None,
            touched: Vec::new(),
            stats: RoomStats::default(),
        }
    }

    /// The counts and gauges now.
    pub fn stats(&self) -> RoomStats {
        let Directory { lobby, work, searches_cut, .. } = &self.directory;
        RoomStats {
            rooms: self.rooms.len(),
            views: lobby.len(),
            views_refused: lobby.refused,
            views_restarted: lobby.restarted,
            searches_cut: *searches_cut,
            work: *work,
            ..self.stats
        }
    }

    /// Handles one message to an owner on this shard.
    pub fn receive(&mut self, now: Millis, message: MessageToRoomOwner, out: &mut Vec<RoomEffect>) {
        match message {
            MessageToRoomOwner::Room(room, request) => self.ask(now, room, request, out),
            MessageToRoomOwner::Placement(request) => self.place(request, out),
            MessageToRoomOwner::Directory(request) => self.look_up(now, request, out),
            MessageToRoomOwner::FromOwner(owner, message) => self.hear(now, &owner, message, out),
        }
    }

    /// Handles a request to a room.
    fn ask(&mut self, now: Millis, id: RoomId, request: Request<RoomAction>, out: &mut Vec<RoomEffect>) {
        let Request { caller, reply_to, what } = request;
        let is_change = what.is_change();
        let answer = match what {
            RoomAction::Create(creation) => self.create(now, id, *creation, &caller),
            action => match self.rooms.get_mut(&id) {
                Some(room) => room.act(now, &caller, action, out),
                None => Err(no_room()),
            },
        };
        self.reply(reply_to, answer, out);
        if is_change {
            self.touch(id);
        }
        self.settle(now, id, out);
    }

    /// Handles a request to be placed.
    fn place(&mut self, request: Request<Placement>, out: &mut Vec<RoomEffect>) {
        let name = request.what.template.clone();
        let reply_to = request.reply_to;
        let placed = self.desk(&name).and_then(|desk| desk.place(request, out));
        if let Err(refusal) = placed {
            self.reply(reply_to, Err(refusal), out);
        }
    }

    /// Handles a request to the directory, or lets it wait for a slice if searches have taken a slice of work already.
    fn look_up(&mut self, now: Millis, request: Request<DirectoryAction>, out: &mut Vec<RoomEffect>) {
        if self.searches.is_empty() && self.directory.searched < FIND_UNITS.into() {
            return self.search(now, request, out);
        }
        if self.searches.len() < SEARCHES_WAITING_MAX {
            return self.searches.push_back(request);
        }
        self.stats.searches_refused += 1;
        let message = "The server answers as many searches for rooms as it may at a time: try again.";
        self.reply(request.reply_to, Err(Error::new(ErrorKind::Unavailable, message)), out);
    }

    fn search(&mut self, now: Millis, request: Request<DirectoryAction>, out: &mut Vec<RoomEffect>) {
        let Request { caller, reply_to, what } = request;
        let answer = match what {
            DirectoryAction::Find(find) => self.directory.find(&find).map(RoomAnswer::Page),
            DirectoryAction::Subscribe(view) => {
                self.directory.subscribe(now, view, caller.user_id).map(RoomAnswer::Page)
            }
            DirectoryAction::QuickJoin(find) => match self.directory.candidates(&find) {
                Ok((room, next)) => {
                    let what = Seat { room, origin: Origin::QuickJoin { next } };
                    let seat = OwnerMessage::Seat(Request { caller, reply_to, what });
                    out.push(RoomEffect::Send(RoomOwner::Room(room), seat));
                    return;
                }
                Err(refusal) => Err(refusal),
            },
        };
        self.reply(reply_to, answer, out);
    }

    /// Refuses the requests that wait, because the directory goes to another owner.
    pub fn refuse_searches(&mut self, out: &mut Vec<RoomEffect>) {
        for request in std::mem::take(&mut self.searches) {
            let refusal = Error::new(ErrorKind::Unavailable, "The listing of rooms moves to another node: try again.");
            self.reply(request.reply_to, Err(refusal), out);
        }
    }

    /// Handles a message of another owner, on this shard or elsewhere.
    fn hear(&mut self, now: Millis, to: &RoomOwner, message: OwnerMessage, out: &mut Vec<RoomEffect>) {
        match message {
            OwnerMessage::Seat(request) => self.seat(now, request, out),
            OwnerMessage::Elsewhere(request) => self.place(request, out),
            OwnerMessage::Report(room, report) => {
                self.known_desk(to, |desk| desk.report(room, report));
            }
            OwnerMessage::Closed(room) => self.known_desk(to, |desk| desk.closed(room)),
            OwnerMessage::Filling { room, size, report } => self.adopt_room(to, room, size, report),
            OwnerMessage::Listing(rooms) => self.directory.update(now, rooms),
            OwnerMessage::Forgotten(partitions) => {
                let is_gone = |room: &RoomId| partitions.contains(&RoomOwner::Room(*room).partition());
                let gone = self.directory.listed().filter(is_gone).map(|room| (room, None)).collect();
                self.directory.update(now, gone);
            }
        }
    }

    /// Notes that a session left a room's stream.
    pub fn session_gone(
        &mut self,
        now: Millis,
        room: RoomId,
        user: UserId,
        session: SessionRef,
        out: &mut Vec<RoomEffect>,
    ) {
        if let Some(known) = self.rooms.get_mut(&room) {
            known.session_gone(user, session, out);
            self.touch(room);
            self.settle(now, room, out);
        }
    }

    /// Replaces the session of a member that goes on at another place.
    pub fn rebind(&mut self, room: RoomId, user: UserId, from: SessionRef, to: SessionRef) {
        if let Some(known) = self.rooms.get_mut(&room) {
            known.rebind(user, from, to);
        }
        self.touch(room);
    }

    /// Everything that this shard owns: rooms, desks, and the directory if it lists any room.
    pub fn owners(&self) -> impl Iterator<Item = RoomOwner> {
        let directory = self.directory.listed().next().map(|_| RoomOwner::Directory);
        let rooms = self.rooms.keys().map(|room| RoomOwner::Room(*room));
        rooms.chain(self.desks.keys().map(|template| RoomOwner::Desk(template.clone()))).chain(directory)
    }

    /// Members of all rooms, with the sessions by which they are in them, in no order.
    pub fn members(&self) -> impl Iterator<Item = (RoomId, SessionRef)> {
        self.rooms.iter().flat_map(|(id, room)| room.sessions().map(|session| (*id, session)))
    }

    /// Drops the rooms, desks and directory that are chosen, because their partition has another owner, or this shard
    /// owns it anew. Desks and the directory that stay forget the chosen rooms. `directory` is the epoch of the
    /// directory's present owner.
    pub fn forget(&mut self, now: Millis, directory: Epoch, is_lost: impl Fn(&RoomOwner) -> bool) {
        let is_gone = |room: &RoomId| is_lost(&RoomOwner::Room(*room));
        let gone: Vec<RoomId> = self.rooms.keys().copied().filter(is_gone).collect();
        gone.into_iter().for_each(|id| self.drop_room(id));
        self.desks.retain(|template, _| !is_lost(&RoomOwner::Desk(template.clone())));
        self.desks.values_mut().for_each(|desk| desk.forget(is_gone));
        self.desks.retain(|_, desk| !desk.is_unused());
        if is_lost(&RoomOwner::Directory) {
            self.directory = Directory::following(directory);
            // Their places give these questions up.
            self.searches.clear();
        } else {
            let gone = self.directory.listed().filter(|room| is_gone(room)).map(|room| (room, None)).collect();
            self.directory.update(now, gone);
        }
    }

    /// Drops a room. Nobody is told.
    pub(super) fn drop_room(&mut self, id: RoomId) {
        let room = self.rooms.remove(&id);
        self.unmake(room.and_then(|room| room.creator));
        self.set_due(id, None);
        self.changed.swap_remove(&id);
    }

    /// Has all rooms that are not hidden told to a new directory, which lists no room yet.
    pub fn relist(&mut self, now: Millis) {
        let mut listed: Vec<RoomId> = self.rooms.iter().filter(|(_, room)| !room.hidden).map(|(id, _)| *id).collect();
        listed.sort_unstable();
        self.list_again(now, listed);
    }

    pub(super) fn list_again(&mut self, now: Millis, rooms: Vec<RoomId>) {
        if !rooms.is_empty() {
            self.changed.extend(rooms);
            self.tell_at.get_or_insert(now + LISTING_INTERVAL_MS);
        }
    }

    /// Repeats to desks and the directory the news of rooms that came here from another place. The former owner's last
    /// messages may have arrived after those of this place, and were ignored then. The desks that `is_other` chooses
    /// are new and know none of these rooms.
    pub fn tell_again(
        &mut self,
        now: Millis,
        came_here: impl Fn(RoomId) -> bool,
        is_other: impl Fn(&RoomOwner) -> bool,
        out: &mut Vec<RoomEffect>,
    ) {
        let mut came: Vec<&mut Room> = self.rooms.values_mut().filter(|room| came_here(room.id)).collect();
        came.sort_unstable_by_key(|room| room.id);
        for room in &mut came {
            room.report_anew(out);
            room.introduce(&is_other, out);
        }
        let listed: Vec<RoomId> = came.iter().filter(|room| !room.hidden).map(|room| room.id).collect();
        self.list_again(now, listed);
    }

    /// Tells the chosen desks, which are new and know no room yet, of their rooms.
    pub fn introduce(&mut self, is_other: impl Fn(&RoomOwner) -> bool, out: &mut Vec<RoomEffect>) {
        let mut rooms: Vec<&mut Room> = self.rooms.values_mut().collect();
        rooms.sort_unstable_by_key(|room| room.id);
        rooms.into_iter().for_each(|room| room.introduce(&is_other, out));
    }

    /// Adds a view of the lobby that was already watched at the directory's former place.
    pub fn adopt_view(&mut self, now: Millis, view: ViewKey) {
        self.directory.adopt_view(now, view);
    }

    /// Drops a view of the lobby that nobody watches any more.
    pub fn view_unheard(&mut self, view: &ViewKey) {
        self.directory.drop_view(view);
    }

    /// The time at which [`Self::turn`] must run next.
    pub fn next_due(&self) -> Option<Millis> {
        let room = self.due.first().map(|(at, _)| *at);
        [room, self.tell_at, self.directory.next_due()].into_iter().flatten().min()
    }

    /// Settles the rooms that are due, and pushes the changes that the directory and watchers of the lobby must hear of
    /// now.
    pub fn turn(&mut self, now: Millis, out: &mut Vec<RoomEffect>) {
        while let Some((_, room)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.touch(room);
            self.settle(now, room, out);
        }
        if self.tell_at.is_some_and(|at| at <= now) {
            self.tell_directory(out);
        }
        self.directory.turn(now);
    }

    /// Counts a view that a session of this shard may not watch.
    pub fn count_refused_view(&mut self) {
        self.directory.lobby.refused += 1;
    }

    /// Whether the directory has work for slices.
    pub fn is_busy(&self) -> bool {
        self.directory.searched > 0 || !self.searches.is_empty() || self.directory.is_busy()
    }

    /// Goes on with the directory's work, one slice. Searches and views have slices in turn. Returns the views that
    /// were asked for: nobody may hear them any more.
    pub fn run_slice(&mut self, now: Millis, out: &mut Vec<RoomEffect>) -> Vec<ViewKey> {
        self.directory.searched = 0;
        self.is_for_views = !self.is_for_views && self.directory.is_busy() || self.searches.is_empty();
        if self.is_for_views {
            self.directory.run_slice(now, out);
            return Vec::new();
        }
        let mut views = Vec::new();
        while self.directory.searched < FIND_UNITS.into()
            && let Some(request) = self.searches.pop_front()
        {
            views.extend(if let DirectoryAction::Subscribe(view) = &request.what { Some(view.clone()) } else { None });
            self.search(now, request, out);
        }
        views
    }

    fn create(&mut self, now: Millis, id: RoomId, creation: Creation, caller: &Caller) -> Result<RoomAnswer> {
        let made = self.made.get(&caller.user_id).copied().unwrap_or(0);
        if made >= self.config.rooms_per_creator_max {
            self.stats.limited += 1;
            let message = format!("You have made {made} rooms that are still open, and may have no more.");
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        self.check_holds(now, id, caller.user_id)?;
        self.open(now, id, creation, caller, false)?;
        self.made.insert(caller.user_id, made + 1);
        self.hold(now, id, caller)
    }

    fn open(&mut self, now: Millis, id: RoomId, creation: Creation, creator: &Caller, by_desk: bool) -> Result<()> {
        if self.rooms.contains_key(&id) {
            return Err(Error::new(ErrorKind::AlreadyExists, "There is such a room already."));
        }
        if self.rooms.len() >= self.config.rooms_max {
            self.stats.limited += 1;
            let message = "The server keeps no more rooms. Please try again later.";
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        self.rooms.insert(id, Room::new(now, id, creation, creator, by_desk)?);
        self.stats.opened += 1;
        Ok(())
    }

    fn hold(&mut self, now: Millis, id: RoomId, caller: &Caller) -> Result<RoomAnswer> {
        let (held_ms, user) = (self.config.reservation_ms, caller.user_id);
        let room = self.rooms.get_mut(&id).ok_or_else(no_room)?;
        let was_held = room.holds_for(user);
        let answer = room.hold(now, caller, held_ms)?;
        if !was_held && room.holds_for(user) {
            self.holds.note(user, id, now + held_ms);
        }
        self.stats.placed += 1;
        Ok(answer)
    }

    /// Notes a seat that the room's former owner holds for a user.
    pub(super) fn hold_came(&mut self, now: Millis, id: RoomId, user: UserId) {
        self.holds.note(user, id, now + self.config.reservation_ms);
    }

    /// Refuses a user for whom seats are held in as many rooms as may be.
    fn check_holds(&mut self, now: Millis, id: RoomId, user: UserId) -> Result<()> {
        let rooms = &self.rooms;
        let is_held = |room: RoomId, user: UserId| rooms.get(&room).is_some_and(|room| room.holds_for(user));
        let refused = self.holds.check(now, user, id, is_held);
        self.stats.seats_refused += u64::from(refused.is_err());
        refused
    }

    /// Handles a request for a seat in a room, sent by a desk or the directory.
    fn seat(&mut self, now: Millis, request: Request<Seat>, out: &mut Vec<RoomEffect>) {
        let Request { caller, reply_to, what: Seat { room, origin } } = request;
        let may_hold = self.check_holds(now, room, caller.user_id);
        if let Origin::Desk { place, open: Some(size) } = &origin
            && let Err(refusal) =
                may_hold.clone().and_then(|()| self.open_for_desk(now, room, &place.template, *size, &caller))
        {
            // The desk knows the room already, so it must hear that the room was not opened.
            out.push(RoomEffect::Send(RoomOwner::Desk(place.template.clone()), OwnerMessage::Closed(room)));
            return self.reply(reply_to, Err(refusal), out);
        }
        let answer = may_hold.clone().and_then(|()| self.hold(now, room, &caller));
        if matches!(origin, Origin::Desk { .. })
            && let Some(known) = self.rooms.get_mut(&room)
        {
            known.handled_from_desk();
        }
        self.touch(room);
        // The desk hears how full the room is before it hears of the refusal.
        self.settle(now, room, out);
        match answer {
            Ok(answer) => self.reply(reply_to, Ok(answer), out),
            // No other room would be the user's either.
            Err(refusal) if may_hold.is_err() => self.reply(reply_to, Err(refusal), out),
            Err(refusal) => {
                self.stats.turned_away += 1;
                self.turn_away(Request { caller, reply_to, what: Seat { room, origin } }, refusal, out);
            }
        }
    }

    fn open_for_desk(&mut self, now: Millis, id: RoomId, template: &str, size: u32, caller: &Caller) -> Result<()> {
        let template = self.config.templates.get(template)?.clone();
        self.open(now, id, template.creation(size), caller, true)
    }

    /// Passes a refused player on to the desk, or to the next room of a quick join.
    fn turn_away(&mut self, request: Request<Seat>, refusal: Error, out: &mut Vec<RoomEffect>) {
        let Request { caller, reply_to, what: Seat { room, origin } } = request;
        match origin {
            Origin::Desk { mut place, .. } => {
                place.tried.push(room);
                let desk = RoomOwner::Desk(place.template.clone());
                out.push(RoomEffect::Send(desk, OwnerMessage::Elsewhere(Request { caller, reply_to, what: place })));
            }
            Origin::QuickJoin { mut next } => {
                if next.is_empty() {
                    return self.reply(reply_to, Err(refusal), out);
                }
                let room = next.remove(0);
                let what = Seat { room, origin: Origin::QuickJoin { next } };
                out.push(RoomEffect::Send(
                    RoomOwner::Room(room),
                    OwnerMessage::Seat(Request { caller, reply_to, what }),
                ));
            }
        }
    }

    pub(super) fn desk(&mut self, template: &Arc<str>) -> Result<&mut Desk> {
        let known = self.config.templates.get(template)?;
        Ok(self.desks.entry(template.clone()).or_insert_with(|| Desk::new(known.clone())))
    }

    fn adopt_room(&mut self, owner: &RoomOwner, room: RoomId, size: u32, report: Report) {
        if let RoomOwner::Desk(name) = owner
            && let Ok(desk) = self.desk(name)
        {
            desk.adopt(room, size, report);
        }
    }

    fn known_desk(&mut self, owner: &RoomOwner, tell: impl FnOnce(&mut Desk)) {
        if let RoomOwner::Desk(name) = owner
            && let Some(desk) = self.desks.get_mut(name)
        {
            tell(desk);
            if desk.is_unused() {
                self.desks.remove(name);
            }
        }
    }

    fn reply(&mut self, to: Option<RequestRef>, answer: Result<RoomAnswer>, out: &mut Vec<RoomEffect>) {
        if let Some(to) = to {
            out.push(RoomEffect::Reply(to, answer));
        }
    }

    /// Completes a change of a room, and must follow every change: closes the room or sets its timer, and notes whether
    /// the directory must hear of it.
    pub(super) fn settle(&mut self, now: Millis, id: RoomId, out: &mut Vec<RoomEffect>) {
        let Some(room) = self.rooms.get_mut(&id) else {
            return self.set_due(id, None);
        };
        let closes = room.settle(now, out);
        let urgency = std::mem::replace(&mut room.listing_urgency, ListingUrgency::None);
        let (is_listed, due) = (!room.hidden, room.next_due());
        if let Some(cause) = closes {
            room.close(cause, out);
            let creator = room.creator;
            self.rooms.remove(&id);
            self.unmake(creator);
            self.set_due(id, None);
        } else {
            self.set_due(id, due);
        }
        if is_listed && (closes.is_some() || urgency > ListingUrgency::None) {
            self.changed.insert(id);
            self.tell_at.get_or_insert(now + LISTING_INTERVAL_MS);
            if closes.is_some() || urgency == ListingUrgency::Now {
                self.tell_directory(out);
            }
        }
    }

    fn unmake(&mut self, creator: Option<UserId>) {
        let Some(creator) = creator else { return };
        if let Some(made) = self.made.get_mut(&creator) {
            *made -= 1;
            if *made == 0 {
                self.made.remove(&creator);
            }
        }
    }

    pub(super) fn set_due(&mut self, id: RoomId, at: Option<Millis>) {
        let old = match at {
            Some(at) => self.due_of.insert(id, at),
            None => self.due_of.remove(&id),
        };
        if old != at {
            self.due.extend(at.map(|at| (at, id)));
            if let Some(old) = old {
                self.due.remove(&(old, id));
            }
        }
    }

    fn tell_directory(&mut self, out: &mut Vec<RoomEffect>) {
        self.tell_at = None;
        let changed = self.changed.drain(..);
        let rooms = changed.map(|id| (id, self.rooms.get(&id).map(|room| Arc::new(room.summary()))));
        out.push(RoomEffect::Send(RoomOwner::Directory, OwnerMessage::Listing(rooms.collect())));
    }
}

fn no_room() -> Error {
    Error::new(ErrorKind::NotFound, "There is no such room; it may have closed.")
}

#[cfg(test)]
impl Rooms {
    pub(super) fn rooms(&self) -> impl Iterator<Item = &Room> {
        self.rooms.values()
    }

    pub(super) fn desks(&self) -> impl Iterator<Item = &Desk> {
        self.desks.values()
    }
}
