//! Metrics of a node of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use muster_cluster::NodeNumber;
use muster_cluster::codec::DecoderMetrics;
use muster_cluster::membership::{MembershipStats, View};
use muster_cluster::nats::{JetLogs, Nats};
use muster_cluster::node::{NodeAuthority, NodeMetrics};
use muster_cluster::recovery::Recovery as _;
use muster_cluster::seal::SealMetrics;
use muster_live::Place;
use tokio::sync::watch;

use super::exposition::Exposition;
use super::read;

/// The visible state of a node: its counters, its view, and the logs that it writes.
#[derive(Clone)]
pub struct ClusterTelemetry {
    /// Number of the node.
    pub number: NodeNumber,
    /// Whether the node may act as an owner, which it may not on an island.
    pub authority: NodeAuthority,
    /// The view of the cluster.
    pub view: watch::Receiver<Arc<View>>,
    /// Counters of the node's links and membership.
    pub node: Arc<NodeMetrics>,
    /// Counters of reading other nodes' messages.
    pub decoder: Arc<DecoderMetrics>,
    /// Load of the process, in per cent of a core for each shard.
    pub load_percent: Arc<AtomicU32>,
    /// Milliseconds by which this machine's clock is ahead of the database's.
    pub clock_skew_ms: Arc<AtomicI64>,
    /// The connection to NATS.
    pub nats: Arc<Nats>,
    /// Counters of what had no right seal.
    pub seals: Arc<SealMetrics>,
    /// The logs of durable matches.
    pub match_logs: JetLogs,
}

impl ClusterTelemetry {
    pub(super) fn render(&self, page: &mut Exposition) {
        let view = self.view.borrow().clone();
        let owned = view.holdings().filter(|(_, holding)| holding.owner.map(Place::node) == Some(self.number)).count();
        page.gauge("cluster_nodes", "Nodes of the cluster.", view.nodes().len() as f64);
        page.gauge("cluster_node_number", "This node's number.", f64::from(self.number));
        page.gauge("cluster_epoch", "Epoch of the last change in the cluster.", view.epoch.0 as f64);
        page.gauge("cluster_partitions", "Partitions that this node owns, of 1,024.", owned as f64);
        let load = self.load_percent.load(Ordering::Relaxed);
        page.gauge(
            "cluster_load_percent",
            "Load of the process, in per cent of one core for each shard.",
            f64::from(load),
        );
        let is_busy = view.node(self.number).is_some_and(|node| node.is_busy);
        page.gauge("cluster_busy", "1 while the node has more to do than it should.", f64::from(u8::from(is_busy)));
        let skew_ms = self.clock_skew_ms.load(Ordering::Relaxed);
        let help = "Milliseconds by which this machine's clock is ahead of the database's.";
        page.gauge("cluster_clock_skew_ms", help, skew_ms as f64);
        let is_online = self.authority.is_online();
        page.gauge("cluster_online", "0 while the node is an island.", f64::from(u8::from(is_online)));
        page.counter("cluster_island_count", "Times that the node became an island.", read(&self.node.islands));
        page.counter("cluster_voted_out_count", "Times that the node was voted out.", read(&self.node.voted_out));
        self.render_membership(page);
        self.render_links(page);
        self.render_messages(page);
        self.render_nats(page);
        self.render_seals(page);
    }

    fn render_nats(&self, page: &mut Exposition) {
        let nats = self.nats.metrics();
        page.counter("cluster_nats_lost_count", "Connections to NATS that were lost.", read(&nats.losses));
        let refused = read(&nats.frames_refused);
        page.counter("cluster_nats_frames_refused_count", "Frames refused: too many wait to be written.", refused);
        let overflows = read(&nats.inbox_overflows);
        page.counter(
            "cluster_nats_overflow_count",
            "Times that frames were lost: too many wait to be read.",
            overflows,
        );
        let restarts = read(&nats.watch_restarts);
        page.counter("cluster_nats_watch_restarts_count", "Times that watching the registry began anew.", restarts);
        let missing = read(&nats.permissions_missing);
        let help = "Times that NATS said that this node's user lacks a permission.";
        page.counter("cluster_nats_permissions_missing_count", help, missing);
        let kept = self.nats.recovery_metrics();
        let kept = [
            ("written", read(&kept.written)),
            ("replaced", read(&kept.replaced)),
            ("dropped", read(&kept.dropped)),
            ("retried", read(&kept.retried)),
        ];
        page.counters("cluster_recovery_count", "Values of recovery data, by outcome.", "kind", kept);
    }

    fn render_seals(&self, page: &mut Exposition) {
        let refused = [
            ("frame", read(&self.seals.frames_forged)),
            ("repeated_frame", read(&self.seals.frames_repeated)),
            ("value", read(&self.seals.values_forged)),
            ("log_message", read(&self.seals.log_messages_forged)),
        ];
        let help = "What came over NATS without a right seal of the servers' keys, or came again, and was refused.";
        page.counters("cluster_forged_count", help, "kind", refused);
    }

    fn render_membership(&self, page: &mut Exposition) {
        let MembershipStats { proposals, races_lost, removals_proposed, renewals_failed } =
            *self.node.membership.borrow();
        let views = [("proposed", proposals), ("late", races_lost)];
        page.counters(
            "cluster_view_count",
            "Views that this node proposed, and those that came too late.",
            "kind",
            views,
        );
        let help = "Votes of this node to remove a node; repeated votes count again.";
        page.counter("cluster_removals_proposed_count", help, removals_proposed);
        let help = "Renewals of the node's lease that failed or were not answered in time.";
        page.counter("cluster_renewals_failed_count", help, renewals_failed);
    }

    fn render_messages(&self, page: &mut Exposition) {
        let messages = [("read", read(&self.decoder.read)), ("unread", read(&self.decoder.unread))];
        let help =
            "Messages of other nodes: unread are those of a kind that this release does not know, and wrong ones.";
        page.counters("cluster_message_count", help, "kind", messages);
        let refused = read(&self.decoder.batches_refused);
        page.counter("cluster_batches_refused_count", "Batches of other nodes that could not be read at all.", refused);
    }

    fn render_links(&self, page: &mut Exposition) {
        let node = &self.node;
        let links = *node.links.borrow();
        page.gauge("cluster_links", "Links with other nodes.", links.links as f64);
        page.gauge("cluster_links_congested", "Links on which batches have to wait.", links.congested as f64);
        page.gauge("cluster_link_bytes", "Bytes sent and not acknowledged.", links.sum.unacknowledged_bytes as f64);
        page.gauge(
            "cluster_link_waiting_bytes",
            "Bytes that wait for room in a link's window.",
            links.sum.waiting_bytes as f64,
        );
        let frames = [
            ("sent", links.sum.sent),
            ("resent", links.sum.resent),
            ("report", links.sum.reports),
            ("received", links.sum.received),
            ("duplicate", links.sum.duplicates),
            ("gap", links.sum.gaps),
            ("refused", links.sum.refused),
            ("stranger", links.strangers),
            ("unsent", read(&node.frames_unsent)),
        ];
        page.counters("cluster_frame_count", "Frames of links, by kind.", "kind", frames);
        let batches = [("waited", read(&node.outbound_full)), ("lost", read(&node.batches_lost))];
        page.counters("cluster_batch_count", "Batches that links did not take at once, by outcome.", "kind", batches);
        let full = read(&node.events_full);
        page.counter("cluster_events_full_count", "Times that nothing was read: the shards are behind.", full);
    }
}
