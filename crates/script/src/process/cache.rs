//! The local cache: values that game code keeps in the memory of the process, for all machines. Its lock is held while
//! an entry is looked up, never while a value is copied.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_domain::{Error, ErrorKind, Result, Timestamp};

use crate::metrics::ScriptMetrics;
use crate::value::Value;

/// Limit of the bytes of all entries. When they are used up, the entries that end soonest are evicted; entries without
/// an end are not.
const LOCAL_CACHE_BYTES_MAX: usize = 64 << 20;

/// Bytes that an entry takes besides its key and value.
const ENTRY_BYTES: usize = 128;

/// Values by key.
pub struct LocalCache {
    entries: Mutex<Entries>,
    bytes_max: usize,
    metrics: Arc<ScriptMetrics>,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Arc<[u8]>, Entry>,
    /// Ends and keys of the entries that have an end, the soonest first.
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
        Self { entries: Mutex::default(), bytes_max: LOCAL_CACHE_BYTES_MAX, metrics }
    }

    /// The value of a key, if it has not ended.
    pub fn get(&self, key: &[u8], now: Timestamp) -> Option<Arc<Value>> {
        let mut entries = self.locked();
        entries.remove_ended(now);
        let found = entries.by_key.get(key).map(|entry| entry.value.clone());
        self.show(&entries);
        found
    }

    /// Keeps a value until `ends`, in place of the former value of the key. Without `ends` it is kept until it is
    /// deleted.
    ///
    /// # Errors
    /// `ResourceExhausted` when there is no room even after all entries with an end were evicted; the former value
    /// stays.
    pub fn put(&self, key: Vec<u8>, value: Value, ends: Option<Timestamp>, now: Timestamp) -> Result<()> {
        let key: Arc<[u8]> = key.into();
        let entry = Entry { bytes: ENTRY_BYTES + key.len() + value.bytes(), value: Arc::new(value), ends };
        let mut entries = self.locked();
        entries.remove_ended(now);
        let former = entries.remove(&key);
        while entries.bytes + entry.bytes > self.bytes_max {
            if !entries.remove_next_to_end() {
                if let Some(former) = former {
                    entries.insert(key, former);
                }
                self.show(&entries);
                self.metrics.cache_refused.fetch_add(1, Ordering::Relaxed);
                let message = "The local cache is full. Give entries a time to live, or delete some.";
                return Err(Error::new(ErrorKind::ResourceExhausted, message));
            }
            self.metrics.cache_evicted.fetch_add(1, Ordering::Relaxed);
        }
        entries.insert(key, entry);
        self.show(&entries);
        Ok(())
    }

    /// Removes the value of a key.
    pub fn delete(&self, key: &[u8]) {
        let mut entries = self.locked();
        entries.remove(key);
        self.show(&entries);
    }

    /// Removes all values.
    pub fn clear(&self) {
        let mut entries = self.locked();
        let former = std::mem::take(&mut *entries);
        self.show(&entries);
        drop(entries);
        // Many values take long to drop, and other threads wait for the lock: so they are dropped after it is free.
        drop(former);
    }

    fn locked(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, entries: &Entries) {
        self.metrics.cache_entries.store(entries.by_key.len() as i64, Ordering::Relaxed);
        self.metrics.cache_bytes.store(entries.bytes as i64, Ordering::Relaxed);
    }
}

impl Entries {
    fn insert(&mut self, key: Arc<[u8]>, entry: Entry) {
        self.bytes += entry.bytes;
        if let Some(ends) = entry.ends {
            self.ends.insert((ends, key.clone()));
        }
        self.by_key.insert(key, entry);
    }

    fn remove(&mut self, key: &[u8]) -> Option<Entry> {
        let (key, entry) = self.by_key.remove_entry(key)?;
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

    /// Removes the entry that ends soonest. Answers whether there was one.
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
        assert_eq!(cache.locked().by_key.len(), 1, "what had ended takes no room");
        cache.put(b"b".to_vec(), Value::text("4"), None, START).unwrap();
        assert_eq!(text(&cache, "b", after(20)), Some(Value::text("4")));
        cache.delete(b"b");
        assert_eq!((text(&cache, "b", START), cache.locked().bytes), (None, 0));
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
        assert_eq!((there("kept"), cache.locked().bytes), (false, 0));
        assert_eq!(cache.metrics.cache_entries.load(Ordering::Relaxed), 0);
    }
}
