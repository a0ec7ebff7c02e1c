//! The registry and the recovery data of a cluster under seal: what is written gets one, and what has a wrong one or
//! none is as if it were not there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

use super::{Seal, Store, count, without_seal};
use crate::bus::{Address, Bus, BusError, Connection, Probe};
use crate::membership::{VIEW_KEY, View, is_lease};
use crate::recovery::{RECOVERY_BYTES_MAX, Recovery, RecoveryError, RecoveryMetrics};
use crate::registry::{Entry, Registry, RegistryEvent, Revision, Watch, Written, check_value};

/// A connection whose values are sealed. Its frames pass as they are: they are sealed by the links, which know whose
/// they are.
#[derive(Debug)]
pub struct Sealed<N> {
    inner: Arc<N>,
    seal: Seal,
}

impl<N> Sealed<N> {
    /// Seals the values of a connection.
    pub fn new(inner: Arc<N>, seal: Seal) -> Self {
        Self { inner, seal }
    }

    /// The connection itself.
    #[must_use]
    pub fn inner(&self) -> &Arc<N> {
        &self.inner
    }

    /// The seals.
    #[must_use]
    pub fn seal(&self) -> &Seal {
        &self.seal
    }
}

/// The value without its seal. A forged one is counted, and logged now and then.
pub(super) fn open(seal: &Seal, store: Store, key: &str, value: &Bytes) -> Option<Bytes> {
    let opened = seal.open_value(store, key, value);
    if opened.is_err() && count(counter(seal, store)) {
        tracing::error!(
            key,
            ?store,
            "somebody without the servers' keys has written to NATS: what they wrote is ignored"
        );
    }
    opened.ok()
}

fn counter(seal: &Seal, store: Store) -> &AtomicU64 {
    match store {
        Store::Registry | Store::Recovery => &seal.metrics.values_forged,
        Store::MatchLog => &seal.metrics.log_messages_forged,
    }
}

impl<N: Bus> Bus for Sealed<N> {
    type Inbox = N::Inbox;

    async fn listen(&self, me: Address) -> Result<N::Inbox, BusError> {
        self.inner.listen(me).await
    }

    fn send(&self, to: Address, frame: Bytes) -> Result<(), BusError> {
        self.inner.send(to, frame)
    }

    async fn probe(&self, node: Address) -> Probe {
        self.inner.probe(node).await
    }

    fn connection(&self) -> watch::Receiver<Connection> {
        self.inner.connection()
    }

    fn frame_bytes_max(&self) -> usize {
        self.inner.frame_bytes_max()
    }
}

impl<N: Registry> Registry for Sealed<N> {
    async fn create(&self, key: &str, value: Bytes, time_to_live: Option<Duration>) -> Written {
        check_value(&value)?;
        self.inner.create(key, self.seal.seal_value(Store::Registry, key, value), time_to_live).await
    }

    async fn update(&self, key: &str, value: Bytes, expected: Revision, time_to_live: Option<Duration>) -> Written {
        check_value(&value)?;
        let value = self.seal.seal_value(Store::Registry, key, value);
        self.inner.update(key, value, expected, time_to_live).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Written {
        self.inner.delete(key, expected).await
    }

    fn watch(&self) -> Watch {
        let (mut watch, mut opener) = (self.inner.watch(), Opener { seal: self.seal.clone(), last: BTreeMap::new() });
        Watch::start(|events| async move {
            while let Some(event) = watch.next().await {
                if let Some(event) = opener.open(event)
                    && events.send(event).await.is_err()
                {
                    return;
                }
            }
        })
    }
}

/// Takes the seals off the values that a watch reports.
struct Opener {
    seal: Seal,
    /// The last value of each key with a right seal.
    last: BTreeMap<String, Bytes>,
}

impl Opener {
    fn open(&mut self, event: RegistryEvent) -> Option<RegistryEvent> {
        match event {
            RegistryEvent::State(entries) => {
                let there: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
                self.last.retain(|key, _| there.contains(key));
                Some(RegistryEvent::State(entries.into_iter().filter_map(|entry| self.open_entry(entry)).collect()))
            }
            RegistryEvent::Set(entry) => self.open_entry(entry).map(RegistryEvent::Set),
            RegistryEvent::Removed { key, revision } => {
                self.last.remove(&key);
                Some(RegistryEvent::Removed { key, revision })
            }
        }
    }

    /// The entry with its value opened. In place of a forged value stands the last right one, under the revision of the
    /// forged: the next write of a node then replaces the forgery. If there was no right one, nothing of the forged
    /// value is believed.
    fn open_entry(&mut self, entry: Entry) -> Option<Entry> {
        let value = match open(&self.seal, Store::Registry, &entry.key, &entry.value) {
            Some(opened) => {
                self.last.insert(entry.key.clone(), opened.clone());
                opened
            }
            None => self.last.get(&entry.key).cloned().or_else(|| of_strangers(&entry))?,
        };
        Some(Entry { value, ..entry })
    }
}

/// The value that stands for one without a right seal. Nodes with other keys, or of a release without seals, write such
/// values.
fn of_strangers(entry: &Entry) -> Option<Bytes> {
    if entry.key == VIEW_KEY {
        return Some(View::of_strangers(without_seal(&entry.value), entry.revision).to_bytes());
    }
    is_lease(&entry.key).then(Bytes::new)
}

impl<N: Recovery> Recovery for Sealed<N> {
    fn put(&self, key: &str, value: Bytes) -> Result<(), RecoveryError> {
        if value.len() > RECOVERY_BYTES_MAX {
            let text = format!("a value of {} bytes; at most {RECOVERY_BYTES_MAX} are kept", value.len());
            return Err(RecoveryError::Refused(text));
        }
        self.inner.put(key, self.seal.seal_value(Store::Recovery, key, value))
    }

    fn remove(&self, key: &str) -> Result<(), RecoveryError> {
        self.inner.remove(key)
    }

    async fn flush(&self) {
        self.inner.flush().await;
    }

    async fn load(&self, words: &str) -> Result<Vec<(String, Bytes)>, RecoveryError> {
        let found = self.inner.load(words).await?;
        let opened = found.into_iter().filter_map(|(key, value)| {
            let value = open(&self.seal, Store::Recovery, &key, &value)?;
            Some((key, value))
        });
        Ok(opened.collect())
    }

    async fn keys(&self, words: &str) -> Result<Vec<String>, RecoveryError> {
        self.inner.keys(words).await
    }

    fn recovery_metrics(&self) -> &RecoveryMetrics {
        self.inner.recovery_metrics()
    }
}
