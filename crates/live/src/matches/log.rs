//! The log of durable matches, a port. The engines write to it before a callback's effects leave, and read it to go on
//! with matches whose place has died.
//!
//! There is one log for each partition, written by its owner. Records are bytes that only the engines understand. A
//! place that takes a log over shuts the former owner out first: the log takes no more records of the former owner.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

use super::owner::MatchId;
use crate::place::{Epoch, Partition};

/// Limit on the bytes of a record.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Number of a record in a partition's log, counted from 0 at the moment this place took the log over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordNumber(pub u64);

/// Reason for which a log cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Another place owns the partition now, or this place never took its log over.
    #[error("the log of matches belongs to another place by now")]
    Lost,
    /// The log does not take this record, because the record is too large or too many bytes wait to be written. The log
    /// has not changed.
    #[error("the log of matches does not take a record: {0}")]
    Refused(String),
    /// The log has no room, or its disk or server fails. The log takes records again only after a new takeover.
    #[error("the log of matches cannot be written: {0}")]
    Failed(String),
}

/// An answer of the log that comes later.
pub type LogFuture<T> = Pin<Box<dyn Future<Output = Result<T, LogError>>>>;

/// The logs of all partitions that one shard owns. They are used on the thread of that shard.
pub trait MatchLog {
    /// Partitions that may have records. The logs of all others are empty.
    fn partitions(&self) -> LogFuture<BTreeSet<Partition>>;

    /// Shuts out the owners of the partition in earlier epochs, and answers all records of its log, in order.
    fn take_over(&self, partition: Partition, epoch: Epoch) -> LogFuture<Vec<Bytes>>;

    /// Adds a record to a log that was taken over. The record is durable once [`Self::synced`] has answered.
    ///
    /// # Errors
    /// [`LogError::Lost`] if this place does not have the log, [`LogError::Failed`] if the log has failed, and
    /// [`LogError::Refused`] if the record is too large or too many bytes wait to be written.
    fn append(&self, partition: Partition, record: &[u8]) -> Result<RecordNumber, LogError>;

    /// Waits until all records that were appended to the partition's log so far are durable. Durable records survive
    /// the loss of this machine; in a local file they survive crashes of the process and the machine, but not the loss
    /// of the disk. A log may wait up to `slack` before it syncs, so that more matches share one sync.
    fn synced(&self, partition: Partition, slack: Duration) -> LogFuture<()>;

    /// Allows the log to remove the records before this one, and the records of former owners, because nobody reads
    /// them again.
    fn trim(&self, partition: Partition, before: RecordNumber);

    /// Gives the log up, so that another place may take it over. The records stay.
    fn release(&self, partition: Partition);

    /// Matches that an operator wants forgotten: whoever takes their log over ends them.
    fn unwanted(&self) -> LogFuture<BTreeSet<MatchId>> {
        Box::pin(std::future::ready(Ok(BTreeSet::new())))
    }

    /// Notes that the log says of an unwanted match that it has ended.
    fn forgotten(&self, _id: MatchId) {}
}
