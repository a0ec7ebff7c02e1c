//! Counters of a node.

use std::sync::atomic::AtomicU64;

use tokio::sync::watch;

use crate::link::LinksStats;
use crate::membership::MembershipStats;

/// Counters since the start.
#[derive(Debug)]
pub struct NodeMetrics {
    /// Batches given back to their sender because [`LINK_BYTES_MAX`](super::LINK_BYTES_MAX) or
    /// [`BATCHES_WAITING_MAX`](super::BATCHES_WAITING_MAX) was reached.
    pub outbound_full: AtomicU64,
    /// Batches that were lost because their link had ended.
    pub batches_lost: AtomicU64,
    /// Frames that the bus did not take; links send them again.
    pub frames_unsent: AtomicU64,
    /// Times that reading frames stopped because [`EVENTS_WAITING_MAX`](super::EVENTS_WAITING_MAX) events waited.
    pub events_full: AtomicU64,
    /// Times that this node became an island.
    pub islands: AtomicU64,
    /// Times that this node was voted out.
    pub voted_out: AtomicU64,
    /// Gauges and counters of the links, at most a second old.
    pub links: watch::Sender<LinksStats>,
    /// Counters of the membership.
    pub membership: watch::Sender<MembershipStats>,
}

impl Default for NodeMetrics {
    fn default() -> Self {
        Self {
            outbound_full: AtomicU64::default(),
            batches_lost: AtomicU64::default(),
            frames_unsent: AtomicU64::default(),
            events_full: AtomicU64::default(),
            islands: AtomicU64::default(),
            voted_out: AtomicU64::default(),
            links: watch::Sender::new(LinksStats::default()),
            membership: watch::Sender::new(MembershipStats::default()),
        }
    }
}
