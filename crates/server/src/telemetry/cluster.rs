//! Metrics of a node of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use muster_cluster::NodeNumber;
use muster_cluster::codec::DecoderMetrics;
use muster_cluster::membership::View;
use muster_cluster::nats::{JetLogs, Nats};
use muster_cluster::node::{NodeAuthority, NodeMetrics};
use muster_cluster::recovery::Recovery as _;
use muster_cluster::seal::SealMetrics;
use muster_live::Place;
use tokio::sync::watch;

use super::metric::{Labelled, Metric, counter, counters, gauge};
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

/// A node of a cluster, and its view of the others.
pub(super) const NODE: &[Metric<ClusterTelemetry>] = &[
    gauge("cluster_nodes", "Nodes of the cluster.", |node| node.view.borrow().nodes().len() as f64),
    gauge("cluster_node_number", "This node's number.", |node| f64::from(node.number)),
    gauge("cluster_online", "0 while the node is an island.", |node| is(node.authority.is_online())),
    counter("cluster_island_count", "Times that the node became an island.", |node| read(&node.node.islands)),
    counter("cluster_voted_out_count", "Times that the node was voted out.", |node| read(&node.node.voted_out)),
    gauge("cluster_epoch", "Epoch of the last change in the cluster.", |node| node.view.borrow().epoch.0 as f64),
    gauge("cluster_partitions", "Partitions that this node owns, of 1,024.", owned),
    gauge("cluster_load_percent", "Load of the process, in per cent of one core for each shard.", |node| {
        f64::from(node.load_percent.load(Ordering::Relaxed))
    }),
    gauge("cluster_busy", "1 while the node has more to do than it should.", |node| {
        is(node.view.borrow().node(node.number).is_some_and(|one| one.is_busy))
    }),
    gauge("cluster_clock_skew_ms", "Time by which this machine's clock is ahead of the database's.", |node| {
        node.clock_skew_ms.load(Ordering::Relaxed) as f64
    }),
    counters("cluster_view_count", "kind", "Views that this node proposed, and those that came too late.", |node| {
        let stats = *node.node.membership.borrow();
        [("proposed", stats.proposals), ("late", stats.races_lost)].into_iter().collect()
    }),
    counter(
        "cluster_removals_proposed_count",
        "Votes of this node to remove a node; repeated votes count again.",
        |node| node.node.membership.borrow().removals_proposed,
    ),
    counter(
        "cluster_renewals_failed_count",
        "Renewals of the node's lease that failed or were not answered in time.",
        |node| node.node.membership.borrow().renewals_failed,
    ),
];

/// The links of a node, and the messages that they carry.
pub(super) const LINKS: &[Metric<ClusterTelemetry>] = &[
    gauge("cluster_links", "Links with other nodes.", |node| node.node.links.borrow().links as f64),
    gauge("cluster_links_congested", "Links on which batches have to wait.", |node| {
        node.node.links.borrow().congested as f64
    }),
    gauge("cluster_link_bytes", "Bytes sent and not acknowledged.", |node| {
        node.node.links.borrow().sum.unacknowledged_bytes as f64
    }),
    gauge("cluster_link_waiting_bytes", "Bytes that wait for room in a link's window.", |node| {
        node.node.links.borrow().sum.waiting_bytes as f64
    }),
    counters("cluster_frame_count", "kind", "Frames of links, by kind.", frames),
    counters("cluster_batch_count", "kind", "Batches that links did not take at once, by outcome.", |node| {
        let (waited, lost) = (read(&node.node.outbound_full), read(&node.node.batches_lost));
        [("waited", waited), ("lost", lost)].into_iter().collect()
    }),
    counter("cluster_events_full_count", "Times that nothing was read because the shards are behind.", |node| {
        read(&node.node.events_full)
    }),
    counters(
        "cluster_message_count",
        "kind",
        "Messages of other nodes: `unread` are those of a kind that this release does not know, and wrong ones.",
        |node| [("read", read(&node.decoder.read)), ("unread", read(&node.decoder.unread))].into_iter().collect(),
    ),
    counter("cluster_batches_refused_count", "Batches of other nodes that could not be read at all.", |node| {
        read(&node.decoder.batches_refused)
    }),
];

/// NATS, as a node sees it.
pub(super) const NATS: &[Metric<ClusterTelemetry>] = &[
    counter("cluster_nats_lost_count", "Connections to NATS that were lost.", |node| read(&node.nats.metrics().losses)),
    counter("cluster_nats_frames_refused_count", "Frames refused because too many wait to be written.", |node| {
        read(&node.nats.metrics().frames_refused)
    }),
    counter("cluster_nats_overflow_count", "Times that frames were lost because too many wait to be read.", |node| {
        read(&node.nats.metrics().inbox_overflows)
    }),
    counter("cluster_nats_watch_restarts_count", "Times that watching the registry began anew.", |node| {
        read(&node.nats.metrics().watch_restarts)
    }),
    counter(
        "cluster_nats_permissions_missing_count",
        "Times that NATS said that this node's user lacks a permission.",
        |node| read(&node.nats.metrics().permissions_missing),
    ),
    counters("cluster_recovery_count", "kind", "Values of recovery data, by outcome.", |node| {
        let kept = node.nats.recovery_metrics();
        let kinds = [
            ("written", &kept.written),
            ("replaced", &kept.replaced),
            ("dropped", &kept.dropped),
            ("retried", &kept.retried),
        ];
        kinds.into_iter().map(|(kind, count)| (kind, read(count))).collect()
    }),
    counters(
        "cluster_forged_count",
        "kind",
        "What came over NATS without a right seal of the servers' keys, or came again, and was refused.",
        |node| {
            let kinds = [
                ("frame", &node.seals.frames_forged),
                ("repeated_frame", &node.seals.frames_repeated),
                ("value", &node.seals.values_forged),
                ("log_message", &node.seals.log_messages_forged),
            ];
            kinds.into_iter().map(|(kind, count)| (kind, read(count))).collect()
        },
    ),
];

fn is(so: bool) -> f64 {
    f64::from(u8::from(so))
}

fn owned(node: &ClusterTelemetry) -> f64 {
    let view = node.view.borrow();
    view.holdings().filter(|(_, holding)| holding.owner.map(Place::node) == Some(node.number)).count() as f64
}

fn frames(node: &ClusterTelemetry) -> Labelled {
    let links = *node.node.links.borrow();
    let kinds = [
        ("sent", links.sum.sent),
        ("resent", links.sum.resent),
        ("report", links.sum.reports),
        ("received", links.sum.received),
        ("duplicate", links.sum.duplicates),
        ("gap", links.sum.gaps),
        ("refused", links.sum.refused),
        ("stranger", links.strangers),
        ("unsent", read(&node.node.frames_unsent)),
    ];
    kinds.into_iter().collect()
}
