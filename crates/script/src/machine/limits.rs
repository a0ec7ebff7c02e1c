//! What game code may use.

use std::time::Duration;

/// How long a call runs before it gives its thread back to others.
pub(crate) const SLICE: Duration = Duration::from_millis(1);

/// What game code may use; what goes over a limit ends in an error.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most machines of one shard; further calls wait.
    pub machines_max: usize,
    /// Machines of one shard that are made before calls need them.
    pub machines_min: usize,
    /// Most calls of one shard that are under way in the machine that they share; further ones wait.
    pub concurrent_max: usize,
    /// Most calls that wait for a machine; further ones are refused.
    pub waiting_max: usize,
    /// Most events of one shard that wait for game code; further ones are dropped.
    pub events_max: usize,
    /// Most of them that it is told of at a time.
    pub event_workers: usize,
    /// CPU time of one call.
    pub call_time: Duration,
    /// CPU time of loading all modules.
    pub load_time: Duration,
    /// CPU time of a tick of a match; three in a row that take more end it.
    pub tick_time: Duration,
    /// CPU time of a tick at which it is ended, and the match with it.
    pub tick_time_max: Duration,
    /// Memory of one machine.
    pub machine_bytes: usize,
    /// Memory of one match.
    pub match_bytes: usize,
    /// Functions of the host that one call uses.
    pub host_calls_max: u32,
    /// What one call writes to the log.
    pub log_bytes_max: usize,
    /// Broadcasts that a callback of a match puts off to its end.
    pub deferred_max: usize,
    /// Matches of one machine.
    pub matches_per_machine: usize,
    /// Whether the global objects of JavaScript cannot be changed when its modules have run.
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
