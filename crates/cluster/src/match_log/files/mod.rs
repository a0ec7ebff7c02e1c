//! The match log in files, for a server on its own: one log for all partitions, in segments, written by one thread.
//!
//! All waiting records are written and synced together, at the latest when the first caller that waits for them has no
//! more time; then all waiting callers are told. Records of earlier runs are read from the files when their partition
//! is taken over. Only one process may have the folder.
//!
//! Locks: there is one, of the [`State`]. A thread holds it while it copies a record, and never during disk operations.

mod copy;
mod index;
mod layer;
mod segments;
mod state;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use muster_live::matches::{LogError, LogFuture, MatchLog, RecordNumber};
use muster_live::place::{Epoch, Partition};

use super::{check_record, number_of};
pub use copy::LogFiles;
pub use layer::LOCK;
use layer::{Folder, Layer};
use segments::Segments;
use state::Shared;

/// Size in bytes at which the next segment begins. Disk space is freed by whole segments. A batch is never split
/// between segments, so a segment that holds one large batch may be as large as [`WAITING_BYTES_MAX`], and a little
/// more.
pub const SEGMENT_BYTES: u64 = 32 << 20;

/// Limit of the bytes of records that wait to be written; further records are refused.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// Options of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Size at which the next segment begins; at most a GiB.
    pub segment_bytes: u64,
    /// Limit of the bytes of records that wait to be written.
    pub waiting_bytes_max: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { segment_bytes: SEGMENT_BYTES, waiting_bytes_max: WAITING_BYTES_MAX }
    }
}

/// Explains why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the folder.
    #[error(
        "the log of matches in {0} is in use by another process: stop that server first, or name another data folder"
    )]
    InUse(PathBuf),
    /// A disk operation failed.
    #[error("the log of matches in {folder} cannot be used: {source}")]
    Disk {
        /// The folder of the log.
        folder: PathBuf,
        /// The error of the disk.
        source: std::io::Error,
    },
    /// A segment that was synced holds bytes that were never written to it.
    #[error(
        "the log of matches is damaged: {file} from byte {at} on. Restore its folder from a backup; or move this file \
         and all with lower numbers to another folder, which ends the durable matches that need them"
    )]
    Damaged {
        /// Path of the segment.
        file: PathBuf,
        /// Offset of the damage: everything before it is intact.
        at: u64,
    },
    /// A segment is missing between others.
    #[error(
        "the log of matches lacks {0}. Put it back; or move all with lower numbers to another folder, which ends the \
         durable matches that need them"
    )]
    Missing(PathBuf),
    /// The operating system refused to start the thread that writes the log.
    #[error("the thread that writes the log of matches cannot be started: {0}")]
    NoThread(std::io::Error),
}

/// Counters since the start, and the current size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Segments that exist now.
    pub segments: u64,
    /// Bytes in all segments.
    pub bytes: u64,
    /// Syncs so far. One sync may serve many records.
    pub syncs: u64,
    /// Records that were written.
    pub records: u64,
    /// Bytes of written records, including their frames.
    pub appended_bytes: u64,
    /// Records refused because [`FileOptions::waiting_bytes_max`] was reached.
    pub refused: u64,
    /// Times that writing to the disk failed.
    pub failures: u64,
    /// Sum of the times of all writes with their syncs.
    pub sync_time: Duration,
    /// The longest time of a write with its sync.
    pub slowest_sync: Duration,
}

/// The match log of a process. Clones share one log. When the last clone and all handles are gone, the log writes
/// everything that waits and ends.
#[derive(Clone, Debug)]
pub struct FileLogs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    handles: AtomicU32,
    writer: Option<JoinHandle<()>>,
}

impl FileLogs {
    /// Opens the log in a folder and reads its index. Makes the folder if it does not exist.
    ///
    /// # Errors
    /// [`OpenError`], whose sentence says what to do.
    pub fn open(folder: &Path, options: FileOptions) -> Result<Self, OpenError> {
        Self::open_on(Box::new(Folder::take(folder)?), options)
    }

    fn open_on(layer: Box<dyn Layer>, options: FileOptions) -> Result<Self, OpenError> {
        let folder = layer.folder();
        let segments = Segments::open(layer, options.segment_bytes.min(1 << 30))?;
        let shared = Arc::new(Shared::new(&segments, folder, options.waiting_bytes_max));
        let writer = std::thread::Builder::new().name("muster-matches".to_owned());
        let writer = writer.spawn({
            let shared = shared.clone();
            move || writer::run(&shared, segments)
        });
        let writer = writer.map_err(OpenError::NoThread)?;
        Ok(Self(Arc::new(Inner { shared, handles: AtomicU32::new(0), writer: Some(writer) })))
    }

    /// A handle of the log for one shard. A partition that one handle has taken over cannot be written through another.
    #[must_use]
    pub fn handle(&self) -> FileLog {
        FileLog { handle: self.0.handles.fetch_add(1, Ordering::Relaxed), logs: self.clone() }
    }

    /// Partitions that have records.
    #[must_use]
    pub fn partitions(&self) -> Vec<Partition> {
        self.0.shared.partitions()
    }

    /// Counters so far, and the current size.
    #[must_use]
    pub fn stats(&self) -> FileStats {
        self.0.shared.stats()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the thread of the log of matches had panicked");
        }
    }
}

/// A shard's handle of the log.
#[derive(Debug)]
pub struct FileLog {
    logs: FileLogs,
    handle: u32,
}

impl FileLog {
    fn shared(&self) -> &Shared {
        &self.logs.0.shared
    }
}

impl MatchLog for FileLog {
    fn partitions(&self) -> LogFuture<BTreeSet<Partition>> {
        Box::pin(std::future::ready(Ok(self.logs.partitions().into_iter().collect())))
    }

    fn take_over(&self, partition: Partition, epoch: Epoch) -> LogFuture<Vec<Bytes>> {
        let asked = number_of(partition).and_then(|number| self.shared().take_over(self.handle, number, epoch));
        Box::pin(async move { asked?.await.unwrap_or_else(|_| Err(LogError::Failed("the log is closed".to_owned()))) })
    }

    fn append(&self, partition: Partition, record: &[u8]) -> Result<RecordNumber, LogError> {
        check_record(record)?;
        self.shared().append(self.handle, number_of(partition)?, record)
    }

    fn synced(&self, partition: Partition, slack: Duration) -> LogFuture<()> {
        let wait = number_of(partition).and_then(|number| self.shared().wait(self.handle, number, slack));
        let shared = self.logs.0.shared.clone();
        Box::pin(async move {
            match wait? {
                None => Ok(()),
                Some(wait) => wait.done(&shared).await,
            }
        })
    }

    fn trim(&self, partition: Partition, before: RecordNumber) {
        if let Ok(number) = number_of(partition) {
            self.shared().trim(self.handle, number, before);
        }
    }

    fn release(&self, partition: Partition) {
        if let Ok(number) = number_of(partition) {
            self.shared().release(self.handle, number);
        }
    }
}
