//! One stream with very many presences, without sockets: how long joining, listing and broadcasts take, and how long
//! the longest step of a shard is. The bound that must hold is that no step stalls a shard.

use std::collections::VecDeque;
use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_live::plane::{Audience, JoinOptions, Message, Output, Publish, Reply, Up};
use muster_live::registry::SessionInfo;
use muster_live::stream::{Encode, Payload, PresenceEvent, SharedPayload, mode};
use muster_live::{Delivery, Encoding, Millis, Plane, PlaneConfig, SessionRef, ShardIndex, StreamKey, party};
use rustix::time::{ClockId, clock_gettime};

/// A shard that makes no longer steps serves its other sessions in time.
pub const STEP_MAX: Duration = Duration::from_millis(5);

/// What is measured.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Crowd {
    /// Presences in the stream
    #[arg(long, default_value_t = 100_000)]
    pub presences: usize,
    /// Messages broadcast to all of them
    #[arg(long, default_value_t = 20)]
    pub broadcasts: usize,
    /// Only with so many shards; with one and with two otherwise
    #[arg(long)]
    pub shards: Option<ShardIndex>,
}

/// Measures. Answers whether all steps were within [`STEP_MAX`].
///
/// # Errors
/// When somebody missed something or received it out of order.
pub fn run(crowd: &Crowd) -> Result<bool> {
    let shards = crowd.shards.map_or_else(|| vec![1, 2], |shards| vec![shards]);
    let mut is_within = true;
    for shards in shards {
        is_within &= Hall::new(shards, crowd.presences).measure(crowd)?;
    }
    Ok(is_within)
}

/// A frame of the size that the real one has: about this much JSON per presence.
const PRESENCE_BYTES: usize = 150;

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

    fn party_event(&self, _party: &StreamKey, _event: party::Event) -> SharedPayload {
        Arc::new(Numbered(u32::MAX))
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, _encoding: Encoding) -> Option<Bytes> {
        let mut out = u32::MAX.to_le_bytes().to_vec();
        for presence in event.joins.iter().chain(event.leaves) {
            // Ids as text, as in JSON.
            let start = out.len();
            let (user_id, session_id) = (presence.user_id, presence.session_id);
            write!(out, r#"{{"user_id":"{user_id}","session_id":"{session_id}","username":"{}"}},"#, presence.username)
                .ok()?;
            out.resize(out.len().max(start + PRESENCE_BYTES), b' ');
        }
        Some(out.into())
    }
}

/// Shards with one large stream.
struct Hall {
    now: Millis,
    planes: Vec<Plane>,
    inboxes: Vec<VecDeque<(ShardIndex, Message)>>,
    stream: StreamKey,
    sessions: Vec<SessionRef>,
    presences: usize,
    /// How many messages each session received, which is the number of the next.
    heard: Vec<Vec<u32>>,
    events: u64,
    deliveries: u64,
    out_of_order: u64,
    /// Answers to joins and to lists, and how many presences the latter held.
    joined: usize,
    pages: u64,
    listed: usize,
    phase: Phase,
    is_within: bool,
}

#[derive(Default)]
struct Phase {
    steps: u64,
    busy: Duration,
    longest: Duration,
}

impl Hall {
    fn new(shards: ShardIndex, presences: usize) -> Self {
        let encode: Rc<dyn Encode> = Rc::new(Frames);
        let plane = |me| Plane::new(me, shards, PlaneConfig::default(), encode.clone());
        Self {
            now: 1,
            planes: (0..shards).map(plane).collect(),
            inboxes: (0..shards).map(|_| VecDeque::new()).collect(),
            stream: StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), "hall"),
            sessions: Vec::new(),
            presences,
            heard: (0..shards).map(|_| vec![0; presences]).collect(),
            events: 0,
            deliveries: 0,
            out_of_order: 0,
            joined: 0,
            pages: 0,
            listed: 0,
            phase: Phase::default(),
            is_within: true,
        }
    }

    fn measure(mut self, crowd: &Crowd) -> Result<bool> {
        let shards = self.planes.len();
        say(&format!("{} presences in one stream on {shards} shard(s)", self.presences));
        self.open();
        self.join_all()?;
        self.list_all()?;
        self.broadcast(crowd.broadcasts)?;
        self.come_and_go()?;
        self.close_all()?;
        Ok(self.is_within)
    }

    /// One step, timed: what the shard's thread does without looking up.
    fn step<R>(&mut self, shard: ShardIndex, step: impl FnOnce(&mut Plane, Millis, &mut Output) -> R) -> R {
        let at = usize::from(shard);
        let mut out = Output::default();
        let started = cpu_time();
        let result = step(&mut self.planes[at], self.now, &mut out);
        let took = cpu_time().saturating_sub(started);
        self.phase.steps += 1;
        self.phase.busy += took;
        self.phase.longest = self.phase.longest.max(took);
        for (key, frame, _) in &out.deliveries {
            self.deliveries += 1;
            let number = frame.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes));
            if number == u32::MAX {
                self.events += 1;
                continue;
            }
            let next = &mut self.heard[at][key.index()];
            self.out_of_order += u64::from(number != *next);
            *next = number + 1;
        }
        for (_, reply) in &out.replies {
            match reply {
                Reply::Joined(Ok(_)) => self.joined += 1,
                Reply::Presences(page, _) => (self.pages, self.listed) = (self.pages + 1, self.listed + page.len()),
                _ => {}
            }
        }
        for (to, message) in out.sends {
            self.inboxes[usize::from(to)].push_back((shard, message));
        }
        result
    }

    /// Everything that can happen without time passing.
    fn settle(&mut self) {
        let mut is_idle = false;
        while !is_idle {
            is_idle = true;
            for shard in 0..self.planes.len() as ShardIndex {
                if let Some((from, message)) = self.inboxes[usize::from(shard)].pop_front() {
                    self.step(shard, |plane, now, out| plane.receive(now, from, message, out));
                    is_idle = false;
                }
                if self.planes[usize::from(shard)].is_busy() {
                    self.step(shard, |plane, _, out| plane.run_slice(out));
                    is_idle = false;
                }
            }
        }
    }

    /// Time passes until no timer is set.
    fn rest(&mut self) {
        self.settle();
        while let Some(due) = self.planes.iter().filter_map(Plane::next_due).min() {
            self.now = self.now.max(due);
            for shard in 0..self.planes.len() as ShardIndex {
                self.step(shard, |plane, now, out| plane.turn(now, out));
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
            };
            let name = format!("player-{number}").into();
            let key = self.planes[usize::from(shard)].open(info, name, Encoding::Json);
            self.sessions.push(SessionRef { shard, key });
        }
    }

    fn join(&mut self, session: SessionRef) {
        let stream = self.stream.clone();
        self.step(session.shard, |plane, now, out| {
            let request = plane.request();
            plane.join(now, session.key, stream, JoinOptions::default(), Some(request), out);
        });
    }

    /// All join at once, as after a restart, and hear of each other.
    fn join_all(&mut self) -> Result<()> {
        for session in self.sessions.clone() {
            self.join(session);
        }
        self.settle();
        let count = self.presences as u64;
        self.report("join, each with its snapshot", count, "join");
        ensure!(self.joined == self.presences, "{} joins were answered", self.joined);
        self.rest();
        self.report("tell of those who joined", count, "join");
        self.report_deliveries();
        Ok(())
    }

    fn list_all(&mut self) -> Result<()> {
        let limit = PlaneConfig::default().snapshot_max;
        for skip in (0..self.presences).step_by(limit) {
            let stream = self.stream.clone();
            self.step(0, |plane, now, out| {
                let request = plane.request();
                let list = Up::List { request, stream: stream.clone(), with_hidden: false, skip, limit };
                plane.ask(now, &stream, list, out);
            });
            self.settle();
        }
        ensure!(self.listed == self.presences, "{} were listed", self.listed);
        self.report("list in pages", self.pages, "page");
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
            self.step(sender.shard, |plane, now, out| plane.publish(now, publish, out));
            // One sender after the other, as the order of messages is checked; their fan-outs run side by side.
            while let Some((to, (from, message))) = self.take_up() {
                self.step(to, |plane, now, out| plane.receive(now, from, message, out));
            }
        }
        self.settle();
        let heard = self.sessions.iter().filter(|at| self.heard[usize::from(at.shard)][at.key.index()] == count as u32);
        let heard = heard.count();
        ensure!(self.out_of_order == 0, "{} messages arrived out of order", self.out_of_order);
        ensure!(heard == self.presences, "only {heard} heard all messages");
        self.report("broadcast", count as u64, "broadcast");
        self.report_deliveries();
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

    /// A tenth goes and comes back while messages are sent.
    fn come_and_go(&mut self) -> Result<()> {
        let some: Vec<SessionRef> = self.sessions.iter().step_by(10).copied().collect();
        for session in &some {
            let stream = self.stream.clone();
            self.step(session.shard, |plane, now, out| plane.leave(now, session.key, stream, out));
        }
        self.settle();
        for session in &some {
            self.join(*session);
        }
        self.rest();
        self.report("a tenth leaves and comes back", 2 * some.len() as u64, "change");
        self.report_deliveries();
        Ok(())
    }

    fn close_all(&mut self) -> Result<()> {
        for session in std::mem::take(&mut self.sessions) {
            self.step(session.shard, |plane, now, out| plane.close(now, session.key, out));
        }
        self.rest();
        self.report("close", self.presences as u64, "close");
        let left: usize = self.planes.iter().map(|plane| plane.stats().presences + plane.stats().streams).sum();
        ensure!(left == 0, "{left} presences and streams are left");
        Ok(())
    }

    fn report(&mut self, what: &str, count: u64, unit: &str) {
        let Phase { steps, busy, longest } = std::mem::take(&mut self.phase);
        self.is_within &= longest <= STEP_MAX;
        let each = busy.as_secs_f64() * 1e6 / count.max(1) as f64;
        let per_delivery = busy.as_secs_f64() * 1e9 / self.deliveries.max(1) as f64;
        let verdict = if longest <= STEP_MAX { "" } else { "  TOO LONG" };
        say(&format!(
            "  {what:<32} {:>9.1} ms CPU, {each:>9.2} us per {unit}, {steps} steps, longest {:.3} ms{verdict}",
            busy.as_secs_f64() * 1e3,
            longest.as_secs_f64() * 1e3,
        ));
        if self.deliveries > 0 {
            say(&format!("  {:<32} {} deliveries, {per_delivery:.1} ns each", "", self.deliveries));
        }
    }

    fn report_deliveries(&mut self) {
        (self.deliveries, self.events) = (0, 0);
    }
}

/// Of this thread: what else the machine does is not the plane's.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

fn say(line: &str) {
    // Whoever reads may have seen enough, as `head` does.
    let _ = writeln!(std::io::stdout(), "{line}");
}
