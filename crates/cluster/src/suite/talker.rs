//! A talker: a running node in a test, which sends consecutive numbers to every other talker and checks those that it
//! gets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::ground::{Ground, Joined, Line, seal, within};
use crate::NodeNumber;
use crate::bus::Bus;
use crate::link::{Batch, LinkConfig};
use crate::membership::{Compatibility, NodeConfig, Roles, View};
use crate::node::{NodeClock, NodeCommand, NodeEvent, NodeOptions, RunningNode, SendError};
use crate::registry::Registry;
use crate::seal::Seal;

/// The number whose batch exceeds every frame.
const LARGE: u64 = 100;
const LARGE_BYTES: usize = 3 * 1024 * 1024;

/// A node, and its knowledge of the others.
pub(super) struct Talker {
    pub(super) node: RunningNode,
    pub(super) events: mpsc::Receiver<NodeEvent>,
    pub(super) line: Box<dyn Line>,
    pub(super) seal: Seal,
    pub(super) me: NodeNumber,
    /// The nodes of the view.
    pub(super) nodes: Vec<NodeNumber>,
    pub(super) is_online: bool,
    pub(super) islands: u32,
    pub(super) is_voted_out: bool,
    pub(super) is_drained: bool,
    pub(super) has_left: bool,
    /// Partitions that this node hands over, to be reported to the cluster.
    handed_over: Vec<NodeCommand>,
    /// Count of numbers that arrived, by sender. Each link counts from 0.
    pub(super) arrived: BTreeMap<NodeNumber, u64>,
    /// Count of numbers that were sent, by receiver.
    pub(super) sent: BTreeMap<NodeNumber, u64>,
}

pub(super) fn batch(number: u64, bytes: usize) -> Batch {
    let mut batch = Batch::default();
    batch.append(|out| {
        out.extend_from_slice(&number.to_le_bytes());
        out.resize(out.len() + bytes, number as u8);
    });
    batch
}

fn number_of(bytes: &Bytes) -> u64 {
    let (number, rest) = bytes.split_first_chunk().expect("a number");
    let number = u64::from_le_bytes(*number);
    assert!(rest.iter().all(|byte| *byte == number as u8), "{number} was changed on the way");
    number
}

/// Options of a node with these properties.
pub(super) fn options(name: &str, compatibility: Compatibility) -> NodeOptions {
    let (name, roles) = (name.into(), Roles::ALL);
    let node = NodeConfig { name, shards: 2, weight: 2, roles, compatibility, epoch_floor: 0 };
    NodeOptions { node, links: LinkConfig::default(), clock: NodeClock::of_runtime(), seal: seal() }
}

impl Talker {
    pub(super) async fn join(ground: &impl Ground) -> Self {
        let Joined { node: outside, line } = ground.join().await;
        Self::start(outside, line)
    }

    pub(super) fn start<N: Bus + Registry>(outside: Arc<N>, line: Box<dyn Line>) -> Self {
        static TALKERS: AtomicU32 = AtomicU32::new(0);
        let name = format!("talker-{}", TALKERS.fetch_add(1, Ordering::Relaxed));
        Self::start_as(&name, outside, line)
    }

    pub(super) fn start_as<N: Bus + Registry>(name: &str, outside: Arc<N>, line: Box<dyn Line>) -> Self {
        let options = options(name, Compatibility::default());
        let seal = options.seal.clone();
        let (node, events) = RunningNode::start(outside, options);
        Self {
            node,
            events,
            line,
            seal,
            me: 0,
            nodes: Vec::new(),
            is_online: false,
            islands: 0,
            is_voted_out: false,
            is_drained: false,
            has_left: false,
            handed_over: Vec::new(),
            arrived: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    fn hear(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::View { new, .. } => self.see(&new),
            NodeEvent::Joined(address) => {
                assert!(self.nodes.contains(&address.number), "it joined a view that does not have it");
                assert!(address.number > self.me, "a number was used again");
                (self.me, self.is_voted_out) = (address.number, false);
            }
            NodeEvent::Online => self.is_online = true,
            NodeEvent::Island => (self.is_online, self.islands) = (false, self.islands + 1),
            NodeEvent::VotedOut => {
                assert!(!self.is_online, "it was voted out before it was an island");
                (self.is_voted_out, self.nodes) = (true, Vec::new());
                // The links have ended with everything in them.
                self.arrived.clear();
                self.sent.clear();
            }
            NodeEvent::Refused(reason) => panic!("{} does not join: {reason}", self.me),
            NodeEvent::Drained => self.is_drained = true,
            NodeEvent::Left => self.has_left = true,
            NodeEvent::Batch { from, bytes } => {
                assert!(self.nodes.contains(&from), "{from} is not in the view");
                let so_far = self.arrived.entry(from).or_default();
                assert_eq!(number_of(&bytes), *so_far, "from {from} to {}: not the next one", self.me);
                *so_far += 1;
            }
        }
    }

    /// Takes in a view, and notes which partitions of this node have to be handed over.
    fn see(&mut self, view: &View) {
        self.nodes = view.nodes().iter().map(|node| node.number).collect();
        let mine = view.holdings().filter(|(_, holding)| holding.owner.is_some_and(|owner| owner.node() == self.me));
        let moving = mine.filter_map(|(partition, holding)| Some((partition, holding.moving?.epoch)));
        self.handed_over.extend(moving.map(|(partition, epoch)| NodeCommand::HandedOver { partition, epoch }));
    }

    pub(super) async fn command(&self, command: NodeCommand) {
        self.node.commands().send(command).await.expect("it runs");
    }

    /// Takes in an event, and carries out what it asks for.
    pub(super) async fn live(&mut self, event: Option<NodeEvent>) {
        self.hear(event.expect("events go on"));
        for command in std::mem::take(&mut self.handed_over) {
            self.command(command).await;
        }
    }

    /// Takes in events until `is_so` holds.
    pub(super) async fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let reading = async {
            while !is_so(self) {
                let event = self.events.recv().await;
                self.live(event).await;
            }
        };
        within(what, reading).await;
    }

    /// Sends the next `count` numbers, waiting for room where necessary.
    pub(super) async fn send(&mut self, to: NodeNumber, count: u64) {
        for _ in 0..count {
            while let Err(error) = self.try_send(to) {
                assert!(matches!(error, SendError::Full(_)), "{} to {to}: {error}", self.me);
                within("room", self.node.outbound().room(to)).await;
            }
        }
    }

    /// Sends the next number.
    pub(super) fn try_send(&mut self, to: NodeNumber) -> Result<(), SendError> {
        let number = self.sent.entry(to).or_default();
        let next = batch(*number, if *number == LARGE { LARGE_BYTES } else { 100 });
        self.node.outbound().try_send(to, next)?;
        *number += 1;
        Ok(())
    }

    /// Waits until `count` numbers have arrived from a node. Each number is checked when it arrives: in order, and
    /// once.
    pub(super) async fn receives(&mut self, from: NodeNumber, count: u64) {
        let so_far = |talker: &Self| talker.arrived.get(&from).copied().unwrap_or_default();
        self.until("batches", |talker| so_far(talker) >= count).await;
        assert_eq!(so_far(self), count, "from {from} to {}", self.me);
    }
}
