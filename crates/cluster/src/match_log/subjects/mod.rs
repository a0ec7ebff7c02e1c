//! Match logs for the nodes of a cluster: records lie in messages, with one subject for each partition. The port
//! [`Subjects`] stands for the store of the messages.
//!
//! A message is accepted only directly after the message that its writer expects to be the last. A new owner publishes
//! a claim first, so that no late message of a former owner is accepted after it. One message of a partition is under
//! way at a time; records appended meanwhile go into the next.

mod message;
mod owner;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_live::matches::{LogError, LogFuture, MatchId, MatchLog, RecordNumber};
use muster_live::place::{Epoch, Partition};
use tokio::sync::Semaphore;

use super::{check_record, number_of};
use message::GatheredRecords;
use owner::Owned;

/// Limit of the bytes of records that wait to be published, over all partitions; further records are refused.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// Number of logs that are read at the same time during take-overs.
pub const READS_MAX: usize = 8;

/// Time for which publishing a message is tried before its log counts as failed.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(15);

/// The store of messages.
pub trait Subjects: Send + Sync + 'static {
    /// Adds a message directly after the one of number `expected` (0: as the first), and answers its number.
    fn publish(
        &self,
        partition: u16,
        expected: u64,
        message: Bytes,
    ) -> impl Future<Output = Result<u64, PublishError>> + Send;

    /// The partitions that have messages. The answer may be outdated, as that of [`Self::last`].
    fn partitions(&self) -> impl Future<Output = Result<BTreeSet<u16>, ReadError>> + Send;

    /// The last message with its number. The answer may be outdated, if a server that has been cut off gives it.
    fn last(&self, partition: u16) -> impl Future<Output = Result<Option<(u64, Bytes)>, ReadError>> + Send;

    /// Passes all messages before number `until` with their numbers to `take`, in order.
    fn read(
        &self,
        partition: u16,
        until: u64,
        take: &mut (dyn FnMut(u64, Bytes) + Send),
    ) -> impl Future<Output = Result<(), ReadError>> + Send;

    /// Deletes the messages before this number.
    fn purge(&self, partition: u16, before: u64) -> impl Future<Output = Result<(), ReadError>> + Send;

    /// Keeps a note that an operator wants a match forgotten. Noting it twice changes nothing.
    fn want_forgotten(&self, id: Uuid, note: Bytes) -> impl Future<Output = Result<(), ReadError>> + Send;

    /// Matches that an operator wants forgotten, with the notes that say so.
    fn unwanted(&self) -> impl Future<Output = Result<BTreeMap<Uuid, Bytes>, ReadError>> + Send;

    /// Removes the note that an operator wants a match forgotten.
    fn forgotten(&self, id: Uuid) -> impl Future<Output = Result<(), ReadError>> + Send;

    /// The largest message, in bytes.
    fn message_bytes_max(&self) -> usize;

    /// A random number that no other caller gets.
    fn identity(&self) -> u128;
}

/// Explains why a message was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The last message is not the expected one.
    #[error("another message came first")]
    Conflict,
    /// The message may have been stored already, or may be stored later.
    #[error("{0}")]
    Unknown(String),
    /// The store will never take the message.
    #[error("{0}")]
    Refused(String),
}

/// The error of a read: the store gave no complete answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubjectStats {
    /// Messages that were acknowledged.
    pub publishes: u64,
    /// Records that are kept.
    pub records: u64,
    /// Bytes of messages that were acknowledged.
    pub published_bytes: u64,
    /// Times that a message was published again because no answer came.
    pub retries: u64,
    /// Logs that another owner took over while they were written here.
    pub lost: u64,
    /// Times that a log failed.
    pub failures: u64,
    /// Records refused because [`WAITING_BYTES_MAX`] was reached.
    pub refused: u64,
    /// Times that an acknowledged message was missing.
    pub gaps: u64,
    /// Times that unneeded messages were deleted.
    pub purges: u64,
    /// Bytes of records that wait now.
    pub waiting_bytes: u64,
    /// Sum of the times of all publications.
    pub publish_time: Duration,
    /// The longest time of a publication.
    pub slowest_publish: Duration,
}

/// The match logs of a node; clones share them.
#[derive(Debug)]
pub struct SubjectLogs<S>(Arc<Common<S>>);

impl<S> Clone for SubjectLogs<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// State that all shards of a node share.
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

    /// A handle of the logs for one shard. Records that are not published yet are dropped with the handle; await
    /// [`MatchLog::synced`] before.
    #[must_use]
    pub fn handle(&self) -> SubjectLog<S> {
        SubjectLog { common: self.0.clone(), owner: self.0.subjects.identity(), owned: RefCell::default() }
    }

    /// Partitions that may have records.
    ///
    /// # Errors
    /// [`LogError::Failed`] if the store of messages does not answer.
    pub async fn partitions(&self) -> Result<BTreeSet<Partition>, LogError> {
        let numbers = self.0.subjects.partitions().await.map_err(failed)?;
        Ok(numbers.into_iter().filter_map(Partition::new).collect())
    }

    /// The records of a partition's log so far. The log's owner is not disturbed, and may write more meanwhile.
    ///
    /// # Errors
    /// [`LogError::Failed`] if the store of messages does not answer.
    pub async fn read(&self, partition: Partition) -> Result<Vec<Bytes>, LogError> {
        let (number, subjects) = (number_of(partition)?, &self.0.subjects);
        let Some((last, message)) = subjects.last(number).await.map_err(failed)? else { return Ok(Vec::new()) };
        let mut gathered = GatheredRecords::default();
        subjects.read(number, last, &mut |_, message| gathered.push(&message)).await.map_err(failed)?;
        gathered.push(&message);
        Ok(gathered.records())
    }

    /// Notes that an operator wants a match forgotten: the node that takes the match's log over next ends the match.
    ///
    /// # Errors
    /// [`LogError::Failed`] if the store of messages does not answer.
    pub async fn want_forgotten(&self, id: MatchId) -> Result<(), LogError> {
        self.0.subjects.want_forgotten(id.0, Bytes::new()).await.map_err(failed)
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> SubjectStats {
        let mut stats = *self.0.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.waiting_bytes = self.0.waiting_bytes.load(Ordering::Relaxed) as u64;
        stats
    }
}

/// A shard's handle of the logs; to be used within its tokio runtime.
#[derive(Debug)]
pub struct SubjectLog<S: Subjects> {
    common: Arc<Common<S>>,
    owner: u128,
    owned: RefCell<HashMap<u16, Owned<S>>>,
}

impl<S: Subjects> SubjectLog<S> {
    /// Calls `work` with a log that this shard owns.
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
            let numbers = common.subjects.partitions().await.map_err(failed)?;
            Ok(numbers.into_iter().filter_map(Partition::new).collect())
        })
    }

    fn take_over(&self, partition: Partition, epoch: Epoch) -> LogFuture<Vec<Bytes>> {
        let begun = number_of(partition).map(|number| {
            let (owned, answer) = Owned::begin(self.common.clone(), number, self.owner, epoch);
            // An earlier take-over of the same partition is dropped here and writes no more.
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
        // An error means that this shard does not own the log, so there is nothing to trim.
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

    fn unwanted(&self) -> LogFuture<BTreeSet<MatchId>> {
        let common = self.common.clone();
        Box::pin(async move {
            let ids = common.subjects.unwanted().await.map_err(failed)?;
            Ok(ids.into_keys().map(MatchId).collect())
        })
    }

    fn forgotten(&self, id: MatchId) {
        let common = self.common.clone();
        tokio::spawn(async move {
            // A note that stays is removed when the match's log is taken over again.
            if let Err(error) = common.subjects.forgotten(id.0).await {
                tracing::debug!(%id, %error, "the note of an unwanted match stays");
            }
        });
    }
}

fn failed(error: ReadError) -> LogError {
    LogError::Failed(error.0)
}
