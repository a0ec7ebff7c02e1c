//! A registry in memory: values under keys, written by compare-and-swap, with times to live by the registry's own
//! clock.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_cluster::registry::{Entry, RegistryError, RegistryEvent, Revision, Written};
use muster_live::Millis;

/// A write on its way.
#[derive(Clone, Debug)]
pub struct Write {
    /// The key.
    pub key: String,
    /// The new value; `None` to remove the key.
    pub value: Option<Bytes>,
    /// The revision that the key must have; `None` if it must not exist.
    pub expected: Option<Revision>,
    /// The time after which the value is removed.
    pub time_to_live_ms: Option<Millis>,
}

struct StoredValue {
    value: Bytes,
    revision: Revision,
    ends_at: Option<Millis>,
}

/// The values of the registry by key.
#[derive(Default)]
pub struct Registry {
    last: u64,
    kept: BTreeMap<String, StoredValue>,
}

impl Registry {
    /// Carries out a write if the key has the expected revision. Returns the event for watches.
    pub fn write(&mut self, now: Millis, write: Write, checks: bool) -> (Written, Option<RegistryEvent>) {
        let there = self.kept.get(&write.key).map(|kept| kept.revision);
        if checks && there != write.expected {
            return (Err(RegistryError::Conflict), None);
        }
        self.last += 1;
        let (key, revision) = (write.key, Revision(self.last));
        let Some(value) = write.value else {
            self.kept.remove(&key);
            return (Ok(revision), Some(RegistryEvent::Removed { key, revision }));
        };
        let ends_at = write.time_to_live_ms.map(|ms| now + ms);
        self.kept.insert(key.clone(), StoredValue { value: value.clone(), revision, ends_at });
        (Ok(revision), Some(RegistryEvent::Set(Entry { key, value, revision })))
    }

    /// The next time at which a value ends.
    pub fn next_end(&self) -> Option<Millis> {
        self.kept.values().filter_map(|kept| kept.ends_at).min()
    }

    /// Removes the next value that has ended.
    pub fn expire(&mut self, now: Millis) -> Option<RegistryEvent> {
        let has_ended = |kept: &StoredValue| kept.ends_at.is_some_and(|ends_at| ends_at <= now);
        let key = self.kept.iter().find(|(_, kept)| has_ended(kept))?.0.clone();
        self.kept.remove(&key);
        self.last += 1;
        Some(RegistryEvent::Removed { key, revision: Revision(self.last) })
    }

    /// All values, as a watch gets them first.
    pub fn state(&self) -> RegistryEvent {
        let entry = |(key, kept): (&String, &StoredValue)| Entry {
            key: key.clone(),
            value: kept.value.clone(),
            revision: kept.revision,
        };
        RegistryEvent::State(self.kept.iter().map(entry).collect())
    }
}
