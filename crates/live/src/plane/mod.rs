//! One shard's part of the live plane: its sessions, the streams it owns, and what it tells other shards.
//!
//! A step takes what happened and the time, changes the state, and leaves in [`Effects`] what is to be done. It never
//! waits. Messages from one shard to another arrive in the order in which they were sent; that is all it relies on.

mod asked;
mod asked_matches;
mod broadcast;
mod carry;
mod durable;
mod effect;
mod handover;
mod lanes;
mod local;
mod matches;
mod message;
mod moves;
mod options;
mod orders;
mod owner;
mod parties;
mod pool;
mod presences;
mod rebind;
mod rebuild;
mod recovery;
mod reroute;
mod rooms;
mod roster;
mod telling;
mod tickets;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

pub use asked_matches::AskedMatch;
pub use broadcast::SLICE_DELIVERIES;
pub use carry::{Carried, CarriedNews, CarriedPool, CarriedPresence, CarriedStream};
use durable::Rests;
pub use durable::{DURABLE_PARTITIONS, MATCH_RECOVERY_WAIT_MS};
pub use effect::{Effect, Effects, HandlerOrder};
use handover::Handovers;
pub use lanes::{DOWN_CREDITS, UP_CREDITS};
use local::{Coming, Forgotten, Local, Session};
pub use message::{
    Audience, Condition, Down, Frames, Join, JoinRefusal, Joined, LaneKind, Listener, LocalAudience, Message, Publish,
    Reply, RequestRef, Standing, Up,
};
pub use moves::{Claim, ClaimRefusal, Departed, Moved, Rebind};
pub(crate) use options::Timer;
pub use options::{JoinOptions, PlaneConfig, PlaneStats};
pub use orders::{Errand, Order, Whom};
use owner::{Owning, Streams};
use pool::Pool;
pub use pool::{Matched, PoolAsk, PoolReply, PoolStats};
use rebuild::Rebuilding;
use recovery::Changes;
pub use recovery::{RECOVERY_INTERVAL_MS, RECOVERY_WAIT_MS, Recover, Recoverable, Thing};
pub use tickets::{EndedTicket, OnTicket, TicketStanding};

use crate::close::CloseReason;
use crate::matches::{LeaveReason, Matches};
use crate::party::{Member, Parties};
use crate::place::{Partition, Place, Routes};
use crate::registry::{SessionInfo, SessionKey};
use crate::rooms::Rooms;
use crate::session::Millis;
use crate::stream::{Encode, Encoding, Presence, SessionRef, SharedPayload, StreamKey};
use crate::wheel::Wheel;

/// Maps whose order nothing depends on.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// See the module.
pub struct Plane {
    config: PlaneConfig,
    local: Local,
    streams: Streams,
    parties: Parties,
    pool: Pool,
    rooms: Rooms,
    matches: Matches,
    /// When the first timer for rooms fires.
    rooms_timer: Option<Millis>,
    wheel: Wheel<Timer>,
    due: Vec<Timer>,
    /// What owners were told while the way down was blocked, in order, with the place it came from.
    held: VecDeque<(Place, Up)>,
    /// From places that this one does not know of yet, or that know more than it, in order.
    early: BTreeMap<Place, VecDeque<Message>>,
    /// Partitions that it owns since a short while.
    rebuilding: BTreeMap<Partition, Rebuilding>,
    /// Those among them that just became complete.
    rebuilt: Vec<Partition>,
    handovers: Handovers,
    rests: Rests,
    changes: Changes,
    /// Messages that were for another owner.
    misdirected: u64,
    next_request: u64,
    is_island: bool,
    /// Whether game code is asked where the players of a match go.
    asks_of_matches: bool,
    last_asked_match: u64,
}

impl Plane {
    /// The plane of place `me`. One that joins a cluster begins with [`Routes::of_newcomer`], and learns of the others by
    /// [`Self::reroute`] before there is any session.
    pub fn new(me: Place, routes: Routes, config: PlaneConfig, encode: Rc<dyn Encode>) -> Self {
        let pool_config = config.matchmaker;
        Self {
            local: Local::new(me, routes, &config, encode),
            rooms: Rooms::new(config.rooms.clone()),
            matches: Matches::new(config.matches.clone()),
            config,
            streams: Streams::default(),
            parties: Parties::default(),
            pool: Pool::new(pool_config),
            rooms_timer: None,
            wheel: Wheel::default(),
            due: Vec::new(),
            held: VecDeque::new(),
            early: BTreeMap::new(),
            rebuilding: BTreeMap::new(),
            rebuilt: Vec::new(),
            handovers: Handovers::default(),
            rests: Rests::default(),
            changes: Changes::default(),
            misdirected: 0,
            next_request: 0,
            is_island: false,
            asks_of_matches: false,
            last_asked_match: 0,
        }
    }

    /// Which place it is.
    pub fn place(&self) -> Place {
        self.local.me
    }

    /// The part of public ids behind the dot.
    pub fn node(&self) -> &Arc<str> {
        &self.config.node
    }

    /// Who owns what.
    pub fn routes(&self) -> &Routes {
        &self.local.routes
    }

    /// A number for a question of this shard; its answer comes as [`Effect::Reply`].
    pub fn request(&mut self) -> RequestRef {
        self.next_request += 1;
        RequestRef { place: self.local.me, id: self.next_request }
    }

    /// A session of this shard opened.
    pub fn open(&mut self, info: SessionInfo, username: Arc<str>, encoding: Encoding) -> SessionKey {
        self.local.sessions.open(info, Session::new(username, encoding))
    }

    /// A session closed: it is on no stream any more, and receives nothing.
    pub fn close(&mut self, now: Millis, key: SessionKey, out: &mut Effects) {
        self.forget_tickets(now, key, out);
        for (stream, forgotten) in self.local.close(key) {
            self.tell_forgotten(now, stream, (forgotten, LeaveReason::Disconnected), out);
        }
    }

    /// The open sessions of this shard.
    pub fn sessions(&self) -> impl Iterator<Item = SessionKey> {
        self.local.sessions.keys()
    }

    /// The sessions that a revocation ends.
    pub fn revoked(&self, revocation: &muster_domain::ports::revocations::Revocation) -> Vec<SessionKey> {
        self.local.sessions.revoked(revocation)
    }

    /// A session's presence, to be shown somewhere.
    pub fn presence(&self, key: SessionKey) -> Option<Presence> {
        self.local.presence(key)
    }

    /// Whether what a session sends is to be kept, on a stream that it is on or on its way to.
    pub fn persistence_on(&self, key: SessionKey, stream: &StreamKey) -> Option<bool> {
        let session = self.local.sessions.get(key)?;
        let on = session.streams.iter().find(|on| on.present.is_some() && on.stream == *stream);
        on.map(|on| on.persistence)
    }

    /// Whether a session is on a stream or on its way there.
    pub fn is_on(&self, key: SessionKey, stream: &StreamKey) -> bool {
        self.persistence_on(key, stream).is_some()
    }

    /// Whether a session is on as many streams as it may be, and can come to no further one.
    pub fn is_at_stream_limit(&self, key: SessionKey) -> bool {
        self.local.sessions.get(key).is_some_and(|session| session.streams.len() >= self.config.session_streams_max)
    }

    /// The streams of a mode that a session is on.
    pub fn streams_of(&self, key: SessionKey, mode: u8) -> Vec<StreamKey> {
        let streams = self.local.sessions.get(key).map_or(&[][..], |session| &session.streams);
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
        let before = self.local.before(key, &stream);
        let again = before.is_some().then(|| coming.clone());
        let noted = self.local.note_join(key, &stream, coming, self.config.session_streams_max);
        let ((serial, listener), presence) = match (noted, self.local.presence(key)) {
            (Ok(noted), Some(presence)) => (noted, presence),
            (noted, _) => {
                let refusal = noted.err().unwrap_or(JoinRefusal::Closed);
                out.reply_if_asked(request, Reply::Joined(Err(refusal)));
                return;
            }
        };
        let presence = Presence { hidden, persistence, status, ..presence };
        let join = Join { stream: stream.clone(), presence, listener, serial, condition, request };
        self.local.begins(key, Some((serial, again)), before);
        self.send_up(now, self.local.routes.owner(stream.partition()), Up::Join(Box::new(join)), out);
    }

    /// A session sets out for a stream whose owner decides whether to let it in, and where it shows this persistence. One that cannot come anywhere is told so.
    fn set_out(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        persistence: bool,
        request: RequestRef,
        out: &mut Effects,
    ) -> Option<Member> {
        let coming = Coming { listens: true, persistence, ..Coming::default() };
        let before = self.local.before(key, stream);
        let noted = self.local.note_join(key, stream, coming, self.config.session_streams_max).map(|(_, new)| new);
        let (Ok(Some(listener)), Some(presence)) = (noted, self.local.presence(key)) else {
            let refusal = noted.err().unwrap_or(JoinRefusal::Closed);
            out.reply(request.id, Reply::Joined(Err(refusal)));
            return None;
        };
        self.local.begins(key, Some((listener.serial, None)), before);
        Some(Member { presence: Presence { persistence, ..presence }, listener })
    }

    /// Takes a session from a stream. Answers whether it was there.
    pub fn leave(&mut self, now: Millis, key: SessionKey, stream: StreamKey, out: &mut Effects) -> bool {
        let forgotten = self.local.forget(key, &stream);
        forgotten.is_some_and(|forgotten| self.tell_forgotten(now, stream, (forgotten, LeaveReason::Left), out))
    }

    /// Takes a session's presence from a stream that it goes on hearing. Answers whether it was there.
    pub fn vanish(&mut self, now: Millis, key: SessionKey, stream: StreamKey, out: &mut Effects) -> bool {
        // What it heard by its join it hears by itself from now on, whatever comes of the join.
        if let Some(listener) = self.local.listener(key, &stream)
            && self.local.note_listen(key, &stream, self.config.session_streams_max).is_ok()
        {
            let owner = self.local.routes.owner(stream.partition());
            self.send_up(now, owner, Up::Listen { stream: stream.clone(), listener, request: None }, out);
        }
        if self.is_on(key, &stream) {
            self.local.keep_hearing(key, &stream);
        }
        let forgotten = self.local.forget_presence(key, &stream);
        forgotten.is_some_and(|forgotten| self.tell_forgotten(now, stream, (forgotten, LeaveReason::Left), out))
    }

    /// Lets a session hear a stream without being there. The answer to `request` is [`Reply::Presences`], or
    /// [`Reply::Joined`] with the refusal.
    pub fn listen(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        let owner = self.local.routes.owner(stream.partition());
        let before = self.local.before(key, &stream);
        match self.local.note_listen(key, &stream, self.config.session_streams_max) {
            Ok(Some(listener)) => {
                self.local.begins(key, None, before);
                self.send_up(now, owner, Up::Listen { stream, listener, request }, out);
            }
            Ok(None) => {
                let Some(request) = request else { return };
                self.local.begins(key, None, before);
                let limit = self.config.snapshot_max;
                self.send_up(now, owner, Up::List { request, stream, with_hidden: false, skip: 0, limit }, out);
            }
            Err(refusal) => out.reply_if_asked(request, Reply::Joined(Err(refusal))),
        }
    }

    /// Lets a session hear a stream no longer.
    pub fn unlisten(&mut self, now: Millis, key: SessionKey, stream: StreamKey, out: &mut Effects) {
        if let Some(forgotten) = self.local.forget_hearing(key, &stream) {
            self.tell_forgotten(now, stream, (forgotten, LeaveReason::Left), out);
        }
    }

    /// Asks or tells the owner of a stream.
    pub fn ask(&mut self, now: Millis, stream: &StreamKey, up: Up, out: &mut Effects) {
        self.send_up(now, self.local.routes.owner(stream.partition()), up, out);
    }

    /// Asks or tells a place as an owner.
    pub fn ask_place(&mut self, now: Millis, place: Place, up: Up, out: &mut Effects) {
        self.send_up(now, place, up, out);
    }

    /// Sends something to those who hear a stream.
    pub fn publish(&mut self, now: Millis, publish: Publish, out: &mut Effects) {
        self.send_up(now, self.local.routes.owner(publish.stream.partition()), Up::Publish(publish), out);
    }

    /// Whether there is no way to the other nodes for now. Meanwhile questions to them are answered at once with a refusal
    /// that says to ask again, and the matchmaker here matches nobody.
    pub fn set_island(&mut self, is_island: bool) {
        self.is_island = is_island;
    }

    /// Whether nothing is to be claimed here: rooms, parties, matches, tickets.
    pub fn is_island(&self) -> bool {
        self.is_island
    }

    /// Closes a session of this shard, behind what it was sent and a last message.
    pub fn end(&mut self, key: SessionKey, payload: Option<SharedPayload>, reason: CloseReason, out: &mut Effects) {
        self.local.receive(self.local.me, Down::Close { session: key, payload, reason }, out);
    }

    /// Sends something to one session, wherever it is.
    pub fn push(&mut self, session: SessionRef, payload: SharedPayload, out: &mut Effects) {
        self.push_of_tickets(session, payload, Vec::new(), out);
    }

    /// A message from another shard.
    pub fn receive(&mut self, now: Millis, from: Place, message: Message, out: &mut Effects) {
        let Some(message) = self.admit(from, message) else { return };
        match message {
            Message::Up(up) => self.receive_up(now, from, up, out),
            Message::Dated(epoch, up) => self.receive_dated(now, from, epoch, up, out),
            Message::Down(Down::HandedOver { partitions }) => self.hear_over(now, from, partitions, out),
            Message::Down(Down::Taken { partitions }) => out.push(Effect::HandedOver(partitions)),
            Message::Down(down) => self.receive_down(now, from, down, out),
            Message::Credit(kind, count) => {
                self.local.lanes.credit(from, kind, count, out);
                self.release_held(now, out);
            }
        }
    }

    fn receive_down(&mut self, now: Millis, from: Place, down: Down, out: &mut Effects) {
        let has_credit = lanes::Traffic::needs_credit(&down);
        if self.is_by_owner(from, &down) {
            self.local.receive(from, down, out);
        }
        if has_credit {
            self.local.lanes.worked_off(from, LaneKind::Down, out);
        }
        self.leave_others(now, out);
    }

    /// When the plane wants to be turned next, if nothing happens before.
    pub fn next_due(&self) -> Option<Millis> {
        [self.wheel.next_due(), self.matches.next_due()].into_iter().flatten().min()
    }

    /// Runs what is due.
    pub fn turn(&mut self, now: Millis, out: &mut Effects) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take_due(now, &mut due);
        for timer in due.drain(..) {
            match timer {
                Timer::Tell(stream) => self.owning(now, out).tell_kept(&stream),
                Timer::Match => self.begin_pass(now),
                // Another was set for something sooner.
                Timer::Rooms if self.rooms_timer.take_if(|at| *at <= now).is_none() => {}
                Timer::Rooms => self.owning(now, out).turn_rooms(),
                Timer::Changes => self.tell_changes(now, out),
                Timer::RecoveryLate => self.recover_without(now, out),
            }
        }
        self.turn_matches(now, out);
        self.set_rooms_timer();
        self.due = due;
    }

    /// Goes on with long work, one slice. Answers whether there is more: other work of the shard comes between.
    pub fn run_slice(&mut self, out: &mut Effects) -> bool {
        let more = self.local.run_slice(out);
        let more = self.local.run_for_all(out) || more;
        self.run_pass(out) || more
    }

    /// Whether there is long work to go on with.
    pub fn is_busy(&self) -> bool {
        self.local.is_busy() || self.is_passing()
    }

    /// Whether sessions should not be read: what they send would have to wait here.
    pub fn is_congested(&self) -> bool {
        self.local.lanes.waiting() != (0, 0) || !self.held.is_empty() || self.kept_back() > 0
    }

    /// Counts and gauges.
    pub fn stats(&self) -> PlaneStats {
        let (up_waiting, down_waiting) = self.local.lanes.waiting();
        PlaneStats {
            sessions: self.local.sessions.len(),
            streams: self.streams.len(),
            presences: self.streams.presences,
            parties: self.parties.len(),
            rooms: self.rooms.stats(),
            matches: self.matches.stats(),
            heard_streams: self.local.heard_streams(),
            up_waiting,
            down_waiting,
            held: self.held.len() + self.kept_back(),
            timers: self.wheel.len(),
            deliveries: self.local.deliveries,
            strangers: self.streams.strangers,
            misdirected: self.misdirected,
            recoveries_late: self.changes.late(),
            tickets: self.pool_len().0,
            active_tickets: self.pool_len().1,
            asked_matches: self.asked_matches_len(),
            matchmaker: self.pool_totals().clone(),
            lateness: self.wheel.lateness().clone(),
        }
    }

    /// Everybody on a stream that this shard owns, hidden ones included.
    pub fn owned_presences(&self, stream: &StreamKey) -> impl Iterator<Item = &Presence> {
        self.streams.presences(stream)
    }

    /// Tells the owner of a stream what a session has to do with it no more. Answers whether it was there.
    fn tell_forgotten(
        &mut self,
        now: Millis,
        stream: StreamKey,
        (forgotten, reason): (Forgotten, LeaveReason),
        out: &mut Effects,
    ) -> bool {
        let was_present = forgotten.was_present;
        let owner = self.local.routes.owner(stream.partition());
        if let Some(up) = forgotten.into_up(stream, reason) {
            self.send_up(now, owner, up, out);
        }
        was_present
    }

    fn send_up(&mut self, now: Millis, to: Place, up: Up, out: &mut Effects) {
        if let Some(asked) = &mut self.local.asked {
            asked.note(to, &up);
        }
        // What is to be cancelled is to be so whenever the way is free again.
        let may_wait = matches!(up, Up::Pool { ask: PoolAsk::RemoveOwner(_) | PoolAsk::LoseOwner(_), .. });
        if self.is_island
            && !may_wait
            && to.node() != self.local.me.node()
            && let Some(request) = up.request()
        {
            self.local.give_up_one(request.id, out);
            return;
        }
        if to == self.local.me {
            self.receive_up(now, to, up, out);
        } else {
            self.local.up(to, up, out);
        }
    }

    /// As an owner. While the way down is blocked nothing more is taken in, in order.
    fn receive_up(&mut self, now: Millis, from: Place, up: Up, out: &mut Effects) {
        let Some(up) = self.screen(now, from, up, out) else { return };
        if !self.held.is_empty() || self.local.lanes.waiting().1 > 0 {
            self.held.push_back((from, up));
        } else {
            self.own(now, from, up, out);
        }
    }

    fn release_held(&mut self, now: Millis, out: &mut Effects) {
        while self.local.lanes.waiting().1 == 0
            && let Some((from, up)) = self.held.pop_front()
        {
            self.own(now, from, up, out);
        }
        self.hand_over(now, out);
    }

    fn own(&mut self, now: Millis, from: Place, up: Up, out: &mut Effects) {
        let has_credit = from != self.local.me && lanes::Traffic::needs_credit(&up);
        let mut owning = self.owning(now, out);
        match up {
            Up::Join(join) => owning.join(*join),
            Up::Leave { stream, session, heard, reason } => owning.depart(&stream, session, heard, reason),
            Up::Listen { stream, listener, request } => owning.listen(stream, listener, request),
            Up::Unlisten { stream, listener, by_join } => {
                owning.unlisten(&stream, listener, by_join);
                owning.drop_unheard(&stream);
            }
            Up::Publish(publish) => owning.publish(&publish),
            Up::Party { request, stream, ask } => owning.ask_party(request, &stream, *ask),
            Up::Parties { request, asked } => owning.list_parties(request, &asked),
            Up::Rooms(ask) => owning.ask_rooms(*ask),
            Up::Match { request, stream, ask } => owning.ask_match(request, &stream, *ask),
            Up::FindMatches { request, asked } => owning.find_matches(request, &asked),
            Up::Count { request, streams } => owning.count(request, &streams),
            Up::List { request, stream, with_hidden, skip, limit } => {
                owning.list(request, &stream, with_hidden, (skip, limit));
            }
            Up::Matches { request, limit, sizes } => owning.list_matches(request, limit, sizes),
            Up::Pool { request, ask } => self.own_pool(now, request, ask, out),
            Up::Passed { partitions } => self.passed(now, from, &partitions, out),
            Up::Heard { partitions } => self.heard(from, &partitions, out),
            Up::Claim { request, claim } => out.push(Effect::Depart(request, claim)),
            Up::Order { request, order } => out.push(Effect::Order(request, order)),
            Up::All { request, payload } => self.local.tell_all(request, &payload),
            Up::Rebind { request, rebind } => owning.rebind(request, *rebind),
            // Of a change that is over.
            Up::Rebuild { .. } | Up::Tickets { .. } | Up::Fence { .. } | Up::Carried { .. } => {}
        }
        if has_credit {
            self.local.lanes.worked_off(from, LaneKind::Up, out);
        }
        self.after_owning(now, out);
    }

    /// What follows from what was done as an owner.
    fn after_owning(&mut self, now: Millis, out: &mut Effects) {
        self.set_rooms_timer();
        self.leave_others(now, out);
        self.cancel_tickets(now, out);
    }

    /// Sessions that came to a match or a party leave others, where they may be in one only. A leave needs no credit, so
    /// the way down stays free.
    fn leave_others(&mut self, now: Millis, out: &mut Effects) {
        while let Some(stray) = self.local.strays.pop() {
            self.send_stray_away(now, stray, out);
        }
        self.send_stray_tickets_away(now, out);
        while let Some((key, stream)) = self.local.arrivals.pop() {
            if self.local.is_moving_with(key, &stream) {
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

    fn owning<'a>(&'a mut self, now: Millis, out: &'a mut Effects) -> Owning<'a> {
        Owning {
            streams: &mut self.streams,
            parties: &mut self.parties,
            rooms: &mut self.rooms,
            matches: &mut self.matches,
            rebuilding: &mut self.rebuilding,
            held: &mut self.held,
            changes: &mut self.changes,
            local: &mut self.local,
            wheel: &mut self.wheel,
            config: &self.config,
            now,
            out,
        }
    }
}

#[cfg(test)]
mod tests;
