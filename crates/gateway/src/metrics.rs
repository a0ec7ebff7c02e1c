//! What the transports count. Plain atomics, read by whoever exports them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_live::plane::PlaneStats;
use muster_live::{CloseReason, Discarded, ShardIndex};

use crate::ws::resume::ResumeRefusal;
use crate::ws::shared::Traffic;

/// Counters and gauges of all shards. Counters only grow.
#[derive(Debug, Default)]
pub struct GatewayMetrics {
    /// Connections open now, sockets included.
    pub connections: AtomicI64,
    /// Sockets open now.
    pub sessions: AtomicI64,
    /// Sockets opened.
    pub sockets_opened: AtomicU64,
    /// Sockets closed, by [`CloseReason::index`].
    pub sockets_closed: [AtomicU64; CloseReason::ALL.len()],
    /// Messages received over sockets.
    pub messages_received: AtomicU64,
    /// Bytes received over sockets.
    pub socket_bytes_received: AtomicU64,
    /// Bytes sent over sockets.
    pub socket_bytes_sent: AtomicU64,
    /// Frames not sent to sockets because a newer one took their place.
    pub frames_replaced: AtomicU64,
    /// Droppable frames not sent to sockets, their queues being full.
    pub frames_dropped: AtomicU64,
    /// Times a socket was not read, as many of its messages as may wait for an operation of its own.
    pub sockets_held: AtomicU64,
    /// Times the sockets of a shard paused.
    pub socket_pauses: AtomicU64,
    /// Sessions that survive their socket, with one or without.
    pub sessions_resumable: AtomicI64,
    /// Sessions that wait for their next socket now.
    pub sessions_waiting: AtomicI64,
    /// Sessions that went on over another socket.
    pub resumed: AtomicU64,
    /// Sockets that got a new session instead of the one they asked for, by [`ResumeRefusal`].
    pub resumes_refused: [AtomicU64; ResumeRefusal::ALL.len()],
    /// Sessions that came from another node.
    pub moved_in: AtomicU64,
    /// Sessions that went to another node.
    pub moved_out: AtomicU64,
    /// Sessions that ended on their way to another node.
    pub moves_failed: AtomicU64,
    /// How long those that came were waited for, in milliseconds together.
    pub moved_in_ms: AtomicU64,
    /// Sessions whose next socket did not come in time.
    pub sessions_expired: AtomicU64,
    /// Sessions that ended with their socket because too many waited for another.
    pub waits_refused: AtomicU64,
    /// Times accepting paused because `connections_max` or the system's limit of open files was reached.
    pub accept_pauses: AtomicU64,
    /// HTTP connections ended by a timeout.
    pub http_timeouts: AtomicU64,
    /// Requests refused for the size of their body, compressed or not.
    pub bodies_too_big: AtomicU64,
    /// Heads refused for their size.
    pub heads_too_big: AtomicU64,
    /// What was no request, or had more than one meaning.
    pub malformed_requests: AtomicU64,
    /// Handshakes of sockets refused: not one, or without a valid token.
    pub sockets_refused: AtomicU64,
    /// Requests refused because they came through a proxy in development mode.
    pub forwarded_refused: AtomicU64,
    /// Matches whose players were told without game code, which took too long to say where they go.
    pub asked_matches_late: AtomicU64,
    /// Panics caught at a request or session.
    pub panics: AtomicU64,
    /// The live plane of each shard, as of half a second ago at most.
    planes: Mutex<BTreeMap<ShardIndex, PlaneStats>>,
}

impl GatewayMetrics {
    /// Counts how a connection failed, when that was for what it sent.
    pub fn connection_failed(&self, error: &hyper::Error) {
        if error.is_parse_too_large() {
            self.heads_too_big.fetch_add(1, Ordering::Relaxed);
        } else if error.is_parse() {
            self.malformed_requests.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts frames that will not be sent.
    pub fn frames_discarded(&self, discarded: Discarded) {
        self.frames_replaced.fetch_add(discarded.replaced, Ordering::Relaxed);
        self.frames_dropped.fetch_add(discarded.dropped, Ordering::Relaxed);
    }

    /// Shows how much there is in a shard's plane.
    pub fn publish_plane(&self, shard: ShardIndex, stats: PlaneStats) {
        self.planes().insert(shard, stats);
    }

    /// The planes of all shards, by shard.
    pub fn planes(&self) -> MutexGuard<'_, BTreeMap<ShardIndex, PlaneStats>> {
        // What a panic interrupted is a copy of numbers, whole or not there.
        self.planes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a socket that closed.
    pub fn socket_closed(&self, reason: CloseReason) {
        self.sockets_closed[reason.index()].fetch_add(1, Ordering::Relaxed);
    }
}

impl Traffic for std::sync::Arc<GatewayMetrics> {
    fn received(&self, messages: u64, bytes: u64) {
        self.messages_received.fetch_add(messages, Ordering::Relaxed);
        self.socket_bytes_received.fetch_add(bytes, Ordering::Relaxed);
    }

    fn sent(&self, bytes: u64) {
        self.socket_bytes_sent.fetch_add(bytes, Ordering::Relaxed);
    }

    fn held(&self) {
        self.sockets_held.fetch_add(1, Ordering::Relaxed);
    }

    fn paused(&self) {
        self.socket_pauses.fetch_add(1, Ordering::Relaxed);
    }

    fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts one up now and one down when dropped.
pub struct GaugeGuard<'a>(&'a AtomicI64);

impl<'a> GaugeGuard<'a> {
    /// Counts one up.
    pub fn new(gauge: &'a AtomicI64) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
