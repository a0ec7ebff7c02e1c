//! A node at work: a task that drives its membership and its links over a bus and a registry
//! ([why](../../../../docs/adr/0011-several-nodes.md)).
//!
//! The task decides nothing: membership and links decide, without waiting, and the task carries out their actions. The
//! owner of the node reads [`NodeEvent`]s, which come in one order: a batch comes after the view that contains its
//! sender, and never after a view that does not. Batches for other nodes are given to [`Outbound`].
//!
//! The task never waits for the reader of its events. While the events are full, the node reads no more frames, the
//! windows of their senders fill, and [`Outbound`] at those nodes takes no more batches. The reader of events must
//! therefore never wait for [`Outbound::room`].

mod clock;
mod driver;
mod member_links;
mod metrics;
mod outbound;

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
use crate::seal::Seal;
pub use clock::NodeClock;
use driver::Driver;
pub use metrics::NodeMetrics;
pub use outbound::{Outbound, SendError};

/// Largest number of events that wait to be read. While so many wait, no frames are read.
pub const EVENTS_WAITING_MAX: usize = 1_024;
/// Largest number of batches that were given to [`Outbound`] and that the node's task has not taken up yet.
pub const BATCHES_WAITING_MAX: usize = 1_024;
/// Limit of the bytes that were given to [`Outbound`] for one node and have not arrived there yet. While half of the
/// limit is free, a batch of any size is taken.
pub const LINK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest number of commands that wait: one for each partition that may be handed over, and a few more.
pub const COMMANDS_WAITING_MAX: usize = 1_100;
/// Time that a leaving node gives its sent batches to arrive.
pub const LEAVE_WITHIN_MS: Millis = 2_000;

/// Options of a node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The properties with which the node joins the cluster.
    pub node: NodeConfig,
    /// Limits of the links. Frames are also kept below the limit that the bus has when the node starts.
    pub links: LinkConfig,
    /// The clock for all times of the node.
    pub clock: NodeClock,
    /// Seals of the frames.
    pub seal: Seal,
}

/// An event of a node, in the order in which events happened.
#[derive(Clone, Debug)]
pub enum NodeEvent {
    /// The view changed.
    View {
        /// The view before.
        old: Arc<View>,
        /// The view now.
        new: Arc<View>,
    },
    /// The last view contains this node under this address. Links with all other members exist.
    Joined(Address),
    /// This node is confirmed to be in the view. It may act for the partitions that the view gives it, while
    /// [`NodeAuthority::is_online`].
    Online,
    /// This node became an island: from now on it claims nothing and writes nothing as an owner.
    Island,
    /// This node is not in the view any more, and its links have ended. The owner of the node puts away all partitions
    /// and all knowledge of other nodes, and then gives [`NodeCommand::Rejoin`].
    VotedOut,
    /// This node does not join, since it is incompatible with a member.
    Refused(Incompatible),
    /// This node is draining and owns nothing any more, or no other node can take what it owns.
    Drained,
    /// This node has left; it is the last event.
    Left,
    /// A batch of another node, in the order in which that node sent them.
    Batch {
        /// The node that sent the batch.
        from: NodeNumber,
        /// The batch, as given to [`Outbound`] there.
        bytes: Bytes,
    },
}

/// A command to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCommand {
    /// Tell the cluster that the next owner of a partition has received everything from this node, which handed the
    /// partition over.
    HandedOver {
        /// The partition.
        partition: Partition,
        /// Epoch of the next owner: [`Move::epoch`](crate::membership::Move::epoch).
        epoch: Epoch,
    },
    /// Tell the cluster whether the node is overloaded, see
    /// [`MembershipEvent::Busy`](crate::membership::MembershipEvent::Busy).
    Busy(bool),
    /// Give everything away.
    Drain,
    /// Leave, once all sent batches have arrived, or after [`LEAVE_WITHIN_MS`]. [`NodeEvent::Left`] comes when the
    /// registry took the change; a caller that cannot wait for it drops the [`RunningNode`].
    Leave,
    /// Join again after [`NodeEvent::VotedOut`] or [`NodeEvent::Refused`].
    Rejoin,
}

/// Tells at any time and on any thread whether a node may act for the partitions that it owns. The answer turns to no
/// in time even if the node's task does not get to run.
#[derive(Clone, Debug)]
pub struct NodeAuthority {
    clock: NodeClock,
    /// End of the authority, by the clock.
    until: Arc<AtomicU64>,
}

impl NodeAuthority {
    fn new(clock: NodeClock) -> Self {
        Self { clock, until: Arc::default() }
    }

    fn set(&self, until: Option<Millis>) {
        self.until.store(until.unwrap_or_default(), Ordering::Release);
    }

    /// Whether the node may act as an owner now: it is in the view, and not an island.
    pub fn is_online(&self) -> bool {
        self.clock.now() < self.until.load(Ordering::Acquire)
    }
}

/// A running node. Dropping it ends its task as a crash would; [`NodeCommand::Leave`] ends it in order.
#[derive(Debug)]
pub struct RunningNode {
    task: AbortHandle,
    commands: mpsc::Sender<NodeCommand>,
    outbound: Outbound,
    authority: NodeAuthority,
    metrics: Arc<NodeMetrics>,
}

impl RunningNode {
    /// Starts a node that joins the cluster behind `outside`. The caller must be in a tokio runtime. The events end
    /// after [`NodeEvent::Left`], or when the bus or the registry is gone for good, which is logged.
    pub fn start<N: Bus + Registry>(outside: Arc<N>, options: NodeOptions) -> (Self, mpsc::Receiver<NodeEvent>) {
        let (events, read) = mpsc::channel(EVENTS_WAITING_MAX);
        let (commands, commanded) = mpsc::channel(COMMANDS_WAITING_MAX);
        let metrics = Arc::new(NodeMetrics::default());
        let (outbound, taken) = outbound::channel(metrics.clone());
        let authority = NodeAuthority::new(options.clock);
        let driver = Driver::new(outside, options, events, outbound.peers(), authority.clone(), metrics.clone());
        let task = tokio::spawn(driver.run(commanded, taken)).abort_handle();
        (Self { task, commands, outbound, authority, metrics }, read)
    }

    /// The way to the other nodes.
    pub fn outbound(&self) -> &Outbound {
        &self.outbound
    }

    /// The channel of commands to the node. The node takes them up soon; a closed channel means that it has ended.
    pub fn commands(&self) -> &mpsc::Sender<NodeCommand> {
        &self.commands
    }

    /// The node's authority to act as an owner.
    pub fn authority(&self) -> &NodeAuthority {
        &self.authority
    }

    /// Counters of the node.
    pub fn metrics(&self) -> &Arc<NodeMetrics> {
        &self.metrics
    }
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A random number that no other node draws. It comes from the keys of the standard library's hashes, which are drawn
/// from the system's randomness.
fn draw() -> u128 {
    let random = RandomState::new();
    u128::from(random.hash_one(0)) << 64 | u128::from(random.hash_one(1))
}
