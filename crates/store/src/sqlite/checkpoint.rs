//! Moves the log's pages into the database so that the log can start over, without holding the writer up for long.
//!
//! A checkpoint can finish only while nobody writes, and under load the writer always writes. So a thread of its own
//! copies the bulk beside the writer, with its own syncs, and then asks the writer to copy what was added meanwhile:
//! few pages, between two batches. The writer's next transaction then starts the log over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use rusqlite::Connection;

use super::schema;
use crate::OpenError;
use crate::metrics::{StoreMetrics, add, micros_since};

/// The log is checkpointed beyond this many pages (32 MiB). Larger means fewer copies of pages that change often, and a
/// longer recovery after a crash.
const WAL_PAGES_MAX: u64 = 8192;

/// The checkpointing thread changes nothing, so it needs next to no cache.
const CACHE_KB: u32 = 64;

/// The writer's side.
pub(super) struct Checkpointer {
    start: SyncSender<()>,
    wal_pages: AtomicU64,
    finish: AtomicBool,
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
        vfs: Option<&str>,
        metrics: Arc<StoreMetrics>,
    ) -> Result<(Arc<Self>, CheckpointThread), OpenError> {
        let connection =
            schema::connect(path, vfs, CACHE_KB).map_err(OpenError::because("cannot open the database"))?;
        let (start, started) = sync_channel(1);
        let checkpointer = Arc::new(Self {
            start,
            wal_pages: AtomicU64::new(0),
            finish: AtomicBool::new(false),
            metrics: Arc::clone(&metrics),
        });
        let shared = Arc::downgrade(&checkpointer);
        Ok((checkpointer, CheckpointThread { connection, started, shared, metrics }))
    }

    /// Called by SQLite after each commit with the length of the log.
    pub(super) fn log_grew(&self, pages: u64) {
        self.wal_pages.store(pages, Ordering::Relaxed);
        self.metrics.wal_pages.store(pages, Ordering::Relaxed);
        if pages >= WAL_PAGES_MAX {
            // Full means that the thread knows already.
            let _ = self.start.try_send(());
        }
    }

    /// Called by the writer between batches: copies the last pages if the thread has copied the bulk.
    pub(super) fn finish_if_asked(&self, connection: &Connection) {
        if self.finish.swap(false, Ordering::Acquire) {
            let started = Instant::now();
            checkpoint(connection);
            add(&self.metrics.checkpoint_stall_us, micros_since(started));
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
