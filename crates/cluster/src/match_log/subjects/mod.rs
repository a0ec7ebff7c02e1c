//! Logs whose records are messages of subjects, one for each partition, behind a small port: what nodes of a cluster have.
//!
//! A message is taken only behind the one that its writer expects. Who takes a log over publishes a message of its own first,
//! so nothing of a former owner gets in behind that, however late it comes. One message of a partition is under way at a
//! time; what is appended meanwhile goes into the next.

mod message;
mod owner;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use muster_live::matches::{LogError, LogFuture, MatchLog, RecordNumber};
use muster_live::place::{Epoch, Partition};
use tokio::sync::Semaphore;

use super::{check_record, number_of};
use owner::Owned;

/// Bytes of records that wait to be published at most, of all partitions together; more are refused.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// Logs read at a time when they are taken over.
pub const READS_MAX: usize = 8;

/// How long a message may be tried to be published before its log has failed.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(15);

/// Where messages are kept.
pub trait Subjects: Send + Sync + 'static {
    /// Adds a message behind the one of number `expected` (0: there is none), and answers its number.
    fn publish(
        &self,
        partition: u16,
        expected: u64,
        message: Bytes,
    ) -> impl Future<Output = Result<u64, PublishError>> + Send;

    /// The partitions of which there are messages. It may be an old answer, as that of [`Self::last`].
    fn partitions(&self) -> impl Future<Output = Result<BTreeSet<u16>, ReadError>> + Send;

    /// The last message and its number. It may be an old one, told by who is not asked any more.
    fn last(&self, partition: u16) -> impl Future<Output = Result<Option<(u64, Bytes)>, ReadError>> + Send;

    /// Hands on all messages before the one of this number, in order.
    fn read(
        &self,
        partition: u16,
        until: u64,
        take: &mut (dyn FnMut(Bytes) + Send),
    ) -> impl Future<Output = Result<(), ReadError>> + Send;

    /// Forgets the messages before the one of this number.
    fn purge(&self, partition: u16, before: u64) -> impl Future<Output = Result<(), ReadError>> + Send;

    /// The largest message.
    fn message_bytes_max(&self) -> usize;

    /// A number that nobody else has.
    fn identity(&self) -> u128;
}

/// Why a message was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Another message is the last one.
    #[error("another message came first")]
    Conflict,
    /// It may be there or not, or come yet.
    #[error("{0}")]
    Unknown(String),
    /// It never will be taken.
    #[error("{0}")]
    Refused(String),
}

/// Nobody answers, or too little.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubjectStats {
    /// Messages that were acknowledged.
    pub publishes: u64,
    /// Records that are kept.
    pub records: u64,
    /// Bytes of messages that were acknowledged.
    pub published_bytes: u64,
    /// Times that a message was published again, since no answer came.
    pub retries: u64,
    /// Logs that others took over while they were written here.
    pub lost: u64,
    /// Times that a log failed.
    pub failures: u64,
    /// Records refused since [`WAITING_BYTES_MAX`] others waited.
    pub refused: u64,
    /// Times that messages were missing which had been acknowledged.
    pub gaps: u64,
    /// Times that messages were removed which are not needed any more.
    pub purges: u64,
    /// Bytes of records that wait.
    pub waiting_bytes: u64,
    /// What publishing took together.
    pub publish_time: Duration,
    /// What the longest took.
    pub slowest_publish: Duration,
}

/// The logs as a node has them. Clones are the same.
#[derive(Debug)]
pub struct SubjectLogs<S>(Arc<Common<S>>);

impl<S> Clone for SubjectLogs<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// What all shards share.
#[derive(Debug)]
struct Common<S> {
    subjects: S,
    reads: Semaphore,
    waiting_bytes: AtomicUsize,
    stats: Mutex<SubjectStats>,
}

impl<S> Common<S> {
    fn count(&self, count: impl FnOnce(&mut SubjectStats)) {
        count(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<S: Subjects> SubjectLogs<S> {
    pub(crate) fn new(subjects: S) -> Self {
        let (reads, stats) = (Semaphore::new(READS_MAX), Mutex::default());
        Self(Arc::new(Common { subjects, reads, waiting_bytes: AtomicUsize::new(0), stats }))
    }

    /// The logs for one shard. What waits ends with it, so whoever has an end in mind waits for [`MatchLog::synced`].
    #[must_use]
    pub fn handle(&self) -> SubjectLog<S> {
        SubjectLog { common: self.0.clone(), owner: self.0.subjects.identity(), owned: RefCell::default() }
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> SubjectStats {
        let mut stats = *self.0.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.waiting_bytes = self.0.waiting_bytes.load(Ordering::Relaxed) as u64;
        stats
    }
}

/// The logs as one shard has them; used within its tokio runtime.
#[derive(Debug)]
pub struct SubjectLog<S: Subjects> {
    common: Arc<Common<S>>,
    owner: u128,
    owned: RefCell<HashMap<u16, Owned<S>>>,
}

impl<S: Subjects> SubjectLog<S> {
    /// Does something with a log that is this shard's.
    fn with<T>(
        &self,
        partition: Partition,
        work: impl FnOnce(&Owned<S>) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let number = number_of(partition)?;
        self.owned.borrow().get(&number).ok_or(LogError::Lost).and_then(work)
    }
}

impl<S: Subjects> MatchLog for SubjectLog<S> {
    fn partitions(&self) -> LogFuture<BTreeSet<Partition>> {
        let common = self.common.clone();
        Box::pin(async move {
            let numbers = common.subjects.partitions().await.map_err(|error| LogError::Failed(error.0))?;
            Ok(numbers.into_iter().filter_map(Partition::new).collect())
        })
    }

    fn take_over(&self, partition: Partition, epoch: Epoch) -> LogFuture<Vec<Bytes>> {
        let begun = number_of(partition).map(|number| {
            let (owned, answer) = Owned::begin(self.common.clone(), number, self.owner, epoch);
            // One that it takes the place of writes no more.
            self.owned.borrow_mut().insert(number, owned);
            answer
        });
        Box::pin(async move { begun?.await.unwrap_or(Err(LogError::Lost)) })
    }

    fn append(&self, partition: Partition, record: &[u8]) -> Result<RecordNumber, LogError> {
        check_record(record)?;
        self.with(partition, |owned| owned.append(record))
    }

    fn synced(&self, partition: Partition, _: Duration) -> LogFuture<()> {
        let wait = self.with(partition, Owned::wait);
        Box::pin(async move { wait?.await })
    }

    fn trim(&self, partition: Partition, before: RecordNumber) {
        // An error: it is not this shard's to trim.
        let _ = self.with(partition, |owned| {
            owned.trim(before);
            Ok(())
        });
    }

    fn release(&self, partition: Partition) {
        if let Some(owned) = number_of(partition).ok().and_then(|number| self.owned.borrow_mut().remove(&number)) {
            owned.release();
        }
    }
}
