//! The log of durable matches, a port: what the engines write before a callback's effects leave, and read when they go on
//! with matches whose place has died.
//!
//! There is one log for each partition, written by its owner. A record is opaque here. Whoever takes a log over shuts the
//! former owner out first: nothing that this still appends gets in.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;

use crate::place::{Epoch, Partition};

/// The most bytes of a record.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Which record of a partition since its log was taken over here, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordNumber(pub u64);

/// Why a log cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// Another place owns the partition now, or this one never took its log over.
    #[error("the log of matches is another's by now")]
    Lost,
    /// It does not take this record: too large, or too much waits to be written. The log is as it was.
    #[error("the log of matches does not take a record: {0}")]
    Refused(String),
    /// It has no room, or what it lies on fails. It takes nothing before it is taken over again.
    #[error("the log of matches cannot be written: {0}")]
    Failed(String),
}

/// What comes of an answer of the log.
pub type LogFuture<T> = Pin<Box<dyn Future<Output = Result<T, LogError>>>>;

/// See the module. Used on the thread of the shard that owns the partitions.
pub trait MatchLog {
    /// The partitions of which there may be records: nobody has written to the others yet.
    fn partitions(&self) -> LogFuture<BTreeSet<Partition>>;

    /// Shuts out whoever had the partition's log in an earlier epoch, and answers all records that it has, in order.
    fn take_over(&self, partition: Partition, epoch: Epoch) -> LogFuture<Vec<Bytes>>;

    /// Adds a record to a log that was taken over. It is kept once [`Self::synced`] says so.
    ///
    /// # Errors
    /// When the log is not this place's, or has failed before.
    fn append(&self, partition: Partition, record: &[u8]) -> Result<RecordNumber, LogError>;

    /// Waits until all that was appended to the partition's log so far survives the loss of this machine, or of this
    /// process where it is a local file. Appends of many matches share the wait: a log may let so much time pass before it
    /// begins, so that more do.
    fn synced(&self, partition: Partition, slack: Duration) -> LogFuture<()>;

    /// Records before this one are never read again, those of former owners neither. They may go at once or later.
    fn trim(&self, partition: Partition, before: RecordNumber);

    /// This place writes the log no more: another takes it over. What was appended stays.
    fn release(&self, partition: Partition);
}
