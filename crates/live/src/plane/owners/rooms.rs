//! Rooms on the plane: questions reach their owners, and the owners' decisions reach streams, sessions and each other.
//!
//! A session that asks to come in is noted on its shard as on its way to the room's stream, so that the owner learns
//! when the session is gone.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use muster_domain::ids::Uuid;

use super::owned::{Owned, Typed};
use super::owning::Owning;
use crate::matches::LeaveReason;
use crate::outbox::Delivery;
use crate::party::Member;
use crate::place::{Partition, Place};
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{
    Answer, Ask, Asked, Audience, Carried, Down, Kind, Listener, Part, Publish, RecoveryKey, Reply, RequestRef, Up,
};
use crate::plane::options::{PlaneConfig, PlaneStats};
use crate::plane::owners::rosters::RosterCause;
use crate::plane::sessions::session::OnStream;
use crate::registry::SessionKey;
use crate::rooms::limits::LOBBY_VIEWS_PER_SESSION_MAX;
use crate::rooms::{
    self, Actor, Caller, CloseCause, DirectoryAction, Entry, LobbyDelta, MessageToRoomOwner, OwnerMessage, Request,
    RoomAction, RoomAudience, RoomEffect, RoomEvent, RoomId, RoomOwner, Rooms, RoomsAsk, RoomsConfig, ViewKey,
};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey, mode};

impl RoomId {
    /// The stream of a room; one owner owns both.
    pub fn stream(self) -> StreamKey {
        StreamKey::about(mode::ROOM, self.0)
    }

    /// The room of a stream.
    pub fn of_stream(stream: &StreamKey) -> Option<Self> {
        (stream.mode == mode::ROOM).then_some(Self(stream.subject))
    }
}

impl ViewKey {
    /// The stream of those who watch a view. The owner of the directory owns all of these streams.
    pub fn stream(&self) -> StreamKey {
        StreamKey::new(mode::LOBBY, Uuid::nil(), Uuid::nil(), &self.label())
    }
}

impl RoomOwner {
    /// The partition of the owner.
    pub fn partition(&self) -> Partition {
        match self {
            Self::Room(room) => room.stream().partition(),
            Self::Desk(template) => Partition::of_name(template),
            Self::Directory => StreamKey::about(mode::LOBBY, Uuid::nil()).partition(),
        }
    }
}

impl Plane {
    /// Sends a question to an owner of rooms. The answer to the request in the question is the owner's.
    pub fn ask_rooms(&mut self, now: Millis, ask: MessageToRoomOwner, out: &mut Effects) {
        let request = ask.reply_to();
        self.ask_thing(now, Ask::Room(Box::new(ask)), request, out);
    }

    /// Whether a session may watch a view of the lobby besides those that it watches. A refusal is counted.
    pub fn may_watch(&mut self, key: SessionKey, view: &ViewKey) -> bool {
        let stream = view.stream();
        let streams = self.sessions.registry.get(key).map_or(&[][..], |session| &session.streams);
        let is_other = |on: &&OnStream| on.hearing.is_some() && on.stream.mode == mode::LOBBY && on.stream != stream;
        let may_watch = streams.iter().filter(is_other).count() < LOBBY_VIEWS_PER_SESSION_MAX;
        if !may_watch {
            self.owners.things.rooms.rooms.count_refused_view();
        }
        may_watch
    }

    /// Configuration of rooms.
    pub fn rooms_config(&self) -> &RoomsConfig {
        &self.config.rooms
    }

    /// Brings a session into a room. The answer is the room's, or [`Reply::Joined`] if the session cannot come to any
    /// stream. The caller asks [`Self::is_on`] first, for a session that is there already or on its way.
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
        self.ask_rooms(now, MessageToRoomOwner::Room(room, Request { caller, reply_to: Some(request), what }), out);
    }
}

impl Asked for MessageToRoomOwner {
    fn partition(&self) -> Option<Partition> {
        Some(self.owner().partition())
    }

    fn needs_credit(&self) -> bool {
        self.is_talk()
    }

    fn may_wander(&self) -> bool {
        self.may_wander()
    }

    /// Drops outdated news from a place's message to desks and the directory. News of a room is outdated if another
    /// place owns the room by now; that place tells the news again. News of closed rooms do not become outdated.
    /// `is_owner` says whether the sender may speak for a partition at the time when the message comes, even if the
    /// message then waits. Answers whether anything is left.
    fn drop_outdated(&mut self, is_owner: &dyn Fn(Partition) -> bool) -> bool {
        let is_its_own = |room: &RoomId| is_owner(room.stream().partition());
        match self {
            Self::FromOwner(_, OwnerMessage::Report(room, _) | OwnerMessage::Filling { room, .. }) => is_its_own(room),
            Self::FromOwner(_, OwnerMessage::Listing(rooms)) => {
                rooms.retain(|(room, summary)| summary.is_none() || is_its_own(room));
                !rooms.is_empty()
            }
            Self::FromOwner(_, OwnerMessage::Forgotten(partitions)) => {
                partitions.retain(|partition| is_owner(*partition));
                !partitions.is_empty()
            }
            _ => true,
        }
    }
}

impl Part for rooms::CarriedRooms {
    fn partition(&self) -> Partition {
        self.owner().partition()
    }

    fn recovery_key(&self) -> Option<RecoveryKey> {
        if let Self::Room(room) = self { room.recover.then_some(RecoveryKey::Room(room.id)) } else { None }
    }
}

/// The rooms, desks and the directory, as far as a place owns them.
pub(crate) struct OwnedRooms {
    rooms: Rooms,
    /// The time when the first timer for rooms fires.
    timer_at: Option<Millis>,
}

impl OwnedRooms {
    /// Sets the timer for what is due first among rooms.
    fn set_timer(&mut self, owning: &mut Owning<'_>) {
        if let Some(due) = self.rooms.next_due()
            && self.timer_at.is_none_or(|set| due < set)
        {
            self.timer_at = Some(due);
            owning.wake(Kind::Room, due);
        }
    }

    /// Carries out effects in order, and sets the timer for what is due first.
    fn carry_out_effects(&mut self, owning: &mut Owning<'_>, effects: Vec<RoomEffect>) {
        self.carry_out_each(owning, effects);
        self.set_timer(owning);
    }

    /// Carries out effects in order. Messages of this place to itself as another owner come behind the effects.
    fn carry_out_each(&mut self, owning: &mut Owning<'_>, effects: Vec<RoomEffect>) {
        let mut to_self = VecDeque::new();
        owning.carry_out_rooms(effects, &mut to_self);
        while let Some(ask) = to_self.pop_front() {
            let mut effects = Vec::new();
            self.rooms.receive(owning.now, ask, &mut effects);
            owning.carry_out_rooms(effects, &mut to_self);
        }
        self.note_changes(owning);
    }

    /// Notes the rooms that changed, so that recovery data are kept of them.
    fn note_changes(&mut self, owning: &mut Owning<'_>) {
        self.rooms.take_touched().into_iter().for_each(|room| owning.note_change(RecoveryKey::Room(room)));
    }
}

impl Typed for OwnedRooms {
    type Ask = RoomsAsk;

    fn new(config: &PlaneConfig) -> Self {
        Self { rooms: Rooms::new(config.rooms.clone()), timer_at: None }
    }

    /// The request is in the question too, because the question may be handed on to another owner.
    fn ask(&mut self, owning: &mut Owning<'_>, _request: Option<RequestRef>, ask: RoomsAsk) {
        let comer = match &*ask {
            MessageToRoomOwner::Room(room, Request { what: RoomAction::Join(_, listener), .. }) => {
                Some((*room, *listener))
            }
            _ => None,
        };
        let view = match &*ask {
            MessageToRoomOwner::Directory(Request { what: DirectoryAction::Subscribe(view), .. }) => Some(view.clone()),
            _ => None,
        };
        let mut effects = Vec::new();
        self.rooms.receive(owning.now, *ask, &mut effects);
        if let Some((room, listener)) = comer {
            let came =
                |effect: &RoomEffect| matches!(effect, RoomEffect::Track { listener: who, .. } if *who == listener);
            if !effects.iter().any(came) {
                let stream = room.stream();
                owning.down(listener.session.place, Down::Removed { stream, listener });
            }
        }
        self.carry_out_effects(owning, effects);
        // The asker may have gone before the question came here. A question that waits for a slice is looked at then.
        if let Some(view) = view {
            self.unheard(owning, &view.stream());
        }
    }
}

impl Owned for OwnedRooms {
    fn kind(&self) -> Kind {
        Kind::Room
    }

    fn mode(&self) -> Option<u8> {
        Some(mode::ROOM)
    }

    /// Runs rooms whose time has come. An outdated timer does nothing. The next timer is set only when all timers of
    /// this turn have run, so that rooms do not run twice.
    fn turn(&mut self, owning: &mut Owning<'_>) {
        if self.timer_at.take_if(|at| *at <= owning.now).is_some() {
            let mut effects = Vec::new();
            self.rooms.turn(owning.now, &mut effects);
            self.carry_out_each(owning, effects);
        }
    }

    fn is_busy(&self) -> bool {
        self.rooms.is_busy()
    }

    /// Goes on with searches for rooms and with views of the lobby.
    fn run_slice(&mut self, owning: &mut Owning<'_>) -> bool {
        let mut effects = Vec::new();
        let views = self.rooms.run_slice(owning.now, &mut effects);
        self.carry_out_effects(owning, effects);
        views.into_iter().for_each(|view| self.unheard(owning, &view.stream()));
        self.rooms.is_busy()
    }

    fn count(&self, stats: &mut PlaneStats) {
        stats.rooms = self.rooms.stats();
        stats.queries.merge(stats.rooms.work);
    }

    fn left(
        &mut self,
        owning: &mut Owning<'_>,
        stream: &StreamKey,
        _session: SessionRef,
        presence: Option<Arc<Presence>>,
        _reason: LeaveReason,
    ) {
        let Some(presence) = presence else { return };
        let (room, user) = (RoomId(stream.subject), presence.user_id);
        let mut effects = Vec::new();
        self.rooms.session_gone(owning.now, room, user, presence.session, &mut effects);
        self.carry_out_effects(owning, effects);
    }

    /// Ends a view of the lobby that no session hears any more.
    fn unheard(&mut self, owning: &mut Owning<'_>, stream: &StreamKey) {
        if stream.mode == mode::LOBBY
            && !owning.streams.map.contains_key(stream)
            && let Some(view) = ViewKey::parse(stream.label())
        {
            self.rooms.view_unheard(&view);
        }
    }

    fn rebind(
        &mut self,
        owning: &mut Owning<'_>,
        stream: &StreamKey,
        from: SessionRef,
        to: SessionRef,
        presence: Option<&Presence>,
    ) -> bool {
        if let Some(presence) = presence {
            self.rooms.rebind(RoomId(stream.subject), presence.user_id, from, to);
            self.note_changes(owning);
        }
        false
    }

    fn members(&self, _node: &str) -> Option<Vec<(StreamKey, SessionRef)>> {
        Some(self.rooms.members().map(|(room, session)| (room.stream(), session)).collect())
    }

    fn partitions(&self) -> BTreeSet<Partition> {
        self.rooms.owners().map(|owner| owner.partition()).collect()
    }

    fn forget(&mut self, owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        let directory = owning.sessions.routes.epoch(RoomOwner::Directory.partition());
        self.rooms.forget(owning.now, directory, |owner| changed.contains(&owner.partition()));
    }

    /// Tells a new directory of all rooms.
    fn owners_change(&mut self, owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        if changed.contains(&RoomOwner::Directory.partition()) {
            self.rooms.relist(owning.now);
            self.set_timer(owning);
        }
    }

    /// Tells new desks of the rooms that they are to fill.
    fn owners_changed(&mut self, owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        let mut effects = Vec::new();
        self.rooms.introduce(|desk| changed.contains(&desk.partition()), &mut effects);
        self.carry_out_effects(owning, effects);
    }

    /// Has a new directory tell those who watch the lobby everything at once, now that it knows of all rooms.
    fn adopt_streams(&mut self, owning: &mut Owning<'_>, streams: &BTreeSet<StreamKey>) {
        for stream in streams.iter().filter(|stream| stream.mode == mode::LOBBY) {
            if let Some(view) = ViewKey::parse(stream.label()) {
                self.rooms.adopt_view(owning.now, view);
            }
        }
        self.set_timer(owning);
    }

    /// Has the directory forget the rooms of these partitions once more. It forgot them when their owner died, and may
    /// have learned of them again from messages that this place had sent long before.
    fn rebuilt(&self, partitions: &[Partition]) -> Option<Up> {
        let forgotten = OwnerMessage::Forgotten(partitions.to_vec());
        Some(Up::from(MessageToRoomOwner::FromOwner(RoomOwner::Directory, forgotten)))
    }

    fn resume(
        &mut self,
        owning: &mut Owning<'_>,
        _partition: Partition,
        kept: Vec<Carried>,
        _is_inhabited: &dyn Fn(&StreamKey) -> bool,
    ) -> Vec<StreamKey> {
        let mut streams = Vec::new();
        for part in kept {
            match &part {
                Carried::Room(rooms::CarriedRooms::Room(room)) if room.recover => streams.push(room.id.stream()),
                Carried::Room(rooms::CarriedRooms::Room(_) | rooms::CarriedRooms::Members(_)) => {}
                _ => continue,
            }
            owning.carry_in(self, part);
        }
        self.set_timer(owning);
        streams
    }

    fn meet(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, inside: Vec<Member>, waiting: Vec<Listener>) {
        let room = RoomId(stream.subject);
        let inside: Vec<(Presence, Listener)> =
            inside.into_iter().map(|member| (member.presence, member.listener)).collect();
        if !self.rooms.contains(room) {
            owning.tell_room(room, RoomAudience::All, RoomEvent::Closed(CloseCause::Lost));
            let listeners = inside.into_iter().map(|(_, listener)| listener).chain(waiting);
            return listeners.for_each(|listener| owning.expel(stream, listener, false));
        }
        let mut effects = Vec::new();
        let strangers = self.rooms.meet(owning.now, room, &inside, &mut effects);
        for (presence, listener) in &inside {
            if let Some(seat) = self.rooms.seat_of(room, presence, *listener) {
                let status = Some(owning.sessions.encode.seat_status(seat));
                owning.streams.set_status(stream, presence.session, &status);
            }
        }
        owning.send_rosters(stream, RosterCause::NewOwner);
        self.carry_out_effects(owning, effects);
        if !strangers.is_empty() {
            // The seats of these sessions are not known, so for them the room has ended.
            let to = RoomAudience::Only(strangers.iter().map(|listener| listener.session).collect());
            owning.tell_room(room, to, RoomEvent::Closed(CloseCause::Lost));
        }
        strangers.iter().for_each(|listener| owning.expel(stream, *listener, true));
        waiting.iter().for_each(|listener| owning.expel(stream, *listener, false));
    }

    fn arrived(&mut self, owning: &mut Owning<'_>, partition: Partition, missed: &BTreeSet<Partition>) {
        let mut effects = Vec::new();
        let came_here = |room: RoomId| room.stream().partition() == partition;
        self.rooms.tell_again(owning.now, came_here, |desk| missed.contains(&desk.partition()), &mut effects);
        self.carry_out_effects(owning, effects);
    }

    /// Refuses searches that wait, since the next owner does not know of them.
    fn may_go(&mut self, owning: &mut Owning<'_>, partition: Partition) -> bool {
        if partition == RoomOwner::Directory.partition() {
            let mut effects = Vec::new();
            self.rooms.refuse_searches(&mut effects);
            self.carry_out_effects(owning, effects);
        }
        true
    }

    fn carry_out(&mut self, now: Millis, is_one: &dyn Fn(Partition) -> bool) -> Vec<Carried> {
        let carried = self.rooms.carry_out(now, |owner| is_one(owner.partition()));
        carried.into_iter().map(Carried::Room).collect()
    }

    fn carry_in(&mut self, owning: &mut Owning<'_>, part: Carried) {
        if let Carried::Room(rooms) = part {
            self.rooms.carry_in(owning.now, rooms);
        }
    }

    fn set_timers(&mut self, owning: &mut Owning<'_>) {
        self.set_timer(owning);
    }

    fn recovery_data(&self, now: Millis, key: RecoveryKey) -> Vec<Carried> {
        let RecoveryKey::Room(room) = key else { return Vec::new() };
        self.rooms.kept(now, room).into_iter().map(Carried::Room).collect()
    }
}

impl From<MessageToRoomOwner> for Up {
    fn from(ask: MessageToRoomOwner) -> Self {
        Self::Ask { request: ask.reply_to(), ask: Ask::Room(Box::new(ask)) }
    }
}

impl Owning<'_> {
    fn carry_out_rooms(&mut self, effects: Vec<RoomEffect>, to_self: &mut VecDeque<MessageToRoomOwner>) {
        for effect in effects {
            match effect {
                RoomEffect::Reply(to, answer) => {
                    if let Ok(rooms::RoomAnswer::Joined(joined)) = &answer {
                        self.streams.shown(&joined.state.summary.id.stream());
                    }
                    self.reply(Some(to), Reply::Answer(Answer::Room(answer)));
                }
                RoomEffect::Track { room, who, listener, seat } => self.track(room, who, listener, seat),
                RoomEffect::Untrack { room, listener, seen } => self.expel(&room.stream(), listener, seen),
                RoomEffect::Tell { room, to, event } => self.tell_room(room, to, event),
                RoomEffect::Lobby { view, delta } => self.tell_lobby(&view, delta),
                RoomEffect::Send(owner, message) => {
                    let (me, partition) = (self.sessions.me, owner.partition());
                    let place = self.sessions.routes.owner(partition);
                    let ask = MessageToRoomOwner::FromOwner(owner, message);
                    // Messages that wait already come first.
                    let waits = |(_, up): &(Place, Up)| up.concerns(|about| about == partition);
                    match self.rebuilding.get_mut(&partition) {
                        _ if place != me => self.sessions.up(place, ask.into(), self.out),
                        Some(rebuilding) => rebuilding.held.push_back((me, ask.into())),
                        None if self.held.iter().any(waits) => self.held.push_back((me, ask.into())),
                        None => to_self.push_back(ask),
                    }
                }
            }
        }
    }

    fn track(&mut self, room: RoomId, who: Actor, listener: Listener, seat: Option<u32>) {
        let stream = room.stream();
        let status: Option<Arc<str>> = Some(self.sessions.encode.seat_status(seat));
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
            only_session_since: None,
        };
        self.enter(&stream, Member { presence, listener }, None);
    }

    fn tell_room(&mut self, room: RoomId, to: RoomAudience, event: RoomEvent) {
        let stream = room.stream();
        let payload = self.sessions.encode.room_event(&stream, event);
        match to {
            RoomAudience::All => {
                let (audience, delivery) = (Audience::All, Delivery::Reliable);
                self.publish(&Publish { stream, payload, audience, delivery, sender: None });
            }
            RoomAudience::Only(sessions) => self.tell_some(&stream, &sessions, &*payload),
        }
    }

    fn tell_lobby(&mut self, view: &ViewKey, delta: LobbyDelta) {
        let stream = view.stream();
        let payload = self.sessions.encode.lobby_event(&stream, delta);
        let (audience, delivery) = (Audience::All, Delivery::Reliable);
        self.publish(&Publish { stream, payload, audience, delivery, sender: None });
    }
}
