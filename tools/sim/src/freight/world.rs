//! The world of the simulation: nodes that come and go, and the batches between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use fastrand::Rng;
use muster_cluster::NodeNumber;
use muster_cluster::arrival::{Arrival, Joining};
use muster_cluster::bus::Address;
use muster_cluster::freight::{Packer, Unpacked, Unpacker};
use muster_cluster::node::NodeEvent;
use muster_live::plane::{Down, LaneKind, Message};
use muster_live::{Place, ShardIndex};

use super::{Check, Checked, Fault, Outcome, Violation};
use crate::trace::Trace;
use crate::violation::ensure;

/// Number of processes, each of which is one node at a time.
const PROCESSES: usize = 3;
/// The largest number of shards of a node.
const SHARDS_MAX: ShardIndex = 3;
/// Numbers of questions are below this, so that they are one byte.
const QUESTIONS_MAX: u64 = 127;
/// The first number of an ordinary message.
const FIRST_SERIAL: u64 = 1_000;

/// Messages of one shard that wait to be packed.
struct Waiting {
    from: Place,
    messages: Vec<(ShardIndex, Message)>,
    /// A question that no release can read, sent behind the messages from shard 0 to shard 0.
    question: Option<u64>,
}

/// The node of a process.
struct Node {
    number: NodeNumber,
    incarnation: u128,
    shards: ShardIndex,
    /// Set until the node is online.
    joining: Option<Joining>,
    /// Whether the node's events say that it is online.
    is_told: bool,
    events: VecDeque<NodeEvent>,
}

struct World {
    rng: Rng,
    fault: Option<Fault>,
    nodes: Vec<Node>,
    next_number: NodeNumber,
    /// Messages on their way to be packed, and batches on their way, by sender and receiver.
    waiting: BTreeMap<(NodeNumber, NodeNumber), VecDeque<Waiting>>,
    links: BTreeMap<(NodeNumber, NodeNumber), VecDeque<Bytes>>,
    /// Number of messages sent, and of the last one that arrived, by the shards that they are from and for.
    sent: BTreeMap<(Place, Place), u64>,
    arrived: BTreeMap<(Place, Place), u64>,
    /// Questions that cannot be read, with the node that asks and the one that is asked.
    asked: BTreeMap<u64, (NodeNumber, NodeNumber)>,
    answered: BTreeSet<u64>,
    last_question: u64,
    /// Credits that came back, by sender and receiver of what they were paid for.
    credits: BTreeMap<(NodeNumber, NodeNumber), u64>,
    steps: u64,
    trace: Trace,
}

/// Runs a seed to its end or to the first violation.
pub fn run(seed: u64, fault: Option<Fault>, prints: bool) -> Outcome {
    let mut world = World::new(seed, fault, prints);
    let violation = world.run().err();
    Outcome { violation, steps: world.steps, hash: world.trace.hash() }
}

/// A message like this one, if it is of the ordinary kind.
pub(super) fn again(message: &Message) -> Option<Message> {
    match message {
        Message::Down(Down::Misdirected { request }) => Some(Message::Down(Down::Misdirected { request: *request })),
        _ => None,
    }
}

impl World {
    fn new(seed: u64, fault: Option<Fault>, prints: bool) -> Self {
        let mut world = Self {
            rng: Rng::with_seed(seed),
            fault,
            nodes: Vec::new(),
            next_number: 1,
            waiting: BTreeMap::new(),
            links: BTreeMap::new(),
            sent: BTreeMap::new(),
            arrived: BTreeMap::new(),
            asked: BTreeMap::new(),
            answered: BTreeSet::new(),
            last_question: 0,
            credits: BTreeMap::new(),
            steps: 0,
            trace: Trace::new(prints),
        };
        for _ in 0..PROCESSES {
            let node = world.start();
            world.nodes.push(node);
        }
        world
    }

    /// A node that is in the view from now on and that the others know.
    fn start(&mut self) -> Node {
        let (number, shards) = (self.next_number, self.rng.u16(1..=SHARDS_MAX));
        self.next_number += 1;
        let incarnation = self.rng.u128(..);
        let events = [NodeEvent::Joined(Address { number, incarnation })].into();
        Node { number, incarnation, shards, joining: Some(Joining::default()), is_told: false, events }
    }

    fn run(&mut self) -> Checked {
        for _ in 0..self.rng.usize(50..400) {
            match self.rng.u8(0..20) {
                0 => self.vote_out(),
                1..=2 => self.confirm(),
                3..=8 => self.send(),
                9..=12 => self.pack_some(),
                13..=15 => self.arrive(),
                _ => self.take_event()?,
            }
        }
        self.rest()
    }

    /// Votes a node out, which joins again under another number.
    fn vote_out(&mut self) {
        let at = self.rng.usize(0..PROCESSES);
        let former = self.nodes[at].number;
        self.trace.line(|| format!("node {former} is voted out"));
        let is_of = |(from, to): &(NodeNumber, NodeNumber)| *from == former || *to == former;
        self.waiting.retain(|pair, _| !is_of(pair));
        self.links.retain(|pair, _| !is_of(pair));
        self.asked.retain(|_, (asker, asked)| *asker != former && *asked != former);
        self.sent.retain(|(from, to), _| from.node() != former && to.node() != former);
        let is_joining = self.nodes[at].joining.is_some() && !self.nodes[at].is_told;
        let keeps = self.fault == Some(Fault::KeepFormer);
        let Node { number, incarnation, shards, joining, events, .. } = self.start();
        let node = &mut self.nodes[at];
        if is_joining {
            // The process goes on; it hears of its end behind the batches that came.
            if !keeps {
                node.events.push_back(NodeEvent::VotedOut);
            }
            node.events.extend(events);
            (node.number, node.incarnation, node.shards, node.is_told) = (number, incarnation, shards, false);
        } else {
            // A server that was online ends and starts again.
            *node = Node { number, incarnation, shards, joining, is_told: false, events };
        }
    }

    /// Confirms that a node is in the view.
    fn confirm(&mut self) {
        let at = self.rng.usize(0..PROCESSES);
        let node = &mut self.nodes[at];
        if !std::mem::replace(&mut node.is_told, true) {
            node.events.push_back(NodeEvent::Online);
        }
    }

    /// Has a shard of a node that is online send messages to shards of another.
    fn send(&mut self) {
        let (one, other) = (self.rng.usize(0..PROCESSES), self.rng.usize(0..PROCESSES));
        let (from, to) = (&self.nodes[one], &self.nodes[other]);
        if one == other || from.joining.is_some() {
            return;
        }
        let place = Place::new(from.number, self.rng.u16(0..from.shards));
        let (sender, receiver, shards) = (from.number, to.number, to.shards);
        let mut messages = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            let shard = self.rng.u16(0..shards);
            let serial = self.sent.entry((place, Place::new(receiver, shard))).or_default();
            *serial += 1;
            let request = FIRST_SERIAL + *serial;
            messages.push((shard, Message::Down(Down::Misdirected { request })));
        }
        let question = (self.rng.u8(0..4) == 0 && self.last_question < QUESTIONS_MAX).then(|| self.last_question + 1);
        if let Some(number) = question {
            self.last_question = number;
            self.asked.insert(number, (sender, receiver));
        }
        self.trace.step(|| format!("{place:?} sends {messages:?} to {receiver}"), &[receiver.into()]);
        let waiting = Waiting { from: place, messages, question };
        self.waiting.entry((sender, receiver)).or_default().push_back(waiting);
    }

    fn pack_some(&mut self) {
        let pairs: Vec<_> =
            self.waiting.iter().filter(|(_, waiting)| !waiting.is_empty()).map(|(pair, _)| *pair).collect();
        if !pairs.is_empty() {
            let pair = pairs[self.rng.usize(0..pairs.len())];
            self.pack(pair);
        }
    }

    /// Packs what waits for a node into one batch, up to a question.
    fn pack(&mut self, pair: (NodeNumber, NodeNumber)) {
        let Some(waiting) = self.waiting.get_mut(&pair) else { return };
        let Some(first) = waiting.pop_front() else { return };
        let mut question = first.question;
        let next = || {
            if question.is_some() {
                return None;
            }
            let more = waiting.pop_front()?;
            question = more.question;
            Some(more)
        };
        let mut batch = Packer::new(pair.0).pack(&first, next, |waiting| (waiting.from, waiting.messages.as_slice()));
        if let Some(number) = question {
            batch.append(|out| out.extend(unreadable(number as u8)));
        }
        self.links.entry(pair).or_default().push_back(Bytes::copy_from_slice(batch.content()));
    }

    /// Lets a batch arrive at its node.
    fn arrive(&mut self) {
        let pairs: Vec<_> = self.links.iter().filter(|(_, link)| !link.is_empty()).map(|(pair, _)| *pair).collect();
        if pairs.is_empty() {
            return;
        }
        let pair = pairs[self.rng.usize(0..pairs.len())];
        let Some(bytes) = self.links.get_mut(&pair).and_then(VecDeque::pop_front) else { return };
        if let Some(node) = self.nodes.iter_mut().find(|node| node.number == pair.1) {
            node.events.push_back(NodeEvent::Batch { from: pair.0, bytes });
        }
    }

    fn take_event(&mut self) -> Checked {
        let at = self.rng.usize(0..PROCESSES);
        self.take_event_of(at)
    }

    /// Has a node take its next event, as the server's thread does.
    fn take_event_of(&mut self, at: usize) -> Checked {
        let Some(event) = self.nodes[at].events.pop_front() else { return Ok(()) };
        let Some(joining) = &mut self.nodes[at].joining else {
            return match event {
                NodeEvent::Batch { from, bytes } => self.unpack(at, from, bytes),
                _ => Ok(()),
            };
        };
        let Arrival::Joined(mut joined) = joining.take(event) else { return Ok(()) };
        if let Some(fault) = self.fault {
            fault.spoil_joined(&mut joined);
        }
        let number = self.nodes[at].number;
        ensure(Check::Stray, joined.number == number, || format!("node {number} takes itself for {}", joined.number))?;
        self.trace.line(|| format!("node {number} is online"));
        self.nodes[at].joining = None;
        joined.early_batches.into_iter().try_for_each(|(from, bytes)| self.unpack(at, from, bytes))
    }

    /// Unpacks a batch, and hands its messages to the shards.
    fn unpack(&mut self, at: usize, from: NodeNumber, bytes: Bytes) -> Checked {
        let (me, shards) = (self.nodes[at].number, self.nodes[at].shards);
        let unpacker = Unpacker::new(me, shards.into(), Arc::default());
        let Ok(mut unpacked) = unpacker.unpack(from, bytes) else {
            return Err(Violation { check: Check::Lost, detail: "a batch cannot be read".to_owned() });
        };
        if let Some(fault) = self.fault {
            fault.spoil_unpacked(&mut unpacked);
        }
        let Unpacked { lanes, back } = unpacked;
        for (from, to, message) in back {
            let waiting = Waiting { from, messages: vec![(to.shard(), message)], question: None };
            // The node may have gone meanwhile.
            if self.nodes.iter().any(|node| node.number == to.node()) {
                self.waiting.entry((me, to.node())).or_default().push_back(waiting);
            }
        }
        for (shard, runs) in (0..).zip(lanes) {
            for (from, messages) in runs {
                let to = Place::new(me, shard);
                messages.into_iter().try_for_each(|message| self.receive(from, to, message))?;
            }
        }
        Ok(())
    }

    /// Notes a message that arrived at a shard.
    fn receive(&mut self, from: Place, to: Place, message: Message) -> Checked {
        self.steps += 1;
        self.trace.step(|| format!("  {to:?} takes {message:?} of {from:?}"), &[from.number().into()]);
        match message {
            Message::Down(Down::Misdirected { request }) => {
                let is_known = self.sent.contains_key(&(from, to)) || !self.is_there(from);
                ensure(Check::Stray, is_known, || format!("{from:?} has sent nothing to {to:?}"))?;
                let last = self.arrived.entry((from, to)).or_default();
                *last += 1;
                let expected = FIRST_SERIAL + *last;
                ensure(Check::Order, request == expected, || {
                    format!("{to:?} gets message {request} of {from:?}, and {expected} is next")
                })
            }
            Message::Down(Down::Reply(number, _)) => {
                let is_first = self.answered.insert(number);
                ensure(Check::Answers, is_first, || format!("question {number} is answered twice"))
            }
            Message::Credit(LaneKind::Up, 1) => {
                *self.credits.entry((to.node(), from.node())).or_default() += 1;
                Ok(())
            }
            message => Err(Violation { check: Check::Stray, detail: format!("nobody sent {message:?}") }),
        }
    }

    fn is_there(&self, place: Place) -> bool {
        self.nodes.iter().any(|node| node.number == place.node())
    }

    /// Lets everything arrive, and checks that all of it has.
    fn rest(&mut self) -> Checked {
        (0..PROCESSES).for_each(|at| {
            if !std::mem::replace(&mut self.nodes[at].is_told, true) {
                self.nodes[at].events.push_back(NodeEvent::Online);
            }
        });
        loop {
            let is_busy = |queues: usize| queues > 0;
            let waiting = self.waiting.values().filter(|waiting| !waiting.is_empty()).count();
            let linked = self.links.values().filter(|link| !link.is_empty()).count();
            let heard = self.nodes.iter().filter(|node| !node.events.is_empty()).count();
            if ![waiting, linked, heard].into_iter().any(is_busy) {
                break;
            }
            self.pack_some();
            self.arrive();
            (0..PROCESSES).try_for_each(|at| self.take_event_of(at))?;
        }
        for (pair, sent) in &self.sent {
            let arrived = self.arrived.get(pair).copied().unwrap_or_default();
            ensure(Check::Lost, arrived == *sent, || {
                format!("{arrived} of {sent} messages came from and to {pair:?}")
            })?;
        }
        for (number, pair) in &self.asked {
            ensure(Check::Answers, self.answered.contains(number), || format!("question {number} has no answer"))?;
            let questions = self.asked.values().filter(|other| *other == pair).count() as u64;
            let credits = self.credits.get(pair).copied().unwrap_or_default();
            ensure(Check::Answers, credits == questions, || {
                format!("{credits} credits came back for {questions} questions of {pair:?}")
            })?;
        }
        Ok(())
    }
}

/// A question of this number from shard 0 to shard 0, which costs a credit and asks something that no release knows, as
/// part of a batch.
fn unreadable(number: u8) -> Vec<u8> {
    let message = [0x1A, 2, 0x10, number, 0x28, 1];
    [&[0x22, message.len() as u8], &message[..]].concat()
}
