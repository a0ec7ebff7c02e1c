//! The registry as a port: few small values under keys, changed only by compare-and-swap and watched by every node.
//!
//! There is no read: whoever decides by what it read decides by what was. A write says what it expects, and the
//! registry says whether that was so; a watch tells what there is, and is never older than when it was opened.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 128;

/// The largest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 256 * 1024;

/// Events that wait for the owner of a [`Watch`]; then its source waits.
const EVENTS_WAITING_MAX: usize = 64;

/// The number of a change, larger than those of all changes before it, whichever their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// A value under its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Words of ASCII letters, digits, `-`, `_` and `/`, with dots between them.
    pub key: String,
    /// What was written.
    pub value: Bytes,
    /// The change that wrote it.
    pub revision: Revision,
}

/// What a watch tells, in the order of revisions. A change is left out if its key changed again before it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// All there is: what is not among it is gone. Comes first, and again whenever something may have been missed.
    State(Vec<Entry>),
    /// A value was created or updated.
    Set(Entry),
    /// A value was deleted, or its time ran out.
    Removed {
        /// Its key.
        key: String,
        /// The change that removed it; it is not one to expect.
        revision: Revision,
    },
}

/// Why a write was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// It did not happen: the key is not at the expected revision. The watch tells what is there.
    #[error("the key is not at the expected revision")]
    Conflict,
    /// It did not happen: the registry cannot be reached, or has no majority. Try again.
    #[error("the registry cannot be reached: {0}")]
    Unavailable(String),
    /// It may have happened, or may yet. The same write again succeeds if it had not happened, and is a conflict if it
    /// had; the watch tells whose value is there.
    #[error("the registry did not answer, and may or may not have done it: {0}")]
    Unknown(String),
    /// It did not happen and never will: the sentence says what to change.
    #[error("the registry refuses it: {0}")]
    Refused(String),
}

/// A write's outcome: the revision that it made.
pub type Written = Result<Revision, RegistryError>;

/// Values under keys, changed by compare-and-swap. A value with a time to live goes when that runs out without another
/// write; it counts in whole seconds, rounded up. A value belongs with its time: every write gives a new one.
pub trait Registry: Send + Sync + 'static {
    /// Writes a value where there is none.
    ///
    /// # Errors
    /// [`RegistryError`]; a conflict when there is a value.
    fn create(&self, key: &str, value: Bytes, time_to_live: Option<Duration>) -> impl Future<Output = Written> + Send;

    /// Writes a value in place of the one of revision `expected`.
    ///
    /// # Errors
    /// [`RegistryError`]; a conflict when that is not what is there.
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
    /// [`RegistryError`]; a conflict when that is not what is there.
    fn delete(&self, key: &str, expected: Revision) -> impl Future<Output = Written> + Send;

    /// What there is, and what changes from then on, for as long as the watch is kept.
    fn watch(&self) -> Watch;
}

/// A source of [`Event`]s. A lost connection does not end it: once it is back, it tells the state again.
#[derive(Debug)]
pub struct Watch {
    events: mpsc::Receiver<Event>,
    source: AbortHandle,
}

impl Watch {
    /// A watch of what `tell` sends; it runs until the watch is dropped.
    pub(crate) fn start<F>(tell: impl FnOnce(mpsc::Sender<Event>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(EVENTS_WAITING_MAX);
        Self { events, source: tokio::spawn(tell(sender)).abort_handle() }
    }

    /// The next event; `None` when the registry is gone for good. Nothing is lost by dropping the future.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.source.abort();
    }
}

/// Refuses what cannot be a key.
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

/// Refuses what is too large for a value.
pub(crate) fn check_value(value: &Bytes) -> Result<(), RegistryError> {
    if value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(RegistryError::Refused(format!("a value of {} bytes; at most {VALUE_BYTES_MAX} are kept", value.len())))
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
