//! One shard's part of the live plane: its sessions, the things that it owns, and its messages to other shards.
//!
//! A step takes an event and the time, changes the state, and leaves its effects in [`Effects`]. It never waits.
//! Messages from one shard to another arrive in the order in which they were sent; that is all a plane relies on.
//!
//! A plane has three parts: `sessions` know what this shard's sockets are on and hear, `owners` decide about the things
//! that this shard owns, and `changes` move things and sessions between owners and places.

mod changes;
mod effect;
mod kinds;
mod lanes;
mod message;
mod options;
mod owners;
mod sessions;
mod sound;

use std::rc::Rc;
use std::sync::Arc;

pub use changes::recall::{RECALL_MS, RECALL_WAIT_MS};
pub use changes::recovery::RECOVERY_WAIT_MS;
pub use effect::{AskedMatch, Effect, Effects, EndedTicket, HandlerOrder, Matched, Recall, Recalled};
pub use message::{
    AddedAsk, AddedWhat, Answer, Ask, Audience, Belongings, Carried, CarriedNews, CarriedPresence, CarriedStream,
    Claim, ClaimRefusal, Condition, Departed, Down, Errand, Frames, Join, JoinRefusal, Joined, Kind, LaneKind,
    Listener, LocalAudience, Message, Moved, Order, Publish, Rebind, Recover, Recoverable, RecoveryKey, Reply,
    RequestRef, Standing, Told, Up, Whom,
};
pub(crate) use options::Timer;
pub use options::{DOWN_CREDITS, JoinOptions, PlaneConfig, PlaneStats, SLICE_DELIVERIES, UP_CREDITS};
pub use owners::Owning;
pub use owners::match_logs::{DURABLE_PARTITIONS, MATCH_RECOVERY_WAIT_MS};
pub use owners::owned::Owned;
pub use owners::rebuilding::RECOVERY_INTERVAL_MS;

pub use crate::matchmaker::{CarriedPool, OnTicket, PoolAsk, PoolReply, PoolStats, TicketStanding, pool_partition};

use changes::Changes;
use lanes::Traffic as _;
use owners::Owners;
use owners::things::Things;
pub use sessions::REMEMBERED_MAX;
use sessions::session::{Coming, Session};
use sessions::{Forgotten, Sessions};

use crate::close::CloseReason;
use crate::encode::Encode;
use crate::matches::LeaveReason;
use crate::party::Member;
use crate::place::{Place, Routes};
use crate::registry::{SessionInfo, SessionKey};
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, SharedPayload, StreamKey};
use crate::wheel::Wheel;

/// Maps whose order nothing depends on.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// One shard's part of the live plane.
pub struct Plane {
    config: PlaneConfig,
    sessions: Sessions,
    owners: Owners,
    changes: Changes,
    wheel: Wheel<Timer>,
    /// An empty list, kept for its capacity.
    due: Vec<Timer>,
    /// The number of the latest question of this shard.
    last_request: u64,
    is_island: bool,
}

impl Plane {
    /// The plane of place `me`. One that joins a cluster begins with [`Routes::of_newcomer`], and learns of the others
    /// by [`Self::reroute`] before there is any session.
    pub fn new(me: Place, routes: Routes, config: PlaneConfig, encode: Rc<dyn Encode>) -> Self {
        Self {
            sessions: Sessions::new(me, routes, &config, encode),
            owners: Owners::new(&config),
            changes: Changes::default(),
            config,
            wheel: Wheel::default(),
            due: Vec::new(),
            last_request: 0,
            is_island: false,
        }
    }

    /// The place of this plane.
    pub fn place(&self) -> Place {
        self.sessions.me
    }

    /// The part of public ids behind the dot: the same on all nodes of a cluster.
    pub fn node(&self) -> &Arc<str> {
        &self.config.node
    }

    /// The owners of all partitions.
    pub fn routes(&self) -> &Routes {
        &self.sessions.routes
    }

    /// A number for a question of this shard; its answer comes as [`Effect::Reply`].
    pub fn request(&mut self) -> RequestRef {
        self.last_request += 1;
        RequestRef { place: self.sessions.me, id: self.last_request }
    }

    /// A session of this shard opened.
    pub fn open(&mut self, info: SessionInfo, username: Arc<str>, encoding: Encoding) -> SessionKey {
        self.sessions.registry.open(info, Session::new(username, encoding))
    }

    /// Closes a session. It is on no stream any more, and receives nothing.
    pub fn close(&mut self, now: Millis, key: SessionKey, out: &mut Effects) {
        self.forget_holdings(now, key, out);
        for (stream, forgotten) in self.sessions.close(key) {
            self.tell_forgotten(now, stream, forgotten, LeaveReason::Disconnected, out);
        }
        self.assert_settled();
    }

    /// The open sessions of this shard.
    pub fn sessions(&self) -> impl Iterator<Item = SessionKey> {
        self.sessions.registry.keys()
    }

    /// The sessions that a revocation ends.
    pub fn revoked(&self, revocation: &muster_domain::ports::revocations::Revocation) -> Vec<SessionKey> {
        self.sessions.registry.revoked(revocation)
    }

    /// A session's presence, to be shown somewhere.
    pub fn presence(&self, key: SessionKey) -> Option<Presence> {
        self.sessions.presence(key)
    }

    /// Whether messages of a session to a stream are to be stored. `None` if the session is neither on the stream nor
    /// on its way there.
    pub fn persistence_on(&self, key: SessionKey, stream: &StreamKey) -> Option<bool> {
        let session = self.sessions.registry.get(key)?;
        let on = session.streams.iter().find(|on| on.present.is_some() && on.stream == *stream);
        on.map(|on| on.persistence)
    }

    /// Whether a session is on a stream or on its way there.
    pub fn is_on(&self, key: SessionKey, stream: &StreamKey) -> bool {
        self.persistence_on(key, stream).is_some()
    }

    /// Whether a session is on as many streams as it may be, and can come to no further one.
    pub fn is_at_stream_limit(&self, key: SessionKey) -> bool {
        self.sessions.registry.get(key).is_some_and(|session| session.streams.len() >= self.config.session_streams_max)
    }

    /// Whether a session hears a stream: the session was let onto the stream, and was not taken off again as far as its
    /// shard knows.
    pub fn hears(&self, key: SessionKey, stream: &StreamKey) -> bool {
        self.sessions.hears(key, stream)
    }

    /// About how many sessions hear a stream: those of this shard, as if as many of every other shard did.
    pub fn hearers(&self, stream: &StreamKey) -> usize {
        self.sessions.hearers(stream).saturating_mul(self.sessions.routes.places().len().max(1))
    }

    /// The streams of a mode that a session is on.
    pub fn streams_of(&self, key: SessionKey, mode: u8) -> Vec<StreamKey> {
        let streams = self.sessions.registry.get(key).map_or(&[][..], |session| &session.streams);
        streams.iter().filter(|on| on.present.is_some() && on.stream.mode == mode).map(|on| on.stream.clone()).collect()
    }

    /// Brings a session to a stream. The answer to `request` is [`Reply::Joined`].
    pub fn join(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        options: JoinOptions,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        let JoinOptions { hidden, persistence, status, listens, condition } = options;
        let replaces = matches!(condition, Condition::Replace);
        let coming = Coming { hidden, persistence, status: status.clone(), listens, replaces };
        let before = self.sessions.before(key, &stream);
        let again = before.is_some().then(|| coming.clone());
        let noted = self.sessions.note_join(key, &stream, coming, self.config.session_streams_max);
        let ((serial, listener), presence) = match (noted, self.sessions.presence(key)) {
            (Ok(noted), Some(presence)) => (noted, presence),
            (noted, _) => {
                let refusal = noted.err().unwrap_or(JoinRefusal::Closed);
                out.reply_if_asked(request, Reply::Joined(Err(refusal)));
                return;
            }
        };
        let presence = Presence { hidden, persistence, status, ..presence };
        let join = Join { stream: stream.clone(), presence, listener, serial, condition, request };
        self.sessions.begins(key, Some((serial, again)), before);
        self.send_up(now, self.sessions.routes.owner(stream.partition()), Up::Join(Box::new(join)), out);
    }

    /// Notes that a session is on its way to a stream whose owner decides whether to let it in. If the session cannot
    /// come to any stream, the answer to `request` is the refusal.
    fn set_out(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        persistence: bool,
        request: RequestRef,
        out: &mut Effects,
    ) -> Option<Member> {
        let coming = Coming { listens: true, persistence, ..Coming::default() };
        let before = self.sessions.before(key, stream);
        let noted = self.sessions.note_join(key, stream, coming, self.config.session_streams_max).map(|(_, new)| new);
        let (Ok(Some(listener)), Some(presence)) = (noted, self.sessions.presence(key)) else {
            let refusal = noted.err().unwrap_or(JoinRefusal::Closed);
            out.reply(request.id, Reply::Joined(Err(refusal)));
            return None;
        };
        self.sessions.begins(key, Some((listener.serial, None)), before);
        Some(Member { presence: Presence { persistence, ..presence }, listener })
    }

    /// Takes a session from a stream. Answers whether the session was on the stream.
    pub fn leave(&mut self, now: Millis, key: SessionKey, stream: StreamKey, out: &mut Effects) -> bool {
        let forgotten = self.sessions.forget(key, &stream);
        forgotten.is_some_and(|forgotten| self.tell_forgotten(now, stream, forgotten, LeaveReason::Left, out))
    }

    /// Takes a session's presence from a stream that the session goes on hearing. Answers whether the session was on
    /// the stream.
    pub fn vanish(&mut self, now: Millis, key: SessionKey, stream: StreamKey, out: &mut Effects) -> bool {
        // A session that heard the stream by its join hears it by a listen from now on, whatever comes of the join.
        if let Some(listener) = self.sessions.listener(key, &stream)
            && self.sessions.note_listen(key, &stream, self.config.session_streams_max).is_ok()
        {
            let owner = self.sessions.routes.owner(stream.partition());
            self.send_up(now, owner, Up::Listen { stream: stream.clone(), listener, request: None }, out);
        }
        if self.is_on(key, &stream) {
            self.sessions.keep_hearing(key, &stream);
        }
        let forgotten = self.sessions.forget_presence(key, &stream);
        forgotten.is_some_and(|forgotten| self.tell_forgotten(now, stream, forgotten, LeaveReason::Left, out))
    }

    /// Lets a session hear a stream without being on it. The answer to `request` is [`Reply::Presences`], or
    /// [`Reply::Joined`] with the refusal.
    pub fn listen(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        let owner = self.sessions.routes.owner(stream.partition());
        let before = self.sessions.before(key, &stream);
        match self.sessions.note_listen(key, &stream, self.config.session_streams_max) {
            Ok(Some(listener)) => {
                self.sessions.begins(key, None, before);
                self.send_up(now, owner, Up::Listen { stream, listener, request }, out);
            }
            Ok(None) => {
                let Some(request) = request else { return };
                self.sessions.begins(key, None, before);
                let limit = self.config.snapshot_max;
                self.send_up(now, owner, Up::List { request, stream, with_hidden: false, skip: 0, limit }, out);
            }
            Err(refusal) => out.reply_if_asked(request, Reply::Joined(Err(refusal))),
        }
    }

    /// Lets a session hear a stream no longer.
    pub fn unlisten(&mut self, now: Millis, key: SessionKey, stream: StreamKey, out: &mut Effects) {
        if let Some(forgotten) = self.sessions.forget_hearing(key, &stream) {
            self.tell_forgotten(now, stream, forgotten, LeaveReason::Left, out);
        }
    }

    /// Sends a message to the owner of a stream.
    pub fn ask(&mut self, now: Millis, stream: &StreamKey, up: Up, out: &mut Effects) {
        self.send_up(now, self.sessions.routes.owner(stream.partition()), up, out);
    }

    /// Sends a question to the owner of the thing that it is about. The answer to `request` is [`Reply::Answer`].
    /// Questions that are not about one thing are for [`Self::ask_place`].
    pub fn ask_thing(&mut self, now: Millis, ask: Ask, request: Option<RequestRef>, out: &mut Effects) {
        if let Some(partition) = ask.partition() {
            self.send_up(now, self.sessions.routes.owner(partition), Up::Ask { request, ask }, out);
        }
    }

    /// Sends a message to a place as an owner.
    pub fn ask_place(&mut self, now: Millis, place: Place, up: Up, out: &mut Effects) {
        self.send_up(now, place, up, out);
    }

    /// Publishes a message to those who hear a stream.
    pub fn publish(&mut self, now: Millis, publish: Publish, out: &mut Effects) {
        self.send_up(now, self.sessions.routes.owner(publish.stream.partition()), Up::Publish(publish), out);
    }

    /// Whether this node is an island.
    pub fn is_island(&self) -> bool {
        self.is_island
    }

    /// Closes a session of this shard, behind the frames that it was sent and a last message.
    pub fn end(&mut self, key: SessionKey, payload: Option<SharedPayload>, reason: CloseReason, out: &mut Effects) {
        self.sessions.receive(self.sessions.me, Down::Close { session: key, payload, reason }, out);
    }

    /// Sends a message to one session, wherever the session is.
    pub fn push(&mut self, session: SessionRef, payload: SharedPayload, out: &mut Effects) {
        self.push_of_tickets(session, payload, Vec::new(), out);
    }

    /// Takes a message from another shard.
    pub fn receive(&mut self, now: Millis, from: Place, message: Message, out: &mut Effects) {
        self.sessions.now = now;
        let Some(message) = self.admit(from, message) else { return };
        match message {
            Message::Up(up) => self.receive_up(now, from, up, out),
            Message::Dated(epoch, up) => self.receive_dated(now, from, epoch, up, out),
            Message::Down(Down::HandedOver { partitions }) => self.hear_over(now, from, partitions, out),
            Message::Down(Down::Taken { partitions }) => out.push(Effect::HandedOver(partitions)),
            Message::Down(down) => self.receive_down(now, from, down, out),
            Message::Credit(kind, count) => {
                self.sessions.lanes.credit(from, kind, count, out);
                self.release_held(now, out);
            }
        }
        self.assert_settled();
    }

    fn receive_down(&mut self, now: Millis, from: Place, down: Down, out: &mut Effects) {
        let has_credit = down.needs_credit();
        if self.is_by_owner(from, &down) {
            self.sessions.receive(from, down, out);
        }
        if has_credit {
            self.sessions.lanes.worked_off(from, LaneKind::Down, out);
        }
        self.leave_others(now, out);
    }

    /// The time when the plane is to be turned next, if nothing happens before.
    pub fn next_due(&self) -> Option<Millis> {
        [self.wheel.next_due(), self.owners.things.next_due()].into_iter().flatten().min()
    }

    /// Runs everything that is due.
    pub fn turn(&mut self, now: Millis, out: &mut Effects) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take_due(now, &mut due);
        for timer in due.drain(..) {
            let (mut owning, things) = self.owning(now, out);
            match timer {
                Timer::Tell(stream) => owning.tell_kept(&stream),
                Timer::Thing(kind) => things.turn(&mut owning, kind),
                Timer::Keep => self.keep_changed(now, out),
                Timer::RecoveryLate => self.recover_without(now, out),
            }
        }
        self.due = due;
        let (mut owning, things) = self.owning(now, out);
        things.turn_due(&mut owning);
        things.all_mut().for_each(|things| things.set_timers(&mut owning));
        self.assert_sound();
        self.assert_settled();
    }

    /// Goes on with long work, one slice. Answers whether there is more. Other work of the shard is done between
    /// slices.
    pub fn run_slice(&mut self, now: Millis, out: &mut Effects) -> bool {
        let more = self.sessions.run_slice(out);
        let more = self.sessions.run_for_all(out) || more;
        let (mut owning, things) = self.owning(now, out);
        let more = things.run_slice(&mut owning) || more;
        self.assert_sound();
        self.assert_settled();
        more
    }

    /// Whether there is long work to go on with.
    pub fn is_busy(&self) -> bool {
        self.sessions.is_busy() || self.owners.things.is_busy()
    }

    /// Whether the shard should not read its sockets for now, because their messages would have to wait here.
    pub fn is_congested(&self) -> bool {
        self.sessions.lanes.waiting() != (0, 0) || !self.owners.held.is_empty() || self.changes.kept_back() > 0
    }

    /// Counts and gauges.
    pub fn stats(&self) -> PlaneStats {
        let (up_waiting, down_waiting) = self.sessions.lanes.waiting();
        let Owners { streams, things, held } = &self.owners;
        let mut stats = PlaneStats {
            sessions: self.sessions.registry.len(),
            streams: streams.len(),
            presences: streams.presences,
            heard_streams: self.sessions.heard_streams(),
            up_waiting,
            down_waiting,
            held: held.len() + self.changes.kept_back(),
            timers: self.wheel.len(),
            deliveries: self.sessions.deliveries,
            strangers: streams.strangers,
            misdirected: self.changes.misdirected,
            island_refusals: self.changes.island_refusals,
            recalled: self.changes.recalled,
            left_out: self.sessions.heard.left_out,
            recoveries_late: self.changes.late,
            lateness: self.wheel.lateness().clone(),
            ..PlaneStats::default()
        };
        things.count(&mut stats);
        stats
    }

    /// The presences on a stream that this shard owns, hidden ones included.
    pub fn owned_presences(&self, stream: &StreamKey) -> impl Iterator<Item = &Presence> {
        self.owners.streams.presences(stream)
    }

    /// Tells the owner of a stream that a session is no longer on the stream, or no longer hears it. Answers whether
    /// the session was on the stream.
    fn tell_forgotten(
        &mut self,
        now: Millis,
        stream: StreamKey,
        forgotten: Forgotten,
        reason: LeaveReason,
        out: &mut Effects,
    ) -> bool {
        let was_present = forgotten.was_present;
        let owner = self.sessions.routes.owner(stream.partition());
        if let Some(up) = forgotten.into_up(stream, reason) {
            self.send_up(now, owner, up, out);
        }
        was_present
    }

    fn send_up(&mut self, now: Millis, to: Place, up: Up, out: &mut Effects) {
        if let Some(questions) = &mut self.sessions.questions {
            questions.note(to, &up);
        }
        if self.is_island
            && !up.outlasts_island()
            && to.node() != self.sessions.me.node()
            && let Some(request) = up.request()
        {
            self.changes.island_refusals += 1;
            self.sessions.give_up_one(request.id, out);
            return;
        }
        if to == self.sessions.me {
            self.receive_up(now, to, up, out);
        } else {
            self.sessions.up(to, up, out);
        }
    }

    /// Takes a message to this place as an owner. The message is held, in order, while others wait for credit on the
    /// way down.
    fn receive_up(&mut self, now: Millis, from: Place, up: Up, out: &mut Effects) {
        let Some(up) = self.screen(now, from, up, out) else { return };
        if !self.owners.held.is_empty() || self.sessions.lanes.waiting().1 > 0 {
            self.owners.held.push_back((from, up));
        } else {
            self.own(now, from, up, out);
        }
    }

    /// Carries out held messages in order, as long as no message waits for credit on the way down.
    fn release_held(&mut self, now: Millis, out: &mut Effects) {
        while self.sessions.lanes.waiting().1 == 0
            && let Some((from, up)) = self.owners.held.pop_front()
        {
            self.own(now, from, up, out);
        }
        self.hand_over(now, out);
    }

    /// Carries out a message as an owner.
    fn own(&mut self, now: Millis, from: Place, up: Up, out: &mut Effects) {
        let has_credit = from != self.sessions.me && up.needs_credit();
        let (mut owning, things) = self.owning(now, out);
        match up {
            Up::Join(join) => owning.join(*join),
            Up::Leave { stream, session, heard, reason } => {
                things.depart(&mut owning, &stream, session, heard, reason);
            }
            Up::Listen { stream, listener, request } => owning.listen(stream, listener, request),
            Up::Unlisten { stream, listener, by_join } => {
                owning.unlisten(&stream, listener, by_join);
                things.unheard(&mut owning, &stream);
            }
            Up::Publish(publish) => owning.publish(&publish),
            Up::Ask { request, ask } => things.ask(&mut owning, request, ask),
            Up::Count { request, streams } => owning.count(request, &streams),
            Up::List { request, stream, with_hidden, skip, limit } => {
                owning.list(request, &stream, with_hidden, skip, limit);
            }
            Up::Matches { request, limit, sizes } => owning.list_matches(request, limit, sizes),
            Up::Passed { partitions } => self.passed(now, from, &partitions, out),
            Up::Heard { partitions } => self.heard(from, &partitions, out),
            Up::Claim { request, claim } => out.push(Effect::Depart(request, claim)),
            Up::Order { request, order } => out.push(Effect::Order(request, order)),
            Up::All { request, payload } => self.sessions.tell_all(request, &payload),
            Up::Rebind { request, rebind } => things.rebind(&mut owning, request, *rebind),
            // `screen` takes these in a cluster, and nobody sends them elsewhere.
            Up::Rebuild { .. } | Up::Fence { .. } | Up::Carried { .. } => {}
        }
        if has_credit {
            self.sessions.lanes.worked_off(from, LaneKind::Up, out);
        }
        self.after_owning(now, out);
    }

    /// Does what follows from a step as an owner: sessions leave other streams, and parties take tickets back.
    fn after_owning(&mut self, now: Millis, out: &mut Effects) {
        self.leave_others(now, out);
        self.cancel_tickets_of_parties(now, out);
        self.assert_sound();
    }

    /// Takes sessions that came to a match or a party off other ones, where a session may be in one only, and tells
    /// owners of strays. Leaves need no credit, so the way down stays free.
    fn leave_others(&mut self, now: Millis, out: &mut Effects) {
        while let Some(stray) = self.sessions.strays.pop() {
            self.send_stray_away(now, stray, out);
        }
        self.send_stray_tickets_away(now, out);
        while let Some((key, stream)) = self.sessions.arrivals.pop() {
            if self.sessions.is_moving_with(key, &stream) {
                continue;
            }
            for mode in self.config.exclusive(stream.mode) {
                let others = self.streams_of(key, *mode).into_iter().filter(|other| *other != stream);
                others.for_each(|other| {
                    self.leave(now, key, other, out);
                });
            }
        }
    }

    /// Access of an owner to the plane during a step, and the things that it owns.
    fn owning<'a>(&'a mut self, now: Millis, out: &'a mut Effects) -> (Owning<'a>, &'a mut Things) {
        self.sessions.now = now;
        let Owners { streams, things, held } = &mut self.owners;
        let owning = Owning {
            streams,
            sessions: &mut self.sessions,
            rebuilding: &mut self.changes.rebuilding,
            held,
            unkept: &mut self.changes.unkept,
            wheel: &mut self.wheel,
            config: &self.config,
            is_island: self.is_island,
            now,
            out,
        };
        (owning, things)
    }
}

#[cfg(test)]
mod tests;
