//! Counters of game code, over all shards.

use std::sync::atomic::{AtomicI64, AtomicU64};

use crate::routes::RouteTotals;

/// Counters of game code, for the page of metrics.
#[derive(Debug, Default)]
pub struct ScriptMetrics {
    /// Calls of functions.
    pub calls: AtomicU64,
    /// Calls that ended in an error, including calls over a limit.
    pub failed: AtomicU64,
    /// Calls that used up their time.
    pub over_time: AtomicU64,
    /// Calls that did not end when they had used up their time. Their memory is lost.
    pub given_up: AtomicU64,
    /// Calls that failed for want of memory.
    pub over_memory: AtomicU64,
    /// Calls that called more host functions than they may.
    pub over_host_calls: AtomicU64,
    /// Lines that were not logged because their call had logged too much.
    pub log_lines_dropped: AtomicU64,
    /// Matches that ended because they held too much memory.
    pub matches_over_memory: AtomicU64,
    /// Calls that were refused because too many waited.
    pub refused: AtomicU64,
    /// Events that game code was told of.
    pub events: AtomicU64,
    /// Events that wait for game code now.
    pub events_waiting: AtomicI64,
    /// Events that were dropped because too many waited.
    pub events_dropped: AtomicU64,
    /// Runs of scheduled functions that began.
    pub schedules: AtomicU64,
    /// Runs of scheduled functions that were left out because the run before had not ended.
    pub schedules_skipped: AtomicU64,
    /// Runs of scheduled functions that failed, or did not begin because the database failed.
    pub schedules_failed: AtomicU64,
    /// The generation of game code that runs: the serial number of its programs in this process.
    pub generation: AtomicU64,
    /// Changes of game code that failed to load, so that the former code went on.
    pub reloads_failed: AtomicU64,
    /// Totals of requests to routes of game code.
    pub routes: RouteTotals,
    /// Requests to routes that ended in an error of game code.
    pub routes_failed: AtomicU64,
    /// Calls that wait for a machine now.
    pub waiting: AtomicI64,
    /// Instances of Go that ended because of an error and were replaced.
    pub instances_ended: AtomicU64,
    /// Machines for functions that exist now.
    pub machines: AtomicI64,
    /// Callbacks of matches that were called.
    pub match_calls: AtomicU64,
    /// Callbacks of matches that are put aside now, because they wait or their slice is over.
    pub match_calls_parked: AtomicI64,
    /// Ticks of matches that took more time than they should.
    pub ticks_over_time: AtomicU64,
    /// Matches of game code that run now.
    pub matches: AtomicI64,
    /// Durable matches that run now.
    pub matches_durable: AtomicI64,
    /// Durable matches that went back to an earlier call, because the database lacked their payments since.
    pub matches_set_back: AtomicU64,
    /// Durable matches that could not go on, because their log and the database do not belong together.
    pub matches_unfit: AtomicU64,
    /// Matches that migrated to newer code.
    pub matches_migrated: AtomicU64,
    /// Matches whose migration failed.
    pub matches_not_migrated: AtomicU64,
    /// Machines for matches that exist now.
    pub match_machines: AtomicI64,
    /// Jobs that were refused because too many waited for the threads in the background.
    pub background_refused: AtomicU64,
    /// Entries that the local cache holds now.
    pub cache_entries: AtomicI64,
    /// Bytes of the entries that the local cache holds now.
    pub cache_bytes: AtomicI64,
    /// Entries of the local cache that were evicted before their time to live had ended.
    pub cache_evicted: AtomicU64,
    /// Requests to other servers.
    pub http_requests: AtomicU64,
    /// Requests to other servers that ended without a response.
    pub http_failed: AtomicU64,
    /// Entries that the local cache refused for want of room.
    pub cache_refused: AtomicU64,
}
