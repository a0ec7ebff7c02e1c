//! What the stores count, as plain atomics that the server shows under its own metric names.
//!
//! All are totals since the start unless they are called a gauge. Nothing here is read by the store itself.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters and gauges of one database. One value may be shared by several stores: they add up.
        #[derive(Debug, Default)]
        pub struct StoreMetrics {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        impl StoreMetrics {
            /// All names with their present values, in the order of their declaration.
            pub fn snapshot(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    /// SQLite: write transactions run, whatever became of them.
    write_jobs,
    /// SQLite: commits, each with one sync of the log; read beside `write_jobs` it gives the mean batch.
    write_batches,
    /// SQLite: the largest batch so far (gauge).
    write_batch_len_max,
    /// SQLite: batches run again with a savepoint per job because one had failed midway.
    write_batches_isolated,
    /// SQLite: batches that the disk or the database refused, all of their jobs answered as unavailable.
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
    /// SQLite: time spent in checkpoints, microseconds; those that held the writer up are counted there too.
    checkpoint_us,
    /// SQLite: time for which checkpoints held the writer up, microseconds.
    checkpoint_stall_us,
    /// SQLite: pages in the log after the last commit (gauge).
    wal_pages,
    /// SQLite: statements of game code run.
    game_statements,
    /// SQLite: time that they took, microseconds.
    game_statement_us,
    /// SQLite: statements of game code that took too long and were interrupted.
    game_statements_interrupted,
    /// SQLite: statements of game code refused because too many waited.
    game_queue_full,
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
    /// PostgreSQL: transactions run again after a serialization failure or a deadlock.
    retries,
    /// PostgreSQL: transactions given up after the last attempt.
    retries_exhausted,
    /// PostgreSQL: statements sent.
    statements,
}

/// Adds to a counter.
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
