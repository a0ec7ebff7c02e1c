//! Moves the log's pages into the database so that the log can start over, without holding the writer up for long.
//!
//! A checkpoint can finish only while nobody writes and no reader looks at an older state, and under load there is no
//! such moment. So a thread of its own copies the bulk beside the writer, with its own syncs, and then asks the writer
//! to copy what was added meanwhile: few pages, between two batches, with the readers held at the gate. The writer's
//! next transaction then starts the log over.
//!
//! The gate: readers hold it shared during a snapshot, the writer alone takes it exclusively, and only to finish.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use rusqlite::Connection;

use super::{SqliteOptions, schema};
use crate::OpenError;
use crate::metrics::{StoreMetrics, add, micros_since};

/// The checkpointing thread changes nothing, so it needs next to no cache.
const CACHE_KB: u32 = 64;

/// The writer's side.
pub(super) struct Checkpointer {
    start: SyncSender<()>,
    /// See [`SqliteOptions::log_pages_max`].
    pages_max: u64,
    /// The length of the log that starts the next checkpoint. Written by whoever commits.
    threshold_pages: AtomicU64,
    /// A checkpoint has been started and not yet finished. Set by whoever commits, unset by the writer's thread.
    under_way: AtomicBool,
    /// The thread has copied the bulk.
    finish: AtomicBool,
    /// See the module.
    gate: Arc<RwLock<()>>,
    metrics: Arc<StoreMetrics>,
}

/// The thread's side.
pub(super) struct CheckpointThread {
    connection: Connection,
    started: Receiver<()>,
    shared: std::sync::Weak<Checkpointer>,
    metrics: Arc<StoreMetrics>,
}

impl Checkpointer {
    /// Both sides, for the database at `path`.
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

    /// Called by SQLite after each commit, on the thread of the writer or of guests, with the length of the log.
    pub(super) fn log_grew(&self, pages: u64) {
        self.metrics.wal_pages.store(pages, Ordering::Relaxed);
        if pages < self.pages_max {
            self.threshold_pages.store(self.pages_max, Ordering::Relaxed);
        } else if pages >= self.threshold_pages.load(Ordering::Relaxed) && !self.under_way.swap(true, Ordering::Relaxed)
        {
            // Should readers keep the log from starting over, this is when it is tried again.
            self.threshold_pages.store(pages + self.pages_max / 4, Ordering::Relaxed);
            // The channel has room: nothing else is under way.
            self.under_way.store(self.start.try_send(()).is_ok(), Ordering::Relaxed);
        }
    }

    /// Called by the writer between batches: copies the last pages if the thread has copied the bulk. Waits for the
    /// readers' present snapshots, which are short.
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
    /// Runs until the store goes.
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

/// Copies what can be copied without waiting for anyone. What fails now (a full disk, say) is tried again after the
/// next commit; nothing is lost, the log only grows.
fn checkpoint(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::warn!(%error, "checkpoint failed");
    }
}
