//! The hall: shards whose sessions are all on one stream. They run as fast as they can, and every step is timed.

use std::collections::VecDeque;
use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_live::plane::{Audience, Effect, Effects, JoinOptions, Message, Publish, Reply, Up};
use muster_live::registry::SessionInfo;
use muster_live::stream::{Payload, PresenceEvent, SharedPayload, mode};
use muster_live::{
    Delivery, Encode, Encoding, Millis, Plane, PlaneConfig, Presence, Routes, SessionRef, ShardIndex, StreamKey,
    matches, party, rooms,
};
use rustix::time::{ClockId, clock_gettime};

/// Size of a presence in a frame, about that of its JSON.
const PRESENCE_BYTES: usize = 150;

/// Number of sessions that act before messages between shards are delivered.
const BATCH: usize = 64;

struct Frames;

#[derive(Debug)]
struct Numbered(u32);

impl Payload for Numbered {
    fn write(&self, _encoding: Encoding, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
        out.resize(200, b' ');
    }
}

impl Encode for Frames {
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes {
        let mut out = Vec::new();
        payload.write(encoding, &mut out);
        out.into()
    }

    fn party_event(&self, _party: &StreamKey, _event: party::PartyEvent) -> SharedPayload {
        Arc::new(Numbered(u32::MAX))
    }

    fn room_event(&self, _room: &StreamKey, _event: rooms::RoomEvent) -> SharedPayload {
        Arc::new(Numbered(u32::MAX))
    }

    fn lobby_event(&self, _view: &StreamKey, _delta: rooms::LobbyDelta) -> SharedPayload {
        Arc::new(Numbered(u32::MAX))
    }

    fn match_data(&self, _stream: &StreamKey, _data: matches::Broadcast) -> SharedPayload {
        Arc::new(Numbered(u32::MAX))
    }

    fn match_left(&self, _stream: &StreamKey, _presence: Presence) -> SharedPayload {
        Arc::new(Numbered(u32::MAX))
    }

    fn seat_status(&self, _seat: Option<u32>) -> Arc<str> {
        "".into()
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, _encoding: Encoding) -> Option<Bytes> {
        let mut out = u32::MAX.to_le_bytes().to_vec();
        for presence in event.joins.iter().chain(event.leaves) {
            // Ids are written as text, as in JSON.
            let start = out.len();
            let (user_id, session_id) = (presence.user_id, presence.session_id);
            write!(out, r#"{{"user_id":"{user_id}","session_id":"{session_id}","username":"{}"}},"#, presence.username)
                .ok()?;
            out.resize(out.len().max(start + PRESENCE_BYTES), b' ');
        }
        Some(out.into())
    }
}

/// The cost of one step of a shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The CPU time that the step took.
    pub took: Duration,
    /// The kind of step.
    pub what: &'static str,
}

/// Steps that are reported together.
#[derive(Debug)]
pub(super) struct Phase {
    /// The name of the phase.
    pub what: &'static str,
    /// The number of units of work.
    pub count: usize,
    /// The name of one unit of work.
    pub unit: &'static str,
    /// The steps in order, the same in every round.
    pub steps: Vec<Step>,
    /// Number of frames that were handed to sessions.
    pub deliveries: u64,
}

/// Shards with one large stream.
pub(super) struct Hall {
    now: Millis,
    planes: Vec<Plane>,
    inboxes: Vec<VecDeque<(ShardIndex, Message)>>,
    stream: StreamKey,
    sessions: Vec<SessionRef>,
    presences: usize,
    /// Number of messages that each session received, by shard and session. Messages are numbered from 0, so this is
    /// also the number of the next one.
    heard: Vec<Vec<u32>>,
    deliveries: u64,
    out_of_order: u64,
    /// Number of answered joins.
    joined: usize,
    /// Number of answered pages of listings.
    pages: usize,
    /// Number of presences on the answered pages of listings.
    listed: usize,
    steps: Vec<Step>,
    phases: Vec<Phase>,
}

impl Hall {
    pub(super) fn new(shards: ShardIndex, presences: usize) -> Self {
        let encode: Rc<dyn Encode> = Rc::new(Frames);
        let plane =
            |me: ShardIndex| Plane::new(me.into(), Routes::alone(shards), PlaneConfig::default(), encode.clone());
        Self {
            now: 1,
            planes: (0..shards).map(plane).collect(),
            inboxes: (0..shards).map(|_| VecDeque::new()).collect(),
            stream: StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), "hall"),
            sessions: Vec::new(),
            presences,
            heard: (0..shards).map(|_| vec![0; presences]).collect(),
            deliveries: 0,
            out_of_order: 0,
            joined: 0,
            pages: 0,
            listed: 0,
            steps: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Runs all phases in order.
    ///
    /// # Errors
    /// A session missed a message or received one out of order.
    pub(super) fn measure(mut self, broadcasts: usize) -> Result<Vec<Phase>> {
        self.open();
        self.join_all()?;
        self.list_all()?;
        self.broadcast(broadcasts)?;
        self.come_and_go();
        self.close_all()?;
        Ok(self.phases)
    }

    /// Runs one step and times it; a shard's thread does nothing else meanwhile.
    fn step<R>(
        &mut self,
        shard: ShardIndex,
        what: &'static str,
        step: impl FnOnce(&mut Plane, Millis, &mut Effects) -> R,
    ) -> R {
        let at = usize::from(shard);
        let mut out = Effects::default();
        let started = cpu_time();
        let result = step(&mut self.planes[at], self.now, &mut out);
        let took = cpu_time().saturating_sub(started);
        self.steps.push(Step { took, what });
        for effect in out {
            self.carry_out(shard, effect);
        }
        result
    }

    fn carry_out(&mut self, shard: ShardIndex, effect: Effect) {
        match effect {
            Effect::Deliver(key, frame, _) => {
                self.deliveries += 1;
                let number = frame.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes));
                if number != u32::MAX {
                    let next = &mut self.heard[usize::from(shard)][key.index()];
                    self.out_of_order += u64::from(number != *next);
                    *next = number + 1;
                }
            }
            Effect::Reply(_, Reply::Joined(Ok(_))) => self.joined += 1,
            Effect::Reply(_, Reply::Presences(page, _)) => {
                (self.pages, self.listed) = (self.pages + 1, self.listed + page.len());
            }
            Effect::Send(to, message) => self.inboxes[usize::from(to.shard())].push_back((shard, *message)),
            _ => {}
        }
    }

    /// Runs everything that is possible before the clock moves.
    fn settle(&mut self) {
        let mut is_idle = false;
        while !is_idle {
            is_idle = true;
            for shard in 0..self.planes.len() as ShardIndex {
                if let Some((from, message)) = self.inboxes[usize::from(shard)].pop_front() {
                    self.step(shard, "message", |plane, now, out| plane.receive(now, from.into(), message, out));
                    is_idle = false;
                }
                if self.planes[usize::from(shard)].is_busy() {
                    self.step(shard, "slice", |plane, now, out| plane.run_slice(now, out));
                    is_idle = false;
                }
            }
        }
    }

    /// Moves the clock until no timer is set.
    fn rest(&mut self) {
        self.settle();
        while let Some(due) = self.planes.iter().filter_map(Plane::next_due).min() {
            self.now = self.now.max(due);
            for shard in 0..self.planes.len() as ShardIndex {
                self.step(shard, "timer", |plane, now, out| plane.turn(now, out));
            }
            self.settle();
        }
    }

    fn open(&mut self) {
        for number in 0..self.presences {
            let shard = (number % self.planes.len()) as ShardIndex;
            let id = number as u128 + 1;
            let info = SessionInfo {
                session_id: SessionId(Uuid::from_u128(id)),
                user_id: UserId(Uuid::from_u128(id)),
                token_id: TokenId::issued(Timestamp::from_seconds(1), [0; 8]),
                issued_at_sec: 1,
                only_session_since: None,
            };
            let name = format!("player-{number}").into();
            let key = self.planes[usize::from(shard)].open(info, name, Encoding::Json);
            self.sessions.push(SessionRef { place: shard.into(), key });
        }
    }

    fn join(&mut self, session: SessionRef) {
        let stream = self.stream.clone();
        self.step(session.place.shard(), "join", |plane, now, out| {
            let request = plane.request();
            plane.join(now, session.key, stream, JoinOptions::default(), Some(request), out);
        });
    }

    /// Lets all sessions join at once, as after a restart, and hear of each other.
    fn join_all(&mut self) -> Result<()> {
        for batch in self.sessions.clone().chunks(BATCH) {
            batch.iter().for_each(|session| self.join(*session));
            self.settle();
        }
        let count = self.presences;
        self.end_phase("join, each with its snapshot", count, "join");
        ensure!(self.joined == self.presences, "{} joins were answered", self.joined);
        self.rest();
        self.end_phase("tell of those who joined", count, "join");
        Ok(())
    }

    fn list_all(&mut self) -> Result<()> {
        let limit = PlaneConfig::default().snapshot_max;
        for skip in (0..self.presences).step_by(limit) {
            let stream = self.stream.clone();
            self.step(0, "list", |plane, now, out| {
                let request = plane.request();
                let list = Up::List { request, stream: stream.clone(), with_hidden: false, skip, limit };
                plane.ask(now, &stream, list, out);
            });
            self.settle();
        }
        ensure!(self.listed == self.presences, "{} were listed", self.listed);
        self.end_phase("list in pages", self.pages, "page");
        Ok(())
    }

    fn broadcast(&mut self, count: usize) -> Result<()> {
        for number in 0..count {
            let sender = self.sessions[number * 7_919 % self.sessions.len()];
            let publish = Publish {
                stream: self.stream.clone(),
                payload: Arc::new(Numbered(number as u32)),
                audience: Audience::All,
                delivery: Delivery::Reliable,
                sender: Some(sender),
            };
            self.step(sender.place.shard(), "publish", |plane, now, out| plane.publish(now, publish, out));
            // Each message reaches the stream's owner before the next is sent, since the order of messages is checked.
            // Their deliveries overlap.
            while let Some((to, (from, message))) = self.take_up() {
                self.step(to, "message", |plane, now, out| plane.receive(now, from.into(), message, out));
            }
        }
        self.settle();
        let heard =
            self.sessions.iter().filter(|at| self.heard[usize::from(at.place.shard())][at.key.index()] == count as u32);
        let heard = heard.count();
        ensure!(self.out_of_order == 0, "{} messages arrived out of order", self.out_of_order);
        ensure!(heard == self.presences, "only {heard} heard all messages");
        self.end_phase("broadcast", count, "broadcast");
        Ok(())
    }

    fn take_up(&mut self) -> Option<(ShardIndex, (ShardIndex, Message))> {
        for (inbox, shard) in self.inboxes.iter_mut().zip(0..) {
            if let Some((_, Message::Up(_))) = inbox.front() {
                return inbox.pop_front().map(|message| (shard, message));
            }
        }
        None
    }

    /// Lets a tenth of the sessions leave and come back.
    fn come_and_go(&mut self) {
        let some: Vec<SessionRef> = self.sessions.iter().step_by(10).copied().collect();
        for session in &some {
            let stream = self.stream.clone();
            self.step(session.place.shard(), "leave", |plane, now, out| plane.leave(now, session.key, stream, out));
        }
        self.settle();
        for batch in some.chunks(BATCH) {
            batch.iter().for_each(|session| self.join(*session));
            self.settle();
        }
        self.rest();
        self.end_phase("a tenth leaves and comes back", 2 * some.len(), "change");
    }

    fn close_all(&mut self) -> Result<()> {
        for batch in std::mem::take(&mut self.sessions).chunks(BATCH) {
            for session in batch {
                self.step(session.place.shard(), "close", |plane, now, out| plane.close(now, session.key, out));
            }
            self.settle();
        }
        self.rest();
        self.end_phase("close", self.presences, "close");
        let left: usize = self.planes.iter().map(|plane| plane.stats().presences + plane.stats().streams).sum();
        ensure!(left == 0, "{left} presences and streams are left");
        Ok(())
    }

    /// Ends a phase, which consists of all steps since the end of the one before.
    fn end_phase(&mut self, what: &'static str, count: usize, unit: &'static str) {
        let (steps, deliveries) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.deliveries));
        self.phases.push(Phase { what, count, unit, steps, deliveries });
    }
}

/// CPU time of this thread, so that other work of the machine does not count.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
