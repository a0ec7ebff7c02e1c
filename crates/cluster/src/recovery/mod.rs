//! Recovery data as a port: what owners keep so that their successors can go on. It is a hint, never the only copy of
//! what must not be lost: it is written behind, in the order of nothing, and what comes too fast is left out.

pub mod form;
mod queue;

use std::future::Future;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;

pub(crate) use queue::{Queue, Sink, SinkError};

/// The largest value.
pub const RECOVERY_BYTES_MAX: usize = 512 * 1024;

/// Keys that wait to be written at most. As many removals may wait besides.
pub const KEYS_WAITING_MAX: usize = 65_536;

/// Bytes of values that wait to be written at most.
pub const BYTES_WAITING_MAX: usize = 64 * 1024 * 1024;

/// What was counted since the start.
#[derive(Debug, Default)]
pub struct RecoveryMetrics {
    /// Values and removals that were written.
    pub written: AtomicU64,
    /// Those in whose place a newer one of the same key was written.
    pub replaced: AtomicU64,
    /// Those left out, since too much waited or nobody takes them.
    pub dropped: AtomicU64,
    /// Writes that failed and were tried again.
    pub retried: AtomicU64,
}

/// Why something was not kept, or not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// [`KEYS_WAITING_MAX`] or [`BYTES_WAITING_MAX`].
    #[error("recovery data come faster than they are written; this one is left out")]
    Full,
    /// The sentence says what to change.
    #[error("{0}")]
    Refused(String),
    /// What there is cannot be told now. Try again.
    #[error("recovery data cannot be read: {0}")]
    Unavailable(String),
}

/// Values under keys (of the registry's form), written behind by one owner each.
pub trait Recovery: Send + Sync + 'static {
    /// Keeps a value in place of any of its key, soon. Never waits.
    ///
    /// # Errors
    /// [`RecoveryError::Full`], [`RecoveryError::Refused`]; an older value stays then.
    fn put(&self, key: &str, value: Bytes) -> Result<(), RecoveryError>;

    /// Removes a value, soon. Never waits.
    ///
    /// # Errors
    /// As [`Recovery::put`].
    fn remove(&self, key: &str) -> Result<(), RecoveryError>;

    /// Resolves when all that was put and removed before is written, which takes as long as nobody can be reached.
    fn flush(&self) -> impl Future<Output = ()> + Send;

    /// What is written, by anybody, under keys that begin with these words and a dot; by key.
    ///
    /// # Errors
    /// [`RecoveryError::Refused`], [`RecoveryError::Unavailable`].
    fn load(&self, words: &str) -> impl Future<Output = Result<Vec<(String, Bytes)>, RecoveryError>> + Send;

    /// The keys that begin with these words and a dot, without their values. Some may be gone already.
    ///
    /// # Errors
    /// As [`Recovery::load`].
    fn keys(&self, words: &str) -> impl Future<Output = Result<Vec<String>, RecoveryError>> + Send;

    /// What was counted so far.
    fn recovery_metrics(&self) -> &RecoveryMetrics;
}
