//! Counters and gauges of the stores, as plain atomics that the server shows under their names. The comment of each is
//! its sentence on the page of metrics. The store never reads them.

use std::sync::atomic::{AtomicU64, Ordering};

use muster_domain::ports::store::StoreError;
use muster_domain::quotas::Quota;

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMetricKind {
    /// A total since the start of the process.
    Counter,
    /// A present value.
    Gauge,
}

/// A counter or gauge: its name and its meaning.
pub struct StoreMetric {
    /// Name, that of its field.
    pub name: &'static str,
    /// Kind of its value.
    pub kind: StoreMetricKind,
    lines: &'static [&'static str],
    field: fn(&StoreMetrics) -> &AtomicU64,
}

impl StoreMetric {
    /// Meaning, as a sentence.
    pub fn sentence(&self) -> String {
        self.lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }

    /// The present value.
    pub fn read(&self, metrics: &StoreMetrics) -> u64 {
        (self.field)(metrics).load(Ordering::Relaxed)
    }
}

macro_rules! metrics {
    ($($(#[doc = $line:literal])+ $kind:ident $name:ident,)*) => {
        /// Counters and gauges of one database. Several stores may share one value, and then add to the same counters.
        #[derive(Debug, Default)]
        pub struct StoreMetrics {
            $($(#[doc = $line])+ pub $name: AtomicU64,)*
        }

        impl StoreMetrics {
            /// All counters and gauges, in the order of their declaration.
            pub const ALL: &[StoreMetric] = &[$(StoreMetric {
                name: stringify!($name),
                kind: StoreMetricKind::$kind,
                lines: &[$($line),+],
                field: |metrics| &metrics.$name,
            },)*];

            /// Names and present values of all counters and gauges.
            pub fn snapshot(&self) -> Vec<(&'static str, u64)> {
                Self::ALL.iter().map(|metric| (metric.name, metric.read(self))).collect()
            }
        }
    };
}

metrics! {
    /// SQLite: jobs that the writer took, successful or not.
    Counter write_jobs,
    /// SQLite: commits, each with one sync of the log.
    Counter write_batches,
    /// SQLite: the largest batch so far.
    Gauge write_batch_len_max,
    /// SQLite: batches that were run again with a savepoint around each job, because a job had failed after a change.
    Counter write_batches_isolated,
    /// SQLite: batches that the disk or the database refused; all their jobs were answered as unavailable.
    Counter write_batches_failed,
    /// SQLite: jobs waiting for the writer.
    Gauge write_queue_len,
    /// SQLite: time that jobs waited for the writer, microseconds.
    Counter write_wait_us,
    /// SQLite: time spent in commits, syncs included, microseconds.
    Counter write_commit_us,
    /// SQLite: jobs refused because the writer's queue was full.
    Counter write_queue_full,
    /// SQLite: read transactions run.
    Counter read_jobs,
    /// SQLite: wakes of a reader, each with one snapshot for all of its jobs.
    Counter read_batches,
    /// SQLite: jobs waiting for a reader.
    Gauge read_queue_len,
    /// SQLite: time that jobs waited for a reader, microseconds.
    Counter read_wait_us,
    /// SQLite: jobs refused because the readers' queue was full.
    Counter read_queue_full,
    /// SQLite: checkpoints of the log into the database.
    Counter checkpoints,
    /// SQLite: time that the checkpoint thread spent in checkpoints, microseconds.
    Counter checkpoint_us,
    /// SQLite: time for which checkpoints stopped the writer, microseconds.
    Counter checkpoint_stall_us,
    /// SQLite: pages in the log after the last commit.
    Gauge wal_pages,
    /// Statements of game code that were run.
    Counter game_statements,
    /// Time spent on statements of game code, microseconds.
    Counter game_statement_us,
    /// SQLite: statements of game code that took too long and were interrupted.
    Counter game_statements_interrupted,
    /// SQLite: statements of game code refused because too many waited.
    Counter game_queue_full,
    /// Writes of storage objects refused because their account holds as many as it may, or as many bytes.
    Counter quota_objects_refused,
    /// Chat messages and changes refused because their sender has had as many, or as many bytes, kept that day.
    Counter quota_messages_refused,
    /// Devices not linked because the account has as many as it may.
    Counter quota_devices_refused,
    /// Changes of friendships refused because a user has as many friends or requests as may be.
    Counter quota_friends_refused,
    /// Times that all objects of an account were counted for its quotas.
    Counter quota_counts,
    /// PostgreSQL: connections open.
    Gauge connections_open,
    /// PostgreSQL: connections with at least one request in flight.
    Gauge connections_in_use,
    /// PostgreSQL: connections without a request.
    Gauge connections_idle,
    /// PostgreSQL: requests that waited for a connection.
    Counter connection_waits,
    /// PostgreSQL: time that requests waited for a connection, microseconds.
    Counter connection_wait_us,
    /// PostgreSQL: connections opened.
    Counter connections_opened,
    /// PostgreSQL: connections that failed to open or broke.
    Counter connections_lost,
    /// PostgreSQL: connections closed because their server took no more writes, or had lost their prepared statements.
    Counter connections_useless,
    /// PostgreSQL: connections of game code closed because a statement was given up, or left a state that could not be
    /// reset.
    Counter game_connections_closed,
    /// PostgreSQL: transactions run again after a serialization failure or a deadlock.
    Counter retries,
    /// PostgreSQL: transactions given up after the last attempt.
    Counter retries_exhausted,
    /// PostgreSQL: statements sent.
    Counter statements,
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
