//! The threads that read. Each takes a few jobs at a time and runs them on one snapshot. The snapshot is taken after
//! the jobs were queued, so a read sees every write that was acknowledged before the read was requested.

use std::sync::{Arc, PoisonError, RwLock};

use muster_domain::ports::store::StoreError;
use rusqlite::Connection;

use super::error::translate;
use super::job::BoxedJob;
use super::queue::Queue;
use crate::metrics::{StoreMetrics, add, micros_since, subtract};

/// Most jobs on one snapshot. The limit bounds how long a snapshot keeps the log from starting over, and leaves jobs
/// for the other readers.
pub(super) const READ_BATCH_LEN_MAX: usize = 32;

/// The things that one thread owns or shares.
pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) queue: Arc<Queue<BoxedJob>>,
    /// The lock that is held shared during a snapshot, see [`super::checkpoint`].
    pub(super) gate: Arc<RwLock<()>>,
    pub(super) metrics: Arc<StoreMetrics>,
}

impl Reader {
    /// Runs until the queue is closed and empty.
    pub(super) fn run(self) {
        let _working = self.queue.work();
        let mut batch = Vec::with_capacity(READ_BATCH_LEN_MAX);
        while self.queue.take(&mut batch, READ_BATCH_LEN_MAX) {
            self.count_taken(&batch);
            let passed = self.gate.read().unwrap_or_else(PoisonError::into_inner);
            let fault = self.execute("BEGIN").err();
            for mut job in batch.drain(..) {
                if fault.is_none() {
                    job.run(&self.connection);
                }
                job.answer(fault.as_ref());
            }
            if !self.connection.is_autocommit()
                && let Err(fault) = self.execute("COMMIT").or_else(|_| self.execute("ROLLBACK"))
            {
                tracing::warn!(%fault, "a reader could not end its snapshot");
            }
            drop(passed);
        }
    }

    fn execute(&self, sql: &'static str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(translate)?;
        Ok(())
    }

    fn count_taken(&self, batch: &[BoxedJob]) {
        let len = batch.len() as u64;
        subtract(&self.metrics.read_queue_len, len);
        add(&self.metrics.read_jobs, len);
        add(&self.metrics.read_batches, 1);
        let waited_us = batch.iter().map(|job| micros_since(job.made_at())).sum();
        add(&self.metrics.read_wait_us, waited_us);
    }
}
