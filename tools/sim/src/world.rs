//! A world: several planes on one thread, with shards that take turns, queues of messages, sockets, and virtual time.
//!
//! A world does the rim's part around a plane. It carries effects out in order, keeps the order of messages within each
//! pair of shards and no further, closes sessions, and obeys congestion. Everything that planes tell sessions goes to
//! the checkers.

mod act;
mod hear;
mod parties;
mod rest;
mod rooms;
mod single;
mod tickets;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use fastrand::Rng;
use muster_live::party;
use muster_live::plane::{Effect, Effects, LaneKind, Message};
use muster_live::{Encoding, Millis, Plane, Routes, SessionRef, ShardIndex, StreamKey};

use crate::faults::{Fault, Faults};
use crate::frames::{Encoder, Say, StreamId, Version};
use crate::model::{Messages, Order, Tie};
use crate::scenario::{Scenario, Who};
use crate::trace::Trace;
use crate::violation::{Check, Checked, Outcome, ensure};
use parties::{OpenPartyRequest, PartyAnswer, PartyTie};
use rooms::{OpenRoomRequest, RoomWorld};
use tickets::{FollowUp, OpenTicketRequest, Ticket};

/// A session and its socket.
struct Client {
    at: SessionRef,
    encoding: Encoding,
    is_open: bool,
    reads: bool,
    /// Number of frames that wait because the client does not read.
    backlog: usize,
    ties: BTreeMap<StreamId, Tie>,
}

/// The presence of one join.
#[derive(Clone, Copy, Debug)]
struct Appearance {
    who: Who,
    stream: StreamId,
    hidden: bool,
    persistence: bool,
}

/// A message that a shard pushed to one session.
struct Push {
    say: Arc<Say>,
    to: Option<Who>,
    is_received: bool,
}

/// A request that waits for its answer, with the facts about its session when it was made.
#[derive(Clone, Debug)]
enum OpenRequest {
    Join { who: Who, stream: StreamId, version: Version, epoch: u32, listens: bool },
    Listen { who: Who, stream: StreamId, epoch: u32 },
    List { stream: StreamId, with_hidden: bool, limit: usize },
    Count,
    Matches,
    Party(OpenPartyRequest),
    Ticket(OpenTicketRequest),
    Room(Box<OpenRoomRequest>),
}

/// Answers to the last requests of each kind, for the checks at rest.
#[derive(Default)]
struct Answers {
    listed: Vec<Version>,
    total: usize,
    counts: Vec<(ShardIndex, Vec<usize>)>,
    matches: Vec<(StreamId, usize)>,
    /// Numbers of tickets that wait.
    waiting: Vec<usize>,
    parties: Vec<(Who, PartyAnswer)>,
}

/// The planes of several shards with their sessions, queues and clock.
pub struct World {
    scenario: Rc<Scenario>,
    now: Millis,
    routes: Routes,
    planes: Vec<Plane>,
    queues: BTreeMap<(ShardIndex, ShardIndex), VecDeque<Message>>,
    /// Number of messages that cost credit and whose credit has not come back, by sender, receiver and lane.
    under_way: BTreeMap<(ShardIndex, ShardIndex, Lane), u32>,
    paused_until: Vec<Millis>,
    /// The last time at which each shard could run its timers.
    turned_at: Vec<Millis>,
    encoder: Rc<Encoder>,
    clients: BTreeMap<Who, Client>,
    by_ref: BTreeMap<SessionRef, Who>,
    party_ties: BTreeMap<(StreamId, Who), PartyTie>,
    tickets: Vec<Ticket>,
    follow_ups: Vec<FollowUp>,
    /// The number of actions so far that may have changed a party's members, by party.
    party_changes: BTreeMap<StreamId, u32>,
    rooms: RoomWorld,
    closing: Vec<Who>,
    asked: BTreeMap<(ShardIndex, u64), OpenRequest>,
    answers: Answers,
    appearances: Vec<Appearance>,
    periods: u64,
    messages: Messages,
    pushes: Vec<Push>,
    orders: Vec<Order>,
    party_orders: Vec<Order>,
    /// Number of messages that cost no credit since the last rest. So many may wait beyond the credits.
    control: usize,
    steps: u64,
    rng: Rng,
    faults: Faults,
    trace: Trace,
}

/// The same as [`LaneKind`], with an order, so that it can be a key of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Up,
    Down,
}

impl From<LaneKind> for Lane {
    fn from(kind: LaneKind) -> Self {
        match kind {
            LaneKind::Up => Self::Up,
            LaneKind::Down => Self::Down,
        }
    }
}

/// One thing that may happen next.
#[derive(Clone, Copy, Debug)]
enum NextEvent {
    Deliver(ShardIndex, ShardIndex),
    Slice(ShardIndex),
    Close(Who),
    /// The session at this position of `rooms.entering` joins its room.
    Enter(usize),
    /// The step at this position of `follow_ups` is taken.
    FollowUp(usize),
}

/// The number of steps within which a world must come to rest when sessions do nothing more.
const REST_STEPS_MAX: u64 = 1_000_000;

/// Runs a scenario to its end or to the first violation.
pub fn run(scenario: &Rc<Scenario>, fault: Option<Fault>, prints: bool) -> Outcome {
    let mut world = World::new(scenario.clone(), fault, prints);
    let violation = world.run().err();
    if let Some(violation) = &violation {
        world.trace.line(|| format!("VIOLATION {violation}"));
    }
    Outcome { hash: world.trace.hash(), steps: world.steps, violation }
}

impl World {
    fn new(scenario: Rc<Scenario>, fault: Option<Fault>, prints: bool) -> Self {
        let encoder = Rc::new(Encoder::new(&scenario.streams, &scenario.parties));
        encoder.is_wasteful.set(fault == Some(Fault::EncodeTwice));
        let mut config = scenario.config.clone();
        config.checks_itself &= fault.is_none();
        if fault == Some(Fault::StayOn) {
            (config.single_match, config.single_party) = (false, false);
        }
        let routes = Routes::alone(scenario.shards);
        let plane = |me: ShardIndex| Plane::new(me.into(), routes.clone(), config.clone(), encoder.clone());
        Self {
            now: 1_000,
            planes: (0..scenario.shards).map(plane).collect(),
            routes,
            queues: BTreeMap::new(),
            under_way: BTreeMap::new(),
            paused_until: vec![0; usize::from(scenario.shards)],
            turned_at: vec![0; usize::from(scenario.shards)],
            encoder,
            clients: BTreeMap::new(),
            by_ref: BTreeMap::new(),
            party_ties: BTreeMap::new(),
            tickets: Vec::new(),
            follow_ups: Vec::new(),
            party_changes: BTreeMap::new(),
            rooms: RoomWorld::default(),
            closing: Vec::new(),
            asked: BTreeMap::new(),
            answers: Answers::default(),
            appearances: Vec::new(),
            periods: 0,
            messages: Messages::default(),
            pushes: Vec::new(),
            orders: scenario.streams.iter().map(|_| Order::default()).collect(),
            party_orders: scenario.parties.iter().map(|_| Order::default()).collect(),
            control: 0,
            steps: 0,
            rng: Rng::with_seed(scenario.seed),
            faults: Faults::new(fault, scenario.seed),
            trace: Trace::new(prints),
            scenario,
        }
    }

    fn run(&mut self) -> Checked {
        for (number, act) in self.scenario.clone().acts.iter().enumerate() {
            self.trace.line(|| format!("#{number} at {} {:?}", self.now, act.action));
            self.rng = Rng::with_seed(act.salt);
            self.act(&act.action)?;
            for _ in 0..act.turns {
                if self.rng.u8(0..8) == 0 {
                    let ms = self.rng.u64(0..=self.scenario.advance_ms_max);
                    self.advance(ms)?;
                }
                self.happen()?;
            }
        }
        self.end()
    }

    fn is_paused(&self, shard: ShardIndex) -> bool {
        self.paused_until[usize::from(shard)] > self.now
    }

    /// Runs one step of a shard's plane, carries out its effects and checks them.
    fn step<R>(&mut self, shard: ShardIndex, step: impl FnOnce(&mut Plane, Millis, &mut Effects) -> R) -> Checked<R> {
        self.steps += 1;
        self.encoder.tales.now.set(self.now);
        let mut out = Effects::default();
        let result = step(&mut self.planes[usize::from(shard)], self.now, &mut out);
        self.faults.alter_deliveries(&mut out);
        for effect in out {
            self.carry_out(shard, effect)?;
        }
        self.note_left_for_others(shard)?;
        self.check_limits(shard)?;
        self.check_owned_rooms(shard)?;
        Ok(result)
    }

    fn carry_out(&mut self, shard: ShardIndex, effect: Effect) -> Checked {
        let session = |key| SessionRef { place: shard.into(), key };
        match effect {
            Effect::Reply(request, reply) => self.answer(shard, request, reply),
            Effect::Deliver(key, frame, delivery) => self.deliver(session(key), &frame, delivery),
            Effect::Close(key, reason) => self.told_to_close(session(key), reason),
            Effect::Matched(found) => self.matched(&found),
            Effect::Send(to, message) => self.send(shard, to.shard(), *message),
            _ => Ok(()),
        }
    }

    /// The shard that owns a stream.
    fn owning_shard(&self, stream: &StreamKey) -> ShardIndex {
        self.routes.owner(stream.partition()).shard()
    }

    fn send(&mut self, from: ShardIndex, to: ShardIndex, message: Message) -> Checked {
        self.trace.step(|| format!("  {from} -> {to} {}", name(&message)), &[u64::from(from), u64::from(to)]);
        match &message {
            Message::Credit(kind, count) => {
                let under_way = self.under_way.entry((to, from, Lane::from(*kind))).or_default();
                // The subtraction saturates, because a planted bug may double a message, whose credit then comes back
                // twice.
                *under_way = under_way.saturating_sub(*count);
            }
            message => match paid_on(message) {
                Some(lane) => self.spend(from, to, lane)?,
                None => self.control += 1,
            },
        }
        let queue = self.queues.entry((from, to)).or_default();
        self.faults.put(queue, message);
        Ok(())
    }

    fn spend(&mut self, from: ShardIndex, to: ShardIndex, lane: Lane) -> Checked {
        let config = &self.scenario.config;
        let limit = if lane == Lane::Up { config.up_credits } else { config.down_credits };
        let under_way = self.under_way.entry((from, to, lane)).or_default();
        *under_way += 1;
        let count = *under_way;
        ensure(Check::Limits, count <= limit, || format!("{count} messages {lane:?} from {from} to {to}, of {limit}"))
    }

    /// Checks that the number of messages that wait in a plane is bounded: by the credits, the messages without credit,
    /// and the pushes.
    fn check_limits(&self, shard: ShardIndex) -> Checked {
        let stats = self.planes[usize::from(shard)].stats();
        let credits = self.scenario.config.up_credits as usize * usize::from(self.scenario.shards);
        let bound = credits + self.control + self.pushes.len();
        ensure(Check::Limits, stats.held <= bound, || format!("shard {shard} holds {} of {bound}", stats.held))?;
        ensure(Check::Limits, stats.up_waiting <= bound, || {
            format!("{} wait on shard {shard} for owners, of {bound}", stats.up_waiting)
        })
    }

    /// Lets one of the possible things happen. Returns false if there is none.
    fn happen(&mut self) -> Checked<bool> {
        let mut next: Vec<NextEvent> = Vec::new();
        for (&(from, to), queue) in &self.queues {
            if !queue.is_empty() && !self.is_paused(to) && !self.faults.withholds(from, to) {
                next.push(NextEvent::Deliver(from, to));
            }
        }
        let shards = 0..self.scenario.shards;
        let busy = shards.filter(|shard| self.planes[usize::from(*shard)].is_busy() && !self.is_paused(*shard));
        next.extend(busy.map(NextEvent::Slice));
        next.extend(self.closing.iter().map(|who| NextEvent::Close(*who)));
        let is_awake = |who: Who| !self.is_paused(self.clients[&who].at.place.shard());
        let entering = self.rooms.entering.iter().enumerate().filter(|(_, entering)| is_awake(entering.who));
        next.extend(entering.map(|(place, _)| NextEvent::Enter(place)));
        let follow_ups = self.follow_ups.iter().enumerate().filter(|(_, next)| is_awake(self.who_follows(next)));
        next.extend(follow_ups.map(|(place, _)| NextEvent::FollowUp(place)));
        if next.is_empty() {
            return Ok(false);
        }
        match next[self.rng.usize(0..next.len())] {
            NextEvent::Deliver(from, to) => {
                let message = self.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front);
                if let Some(message) = message {
                    self.trace.step(|| format!("  {to} takes {}", name(&message)), &[u64::from(to)]);
                    self.step(to, |plane, now, out| plane.receive(now, from.into(), message, out))?;
                }
            }
            NextEvent::Slice(shard) => {
                self.step(shard, |plane, now, out| plane.run_slice(now, out))?;
            }
            NextEvent::Close(who) => {
                self.closing.retain(|other| *other != who);
                self.close(who)?;
            }
            NextEvent::Enter(place) => {
                let entering = self.rooms.entering.swap_remove(place);
                self.enter(entering)?;
            }
            NextEvent::FollowUp(place) => {
                let next = self.follow_ups.swap_remove(place);
                if self.clients[&self.who_follows(&next)].is_open {
                    self.follow_up(next)?;
                }
            }
        }
        Ok(true)
    }

    /// Moves the clock, and runs timers on shards that are not paused.
    fn advance(&mut self, ms: Millis) -> Checked {
        self.now += ms;
        for shard in 0..self.scenario.shards {
            if !self.is_paused(shard) {
                self.turn(shard)?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, shard: ShardIndex) -> Checked {
        let at = usize::from(shard);
        let due = self.planes[at].next_due();
        let missed = due.filter(|due| *due <= self.turned_at[at]);
        ensure(Check::Timers, missed.is_none(), || {
            format!("what was due at {missed:?} on shard {shard} did not run when it could, at {}", self.turned_at[at])
        })?;
        self.turned_at[at] = self.now;
        if due.is_some_and(|due| due <= self.now) && self.faults.skips_turn() {
            return Ok(());
        }
        let before = self.planes[at].stats().lateness.sum_ms;
        self.step(shard, |plane, now, out| plane.turn(now, out))?;
        let late_ms = self.planes[at].stats().lateness.sum_ms - before;
        let expect_ms = due.map_or(0, |due| self.now.saturating_sub(due));
        ensure(Check::Timers, late_ms >= expect_ms, || format!("{expect_ms} ms late, and {late_ms} ms were counted"))
    }
}

/// The lane on which a message costs credit; `None` if it costs none.
fn paid_on(message: &Message) -> Option<Lane> {
    use muster_live::party::PartyAsk;
    use muster_live::plane::{Ask, Down, Up};
    match message {
        Message::Up(Up::Publish(_)) => Some(Lane::Up),
        Message::Up(Up::Ask { ask: Ask::Party(PartyAsk::One { what, .. }), .. })
            if matches!(**what, party::PartyRequest::SendData { .. }) =>
        {
            Some(Lane::Up)
        }
        Message::Up(Up::Ask { ask: Ask::Room(ask), .. }) if ask.is_talk() => Some(Lane::Up),
        Message::Down(Down::Fanout { .. } | Down::Event { .. } | Down::Push { .. }) => Some(Lane::Down),
        Message::Up(_) | Message::Dated(..) | Message::Down(_) | Message::Credit(..) => None,
    }
}

fn name(message: &Message) -> String {
    format!("{message:?}").chars().take(160).collect()
}
