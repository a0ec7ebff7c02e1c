//! Counters and gauges of the transports: plain atomics, which other modules read and export.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_live::plane::PlaneStats;
use muster_live::{CloseReason, Discarded, ShardIndex};

use crate::ws::resume::ResumeRefusal;
use crate::ws::shared::Traffic;

/// Counters and gauges of all shards. Counters never decrease.
#[derive(Debug, Default)]
pub struct GatewayMetrics {
    /// Open connections, sockets included (gauge).
    pub connections: AtomicI64,
    /// Open sockets (gauge).
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
    /// Frames that were not sent to sockets because newer frames replaced them.
    pub frames_replaced: AtomicU64,
    /// Droppable frames that were not sent to sockets because their queues were full.
    pub frames_dropped: AtomicU64,
    /// Times a socket was not read because too many of its messages waited behind one of its operations.
    pub sockets_held: AtomicU64,
    /// Times all sockets of a shard paused.
    pub socket_pauses: AtomicU64,
    /// Sessions that survive their socket, whether they have a socket or not (gauge).
    pub sessions_resumable: AtomicI64,
    /// Sessions that wait for their next socket (gauge).
    pub sessions_waiting: AtomicI64,
    /// Sessions that went on over another socket.
    pub resumed: AtomicU64,
    /// Sockets that got a new session instead of the requested one, by [`ResumeRefusal`].
    pub resumes_refused: [AtomicU64; ResumeRefusal::ALL.len()],
    /// Sessions that came from another node.
    pub moved_in: AtomicU64,
    /// Sessions that went to another node.
    pub moved_out: AtomicU64,
    /// Sessions that ended on their way to another node.
    pub moves_failed: AtomicU64,
    /// Total time for which sessions from other nodes were waited for, in milliseconds.
    pub moved_in_ms: AtomicU64,
    /// Sessions whose next socket did not come in time.
    pub sessions_expired: AtomicU64,
    /// Sessions that ended with their socket because too many sessions waited for their next socket.
    pub waits_refused: AtomicU64,
    /// Times accepting paused because of `connections_max` or of the system's limit of open files.
    pub accept_pauses: AtomicU64,
    /// HTTP connections that ended because their client read an answer too slowly.
    pub answers_too_slow: AtomicU64,
    /// HTTP connections that a timeout ended.
    pub http_timeouts: AtomicU64,
    /// Requests refused because their body was too large, compressed or not.
    pub bodies_too_big: AtomicU64,
    /// Requests refused because their head was too large.
    pub heads_too_big: AtomicU64,
    /// Requests refused because they were malformed or had more than one meaning.
    pub malformed_requests: AtomicU64,
    /// Sockets refused because of a wrong handshake or an invalid token.
    pub sockets_refused: AtomicU64,
    /// Requests refused because they came through a proxy in development mode.
    pub forwarded_refused: AtomicU64,
    /// Matches of which players were told without game code, because it took too long to say where they go.
    pub asked_matches_late: AtomicU64,
    /// Panics caught at a request or session.
    pub panics: AtomicU64,
    /// The numbers of each shard's live plane, at most half a second old.
    planes: Mutex<BTreeMap<ShardIndex, PlaneStats>>,
}

impl GatewayMetrics {
    /// Counts the failure of a connection, if the client's bytes were the cause.
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

    /// Stores the numbers of a shard's plane.
    pub fn publish_plane(&self, shard: ShardIndex, stats: PlaneStats) {
        self.planes().insert(shard, stats);
    }

    /// The planes of all shards, by shard.
    pub fn planes(&self) -> MutexGuard<'_, BTreeMap<ShardIndex, PlaneStats>> {
        // The map contains whole copies of numbers even after a panic.
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

/// Adds one to a gauge now, and subtracts it when dropped.
pub struct GaugeGuard<'a>(&'a AtomicI64);

impl<'a> GaugeGuard<'a> {
    /// Adds one to the gauge.
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
