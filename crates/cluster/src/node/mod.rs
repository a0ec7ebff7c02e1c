//! A node at work: what drives its membership and its links, over a bus and a registry, in a task of its own
//! ([why](../../../../docs/adr/0011-several-nodes.md)).
//!
//! The task decides nothing: membership and links do, without waiting, and it carries out what they say. Whoever started
//! it reads [`NodeEvent`]s, which come in one order: a batch comes after the view that has its sender, and no batch of a
//! node comes after the view that has it no more. What goes to other nodes is given to [`Outbound`].
//!
//! Nothing here waits for whoever reads the events: while they are full, the node reads no more frames, their senders'
//! windows fill, and [`Outbound`] over there takes no more. So who reads events must not wait for [`Outbound::room`].

mod clock;
mod driver;
mod metrics;
mod outbound;
mod roads;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use muster_live::Millis;
use muster_live::place::{Epoch, Partition};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::NodeNumber;
use crate::bus::{Address, Bus};
use crate::link::LinkConfig;
use crate::membership::{Incompatible, NodeConfig, View};
use crate::registry::Registry;
pub use clock::Clock;
use driver::Driver;
pub use metrics::NodeMetrics;
pub use outbound::{NotTaken, Outbound};

/// Events that wait to be read. While there are so many, no frames are read.
pub const EVENTS_WAITING_MAX: usize = 1_024;
/// Batches given to [`Outbound`] that its node has not looked at yet.
pub const BATCHES_WAITING_MAX: usize = 1_024;
/// Bytes given to [`Outbound`] for one node that did not arrive there yet. One batch may exceed it, when half is free.
pub const LINK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Orders that wait to be carried out: each partition may be handed over, and a few more.
pub const ORDERS_WAITING_MAX: usize = 1_100;
/// A node that leaves gives what it sent so long to arrive.
pub const LEAVE_WITHIN_MS: Millis = 2_000;

/// What a node is to be, and by which clock.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// What it is in the cluster.
    pub node: NodeConfig,
    /// Limits of its links. Frames are never larger than the bus takes when the node starts.
    pub links: LinkConfig,
    /// For everything about time.
    pub clock: Clock,
}

/// What happened, in order.
#[derive(Clone, Debug)]
pub enum NodeEvent {
    /// The view changed.
    View {
        /// It was.
        old: Arc<View>,
        /// It is.
        new: Arc<View>,
    },
    /// The last view has this node, as this. There are links with all others of it.
    Joined(Address),
    /// This node is confirmed to be in the view: it may act for what that says is its own, while
    /// [`Authority::is_online`].
    Online,
    /// From now on this node claims nothing and writes nothing as an owner.
    Island,
    /// This node is in the view no more, and its links have ended. [`Order::Rejoin`] once everything is put away that it
    /// owned and that it knew of the others.
    VotedOut,
    /// This node does not join: it does not fit to one that is there.
    Refused(Incompatible),
    /// This node is draining and owns nothing any more, or there is nobody to give it to.
    Drained,
    /// This node left; nothing comes after this.
    Left,
    /// What another node sent, in the order in which it did.
    Batch {
        /// Which node.
        from: NodeNumber,
        /// What it gave to its [`Outbound`].
        bytes: Bytes,
    },
}

/// What the node is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tell that it handed over a partition, with all fences, to the next owner under that owner's epoch.
    HandedOver {
        /// Which.
        partition: Partition,
        /// [`Move::epoch`](crate::membership::Move::epoch).
        epoch: Epoch,
    },
    /// See [`Event::Busy`](crate::membership::Event::Busy).
    Busy(bool),
    /// Give everything away.
    Drain,
    /// Leave, once what was sent arrived, or after [`LEAVE_WITHIN_MS`]. [`NodeEvent::Left`] comes when the registry took
    /// it; whoever cannot wait for that drops the [`Node`].
    Leave,
    /// Come again after [`NodeEvent::VotedOut`] or [`NodeEvent::Refused`].
    Rejoin,
}

/// Whether a node may act for what it owns, for anybody to ask at any time. It says no in time even when the node's task
/// does not get to run.
#[derive(Clone, Debug)]
pub struct Authority {
    clock: Clock,
    /// Until when, by the clock.
    until: Arc<AtomicU64>,
}

impl Authority {
    fn new(clock: Clock) -> Self {
        Self { clock, until: Arc::default() }
    }

    fn set(&self, until: Option<Millis>) {
        self.until.store(until.unwrap_or_default(), Ordering::Release);
    }

    /// False on an island, and in no view.
    pub fn is_online(&self) -> bool {
        self.clock.now() < self.until.load(Ordering::Acquire)
    }
}

/// A running node. Dropping it ends its task as a crash would; see [`Order::Leave`].
#[derive(Debug)]
pub struct Node {
    task: AbortHandle,
    orders: mpsc::Sender<Order>,
    outbound: Outbound,
    authority: Authority,
    metrics: Arc<NodeMetrics>,
}

impl Node {
    /// Has a node join the cluster that `outside` leads to; within a tokio runtime. The events end when the bus or the
    /// registry are gone for good, which is logged, or after [`NodeEvent::Left`].
    pub fn start<N: Bus + Registry>(outside: Arc<N>, options: NodeOptions) -> (Self, mpsc::Receiver<NodeEvent>) {
        let (events, read) = mpsc::channel(EVENTS_WAITING_MAX);
        let (orders, ordered) = mpsc::channel(ORDERS_WAITING_MAX);
        let metrics = Arc::new(NodeMetrics::default());
        let (outbound, taken) = outbound::channel(metrics.clone());
        let authority = Authority::new(options.clock);
        let driver = Driver::new(outside, options, events, outbound.peers(), authority.clone(), metrics.clone());
        let task = tokio::spawn(driver.run(ordered, taken)).abort_handle();
        (Self { task, orders, outbound, authority, metrics }, read)
    }

    /// The way to the other nodes.
    pub fn outbound(&self) -> &Outbound {
        &self.outbound
    }

    /// Where the node is told what to do. It always gets to that soon; a closed channel means that it has ended.
    pub fn orders(&self) -> &mpsc::Sender<Order> {
        &self.orders
    }

    /// Whether the node may act as an owner.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// What was counted so far.
    pub fn metrics(&self) -> &Arc<NodeMetrics> {
        &self.metrics
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A number that nobody else draws: from the system's randomness, which is what the standard library keys its hashes with.
fn draw() -> u128 {
    let random = RandomState::new();
    u128::from(random.hash_one(0)) << 64 | u128::from(random.hash_one(1))
}
