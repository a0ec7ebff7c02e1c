//! Copies the log's pages into the database, so that the log can start over, without stopping the writer for long.
//!
//! A checkpoint can finish only while nobody writes and no reader uses an older snapshot, and under load there is no
//! such moment. Therefore a thread of its own copies most pages beside the writer, with its own syncs. Then it asks the
//! writer to copy the pages that were added meanwhile: those are few, and the writer copies them between two batches,
//! while the gate keeps readers from starting. The writer's next transaction then starts the log over.
//!
//! The gate is a lock. Readers hold it shared during a snapshot. Only the writer takes it exclusively, and only to
//! finish a checkpoint.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use rusqlite::Connection;

use super::{SqliteOptions, schema};
use crate::OpenError;
use crate::metrics::{StoreMetrics, add, micros_since};

/// Page cache of the checkpoint thread's connection, KiB. The thread changes no pages, so it needs hardly any cache.
const CACHE_KB: u32 = 64;

/// The part of the checkpoint that the writer calls.
pub(super) struct Checkpointer {
    start: SyncSender<()>,
    /// See [`SqliteOptions::log_pages_max`].
    pages_max: u64,
    /// The length of the log, in pages, that starts the next checkpoint. Written by the threads that commit.
    threshold_pages: AtomicU64,
    /// Set while a checkpoint is under way. Set by the threads that commit, cleared by the writer's thread.
    under_way: AtomicBool,
    /// Set when the thread has copied its part and the writer is to copy the rest.
    finish: AtomicBool,
    /// The lock between the readers' snapshots and the end of a checkpoint, see the module.
    gate: Arc<RwLock<()>>,
    metrics: Arc<StoreMetrics>,
}

/// The part of the checkpoint that runs on its own thread.
pub(super) struct CheckpointThread {
    connection: Connection,
    started: Receiver<()>,
    shared: std::sync::Weak<Checkpointer>,
    metrics: Arc<StoreMetrics>,
}

impl Checkpointer {
    /// Creates both parts for the database at `path`.
    pub(super) fn new(
        path: &Path,
        options: &SqliteOptions,
        gate: Arc<RwLock<()>>,
        metrics: Arc<StoreMetrics>,
    ) -> Result<(Arc<Self>, CheckpointThread), OpenError> {
        let connection = schema::connect(path, options.vfs.as_deref(), CACHE_KB)
            .map_err(OpenError::because("cannot open the database"))?;
        let (start, started) = sync_channel(1);
        let checkpointer = Arc::new(Self {
            start,
            pages_max: options.log_pages_max,
            threshold_pages: AtomicU64::new(options.log_pages_max),
            under_way: AtomicBool::new(false),
            finish: AtomicBool::new(false),
            gate,
            metrics: Arc::clone(&metrics),
        });
        let shared = Arc::downgrade(&checkpointer);
        Ok((checkpointer, CheckpointThread { connection, started, shared, metrics }))
    }

    /// Called by SQLite after each commit, on the writer's or the guest's thread, with the length of the log in pages.
    pub(super) fn log_grew(&self, pages: u64) {
        self.metrics.wal_pages.store(pages, Ordering::Relaxed);
        if pages < self.pages_max {
            self.threshold_pages.store(self.pages_max, Ordering::Relaxed);
        } else if pages >= self.threshold_pages.load(Ordering::Relaxed) && !self.under_way.swap(true, Ordering::Relaxed)
        {
            // If readers keep the log from starting over, the next attempt is made at this length.
            self.threshold_pages.store(pages + self.pages_max / 4, Ordering::Relaxed);
            // The channel has room for one message, and no other checkpoint is under way.
            self.under_way.store(self.start.try_send(()).is_ok(), Ordering::Relaxed);
        }
    }

    /// Called by the writer between batches. Copies the last pages if the thread has copied its part. Waits until the
    /// readers' present snapshots end, which are short.
    pub(super) fn finish_if_asked(&self, connection: &Connection) {
        if self.finish.swap(false, Ordering::Acquire) {
            let started = Instant::now();
            let held = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            checkpoint(connection);
            drop(held);
            add(&self.metrics.checkpoint_stall_us, micros_since(started));
            self.under_way.store(false, Ordering::Relaxed);
        }
    }
}

impl CheckpointThread {
    /// Runs until the store is dropped.
    pub(super) fn run(self) {
        while self.started.recv().is_ok() {
            let started = Instant::now();
            checkpoint(&self.connection);
            add(&self.metrics.checkpoints, 1);
            add(&self.metrics.checkpoint_us, micros_since(started));
            let Some(shared) = self.shared.upgrade() else { return };
            shared.finish.store(true, Ordering::Release);
        }
    }
}

/// Copies the pages that can be copied without waiting for other connections. A failure, such as a full disk, loses
/// nothing: the log grows, and the next checkpoint tries again.
fn checkpoint(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::warn!(%error, "checkpoint failed");
    }
}
