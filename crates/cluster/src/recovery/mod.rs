//! Recovery data as a port: data that owners keep so that their successors can go on. The data are hints, never the
//! only copy of something that must not be lost: they are written in the background, without a promised order, and left
//! out when they come too fast.

pub mod form;
mod queue;

use std::future::Future;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;

pub(crate) use queue::{Queue, Sink, SinkError};

/// The largest value, in bytes.
pub const RECOVERY_BYTES_MAX: usize = 512 * 1024;

/// Largest number of values that wait to be written. The same number of removals may wait besides.
pub const KEYS_WAITING_MAX: usize = 65_536;

/// Limit of the bytes of values that wait to be written.
pub const BYTES_WAITING_MAX: usize = 64 * 1024 * 1024;

/// Counters since the start.
#[derive(Debug, Default)]
pub struct RecoveryMetrics {
    /// Values and removals that were written.
    pub written: AtomicU64,
    /// Values and removals that were dropped because a newer one of the same key came before they were written.
    pub replaced: AtomicU64,
    /// Values and removals left out, since too many waited or the store refused them.
    pub dropped: AtomicU64,
    /// Writes that failed and were tried again.
    pub retried: AtomicU64,
}

/// Explains why a value was not kept or could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// [`KEYS_WAITING_MAX`] or [`BYTES_WAITING_MAX`] was reached.
    #[error("recovery data come faster than they are written; this one is left out")]
    Full,
    /// The store refuses the value for good; the sentence says what to change.
    #[error("{0}")]
    Refused(String),
    /// The store cannot be read now. Try again.
    #[error("recovery data cannot be read: {0}")]
    Unavailable(String),
}

/// Values under keys, in the form of the registry's keys. One owner writes each key; writes happen in the background.
pub trait Recovery: Send + Sync + 'static {
    /// Queues a value that will replace any other of its key. Never waits.
    ///
    /// # Errors
    /// [`RecoveryError::Full`], [`RecoveryError::Refused`]; an older value stays then.
    fn put(&self, key: &str, value: Bytes) -> Result<(), RecoveryError>;

    /// Queues the removal of a value. Never waits.
    ///
    /// # Errors
    /// Same as [`Recovery::put`].
    fn remove(&self, key: &str) -> Result<(), RecoveryError>;

    /// Resolves when everything that was put or removed before is written. While the store cannot be reached, the
    /// future waits.
    fn flush(&self) -> impl Future<Output = ()> + Send;

    /// Written values of any owner whose keys begin with `words` and a dot, with their keys.
    ///
    /// # Errors
    /// [`RecoveryError::Refused`], [`RecoveryError::Unavailable`].
    fn load(&self, words: &str) -> impl Future<Output = Result<Vec<(String, Bytes)>, RecoveryError>> + Send;

    /// The keys that begin with `words` and a dot, without their values. Some may be gone already.
    ///
    /// # Errors
    /// Same as [`Recovery::load`].
    fn keys(&self, words: &str) -> impl Future<Output = Result<Vec<String>, RecoveryError>> + Send;

    /// Counters so far.
    fn recovery_metrics(&self) -> &RecoveryMetrics;
}
