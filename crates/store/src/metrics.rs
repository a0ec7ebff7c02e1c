//! Counters and gauges of the stores, as plain atomics that the server shows under its own metric names.
//!
//! Counters are totals since the start of the process; gauges are marked as such. The store never reads them.

use std::sync::atomic::{AtomicU64, Ordering};

use muster_domain::ports::store::StoreError;
use muster_domain::quotas::Quota;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters and gauges of one database. Several stores may share one value, and then add to the same counters.
        #[derive(Debug, Default)]
        pub struct StoreMetrics {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        impl StoreMetrics {
            /// Names and present values of all counters and gauges, in the order of their declaration.
            pub fn snapshot(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    /// SQLite: jobs that the writer took, successful or not.
    write_jobs,
    /// SQLite: commits, each with one sync of the log. `write_jobs` divided by this is the mean batch.
    write_batches,
    /// SQLite: the largest batch so far (gauge).
    write_batch_len_max,
    /// SQLite: batches that were run again with a savepoint around each job, because a job had failed after a change.
    write_batches_isolated,
    /// SQLite: batches that the disk or the database refused; all their jobs were answered as unavailable.
    write_batches_failed,
    /// SQLite: jobs waiting for the writer (gauge).
    write_queue_len,
    /// SQLite: time that jobs waited for the writer, microseconds.
    write_wait_us,
    /// SQLite: time spent in commits, syncs included, microseconds.
    write_commit_us,
    /// SQLite: jobs refused because the writer's queue was full.
    write_queue_full,
    /// SQLite: read transactions run.
    read_jobs,
    /// SQLite: wakes of a reader, each with one snapshot for all of its jobs.
    read_batches,
    /// SQLite: jobs waiting for a reader (gauge).
    read_queue_len,
    /// SQLite: time that jobs waited for a reader, microseconds.
    read_wait_us,
    /// SQLite: jobs refused because the readers' queue was full.
    read_queue_full,
    /// SQLite: checkpoints of the log into the database.
    checkpoints,
    /// SQLite: time that the checkpoint thread spent in checkpoints, microseconds.
    checkpoint_us,
    /// SQLite: time for which checkpoints stopped the writer, microseconds.
    checkpoint_stall_us,
    /// SQLite: pages in the log after the last commit (gauge).
    wal_pages,
    /// Statements of game code that were run.
    game_statements,
    /// Time spent on statements of game code, microseconds.
    game_statement_us,
    /// SQLite: statements of game code that took too long and were interrupted.
    game_statements_interrupted,
    /// SQLite: statements of game code refused because too many waited.
    game_queue_full,
    /// Writes of storage objects refused because their account holds as many as it may, or as many bytes.
    quota_objects_refused,
    /// Chat messages and changes refused because their sender has had as many, or as many bytes, kept that day.
    quota_messages_refused,
    /// Devices not linked because the account has as many as it may.
    quota_devices_refused,
    /// Changes of friendships refused because a user has as many friends or requests as may be.
    quota_friends_refused,
    /// Times that all objects of an account were counted for its quotas.
    quota_counts,
    /// PostgreSQL: connections open (gauge).
    connections_open,
    /// PostgreSQL: connections with at least one request in flight (gauge).
    connections_in_use,
    /// PostgreSQL: connections without a request (gauge).
    connections_idle,
    /// PostgreSQL: requests that waited for a connection.
    connection_waits,
    /// PostgreSQL: time that requests waited for a connection, microseconds.
    connection_wait_us,
    /// PostgreSQL: connections opened.
    connections_opened,
    /// PostgreSQL: connections that failed to open or broke.
    connections_lost,
    /// PostgreSQL: connections closed because their server took no more writes, or had lost their prepared statements.
    connections_useless,
    /// PostgreSQL: connections of game code closed because a statement was given up, or left a state that could not be
    /// reset.
    game_connections_closed,
    /// PostgreSQL: transactions run again after a serialization failure or a deadlock.
    retries,
    /// PostgreSQL: transactions given up after the last attempt.
    retries_exhausted,
    /// PostgreSQL: statements sent.
    statements,
}

impl StoreMetrics {
    /// Counts a refusal by a quota; other errors are not counted.
    pub(crate) fn count_refusal(&self, error: &StoreError) {
        match error {
            StoreError::Exceeded(Quota::Objects | Quota::ObjectBytes) => add(&self.quota_objects_refused, 1),
            StoreError::Exceeded(Quota::Messages | Quota::MessageBytes) => add(&self.quota_messages_refused, 1),
            StoreError::Exceeded(Quota::Devices) => add(&self.quota_devices_refused, 1),
            StoreError::Exceeded(Quota::Friends | Quota::FriendRequests) => add(&self.quota_friends_refused, 1),
            _ => {}
        }
    }
}

/// Adds to a counter or gauge.
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

/// Takes from a gauge.
pub(crate) fn subtract(gauge: &AtomicU64, amount: u64) {
    gauge.fetch_sub(amount, Ordering::Relaxed);
}

/// Microseconds since `start`.
pub(crate) fn micros_since(start: std::time::Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}
