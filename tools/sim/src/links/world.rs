//! The world of links: nodes with their links, a bus, and time.

use std::collections::BTreeMap;

use bytes::Bytes;
use fastrand::Rng;
use muster_cluster::NodeNumber;
use muster_cluster::link::{Batch, LinkConfig, LinkOutput, Links, token};
use muster_live::Millis;
use muster_wire::link::Header;

use super::bus::{Bus, Manners};
use super::faults::{Fault, Faults};
use super::flow::Flow;
use super::{Check, Checked, Outcome};
use crate::trace::Trace;
use crate::violation::ensure;

/// Time during which nodes send batches.
const BUSY_MS: Millis = 8_000;
/// Time within which everything must arrive once the bus loses nothing.
const REST_MS: Millis = 60_000;
/// Time at rest during which nothing may be sent.
const IDLE_MS: Millis = 60_000;

struct Node {
    incarnation: u128,
    links: Links,
    /// The time until which the node does nothing, and frames for it wait.
    pauses_until: Millis,
    /// The time by which all timers of the node run late.
    lateness_ms: Millis,
    /// Whether the node was voted out, so that others end their links with it.
    is_out: bool,
}

/// An event at a point in time.
enum Event {
    /// The first node opens its link with the second.
    Open(NodeNumber, NodeNumber),
    /// The first node ends its link with the second.
    End(NodeNumber, NodeNumber),
    /// A node dies.
    Die(NodeNumber),
    /// A frame reaches a node that paused when the bus delivered it.
    Deliver(NodeNumber, Bytes),
}

struct World {
    rng: Rng,
    now: Millis,
    config: LinkConfig,
    bus: Bus,
    nodes: BTreeMap<NodeNumber, Node>,
    next_number: NodeNumber,
    flows: BTreeMap<(NodeNumber, NodeNumber), Flow>,
    events: BTreeMap<(Millis, u64), Event>,
    order: u64,
    faults: Faults,
    trace: Trace,
    steps: u64,
    published: u64,
}

/// Runs a seed, with a planted bug or without. `prints` says whether the trace is printed.
pub fn run(seed: u64, fault: Option<Fault>, prints: bool) -> Outcome {
    let mut world = World::new(seed, fault, prints);
    let violation = world.run().err();
    let World { mut trace, steps, now, .. } = world;
    if let Some(violation) = &violation {
        trace.line(|| format!("{now}: {violation}"));
    }
    trace.step(|| format!("{now}: the end"), &[now]);
    Outcome { violation, steps, hash: trace.hash() }
}

impl World {
    fn new(seed: u64, fault: Option<Fault>, prints: bool) -> Self {
        let mut rng = Rng::with_seed(seed);
        let config = LinkConfig {
            frame_bytes_max: *rng.choice(&[60, 400, 4_000]).unwrap_or(&60),
            window_frames: *rng.choice(&[1, 4, 64, 1_000]).unwrap_or(&4),
            window_bytes: *rng.choice(&[100, 2_000, 1_000_000]).unwrap_or(&2_000),
        };
        let manners = Manners::random(&mut rng);
        let trace = Trace::new(prints);
        trace.line(|| format!("{config:?}, {manners:?}"));
        let bus = Bus::new(rng.fork(), manners);
        let mut world = Self {
            rng,
            now: 0,
            config,
            bus,
            nodes: BTreeMap::new(),
            next_number: 1,
            flows: BTreeMap::new(),
            events: BTreeMap::new(),
            order: 0,
            faults: Faults::new(fault, seed),
            trace,
            steps: 0,
            published: 0,
        };
        (0..world.rng.u32(2..=4)).for_each(|_| world.join());
        world
    }

    fn run(&mut self) -> Checked {
        let mut next_act = 0;
        while self.now < BUSY_MS {
            self.advance(next_act)?;
            self.act()?;
            next_act = self.now + self.rng.u64(0..60);
        }
        self.bus.manners = Manners { lost: 0.0, ..self.bus.manners.clone() };
        self.bus.is_down_until = 0;
        self.advance(BUSY_MS + REST_MS)?;
        self.check_rest()?;
        self.check_idle()
    }

    fn later(&mut self, after_ms: Millis, event: Event) {
        self.order += 1;
        self.events.insert((self.now + after_ms, self.order), event);
    }

    /// Adds a node. The two ends of each of its links open at different times.
    fn join(&mut self) {
        let number = self.next_number;
        self.next_number += 1;
        let others: Vec<NodeNumber> = self.in_view().collect();
        for other in others {
            let (one, another) = (self.rng.u64(0..500), self.rng.u64(0..500));
            self.later(one, Event::Open(number, other));
            self.later(another, Event::Open(other, number));
        }
        let node = Node {
            incarnation: self.rng.u128(..),
            links: Links::new(number, self.config),
            pauses_until: 0,
            lateness_ms: self.rng.u64(0..15),
            is_out: false,
        };
        self.nodes.insert(number, node);
    }

    fn in_view(&self) -> impl Iterator<Item = NodeNumber> {
        self.nodes.iter().filter(|(_, node)| !node.is_out).map(|(number, _)| *number)
    }

    /// Votes a node out. The other nodes learn of that at different times, and the node goes on as before until it
    /// dies.
    fn vote_out(&mut self, number: NodeNumber) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.is_out = true;
        let others: Vec<NodeNumber> = self.in_view().collect();
        for other in others {
            let after_ms = self.rng.u64(0..2_000);
            self.later(after_ms, Event::End(other, number));
        }
        let after_ms = self.rng.u64(0..3_000);
        self.later(after_ms, Event::Die(number));
    }

    /// Lets one random thing happen.
    fn act(&mut self) -> Checked {
        let Some(number) = self.any_node() else { return Ok(()) };
        match self.rng.u32(0..200) {
            0 => self.join(),
            1 if self.in_view().count() > 2 => self.vote_out(number),
            2 => {
                let until = self.now + self.rng.u64(0..3_000);
                self.trace.line(|| format!("{}: no bus until {until}", self.now));
                self.bus.is_down_until = until;
            }
            3..6 => {
                let until = self.now + self.rng.u64(0..2_000);
                if let Some(node) = self.nodes.get_mut(&number) {
                    node.pauses_until = until;
                }
            }
            6..16 => self.fill(number, 40)?,
            _ => self.fill(number, 2)?,
        }
        Ok(())
    }

    fn any_node(&mut self) -> Option<NodeNumber> {
        let numbers: Vec<NodeNumber> = self.nodes.keys().copied().collect();
        self.rng.choice(numbers)
    }

    /// Lets a node send up to `most` batches to one other node.
    fn fill(&mut self, from: NodeNumber, most: u32) -> Checked {
        let Some(node) = self.nodes.get(&from).filter(|node| node.pauses_until <= self.now) else { return Ok(()) };
        let peers: Vec<NodeNumber> = node.links.peers().collect();
        let Some(to) = self.rng.choice(peers) else { return Ok(()) };
        for _ in 0..self.rng.u32(1..=most) {
            let flow = self.flows.entry((from, to)).or_default();
            // A sender that was told of congestion obeys nine times of ten.
            if flow.is_congested && self.rng.u32(0..10) > 0 {
                break;
            }
            let len = match self.rng.u32(0..10) {
                0 => self.rng.usize(0..self.config.frame_bytes_max * 4),
                1 => self.config.frame_bytes_max - 36,
                2 => self.config.frame_bytes_max - 35,
                _ => self.rng.usize(0..200),
            };
            let batch = flow.next(from, to, len);
            self.step(from, |links, now, out| send(links, now, to, batch, out))?;
        }
        Ok(())
    }

    /// Moves the clock to a time, with everything that happens until then.
    fn advance(&mut self, until: Millis) -> Checked {
        loop {
            let tick = self.next_tick();
            let event = self.events.keys().next().map(|(at, _)| *at);
            let frame = self.bus.next_due();
            let times = [tick.map(|(at, _)| at), event, frame];
            let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            if event == Some(next) {
                let Some((_, event)) = self.events.pop_first() else { continue };
                self.happen(event)?;
            } else if frame == Some(next) {
                let Some((to, frame)) = self.bus.take(self.now) else { continue };
                self.deliver(to, frame)?;
            } else if let Some((_, number)) = tick {
                self.step(number, |links, now, out| links.tick(now, out))?;
            }
        }
        self.now = until;
        Ok(())
    }

    fn next_tick(&mut self) -> Option<(Millis, NodeNumber)> {
        let mut first = None;
        for (number, node) in &self.nodes {
            let Some(due) = node.links.next_due() else { continue };
            if self.faults.stops_time(*number) {
                continue;
            }
            let at = (due + node.lateness_ms).max(node.pauses_until).max(self.now);
            if first.is_none_or(|(before, _)| at < before) {
                first = Some((at, *number));
            }
        }
        first
    }

    fn happen(&mut self, event: Event) -> Checked {
        match event {
            Event::Open(at, peer) => self.open(at, peer),
            Event::End(at, peer) => {
                self.trace.line(|| format!("{}: {at} ends with {peer}", self.now));
                if let Some(node) = self.nodes.get_mut(&at) {
                    node.links.end(peer);
                }
                if let Some(batch) = self.faults.after_end(at, peer) {
                    self.hand_on(at, peer, &batch)?;
                }
            }
            Event::Die(number) => {
                self.trace.line(|| format!("{}: {number} is gone", self.now));
                self.nodes.remove(&number);
            }
            Event::Deliver(to, frame) => return self.deliver(to, frame),
        }
        Ok(())
    }

    fn open(&mut self, at: NodeNumber, peer: NodeNumber) {
        let Some(other) = self.nodes.get(&peer).filter(|node| !node.is_out).map(|node| node.incarnation) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(&at) {
            self.trace.line(|| format!("{}: {at} begins with {peer}", self.now));
            node.links.open(peer, token(node.incarnation, other));
        }
    }

    fn deliver(&mut self, to: NodeNumber, frame: Bytes) -> Checked {
        let Some(node) = self.nodes.get(&to) else { return Ok(()) };
        if node.pauses_until > self.now {
            let left = node.pauses_until - self.now;
            self.later(left, Event::Deliver(to, frame));
            return Ok(());
        }
        if let Some(header) = Header::read(&frame)
            && node.links.stats_of(header.from).is_some()
        {
            self.flows.entry((header.from, to)).or_default().arrived(&header);
        }
        self.step(to, |links, now, out| links.receive(now, &frame, out))
    }

    /// Runs one step of a node's links and carries out the results.
    fn step(&mut self, number: NodeNumber, act: impl FnOnce(&mut Links, Millis, &mut LinkOutput)) -> Checked {
        let Some(node) = self.nodes.get_mut(&number) else { return Ok(()) };
        let mut out = LinkOutput::default();
        act(&mut node.links, self.now, &mut out);
        self.faults.output(number, &mut out);
        for (to, is_congested) in out.congestion {
            self.flows.entry((number, to)).or_default().is_congested = is_congested;
        }
        for (from, batch) in out.batches {
            self.hand_on(number, from, &batch)?;
        }
        for (to, frame) in out.frames {
            self.publish(number, to, frame)?;
        }
        self.check_congestion(number)
    }

    fn hand_on(&mut self, at: NodeNumber, from: NodeNumber, batch: &[u8]) -> Checked {
        self.steps += 1;
        let Self { now, trace, .. } = self;
        let (numbers, len) = ([*now, u64::from(at), u64::from(from), batch.len() as u64], batch.len());
        trace.step(|| format!("{now}: {at} has {len} bytes from {from}"), &numbers);
        let is_open = self.nodes.get(&at).is_some_and(|node| node.links.peers().any(|peer| peer == from));
        ensure(Check::Stray, is_open, || format!("{at} hears {from}, with which its link ended"))?;
        self.flows.entry((from, at)).or_default().receive(from, at, batch)
    }

    fn publish(&mut self, from: NodeNumber, to: NodeNumber, frame: Bytes) -> Checked {
        self.steps += 1;
        self.published += 1;
        let Some(frame) = self.faults.frame(frame) else { return Ok(()) };
        if let Some(header) = Header::read(&frame) {
            self.trace.step(|| format!("{}: {header:?}", self.now), &[self.now, header.number, header.acknowledged]);
            self.flows.entry((from, to)).or_default().published(&header, frame.len(), &self.config)?;
        }
        self.bus.publish(self.now, from, to, &frame);
        Ok(())
    }

    fn check_congestion(&self, from: NodeNumber) -> Checked {
        let Some(node) = self.nodes.get(&from) else { return Ok(()) };
        for to in node.links.peers() {
            let told = self.flows.get(&(from, to)).is_some_and(|flow| flow.is_congested);
            let waits = node.links.stats_of(to).is_some_and(|stats| stats.waiting_bytes > 0);
            let is_known = told == node.links.is_congested(to) && (told || !waits);
            ensure(Check::Congestion, is_known, || format!("{from} to {to}: told {told}, something waits: {waits}"))?;
        }
        Ok(())
    }

    fn check_rest(&self) -> Checked {
        let ensure_rest = |holds, detail: &dyn Fn() -> String| ensure(Check::Rest, holds, detail);
        for (from, node) in self.nodes.iter().filter(|(_, node)| !node.is_out) {
            for to in node.links.peers() {
                let stats = node.links.stats_of(to).unwrap_or_default();
                let flow = self.flows.get(&(*from, to));
                let is_done = flow.is_none_or(|flow| flow.sent == flow.received && !flow.is_congested);
                let is_empty = stats.unacknowledged_bytes + stats.unacknowledged_frames + stats.waiting_bytes == 0;
                ensure_rest(is_done && is_empty, &|| {
                    let counts = flow.map(|flow| (flow.sent, flow.received));
                    format!("{from} to {to}: {counts:?} batches sent and received, {stats:?}")
                })?;
            }
            ensure_rest(node.links.is_flushed(), &|| format!("{from} is not flushed"))?;
        }
        Ok(())
    }

    fn check_idle(&mut self) -> Checked {
        for node in self.nodes.values() {
            let due = node.links.next_due();
            ensure(Check::Idle, due.is_none(), || format!("something is due at {due:?}"))?;
        }
        let before = self.published;
        if self.faults.babbles()
            && let Some(from) = self.any_node()
        {
            self.publish(from, from, Bytes::new())?;
        }
        self.advance(self.now + IDLE_MS)?;
        let sent = self.published - before;
        ensure(Check::Idle, sent == 0, || format!("{sent} frames were published at rest"))
    }
}

fn send(links: &mut Links, now: Millis, to: NodeNumber, batch: Batch, out: &mut LinkOutput) {
    // The only error is for batches that are too large, which are not made here.
    let _ = links.send(now, to, batch, out);
}
