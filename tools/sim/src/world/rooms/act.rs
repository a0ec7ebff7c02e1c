//! Actions of players about rooms: joining, leaving and talking.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_domain::ids::Uuid;
use muster_live::StreamKey;
use muster_live::rooms::{
    Caller, Creation, DirectoryAction, Entry, Find, MessageToRoomOwner, PasswordDigest, Placement, Request, RoomAction,
    RoomId, RoomPath,
};

use super::super::World;
use super::super::act::user_id;
use super::{Entering, OpenRoomRequest, ROOMS_FROM, RoomModel, RoomNo};
use crate::frames::StreamId;
use crate::model::{Audience, Ledger, Order, Receiver};
use crate::scenario::rooms::{FILTERS, PATHS, RoomAct, SeatPlan, TEMPLATES, TEMPLATES_COUNT, VIEWS, template};
use crate::scenario::{Who, pick};
use crate::violation::Checked;

impl World {
    pub(in super::super) fn act_in_room(&mut self, who: Who, act: RoomAct) -> Checked {
        match act {
            RoomAct::Create(then) => self.create_room(who, then),
            RoomAct::Place(template, then) => self.seek_place(who, template, then),
            RoomAct::QuickJoin(then) => self.quick_join(who, then),
            RoomAct::Watch => {
                let view = self.rng.usize(0..VIEWS);
                self.watch(who, view)
            }
            RoomAct::Unwatch => self.unwatch(who),
            RoomAct::Find => {
                let find = self.some_find();
                let ask = |caller, reply_to| {
                    MessageToRoomOwner::Directory(Request { caller, reply_to, what: DirectoryAction::Find(find) })
                };
                self.ask_rooms(who, OpenRoomRequest::Other, ask)
            }
            act => {
                let is_in_one = self.rooms.ties.iter().any(|((_, other), tie)| *other == who && tie.may_hear);
                // A session that is in no room mostly tries to join one.
                let act = if is_in_one || self.rng.u8(0..5) == 0 { act } else { RoomAct::Join };
                let Some(room) = self.some_room(who, act == RoomAct::Join) else { return Ok(()) };
                self.act_about(who, room, act)
            }
        }
    }

    fn act_about(&mut self, who: Who, room: RoomNo, act: RoomAct) -> Checked {
        match act {
            RoomAct::Join => self.join_room(who, room),
            RoomAct::Leave => self.leave_room(who, room),
            RoomAct::Look => self.ask_room(who, room, OpenRoomRequest::Other, RoomAction::Look),
            RoomAct::Say => self.say_in_room(who, room, None),
            RoomAct::Whisper => {
                let whom = (0..self.rng.usize(1..=2)).filter_map(|_| self.some_member(room, who)).collect();
                self.say_in_room(who, room, Some(whom))
            }
            RoomAct::Set => self.set_variables(who, room),
            RoomAct::SetOwn => self.set_own(who, room),
            RoomAct::Kick => self.kick(who, room),
            RoomAct::Spectate => {
                self.rooms.filling.disturb();
                let spectate = self.rng.bool();
                self.ask_room(who, room, OpenRoomRequest::Other, RoomAction::Spectate(spectate))
            }
            RoomAct::Update => self.update_room(who, room),
            _ => Ok(()),
        }
    }

    /// A room to act on. A session that does not want to join mostly picks a room that it is in.
    fn some_room(&mut self, who: Who, comes: bool) -> Option<RoomNo> {
        let ties = self.rooms.ties.iter();
        let own: Vec<RoomNo> =
            ties.filter(|((_, other), tie)| *other == who && tie.may_hear).map(|((room, _), _)| *room).collect();
        if !comes && !own.is_empty() && self.rng.u8(0..10) > 0 {
            return Some(pick(&mut self.rng, &own));
        }
        // Some sessions join a room that their user is in by another session, so that the new session takes over.
        let ties = self.rooms.ties.iter().filter(|(_, tie)| tie.mirror.is_some());
        let elsewhere: Vec<RoomNo> = ties
            .filter(|((_, other), _)| *other != who && user_id(*other) == user_id(who))
            .map(|((room, _), _)| *room)
            .collect();
        if comes && !elsewhere.is_empty() && self.rng.bool() {
            return Some(pick(&mut self.rng, &elsewhere));
        }
        // The room is mostly one with members or reservations, and mostly the same one.
        let ties = self.rooms.ties.iter().filter(|(_, tie)| tie.may_hear || tie.held.is_some());
        let used: BTreeSet<RoomNo> = ties.map(|((room, _), _)| *room).collect();
        if let Some(first) = used.first().filter(|_| self.rng.u8(0..8) > 0) {
            let used: Vec<RoomNo> = used.iter().copied().collect();
            return Some(if self.rng.bool() { *first } else { pick(&mut self.rng, &used) });
        }
        let known = self.rooms.known.iter().enumerate();
        let all: Vec<RoomNo> = known.filter(|(_, known)| !known.is_gone).map(|(room, _)| room).collect();
        (!all.is_empty()).then(|| pick(&mut self.rng, &all))
    }

    /// Mostly a session that is in the room, sometimes any session but the asker.
    pub(super) fn some_member(&mut self, room: RoomNo, asker: Who) -> Option<Who> {
        let ties = self.rooms.ties.range((room, 0)..=(room, Who::MAX));
        let members: Vec<Who> = ties.filter(|(_, tie)| tie.mirror.is_some()).map(|((_, who), _)| *who).collect();
        if !members.is_empty() && self.rng.u8(0..8) > 0 {
            return Some(pick(&mut self.rng, &members));
        }
        let all: Vec<Who> = self.clients.keys().copied().filter(|who| *who != asker).collect();
        (!all.is_empty()).then(|| pick(&mut self.rng, &all))
    }

    fn some_find(&mut self) -> Find {
        let path = RoomPath::new(pick(&mut self.rng, &PATHS)).unwrap_or_default();
        let (filter, limit) = (pick(&mut self.rng, &FILTERS).into(), self.rng.usize(1..=100));
        Find { path, filter, limit, after: None }
    }

    /// An id for a room whose owner is the shard that counts the creator's rooms.
    pub(super) fn room_id_for(&mut self, who: Who) -> RoomId {
        let owner = self.owning_shard(&StreamKey::notifications(user_id(who)));
        loop {
            let id = RoomId(Uuid::from_u128(self.rng.u128(..)));
            if self.owning_shard(&id.stream()) == owner {
                return id;
            }
        }
    }

    fn create_room(&mut self, who: Who, then: SeatPlan) -> Checked {
        let id = self.room_id_for(who);
        let capacity = pick(&mut self.rng, &[1, 2, 3, 4, 12, 12]);
        let base =
            if self.rng.bool() { Creation::plain(capacity) } else { template(self.rng.usize(0..4)).creation(capacity) };
        let is_locked = self.rng.u8(0..4) == 0;
        let password = is_locked.then(|| PasswordDigest::new(id, "right").ok()).flatten();
        let first = self.some_change();
        let creation = Creation {
            password,
            spectators_max: self.rng.u32(0..=2),
            hidden: self.rng.u8(0..5) == 0,
            owned: self.rng.u8(0..5) > 0,
            path: RoomPath::new(pick(&mut self.rng, &PATHS)).unwrap_or_default(),
            empty_ms: pick(&mut self.rng, &[0, 30, 700]),
            life_ms: if self.rng.u8(0..6) == 0 { Some(self.rng.u64(1..600)) } else { base.life_ms },
            variables: first.clone(),
            ..base
        };
        let room = self.rooms.add(RoomModel {
            creator: Some(user_id(who)),
            hidden: creation.hidden,
            is_brief: creation.life_ms.is_some(),
            ledger: Ledger::new(first),
            is_locked,
            ..room_model(id, creation.capacity)
        });
        let asked = self.hold(who, then, Some(room));
        self.ask_room(who, room, asked, RoomAction::Create(Box::new(creation)))
    }

    fn hold(&mut self, who: Who, then: SeatPlan, fresh: Option<RoomNo>) -> OpenRoomRequest {
        if then != SeatPlan::Join {
            self.rooms.filling.disturb();
        }
        OpenRoomRequest::Hold { who, then, at: self.now, fresh, departures: self.rooms.departures(who) }
    }

    fn seek_place(&mut self, who: Who, number: usize, then: SeatPlan) -> Checked {
        let fresh = RoomId(Uuid::from_u128(self.rng.u128(..)));
        let (smallest, largest) = template(number).sizes;
        let size = (self.rng.u8(0..4) == 0).then(|| self.rng.u32(smallest..=largest + 1));
        let desk = Some(number).filter(|number| *number < TEMPLATES_COUNT);
        let made_of = template(number);
        let room = self.rooms.add(RoomModel {
            desk,
            hidden: made_of.hidden,
            is_brief: made_of.life_ms.is_some(),
            ..room_model(fresh, size.unwrap_or(largest).min(largest))
        });
        self.rooms.filling.placed(user_id(who));
        let random = self.rng.u32(..);
        let what = Placement { template: TEMPLATES[number].into(), size, fresh, random, tried: Vec::new() };
        let asked = self.hold(who, then, Some(room));
        self.ask_rooms(who, asked, |caller, reply_to| MessageToRoomOwner::Placement(Request { caller, reply_to, what }))
    }

    fn quick_join(&mut self, who: Who, then: SeatPlan) -> Checked {
        let find = self.some_find();
        let asked = self.hold(who, then, None);
        let what = DirectoryAction::QuickJoin(find);
        self.ask_rooms(who, asked, |caller, reply_to| MessageToRoomOwner::Directory(Request { caller, reply_to, what }))
    }

    fn join_room(&mut self, who: Who, room: RoomNo) -> Checked {
        let text = pick(&mut self.rng, &["", "wrong", "right", "right"]);
        let id = self.rooms.known[room].id;
        let entry = Entry { password: PasswordDigest::new(id, text).ok(), spectator: self.rng.u8(0..4) == 0 };
        let held = self.rooms.tie(room, who).held.take().filter(|_| !entry.spectator);
        self.enter(Entering { who, room, entry, held })
    }

    /// Joins a room as the rim does: a session that is in the room, or on its way, only looks at it.
    pub(in super::super) fn enter(&mut self, entering: Entering) -> Checked {
        let Entering { who, room, entry, .. } = entering;
        let (at, known) = (self.clients[&who].at, &self.rooms.known[room]);
        let (id, barred_until) = (known.id, known.barred.get(&user_id(who)).copied().unwrap_or_default());
        let comes = !self.planes[usize::from(at.place.shard())].is_on(at.key, &id.stream());
        let tie = self.rooms.tie(room, who);
        if comes {
            // The plane has refused an earlier join if there was one, though the session may not know that yet.
            tie.generation += 1;
            tie.may_hear = true;
        }
        let asked = OpenRoomRequest::Enter { entering, generation: tie.generation, comes, barred_until };
        if !comes {
            return self.ask_room(who, room, asked, RoomAction::Look);
        }
        let request = self.ask_of_rooms(at.place.shard(), asked);
        self.trace.line(|| format!("  session {who} enters room {room} {entry:?}"));
        self.step(at.place.shard(), |plane, now, out| plane.come_to_room(now, at.key, id, entry, request, out))
    }

    fn leave_room(&mut self, who: Who, room: RoomNo) -> Checked {
        self.rooms.departed(who);
        self.control += super::CONTROL;
        if self.rng.u8(0..5) == 0 {
            // A request over HTTP takes out whichever session of the user is in the room.
            self.rooms.known[room].expulsions += 1;
            let (id, what) = (self.rooms.known[room].id, RoomAction::Leave);
            return self.ask_rooms(who, OpenRoomRequest::Other, |caller, reply_to| {
                let caller = Caller { session: None, ..caller };
                MessageToRoomOwner::Room(id, Request { caller, reply_to, what })
            });
        }
        self.rooms.tie(room, who).go();
        let (at, stream) = (self.clients[&who].at, self.rooms.known[room].id.stream());
        self.step(at.place.shard(), |plane, now, out| plane.leave(now, at.key, stream, out)).map(drop)
    }

    fn say_in_room(&mut self, who: Who, room: RoomNo, whom: Option<BTreeSet<Who>>) -> Checked {
        let stream = ROOMS_FROM + room as StreamId;
        let is_meant =
            |other: Who| whom.as_ref().is_none_or(|whom| whom.iter().any(|who| user_id(*who) == user_id(other)));
        let due: Vec<Receiver> = if self.is_in(who, room) {
            let ties = self.rooms.ties.range((room, 0)..=(room, Who::MAX));
            let meant = ties.filter(|((_, who), tie)| tie.mirror.is_some() && is_meant(*who));
            meant.map(|((_, who), tie)| Receiver { who: *who, period: tie.generation, changes: 0 }).collect()
        } else {
            Vec::new()
        };
        let audience = match &whom {
            Some(_) => Audience::Only(self.clients.keys().copied().filter(|who| is_meant(*who)).collect()),
            None => Audience::All,
        };
        let id = self.messages.next_id();
        self.messages.add(stream, audience, due);
        let text: Arc<str> = id.to_string().into();
        let what = match whom {
            Some(whom) => RoomAction::Whisper(whom.into_iter().map(user_id).collect(), text),
            None => RoomAction::Say(text),
        };
        self.ask_room(who, room, OpenRoomRequest::Say { id }, what)
    }

    pub(super) fn is_in(&self, who: Who, room: RoomNo) -> bool {
        self.rooms.ties.get(&(room, who)).is_some_and(|tie| tie.mirror.is_some())
    }
}

/// The model of a room of which only the size is known.
pub(super) fn room_model(id: RoomId, capacity_max: u32) -> RoomModel {
    RoomModel {
        id,
        desk: None,
        creator: None,
        hidden: false,
        capacity_max,
        is_locked: false,
        may_be_shut: false,
        is_brief: false,
        expulsions: 0,
        barred: Default::default(),
        held: BTreeSet::new(),
        ledger: Ledger::default(),
        order: Order::default(),
        is_gone: false,
    }
}
