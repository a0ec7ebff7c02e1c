//! The queue of entries that are written in the background. Only the newest entry of each key waits, and a task writes
//! some entries at a time.
//!
//! The entries of a round have different keys, and a round begins only when the one before is done: so no older value
//! overtakes a newer one.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::{BYTES_WAITING_MAX, KEYS_WAITING_MAX, RECOVERY_BYTES_MAX, RecoveryError, RecoveryMetrics};
use crate::registry::check_key;
use crate::seal::VALUE_SEAL_BYTES;

/// Largest number of entries that are written at a time.
const ROUND_MAX: usize = 64;

/// The pause after a round that failed.
const PAUSE: Duration = Duration::from_millis(100);

/// The store that entries are written to.
pub(crate) trait Sink: Send + Sync + 'static {
    /// Writes a value, or removes it if there is none.
    fn write(&self, key: &str, value: Option<Bytes>) -> impl Future<Output = Result<(), SinkError>> + Send;
}

/// Explains why an entry was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkError {
    /// The store cannot be reached now; trying again may help.
    Unavailable,
    /// The store will never take the entry.
    Refused,
}

/// The queue, and the task that empties it. Dropping the queue ends the task.
#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    writing: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<WaitingEntries>,
    arrived: Notify,
    /// Number of entries, in the order in which they came, up to which all are finished: written, replaced or left out.
    done: watch::Sender<u64>,
    metrics: RecoveryMetrics,
}

/// Entries that wait, oldest first. A key keeps its place when its value is replaced.
#[derive(Debug, Default)]
struct WaitingEntries {
    places: HashMap<String, u64>,
    entries: BTreeMap<u64, (String, Option<Bytes>)>,
    next: u64,
    bytes: usize,
}

impl Queue {
    pub(crate) fn start(sink: impl Sink) -> Self {
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            arrived: Notify::new(),
            done: watch::Sender::new(0),
            metrics: RecoveryMetrics::default(),
        });
        let writing = tokio::spawn(write(shared.clone(), sink)).abort_handle();
        Self { shared, writing }
    }

    /// Queues a value for writing, or a removal.
    pub(crate) fn push(&self, key: &str, value: Option<Bytes>) -> Result<(), RecoveryError> {
        check_key(key).map_err(|error| RecoveryError::Refused(error.to_string()))?;
        let bytes = value.as_ref().map_or(0, Bytes::len);
        if bytes > RECOVERY_BYTES_MAX + VALUE_SEAL_BYTES {
            let text = format!("a value of {bytes} bytes; at most {RECOVERY_BYTES_MAX} are kept");
            return Err(RecoveryError::Refused(text));
        }
        let taken = self.shared.waiting().push(key, value);
        match taken {
            PushResult::New => self.shared.arrived.notify_one(),
            PushResult::Replaced => drop(self.shared.metrics.replaced.fetch_add(1, Ordering::Relaxed)),
            PushResult::Refused => {
                self.shared.metrics.dropped.fetch_add(1, Ordering::Relaxed);
                return Err(RecoveryError::Full);
            }
        }
        Ok(())
    }

    /// Resolves when all entries that were queued before are finished.
    pub(crate) async fn flush(&self) {
        let until = self.shared.waiting().next;
        // An error means that the task is gone and nothing will be written any more.
        let _ = self.shared.done.subscribe().wait_for(|done| *done >= until).await;
    }

    pub(crate) fn metrics(&self) -> &RecoveryMetrics {
        &self.shared.metrics
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, WaitingEntries> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum PushResult {
    New,
    Replaced,
    Refused,
}

impl WaitingEntries {
    fn push(&mut self, key: &str, value: Option<Bytes>) -> PushResult {
        let bytes = value.as_ref().map_or(0, Bytes::len);
        let place = self.places.get(key).copied();
        let before = place.and_then(|place| self.entries.get(&place)).and_then(|(_, value)| value.as_ref());
        let bytes_after = self.bytes - before.map_or(0, Bytes::len) + bytes;
        // Leaving out a removal would bring back a value that is gone, so removals have room of their own.
        let keys_max = if value.is_some() { KEYS_WAITING_MAX } else { 2 * KEYS_WAITING_MAX };
        let is_too_much = bytes_after > BYTES_WAITING_MAX && value.is_some();
        if is_too_much || (place.is_none() && self.entries.len() >= keys_max) {
            return PushResult::Refused;
        }
        self.bytes = bytes_after;
        if let Some(place) = place {
            self.entries.insert(place, (key.to_owned(), value));
            return PushResult::Replaced;
        }
        self.places.insert(key.to_owned(), self.next);
        self.entries.insert(self.next, (key.to_owned(), value));
        self.next += 1;
        PushResult::New
    }

    fn pop(&mut self) -> Option<(u64, String, Option<Bytes>)> {
        let (place, (key, value)) = self.entries.pop_first()?;
        self.places.remove(&key);
        self.bytes -= value.as_ref().map_or(0, Bytes::len);
        Some((place, key, value))
    }

    /// Puts back an entry that could not be written. Answers `false` if a newer one of its key waits already.
    fn put_back(&mut self, place: u64, key: String, value: Option<Bytes>) -> bool {
        if self.places.contains_key(&key) {
            return false;
        }
        self.bytes += value.as_ref().map_or(0, Bytes::len);
        self.places.insert(key.clone(), place);
        self.entries.insert(place, (key, value));
        true
    }

    /// Number of entries that are finished: all before the oldest one that waits.
    fn done(&self) -> u64 {
        self.entries.first_key_value().map_or(self.next, |(place, _)| *place)
    }
}

async fn write(shared: Arc<Shared>, sink: impl Sink) {
    loop {
        let round: Vec<_> = {
            let mut waiting = shared.waiting();
            std::iter::from_fn(|| waiting.pop()).take(ROUND_MAX).collect()
        };
        if round.is_empty() {
            shared.arrived.notified().await;
            continue;
        }
        let outcomes = join_all(round.iter().map(|(_, key, value)| sink.write(key, value.clone()))).await;
        let has_failed = outcomes.contains(&Err(SinkError::Unavailable));
        for ((place, key, value), outcome) in round.into_iter().zip(outcomes) {
            let counter = match outcome {
                Ok(()) => &shared.metrics.written,
                Err(SinkError::Refused) => &shared.metrics.dropped,
                Err(SinkError::Unavailable) if shared.waiting().put_back(place, key, value) => &shared.metrics.retried,
                Err(SinkError::Unavailable) => &shared.metrics.replaced,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let done = shared.waiting().done();
        shared.done.send_replace(done);
        if has_failed {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: usize) -> Option<Bytes> {
        Some(Bytes::from(vec![0; bytes]))
    }

    #[test]
    fn the_newest_of_a_key_waits_in_the_place_of_the_oldest() {
        let mut waiting = WaitingEntries::default();
        waiting.push("a", value(1));
        waiting.push("b", value(1));
        assert!(matches!(waiting.push("a", value(5)), PushResult::Replaced));
        assert_eq!(waiting.bytes, 6);
        assert_eq!(waiting.pop().map(|(_, key, value)| (key, value)), Some(("a".to_owned(), value(5))));
        assert_eq!((waiting.bytes, waiting.done()), (1, 1));
    }

    #[test]
    fn what_failed_waits_again_unless_something_newer_does() {
        let mut waiting = WaitingEntries::default();
        waiting.push("a", value(1));
        waiting.push("b", value(1));
        let (first, second) = (waiting.pop().expect("an entry"), waiting.pop().expect("an entry"));
        waiting.push("a", value(2));
        assert!(!waiting.put_back(first.0, first.1, first.2));
        assert!(waiting.put_back(second.0, second.1, second.2));
        assert_eq!(waiting.pop().map(|(_, key, _)| key), Some("b".to_owned()));
        assert_eq!(waiting.pop().map(|(_, key, value)| (key, value)), Some(("a".to_owned(), value(2))));
        assert_eq!((waiting.bytes, waiting.done()), (0, waiting.next));
    }

    #[test]
    fn what_waits_is_limited_by_keys_and_bytes() {
        let mut waiting = WaitingEntries::default();
        for number in 0..KEYS_WAITING_MAX {
            assert!(matches!(waiting.push(&number.to_string(), value(0)), PushResult::New));
        }
        assert!(matches!(waiting.push("more", value(0)), PushResult::Refused));
        assert!(matches!(waiting.push("more", None), PushResult::New), "a removal has room of its own");
        assert!(matches!(waiting.push("0", value(BYTES_WAITING_MAX)), PushResult::Replaced));
        assert!(matches!(waiting.push("1", value(1)), PushResult::Refused));
        assert!(matches!(waiting.push("0", value(0)), PushResult::Replaced));
        assert!(matches!(waiting.push("1", value(1)), PushResult::Replaced));
    }
}
