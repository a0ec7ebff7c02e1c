//! What game code does, counted over all shards.

use std::sync::atomic::{AtomicI64, AtomicU64};

/// Totals of game code.
#[derive(Debug, Default)]
pub struct ScriptMetrics {
    /// Calls of functions.
    pub calls: AtomicU64,
    /// Calls that ended in an error, those below among them.
    pub failed: AtomicU64,
    /// Calls that used up their time.
    pub over_time: AtomicU64,
    /// Calls that failed for want of memory.
    pub over_memory: AtomicU64,
    /// Calls refused because too many waited.
    pub refused: AtomicU64,
    /// Calls that wait for a machine now.
    pub waiting: AtomicI64,
    /// Machines there are now.
    pub machines: AtomicI64,
    /// Callbacks of matches that were called.
    pub match_calls: AtomicU64,
    /// Callbacks of matches that are put aside now, to wait or for others' turn.
    pub match_calls_parked: AtomicI64,
    /// Ticks of matches that took more time than they should.
    pub ticks_over_time: AtomicU64,
    /// Matches there are now.
    pub matches: AtomicI64,
    /// Machines for matches there are now.
    pub match_machines: AtomicI64,
    /// Work that was refused because too much waited for the threads in the background.
    pub background_refused: AtomicU64,
    /// Entries of the local cache now.
    pub cache_entries: AtomicI64,
    /// Bytes that they take.
    pub cache_bytes: AtomicI64,
    /// Entries that gave way before their time.
    pub cache_evicted: AtomicU64,
    /// Requests to other servers.
    pub http_requests: AtomicU64,
    /// Those that ended without a response.
    pub http_failed: AtomicU64,
    /// Entries for which there was no room.
    pub cache_refused: AtomicU64,
}
