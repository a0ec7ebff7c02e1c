//! What game code keeps in the memory of the process, for all machines. Its lock is held for as long as it takes to look up
//! an entry, never while a value is copied.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_domain::{Error, ErrorKind, Result, Timestamp};

use crate::metrics::ScriptMetrics;
use crate::value::Value;

/// What all entries may take. What ends soonest gives way; what has no end does not.
const LOCAL_CACHE_BYTES_MAX: usize = 64 << 20;

/// What an entry takes besides its key and value.
const ENTRY_BYTES: usize = 128;

/// Values by key.
pub struct LocalCache {
    held: Mutex<Held>,
    bytes_max: usize,
    metrics: Arc<ScriptMetrics>,
}

#[derive(Default)]
struct Held {
    entries: HashMap<Arc<[u8]>, Entry>,
    /// Those that end, the next first.
    ends: BTreeSet<(Timestamp, Arc<[u8]>)>,
    bytes: usize,
}

struct Entry {
    value: Arc<Value>,
    ends: Option<Timestamp>,
    bytes: usize,
}

impl LocalCache {
    pub(super) fn new(metrics: Arc<ScriptMetrics>) -> Self {
        Self { held: Mutex::default(), bytes_max: LOCAL_CACHE_BYTES_MAX, metrics }
    }

    /// What is kept under a key and has not ended.
    pub fn get(&self, key: &[u8], now: Timestamp) -> Option<Arc<Value>> {
        let mut held = self.held();
        held.remove_ended(now);
        let found = held.entries.get(key).map(|entry| entry.value.clone());
        self.show(&held);
        found
    }

    /// Keeps a value, in place of what was there, until `ends`.
    ///
    /// # Errors
    /// `ResourceExhausted` when there is no room, even without all that ends; what was there stays.
    pub fn put(&self, key: Vec<u8>, value: Value, ends: Option<Timestamp>, now: Timestamp) -> Result<()> {
        let key: Arc<[u8]> = key.into();
        let entry = Entry { bytes: ENTRY_BYTES + key.len() + value.bytes(), value: Arc::new(value), ends };
        let mut held = self.held();
        held.remove_ended(now);
        let former = held.remove(&key);
        while held.bytes + entry.bytes > self.bytes_max {
            if !held.remove_next_to_end() {
                if let Some(former) = former {
                    held.insert(key, former);
                }
                self.show(&held);
                self.metrics.cache_refused.fetch_add(1, Ordering::Relaxed);
                let message = "The local cache is full. Give entries a time to live, or delete some.";
                return Err(Error::new(ErrorKind::ResourceExhausted, message));
            }
            self.metrics.cache_evicted.fetch_add(1, Ordering::Relaxed);
        }
        held.insert(key, entry);
        self.show(&held);
        Ok(())
    }

    /// Forgets what is kept under a key.
    pub fn delete(&self, key: &[u8]) {
        let mut held = self.held();
        held.remove(key);
        self.show(&held);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut held = self.held();
        let former = std::mem::take(&mut *held);
        self.show(&held);
        drop(held);
        // It may be much, and others wait.
        drop(former);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, held: &Held) {
        self.metrics.cache_entries.store(held.entries.len() as i64, Ordering::Relaxed);
        self.metrics.cache_bytes.store(held.bytes as i64, Ordering::Relaxed);
    }
}

impl Held {
    fn insert(&mut self, key: Arc<[u8]>, entry: Entry) {
        self.bytes += entry.bytes;
        if let Some(ends) = entry.ends {
            self.ends.insert((ends, key.clone()));
        }
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: &[u8]) -> Option<Entry> {
        let (key, entry) = self.entries.remove_entry(key)?;
        self.bytes -= entry.bytes;
        if let Some(ends) = entry.ends {
            self.ends.remove(&(ends, key));
        }
        Some(entry)
    }

    fn remove_ended(&mut self, now: Timestamp) {
        while self.ends.first().is_some_and(|(ends, _)| *ends <= now) {
            self.remove_next_to_end();
        }
    }

    /// Whether there was one.
    fn remove_next_to_end(&mut self) -> bool {
        let Some((_, key)) = self.ends.first().cloned() else { return false };
        self.remove(&key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_000_000_000);

    fn cache(bytes_max: usize) -> LocalCache {
        LocalCache { bytes_max, ..LocalCache::new(Arc::default()) }
    }

    fn after(seconds: i64) -> Timestamp {
        START.plus_seconds(seconds)
    }

    fn text(cache: &LocalCache, key: &str, now: Timestamp) -> Option<Value> {
        cache.get(key.as_bytes(), now).map(|value| Value::clone(&value))
    }

    #[test]
    fn what_ends_is_gone_then_and_what_does_not_stays() {
        let cache = cache(LOCAL_CACHE_BYTES_MAX);
        cache.put(b"a".to_vec(), Value::text("1"), Some(after(10)), START).unwrap();
        cache.put(b"b".to_vec(), Value::text("2"), None, START).unwrap();
        assert_eq!(text(&cache, "a", after(9)), Some(Value::text("1")));
        assert_eq!(text(&cache, "a", after(10)), None);
        assert_eq!(text(&cache, "b", after(1_000_000)), Some(Value::text("2")));
        cache.put(b"b".to_vec(), Value::text("3"), Some(after(20)), START).unwrap();
        assert_eq!(cache.held().entries.len(), 1, "what had ended takes no room");
        cache.put(b"b".to_vec(), Value::text("4"), None, START).unwrap();
        assert_eq!(text(&cache, "b", after(20)), Some(Value::text("4")));
        cache.delete(b"b");
        assert_eq!((text(&cache, "b", START), cache.held().bytes), (None, 0));
    }

    #[test]
    fn what_ends_soonest_gives_way_and_what_has_no_end_does_not() {
        let cache = cache(1_000);
        let value = || Value::Bytes(vec![0; 200]);
        for (key, ends) in [("late", Some(30)), ("soon", Some(10))] {
            cache.put(key.into(), value(), ends.map(after), START).unwrap();
        }
        cache.put(b"kept".to_vec(), value(), None, START).unwrap();
        let there = |key| text(&cache, key, START).is_some();
        assert_eq!((there("late"), there("soon"), there("kept")), (true, false, true));
        assert_eq!(cache.metrics.cache_evicted.load(Ordering::Relaxed), 1);
        cache.put(b"kept too".to_vec(), value(), None, START).unwrap();
        let refused = cache.put(b"kept".to_vec(), Value::Bytes(vec![0; 900]), None, START).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::ResourceExhausted);
        assert_eq!((there("late"), there("kept"), there("kept too")), (false, true, true));
        assert_eq!(cache.metrics.cache_refused.load(Ordering::Relaxed), 1);
        cache.clear();
        assert_eq!((there("kept"), cache.held().bytes), (false, 0));
        assert_eq!(cache.metrics.cache_entries.load(Ordering::Relaxed), 0);
    }
}
