//! The log in files, for a server on its own: one log for all partitions, in segments, written by one thread.
//!
//! All that waits is written at once and synced once, when the first who waits for it has no more time, and then all who do hear
//! of that. Records of earlier runs are read from the files when their partition is taken over. One process may have the folder.
//!
//! Locks: one, of the [`State`], held for as long as it takes to copy a record; never while the disk is asked.

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
use layer::{Folder, Layer};
use segments::Segments;
use state::Shared;

/// Bytes of a segment: what is not needed any more is removed by so much at a time. A batch lies in one segment, so one may
/// grow larger, by [`WAITING_BYTES_MAX`] at most.
pub const SEGMENT_BYTES: u64 = 32 << 20;

/// Bytes of records that wait to be written at most; more are refused.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// How the log is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Bytes after which another segment begins; at most a GiB.
    pub segment_bytes: u64,
    /// Bytes of records that wait to be written at most.
    pub waiting_bytes_max: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { segment_bytes: SEGMENT_BYTES, waiting_bytes_max: WAITING_BYTES_MAX }
    }
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process writes it.
    #[error(
        "the log of matches in {0} is in use by another process: stop that server first, or name another data folder"
    )]
    InUse(PathBuf),
    /// The disk does not do what it is asked.
    #[error("the log of matches in {folder} cannot be used: {source}")]
    Disk {
        /// Where it lies.
        folder: PathBuf,
        /// What the disk says.
        source: std::io::Error,
    },
    /// A segment holds what was never written to it, before the end of what had been kept.
    #[error(
        "the log of matches is damaged: {file} from byte {at} on. Restore its folder from a backup; or move this file \
         and all with lower numbers to another folder, which ends the durable matches that need them"
    )]
    Damaged {
        /// The segment.
        file: PathBuf,
        /// What is before it is whole.
        at: u64,
    },
    /// There is none of this name, and others before and after it.
    #[error(
        "the log of matches lacks {0}. Put it back; or move all with lower numbers to another folder, which ends the \
         durable matches that need them"
    )]
    Missing(PathBuf),
    /// The system gives no thread.
    #[error("the log of matches has no thread to write it: {0}")]
    NoThread(std::io::Error),
}

/// What was counted since the start, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Segments that there are.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Syncs so far. Each may be for many records.
    pub syncs: u64,
    /// Records that were written.
    pub records: u64,
    /// Their bytes, with their frames.
    pub appended_bytes: u64,
    /// Records refused since [`FileOptions::waiting_bytes_max`] others waited.
    pub refused: u64,
    /// Times that the disk did not write.
    pub failures: u64,
    /// What writes with their syncs took together.
    pub sync_time: Duration,
    /// What the longest of them took.
    pub slowest_sync: Duration,
}

/// The log of a process. Clones are the same log; it ends, with all written, when the last one and all handles are gone.
#[derive(Clone, Debug)]
pub struct FileLogs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    handles: AtomicU32,
    writer: Option<JoinHandle<()>>,
}

impl FileLogs {
    /// Opens the log in a folder, which is made if it is not there, and reads what is in it.
    ///
    /// # Errors
    /// [`OpenError`]: its sentence says what to do.
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

    /// The log for one shard. Whatever one handle has taken over another cannot write.
    #[must_use]
    pub fn handle(&self) -> FileLog {
        FileLog { handle: self.0.handles.fetch_add(1, Ordering::Relaxed), logs: self.clone() }
    }

    /// The partitions of which there are records.
    #[must_use]
    pub fn partitions(&self) -> Vec<Partition> {
        self.0.shared.partitions()
    }

    /// What was counted so far.
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

/// The log as one shard has it.
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
