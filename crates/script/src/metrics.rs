//! What game code does, counted over all shards.

use std::sync::atomic::{AtomicI64, AtomicU64};

use crate::routes::RouteTotals;

/// Totals of game code.
#[derive(Debug, Default)]
pub struct ScriptMetrics {
    /// Calls of functions.
    pub calls: AtomicU64,
    /// Calls that ended in an error, those below among them.
    pub failed: AtomicU64,
    /// Calls that used up their time.
    pub over_time: AtomicU64,
    /// Calls that did not end when they had used up their time: what they held is lost.
    pub given_up: AtomicU64,
    /// Calls that failed for want of memory.
    pub over_memory: AtomicU64,
    /// Calls that used more functions of the host than they may.
    pub over_host_calls: AtomicU64,
    /// Lines that were not logged, since their call had logged too much.
    pub log_lines_dropped: AtomicU64,
    /// Matches that ended since they held too much memory.
    pub matches_over_memory: AtomicU64,
    /// Calls refused because too many waited.
    pub refused: AtomicU64,
    /// Events that game code was told of.
    pub events: AtomicU64,
    /// Events that wait now.
    pub events_waiting: AtomicI64,
    /// Events that were dropped because too many waited.
    pub events_dropped: AtomicU64,
    /// Runs of scheduled functions.
    pub schedules: AtomicU64,
    /// Those that were left out because the one before still ran.
    pub schedules_skipped: AtomicU64,
    /// Those that failed, or did not begin for want of the database.
    pub schedules_failed: AtomicU64,
    /// The number of the game code that runs, among those that the process had.
    pub generation: AtomicU64,
    /// Changes of game code that were not taken because they do not load.
    pub reloads_failed: AtomicU64,
    /// What came of the requests to routes of game code.
    pub routes: RouteTotals,
    /// Requests to routes that ended in an error of game code.
    pub routes_failed: AtomicU64,
    /// Calls that wait for a machine now.
    pub waiting: AtomicI64,
    /// Instances of Go that ended before they were needed no more.
    pub instances_ended: AtomicU64,
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
    /// Those of them that are durable.
    pub matches_durable: AtomicI64,
    /// Matches that went over to newer code.
    pub matches_migrated: AtomicU64,
    /// Those that were to, and failed.
    pub matches_not_migrated: AtomicU64,
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
