//! The only thread that writes, with group commit. All jobs that wait form one transaction with one sync, and are
//! answered after it. The next batch gathers during the sync, so batches grow with the load.
//!
//! A job that fails must leave no change behind and must not affect other jobs. Most failures, such as a taken name or
//! another version, are found before the job's first change, and then there is nothing to undo. After any other failure
//! the batch is rolled back and run again with a savepoint around each job. That is rare, and cheaper than a savepoint
//! around every job of every batch.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use muster_domain::ports::store::StoreError;
use rusqlite::Connection;

use super::checkpoint::Checkpointer;
use super::error::translate;
use super::job::BoxedJob;
use super::queue::Queue;
use super::space;
use crate::metrics::{StoreMetrics, add, micros_since, subtract};

/// Most jobs in one transaction. The limit bounds the time until the first answer.
pub(super) const WRITE_BATCH_LEN_MAX: usize = 512;

/// The things that the thread owns or shares.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) queue: Arc<Queue<BoxedJob>>,
    pub(super) checkpointer: Arc<Checkpointer>,
    pub(super) metrics: Arc<StoreMetrics>,
}

/// The protection of a batch's jobs against each other's failures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// No protection, in the hope that no job fails after a change.
    None,
    /// A savepoint around each job.
    Savepoint,
}

/// Free bytes below which a disk is called full.
const FULL_BELOW_BYTES: u64 = 1 << 20;

/// A fault for the operator. SQLite tells of a full disk in several ways, of which "disk I/O error" is one.
fn plain(fault: &StoreError, path: Option<&str>) -> String {
    match path.map(|path| (path, space::free(Path::new(path)))) {
        Some((path, Ok(free))) if free < FULL_BELOW_BYTES => {
            let kib = free / 1024;
            format!(
                "the disk of {path} is full, {kib} KiB are free: free some, and writes go on by themselves ({fault})"
            )
        }
        _ => fault.to_string(),
    }
}

impl Writer {
    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        let _working = queue.work();
        let mut batch = Vec::with_capacity(WRITE_BATCH_LEN_MAX);
        let mut is_failing = false;
        while self.queue.take(&mut batch, WRITE_BATCH_LEN_MAX) {
            self.count_taken(&batch);
            let fault = self.commit_batch(&mut batch).err();
            if let Some(fault) = &fault {
                add(&self.metrics.write_batches_failed, 1);
                // Only the first refusal is logged: a full disk refuses thousands of batches a second, and may hold the
                // server's log.
                if !is_failing {
                    let fault = plain(fault, self.connection.path());
                    tracing::warn!(jobs = batch.len(), fault, "the database refuses writes");
                }
                self.roll_back();
            } else if is_failing {
                tracing::info!("the database takes writes again");
            }
            is_failing = fault.is_some();
            for job in batch.drain(..) {
                job.answer(fault.as_ref());
            }
            self.checkpointer.finish_if_asked(&self.connection);
        }
    }

    /// Runs all jobs in one transaction and commits it.
    fn commit_batch(&mut self, batch: &mut [BoxedJob]) -> Result<(), StoreError> {
        if !self.run_batch(batch, Guard::None)? {
            add(&self.metrics.write_batches_isolated, 1);
            self.execute("ROLLBACK")?;
            self.run_batch(batch, Guard::Savepoint)?;
        }
        let started = Instant::now();
        self.execute("COMMIT")?;
        add(&self.metrics.write_batches, 1);
        add(&self.metrics.write_commit_us, micros_since(started));
        Ok(())
    }

    /// Begins a transaction and runs all jobs in it. `Ok(false)` means that a job without a savepoint failed after a
    /// change.
    fn run_batch(&self, batch: &mut [BoxedJob], guard: Guard) -> Result<bool, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        for job in batch {
            if guard == Guard::Savepoint {
                self.execute("SAVEPOINT job")?;
            }
            let changes_before = self.connection.total_changes();
            job.run(&self.connection);
            let failure = job.failure();
            if let Some(fault @ StoreError::Unavailable(_)) = failure {
                return Err(fault.clone());
            }
            // After some errors SQLite rolls back the whole transaction, with the changes of the earlier jobs.
            if self.connection.is_autocommit() {
                return Err(StoreError::Unavailable("the database gave up a transaction".to_owned()));
            }
            let failed = failure.is_some();
            if failed && guard == Guard::None && self.connection.total_changes() != changes_before {
                return Ok(false);
            }
            if guard == Guard::Savepoint {
                if failed {
                    self.execute("ROLLBACK TO job")?;
                }
                self.execute("RELEASE job")?;
            }
        }
        Ok(true)
    }

    fn execute(&self, sql: &'static str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(translate)?;
        Ok(())
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(fault) = self.execute("ROLLBACK")
        {
            // The next batch then cannot begin, is refused, and is rolled back here again.
            tracing::error!(%fault, "cannot roll back");
        }
    }

    fn count_taken(&self, batch: &[BoxedJob]) {
        let len = batch.len() as u64;
        subtract(&self.metrics.write_queue_len, len);
        add(&self.metrics.write_jobs, len);
        self.metrics.write_batch_len_max.fetch_max(len, Ordering::Relaxed);
        let waited_us = batch.iter().map(|job| micros_since(job.made_at())).sum();
        add(&self.metrics.write_wait_us, waited_us);
    }
}
