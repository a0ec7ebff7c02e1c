//! The limits of game code on one shard.

use std::time::Duration;

/// Time that a call runs before it lets other work of its thread have a turn.
pub(crate) const SLICE: Duration = Duration::from_millis(1);

/// The limits of game code on one shard.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limit on the machines; further calls wait.
    pub machines_max: usize,
    /// Machines that are started before calls need them.
    pub machines_min: usize,
    /// Limit on the calls under way in the machine that concurrent calls share; further ones wait.
    pub concurrent_max: usize,
    /// Limit on the calls that wait for a machine; further ones are refused.
    pub waiting_max: usize,
    /// Limit on the events that wait for game code; further ones are dropped.
    pub events_max: usize,
    /// Limit on the events that listeners are told of at the same time.
    pub event_workers: usize,
    /// Limit on the CPU time of one call.
    pub call_time: Duration,
    /// Limit on the CPU time in which all modules are loaded.
    pub load_time: Duration,
    /// CPU time that a tick of a match should take at most; three ticks in a row that take more end the match.
    pub tick_time: Duration,
    /// CPU time after which a tick is ended, and its match with it.
    pub tick_time_max: Duration,
    /// Limit on the bytes of memory of one machine.
    pub machine_bytes: usize,
    /// Limit on the bytes of memory of one match.
    pub match_bytes: usize,
    /// Limit on the calls of host functions by one call.
    pub host_calls_max: u32,
    /// Limit on the bytes that one call writes to the server's log.
    pub log_bytes_max: usize,
    /// Limit on the broadcasts that one callback of a match defers to its end.
    pub deferred_max: usize,
    /// Limit on the matches of one machine.
    pub matches_per_machine: usize,
    /// Whether global objects of JavaScript cannot be changed once its modules have run.
    pub js_read_only_globals: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            machines_max: 16,
            machines_min: 1,
            concurrent_max: 4_096,
            waiting_max: 10_000,
            events_max: 65_536,
            event_workers: 8,
            call_time: Duration::from_secs(1),
            load_time: Duration::from_secs(5),
            tick_time: Duration::from_millis(100),
            tick_time_max: Duration::from_secs(1),
            machine_bytes: 64 << 20,
            match_bytes: 4 << 20,
            host_calls_max: 10_000,
            log_bytes_max: 64 << 10,
            deferred_max: 128,
            matches_per_machine: 64,
            js_read_only_globals: true,
        }
    }
}
