//! Rest: the state of owners of rooms is compared with the actions of players, with the views of members and watchers,
//! and with the directory. At the end of a run nothing of rooms remains.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::Uuid;
use muster_live::rooms::limits::PAGE_ROOMS_MAX;
use muster_live::rooms::{
    Caller, Creation, DirectoryAction, Find, MessageToRoomOwner, Placement, Request, RoomAction, RoomAnswer, RoomId,
    RoomState, Summary,
};

use super::super::World;
use super::super::act::user_id;
use super::{OpenRoomRequest, RoomNo, RoomResult};
use crate::frames::who as who_is;
use crate::model::{Mirror, PartFilled, Values, seat_of};
use crate::scenario::rooms::{TEMPLATES, TEMPLATES_COUNT, VIEWS, template, view};
use crate::scenario::{SESSIONS_MAX, Who};
use crate::violation::{Check, Checked, Violation, ensure};

impl World {
    /// Checks everything about rooms at rest.
    pub(in super::super) fn check_rooms(&mut self) -> Checked {
        let (again, over) = (self.encoder.tales.encoded_again(), self.encoder.tales.over_budget());
        ensure(Check::Encoding, again.is_none(), || format!("encoded more than once: {again:?}"))?;
        ensure(Check::Lobby, over.is_none(), || format!("more than a view's budget: {over:?}"))?;
        let states = self.look_at_rooms()?;
        for (room, state) in &states {
            self.check_room(*room, state)?;
        }
        self.check_mirrors(&states)?;
        self.check_directory(&states)?;
        self.check_counts_of_rooms(&states)?;
        self.check_filling(&states)
    }

    /// Sends a request on behalf of a user without a session.
    fn probe(
        &mut self,
        number: usize,
        user: UserId,
        to: impl FnOnce(Caller, Option<muster_live::plane::RequestRef>) -> MessageToRoomOwner,
    ) -> Checked {
        let shard = self.rng.u16(0..self.scenario.shards);
        let request = self.ask_of_rooms(shard, OpenRoomRequest::Probe(number));
        let ask = to(Caller { user_id: user, username: "".into(), session: None }, Some(request));
        self.step(shard, |plane, now, out| plane.ask_rooms(now, ask, out))
    }

    fn probed(&mut self) -> Checked<BTreeMap<usize, RoomResult>> {
        self.settle()?;
        Ok(std::mem::take(&mut self.rooms.probes))
    }

    /// The state of all rooms that exist. Rooms that are not found are marked as gone.
    fn look_at_rooms(&mut self) -> Checked<BTreeMap<RoomNo, RoomState>> {
        for room in 0..self.rooms.known.len() {
            let known = &self.rooms.known[room];
            if !known.is_gone {
                let id = known.id;
                let look = |caller, reply_to| {
                    MessageToRoomOwner::Room(id, Request { caller, reply_to, what: RoomAction::Look })
                };
                self.probe(room, UserId(Uuid::nil()), look)?;
            }
        }
        let mut states = BTreeMap::new();
        for (room, answer) in self.probed()? {
            match answer {
                Ok(RoomAnswer::Room(state)) => drop(states.insert(room, *state)),
                Ok(answer) => {
                    return Err(Violation { check: Check::Answers, detail: format!("who is in no room: {answer:?}") });
                }
                Err(_) => {
                    self.rooms.known[room].is_gone = true;
                    let in_it =
                        self.rooms.ties.range((room, 0)..=(room, Who::MAX)).find(|(_, tie)| tie.mirror.is_some());
                    ensure(Check::Mirror, in_it.is_none(), || format!("in a room that is not there: {in_it:?}"))?;
                }
            }
        }
        Ok(states)
    }

    /// Checks that owner, shards of sessions, and sessions agree on the members, and that exactly the members' seats
    /// are taken.
    fn check_room(&self, room: RoomNo, state: &RoomState) -> Checked {
        let known = &self.rooms.known[room];
        let stream = known.id.stream();
        let owner = usize::from(self.owning_shard(&stream));
        let presences: Vec<_> = self.planes[owner].owned_presences(&stream).collect();
        let members: BTreeSet<Who> = presences.iter().map(|presence| who_is(presence)).collect();
        let open = || self.clients.iter().filter(|(_, client)| client.is_open);
        let by_shard = |is: &dyn Fn(&muster_live::Plane, muster_live::SessionKey) -> bool| -> BTreeSet<Who> {
            let is = |at: muster_live::SessionRef| is(&self.planes[usize::from(at.place.shard())], at.key);
            open().filter(|(_, client)| is(client.at)).map(|(who, _)| *who).collect()
        };
        let hearing = by_shard(&|plane, key| plane.hears(key, &stream));
        let there = by_shard(&|plane, key| plane.is_on(key, &stream));
        let ties = self.rooms.ties.range((room, 0)..=(room, Who::MAX));
        let conclude: BTreeSet<Who> = ties.filter(|(_, tie)| tie.mirror.is_some()).map(|((_, who), _)| *who).collect();
        ensure(Check::Presences, hearing == members && there == members && conclude == members, || {
            format!("in room {room} are {members:?}; hear it {hearing:?}, are there {there:?}, believe so {conclude:?}")
        })?;
        let summary = &state.summary;
        let mut seats: Vec<u32> = presences.iter().filter_map(|presence| seat_of(presence)).collect();
        self.check_seats(room, &mut seats, summary.capacity)?;
        ensure(Check::Seats, seats.len() == summary.players as usize && state.members_total == members.len(), || {
            format!("seats {seats:?} of {members:?} are taken in room {room}, which shows {state:?}")
        })?;
        ensure(Check::Seats, summary.free == summary.capacity - summary.players, || {
            format!("somebody who is not there has a seat in room {room}: {summary:?}")
        })?;
        let (variables, should) = (summary.variables.iter().cloned().collect::<Values>(), known.ledger.values());
        // Whoever looks is in no room, and sees no variables of some.
        let is_secret = known.hidden && summary.locked;
        ensure(Check::Variables, is_secret || variables == should, || {
            format!("variables of room {room} are {variables:?}, and should be {should:?}")
        })
    }

    /// Checks that each member's view of its room agrees with the owner's answer to that member.
    fn check_mirrors(&mut self, states: &BTreeMap<RoomNo, RoomState>) -> Checked {
        let ties = self.rooms.ties.iter().filter(|(_, tie)| tie.mirror.is_some());
        let members: Vec<(RoomNo, Who)> = ties.map(|(tie, _)| *tie).collect();
        for (number, (room, who)) in members.iter().enumerate() {
            self.ask_room(*who, *room, OpenRoomRequest::Probe(number), RoomAction::Look)?;
        }
        // If joins are told together, members may have changed their variables before the others hear of their joins.
        let is_merged = self.scenario.config.merge_above < SESSIONS_MAX;
        let seen = |mirror: Mirror| if is_merged { mirror.without_own() } else { mirror };
        let answers = self.probed()?;
        for (answer, (room, who)) in answers.values().zip(members) {
            let Ok(RoomAnswer::Joined(joined)) = answer else {
                let detail = format!("session {who} is not in room {room}: {answer:?}");
                return Err(Violation { check: Check::Mirror, detail });
            };
            let mirror = self.rooms.tie(room, who).mirror.clone().map(seen);
            let should = seen(Mirror::new(&joined.state));
            ensure(Check::Mirror, mirror.as_ref() == Some(&should), || {
                format!("session {who} takes room {room} to be {mirror:?}, it is {should:?}")
            })?;
            let seats = should.members.values().filter(|member| member.seat.is_some()).count();
            ensure(
                Check::Mirror,
                states.get(&room).is_some_and(|state| state.summary.players as usize == seats),
                || format!("{seats} players are shown to session {who} in room {room}: {:?}", states.get(&room)),
            )?;
        }
        Ok(())
    }

    fn find(&mut self, find: Find) -> Checked<(Vec<Arc<Summary>>, Option<u32>)> {
        let ask = |caller, reply_to| {
            MessageToRoomOwner::Directory(Request { caller, reply_to, what: DirectoryAction::Find(find) })
        };
        self.probe(0, UserId(Uuid::nil()), ask)?;
        match self.probed()?.remove(&0) {
            Some(Ok(RoomAnswer::Page(page))) => Ok((page.rooms, page.next)),
            answer => Err(Violation { check: Check::Answers, detail: format!("no page of rooms: {answer:?}") }),
        }
    }

    /// Checks that listings, read page by page, and watched views show the rooms that exist.
    fn check_directory(&mut self, states: &BTreeMap<RoomNo, RoomState>) -> Checked {
        let mut listed = Vec::new();
        let limit = self.rng.usize(1..=5);
        let mut after = None;
        loop {
            let (rooms, next) = self.find(Find { limit, after, ..Find::default() })?;
            listed.extend(rooms);
            if next.is_none() {
                break;
            }
            after = next;
        }
        listed.sort_by_key(|room| room.id);
        let shown = states.iter().filter(|(room, _)| !self.rooms.known[**room].hidden);
        let mut should: Vec<Arc<Summary>> = shown.map(|(_, state)| Arc::new(state.summary.clone())).collect();
        should.sort_by_key(|room| room.id);
        ensure(Check::Lobby, listed == should, || format!("listed are {listed:?}, and there are {should:?}"))?;
        for number in 0..VIEWS {
            let watches = self.rooms.watches.range((number, 0)..=(number, Who::MAX));
            if !watches.clone().any(|(_, watch)| watch.watching.is_some()) {
                continue;
            }
            let view = view(number);
            let (rooms, next) =
                self.find(Find { path: view.path, filter: view.filter, limit: PAGE_ROOMS_MAX, after: None })?;
            let should: BTreeMap<RoomId, Arc<Summary>> = rooms.into_iter().map(|room| (room.id, room)).collect();
            let watches = self.rooms.watches.range((number, 0)..=(number, Who::MAX));
            for ((_, who), watching) in watches.filter_map(|(key, watch)| Some((key, watch.watching.as_ref()?))) {
                ensure(Check::Lobby, next.is_some() || watching.rooms.as_ref() == Some(&should), || {
                    format!("session {who} sees {:?} in view {number}, there is {should:?}", watching.rooms)
                })?;
            }
        }
        Ok(())
    }

    fn check_counts_of_rooms(&self, states: &BTreeMap<RoomNo, RoomState>) -> Checked {
        let stats = || self.planes.iter().map(|plane| plane.stats().rooms);
        let rooms: usize = stats().map(|stats| stats.rooms).sum();
        let views: usize = stats().map(|stats| stats.views).sum();
        ensure(Check::Leaks, rooms == states.len(), || format!("{rooms} rooms, and {} of them known", states.len()))?;
        let watches = self.rooms.watches.iter().filter(|(_, watch)| watch.watching.is_some());
        let watched: BTreeSet<usize> = watches.map(|((number, _), _)| *number).collect();
        ensure(Check::Leaks, watched.len() == views, || format!("{views} views, and {watched:?} are watched"))
    }

    fn check_filling(&mut self, states: &BTreeMap<RoomNo, RoomState>) -> Checked {
        let mut part_filled = PartFilled::new();
        for (room, RoomState { summary, .. }) in states {
            let known = &self.rooms.known[*room];
            let Some(desk) = known.desk.filter(|_| !known.is_brief) else { continue };
            if known.may_be_shut {
                self.rooms.filling.disturb();
            }
            if summary.free > 0 {
                *part_filled.entry((desk, summary.capacity)).or_default() += 1;
            }
        }
        self.rooms.filling.check(part_filled)?;
        if self.now < self.rooms.barred_until {
            self.rooms.filling.disturb();
        }
        Ok(())
    }

    pub(in super::super) fn check_room_orders(&self) -> Checked {
        self.rooms.known.iter().try_for_each(|known| known.order.check())
    }

    /// Checks at the end that desks know no rooms and that no user's rooms are still counted.
    pub(in super::super) fn check_rooms_forgotten(&mut self) -> Checked {
        let turned_away =
            |world: &Self| -> u64 { world.planes.iter().map(|plane| plane.stats().rooms.turned_away).sum() };
        let before = turned_away(self);
        let user = UserId(Uuid::from_u128(7));
        for (number, name) in TEMPLATES.iter().enumerate().take(TEMPLATES_COUNT) {
            let fresh = RoomId(Uuid::from_u128(self.rng.u128(..)));
            let desk = Some(number);
            self.rooms.add(super::RoomModel { desk, ..super::act::room_model(fresh, template(number).sizes.1) });
            let what = Placement { template: (*name).into(), size: None, fresh, random: 0, tried: Vec::new() };
            self.probe(number, user, |caller, reply_to| {
                MessageToRoomOwner::Placement(Request { caller, reply_to, what })
            })?;
            let answer = self.probed()?.remove(&number);
            let is_new = matches!(&answer, Some(Ok(RoomAnswer::Reserved(held))) if held.room.id == fresh);
            ensure(Check::Leaks, is_new && turned_away(self) == before, || {
                format!("of template {number} there should be no rooms, and somebody is placed: {answer:?}")
            })?;
        }
        let creators: BTreeSet<UserId> = self.rooms.known.iter().filter_map(|known| known.creator).collect();
        for (number, user) in creators.into_iter().enumerate() {
            let who = self.clients.keys().copied().find(|who| user_id(*who) == user).unwrap_or_default();
            let id = self.room_id_for(who);
            self.rooms.add(super::act::room_model(id, 1));
            let create = RoomAction::Create(Box::new(Creation::plain(1)));
            self.probe(number, user, |caller, reply_to| {
                MessageToRoomOwner::Room(id, Request { caller, reply_to, what: create })
            })?;
            let answer = self.probed()?.remove(&number);
            ensure(Check::Leaks, matches!(answer, Some(Ok(RoomAnswer::Reserved(_)))), || {
                format!("a user without rooms may make one: {answer:?}")
            })?;
        }
        Ok(())
    }
}
