//! The registry as a port: a few small values under keys, changed only by compare-and-swap and watched by every node.
//!
//! The registry has no read, since a decision based on a read is a decision based on the past. A write names the state
//! that it expects, and the registry answers whether that was the state. A watch reports the current state, which is
//! never older than the moment when the watch was opened.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::seal::VALUE_SEAL_BYTES;

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 128;

/// The largest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 256 * 1024;

/// Largest number of events that wait for the owner of a [`Watch`]. While so many wait, the source of events waits too.
const EVENTS_WAITING_MAX: usize = 64;

/// Number of a change in the registry; rises with every change of any key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// A value under its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Words of ASCII letters, digits, `-`, `_` and `/`, with dots between them.
    pub key: String,
    /// The value that was written.
    pub value: Bytes,
    /// The change that wrote the value.
    pub revision: Revision,
}

/// An event of a watch. Events come in the order of revisions. A change is left out if its key changed again before the
/// change was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryEvent {
    /// The whole state: keys that are not in the list have no value. Comes first, and again whenever changes may have
    /// been missed.
    State(Vec<Entry>),
    /// A value was created or updated.
    Set(Entry),
    /// A value was deleted, or its time ran out.
    Removed {
        /// The key.
        key: String,
        /// Revision of the removal. Writes cannot expect it.
        revision: Revision,
    },
}

/// Explains why a write was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The write did not happen: the key is not at the expected revision. The watch reports the state of the key.
    #[error("the key is not at the expected revision")]
    Conflict,
    /// The write did not happen: the registry cannot be reached, or has no majority. Try again.
    #[error("the registry cannot be reached: {0}")]
    Unavailable(String),
    /// The write may have happened, or may happen later. The same write again succeeds if it had not happened, and is a
    /// conflict if it had; the watch reports the value that is stored.
    #[error("the registry did not answer, and may or may not have made the write: {0}")]
    Unknown(String),
    /// The write did not happen and never will; the sentence says what to change.
    #[error("the registry refuses the write: {0}")]
    Refused(String),
}

/// Result of a write: the revision that it made.
pub type Written = Result<Revision, RegistryError>;

/// Values under keys, changed by compare-and-swap. A value with a time to live (in whole seconds, rounded up) is
/// removed when that time passes without another write. Each write sets the time to live anew.
pub trait Registry: Send + Sync + 'static {
    /// Writes a value under a key that has none.
    ///
    /// # Errors
    /// [`RegistryError`]; a conflict when the key has a value.
    fn create(&self, key: &str, value: Bytes, time_to_live: Option<Duration>) -> impl Future<Output = Written> + Send;

    /// Replaces the value of revision `expected`.
    ///
    /// # Errors
    /// [`RegistryError`]; a conflict when the key is at another revision.
    fn update(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        time_to_live: Option<Duration>,
    ) -> impl Future<Output = Written> + Send;

    /// Removes the value of revision `expected`.
    ///
    /// # Errors
    /// [`RegistryError`]; a conflict when the key is at another revision.
    fn delete(&self, key: &str, expected: Revision) -> impl Future<Output = Written> + Send;

    /// Watches the whole registry: its state, and all changes until the watch is dropped.
    fn watch(&self) -> Watch;
}

/// A source of [`RegistryEvent`]s. A lost connection does not end it: after a reconnection the watch reports the whole
/// state again.
#[derive(Debug)]
pub struct Watch {
    events: mpsc::Receiver<RegistryEvent>,
    source: AbortHandle,
}

impl Watch {
    /// A watch of the events that `tell` sends; `tell` runs until the watch is dropped.
    pub(crate) fn start<F>(tell: impl FnOnce(mpsc::Sender<RegistryEvent>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(EVENTS_WAITING_MAX);
        Self { events, source: tokio::spawn(tell(sender)).abort_handle() }
    }

    /// The next event; `None` when the registry is gone for good. Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<RegistryEvent> {
        self.events.recv().await
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.source.abort();
    }
}

/// Refuses a text that is not a valid key.
pub(crate) fn check_key(key: &str) -> Result<(), RegistryError> {
    let is_word = |word: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
        !word.is_empty() && word.bytes().all(is_allowed)
    };
    if key.len() <= KEY_BYTES_MAX && key.split('.').all(is_word) {
        return Ok(());
    }
    Err(RegistryError::Refused(format!(
        "`{key}` is no key: words of ASCII letters, digits, `-`, `_` and `/` with dots between them, \
         at most {KEY_BYTES_MAX} bytes"
    )))
}

/// Refuses a value that is too large.
pub(crate) fn check_value(value: &Bytes) -> Result<(), RegistryError> {
    if value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(RegistryError::Refused(format!("a value of {} bytes; at most {VALUE_BYTES_MAX} are kept", value.len())))
}

/// Refuses a value that is too large even with its seal.
pub(crate) fn check_sealed_value(value: &Bytes) -> Result<(), RegistryError> {
    if value.len() <= VALUE_BYTES_MAX + VALUE_SEAL_BYTES { Ok(()) } else { check_value(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_words_with_dots_between_them() {
        let check = |key: &str, expect: bool| assert_eq!(check_key(key).is_ok(), expect, "{key}");
        check("view", true);
        check("lease.17", true);
        check("a/b_d-e.F", true);
        check("", false);
        check("lease.", false);
        check("a..b", false);
        check("=", false);
        check("a.*", false);
        check("a >", false);
        check("ü", false);
        check(&"k".repeat(KEY_BYTES_MAX), true);
        check(&"k".repeat(KEY_BYTES_MAX + 1), false);
    }
}
