//! Rooms on the plane: what is asked of them reaches their owners, and what those decide reaches streams, sessions and
//! each other.
//!
//! A session that asks to come in is noted on its shard as on its way to the room's stream, so that the owner learns
//! when it is gone.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use muster_domain::ids::Uuid;

use super::effect::Effects;
use super::message::{Audience, Down, Publish, Reply, RequestRef, Up};
use super::owner::Owning;
use super::recovery::Thing;
use super::{Listener, Plane, Timer};
use crate::outbox::Delivery;
use crate::party::Member;
use crate::place::{Partition, Place};
use crate::registry::SessionKey;
use crate::rooms::{
    Across, Actor, Answer, Caller, DirectoryAction, Effect, Entry, Event, LobbyDelta, Owner, Request, RoomAction,
    RoomId, RoomsConfig, To, ToOwner, ViewKey,
};
use crate::session::Millis;
use crate::stream::{Presence, StreamKey, mode};

impl RoomId {
    /// The stream of a room, whose owner is the room's.
    pub fn stream(self) -> StreamKey {
        StreamKey::about(mode::ROOM, self.0)
    }

    /// The room of a stream.
    pub fn of_stream(stream: &StreamKey) -> Option<Self> {
        (stream.mode == mode::ROOM).then_some(Self(stream.subject))
    }
}

impl ViewKey {
    /// The stream of those who watch a view; all are owned where the directory is.
    pub fn stream(&self) -> StreamKey {
        StreamKey::new(mode::LOBBY, Uuid::nil(), Uuid::nil(), &self.label())
    }
}

impl Owner {
    /// Its partition.
    pub fn partition(&self) -> Partition {
        match self {
            Self::Room(room) => room.stream().partition(),
            Self::Desk(template) => Partition::of_name(template),
            Self::Directory => StreamKey::about(mode::LOBBY, Uuid::nil()).partition(),
        }
    }
}

impl Plane {
    /// Asks something of an owner of rooms. The answer to the request in it is [`Reply::Rooms`].
    pub fn ask_rooms(&mut self, now: Millis, ask: ToOwner, out: &mut Effects) {
        let owner = self.local.routes.owner(ask.owner().partition());
        self.send_up(now, owner, Up::Rooms(Box::new(ask)), out);
    }

    /// How rooms are kept.
    pub fn rooms_config(&self) -> &RoomsConfig {
        &self.config.rooms
    }

    /// Brings a session into a room. The answer is [`Reply::Rooms`], or [`Reply::Joined`] if the session cannot come
    /// anywhere. Who is there already, or on its way, is to be asked for by [`Self::is_on`] first.
    pub fn come_to_room(
        &mut self,
        now: Millis,
        key: SessionKey,
        room: RoomId,
        entry: Entry,
        request: RequestRef,
        out: &mut Effects,
    ) {
        let stream = room.stream();
        let Some(Member { presence, listener }) = self.set_out(key, &stream, false, request, out) else { return };
        let caller = Caller {
            user_id: presence.user_id,
            username: presence.username,
            session: Some((presence.session, presence.session_id)),
        };
        let what = RoomAction::Join(entry, listener);
        self.ask_rooms(now, ToOwner::Room(room, Request { caller, reply_to: Some(request), what }), out);
    }

    /// What a place tells desks and the directory of rooms that are another's by now is old: that tells it again. That a
    /// room has closed does not become old. To be called when it comes, though it may wait before it counts.
    pub(super) fn drop_old_reports(&self, from: Place, ask: &mut ToOwner) -> bool {
        let routes = &self.local.routes;
        let is_its = |partition| routes.owner(partition) == from || self.handovers.speaks(partition, from);
        let is_its_own = |room: &RoomId| is_its(room.stream().partition());
        match ask {
            ToOwner::Across(_, Across::Report(room, _) | Across::Filling { room, .. }) => is_its_own(room),
            ToOwner::Across(_, Across::Listing(rooms)) => {
                rooms.retain(|(room, summary)| summary.is_none() || is_its_own(room));
                !rooms.is_empty()
            }
            ToOwner::Across(_, Across::Forgotten(partitions)) => {
                partitions.retain(|partition| is_its(*partition));
                !partitions.is_empty()
            }
            _ => true,
        }
    }

    /// Sets the timer for what is due first among rooms.
    pub(super) fn set_rooms_timer(&mut self) {
        if let Some(due) = self.rooms.next_due()
            && self.rooms_timer.is_none_or(|set| due < set)
        {
            self.rooms_timer = Some(due);
            self.wheel.set(due, Timer::Rooms);
        }
    }
}

impl Owning<'_> {
    pub(super) fn ask_rooms(&mut self, ask: ToOwner) {
        let comer = match &ask {
            ToOwner::Room(room, Request { what: RoomAction::Join(_, listener), .. }) => Some((*room, *listener)),
            _ => None,
        };
        let view = match &ask {
            ToOwner::Directory(Request { what: DirectoryAction::Subscribe(view), .. }) => Some(view.clone()),
            _ => None,
        };
        let mut effects = Vec::new();
        self.rooms.receive(self.now, ask, &mut effects);
        if let Some((room, listener)) = comer {
            let came = |effect: &Effect| matches!(effect, Effect::Track { listener: who, .. } if *who == listener);
            if !effects.iter().any(came) {
                let stream = room.stream();
                self.local.down(listener.session.place, Down::Removed { stream, listener }, self.out);
            }
        }
        self.carry_out_rooms(effects);
        // Whoever asked may have gone before the question came here.
        if let Some(view) = view {
            self.drop_unheard(&view.stream());
        }
    }

    /// A session has left a stream, which may be a room's.
    pub(super) fn left_room(&mut self, stream: &StreamKey, presence: Option<Arc<Presence>>) {
        let (Some(room), Some(presence)) = (RoomId::of_stream(stream), presence) else { return };
        let mut effects = Vec::new();
        self.rooms.session_gone(self.now, room, presence.user_id, presence.session, &mut effects);
        self.carry_out_rooms(effects);
    }

    /// A session hears a stream no longer, which may be that of a view of the lobby.
    pub(super) fn drop_unheard(&mut self, stream: &StreamKey) {
        if stream.mode == mode::LOBBY
            && !self.streams.map.contains_key(stream)
            && let Some(view) = ViewKey::parse(stream.label())
        {
            self.rooms.view_unheard(&view);
        }
    }

    /// Desks are others now: they are told of the rooms that they are to fill.
    pub(super) fn introduce_rooms(&mut self, changed: &BTreeSet<Partition>) {
        let mut effects = Vec::new();
        self.rooms.introduce(|desk| changed.contains(&desk.partition()), &mut effects);
        self.carry_out_rooms(effects);
    }

    /// Rooms of a partition came here from its former owner; meanwhile these partitions got new owners by a death.
    pub(super) fn tell_rooms_again(&mut self, partition: Partition, missed: &BTreeSet<Partition>) {
        let mut effects = Vec::new();
        let came_here = |room: RoomId| room.stream().partition() == partition;
        self.rooms.tell_again(self.now, came_here, |desk| missed.contains(&desk.partition()), &mut effects);
        self.carry_out_rooms(effects);
    }

    pub(super) fn turn_rooms(&mut self) {
        let mut effects = Vec::new();
        self.rooms.turn(self.now, &mut effects);
        self.carry_out_rooms(effects);
    }

    /// Carries out effects in order; what this shard tells itself as another owner comes behind them.
    pub(super) fn carry_out_rooms(&mut self, effects: Vec<Effect>) {
        let mut to_self = VecDeque::new();
        self.carry_out_each(effects, &mut to_self);
        while let Some(ask) = to_self.pop_front() {
            let mut effects = Vec::new();
            self.rooms.receive(self.now, ask, &mut effects);
            self.carry_out_each(effects, &mut to_self);
        }
        self.note_changed_rooms();
    }

    /// Rooms changed, perhaps, of which recovery data are kept.
    pub(super) fn note_changed_rooms(&mut self) {
        self.rooms.take_touched().into_iter().for_each(|room| self.note_change(Thing::Room(room)));
    }

    fn carry_out_each(&mut self, effects: Vec<Effect>, to_self: &mut VecDeque<ToOwner>) {
        for effect in effects {
            match effect {
                Effect::Reply(to, answer) => {
                    if let Ok(Answer::Joined(joined)) = &answer {
                        self.streams.shown(&joined.state.summary.id.stream());
                    }
                    self.local.down(to.place, Down::Reply(to.id, Reply::Rooms(answer)), self.out);
                }
                Effect::Track { room, who, listener, seat } => self.track(room, who, listener, seat),
                Effect::Untrack { room, listener, seen } => self.expel(&room.stream(), listener, seen),
                Effect::Tell { room, to, event } => self.tell_room(room, to, event),
                Effect::Lobby { view, delta } => self.tell_lobby(&view, delta),
                Effect::Send(owner, message) => {
                    let (me, partition) = (self.local.me, owner.partition());
                    let place = self.local.routes.owner(partition);
                    let ask = ToOwner::Across(owner, message);
                    // Behind what waits already.
                    let waits = |(_, up): &(Place, Up)| up.concerns(|about| about == partition);
                    match self.rebuilding.get_mut(&partition) {
                        _ if place != me => self.local.up(place, Up::Rooms(Box::new(ask)), self.out),
                        Some(rebuilding) => rebuilding.held.push_back((me, Up::Rooms(Box::new(ask)))),
                        None if self.held.iter().any(waits) => self.held.push_back((me, Up::Rooms(Box::new(ask)))),
                        None => to_self.push_back(ask),
                    }
                }
            }
        }
    }

    fn track(&mut self, room: RoomId, who: Actor, listener: Listener, seat: Option<u32>) {
        let stream = room.stream();
        let status: Option<Arc<str>> = Some(self.local.encode.seat_status(seat));
        if self.streams.set_status(&stream, listener.session, &status) {
            return;
        }
        let presence = Presence {
            session: listener.session,
            session_id: who.session_id,
            user_id: who.user_id,
            username: who.username,
            hidden: false,
            persistence: false,
            status,
            sole_since: None,
        };
        self.enter(&stream, Member { presence, listener }, None);
    }

    pub(super) fn tell_room(&mut self, room: RoomId, to: To, event: Event) {
        let stream = room.stream();
        let payload = self.local.encode.room_event(&stream, event);
        match to {
            To::All => {
                let (audience, delivery) = (Audience::All, Delivery::Reliable);
                self.publish(&Publish { stream, payload, audience, delivery, sender: None });
            }
            To::Only(sessions) => self.tell_some(&stream, &sessions, &*payload),
        }
    }

    fn tell_lobby(&mut self, view: &ViewKey, delta: LobbyDelta) {
        let stream = view.stream();
        let payload = self.local.encode.lobby_event(&stream, delta);
        let (audience, delivery) = (Audience::All, Delivery::Reliable);
        self.publish(&Publish { stream, payload, audience, delivery, sender: None });
    }
}
