//! The log of durable matches, a port. The engines write to it before a callback's effects leave, and read it to go on
//! with matches whose place has died.
//!
//! There is one log for each partition, written by its owner. A record is opaque here. A place that takes a log over
//! shuts the former owner out first: records that the former owner still appends do not get in.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

use crate::place::{Epoch, Partition};

/// Most bytes of a record.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Number of a record in a partition's log, counted from 0 at the moment this place took the log over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordNumber(pub u64);

/// Reason for which a log cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Another place owns the partition now, or this place never took its log over.
    #[error("the log of matches is another's by now")]
    Lost,
    /// The log does not take this record: it is too large, or too much waits to be written. The log is as it was.
    #[error("the log of matches does not take a record: {0}")]
    Refused(String),
    /// The log has no room, or its disk or server fails. It takes no record before it is taken over again.
    #[error("the log of matches cannot be written: {0}")]
    Failed(String),
}

/// An answer of the log that comes later.
pub type LogFuture<T> = Pin<Box<dyn Future<Output = Result<T, LogError>>>>;

/// The log of durable matches. It is used on the thread of the shard that owns the partitions.
pub trait MatchLog {
    /// Partitions that may have records. The logs of all others are empty.
    fn partitions(&self) -> LogFuture<BTreeSet<Partition>>;

    /// Shuts out the owners of the partition in earlier epochs, and answers all records of its log, in order.
    fn take_over(&self, partition: Partition, epoch: Epoch) -> LogFuture<Vec<Bytes>>;

    /// Adds a record to a log that was taken over. The record is durable once [`Self::synced`] has answered.
    ///
    /// # Errors
    /// When this place does not have the log, or the log has failed before.
    fn append(&self, partition: Partition, record: &[u8]) -> Result<RecordNumber, LogError>;

    /// Waits until all records that were appended to the partition's log so far survive the loss of this machine, or of
    /// this process where the log is a local file. A log may begin with that after `slack`, so that more matches share
    /// one sync.
    fn synced(&self, partition: Partition, slack: Duration) -> LogFuture<()>;

    /// Allows the log to remove the records before this one, and those of former owners: nobody reads them again.
    fn trim(&self, partition: Partition, before: RecordNumber);

    /// Gives the log up, so that another place takes it over. Its records stay.
    fn release(&self, partition: Partition);
}
