//! The registry in a bucket.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::Nats;
use super::bucket::{Bucket, Change, Expect, LastMessage, make_again_if_lost};
use super::reading::{Interrupted, Reading, Seen};
use crate::registry::{
    Entry, Registry, RegistryError, RegistryEvent, Revision, Watch, Written, check_key, check_sealed_value,
};

/// Number of attempts to create a value: the marker of an earlier removal may come or expire between two requests.
const CREATE_ATTEMPTS: u32 = 3;

impl Registry for Nats {
    async fn create(&self, key: &str, value: Bytes, time_to_live: Option<Duration>) -> Written {
        check_key(key)?;
        check_sealed_value(&value)?;
        let mut last = 0;
        for _ in 0..CREATE_ATTEMPTS {
            let change = Change::Set(value.clone(), time_to_live);
            match self.values.write(key, Expect::Last(last), change).await {
                Err(RegistryError::Conflict) => {}
                outcome => return outcome,
            }
            last = match self.values.last_message(key).await? {
                LastMessage::Value => return Err(RegistryError::Conflict),
                LastMessage::Nothing => 0,
                LastMessage::Removal(revision) => revision,
            };
        }
        Err(RegistryError::Conflict)
    }

    async fn update(&self, key: &str, value: Bytes, expected: Revision, time_to_live: Option<Duration>) -> Written {
        check_key(key)?;
        check_sealed_value(&value)?;
        self.values.write(key, Expect::Last(expected.0), Change::Set(value, time_to_live)).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Written {
        check_key(key)?;
        self.values.write(key, Expect::Last(expected.0), Change::Remove).await
    }

    fn watch(&self) -> Watch {
        let (bucket, streams) = (self.values.clone(), self.streams.clone());
        let (recovery, recovery_lost) = (self.kept.config.name.clone(), self.recovery_lost.clone());
        Watch::start(|events| async move {
            let mut pause = Duration::ZERO;
            while bucket.nats.up().await.is_some() {
                match tell(&bucket, &events, &mut pause).await {
                    Ok(Unwatched) => return,
                    Err(Interrupted(reason)) => tracing::debug!(reason, "a watch begins anew"),
                }
                bucket.nats.metrics.watch_restarts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let streams = streams.lock().unwrap_or_else(PoisonError::into_inner).clone();
                for config in &streams {
                    if make_again_if_lost(&bucket.context, config).await && config.name == recovery {
                        recovery_lost.send_modify(|times| *times += 1);
                    }
                }
                tokio::time::sleep(pause).await;
                pause = longer(pause);
            }
        })
    }
}

/// Says that the owner of the watch is gone.
struct Unwatched;

/// Tells the state and then all changes. Ends with an error when changes may have been missed.
async fn tell(
    bucket: &Bucket,
    events: &mpsc::Sender<RegistryEvent>,
    pause: &mut Duration,
) -> Result<Unwatched, Interrupted> {
    let mut reading = Reading::open(bucket, None).await?;
    let mut entries = BTreeMap::new();
    while !reading.is_current() {
        match reading.next().await? {
            Seen::Value(entry) => drop(entries.insert(entry.key.clone(), entry)),
            Seen::Removal { key, .. } => drop(entries.remove(&key)),
            Seen::Nothing => {}
        }
    }
    *pause = Duration::ZERO;
    let mut entries: Vec<Entry> = entries.into_values().collect();
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    let mut event = RegistryEvent::State(entries);
    loop {
        if events.send(event).await.is_err() {
            return Ok(Unwatched);
        }
        event = loop {
            match reading.next().await? {
                Seen::Value(entry) => break RegistryEvent::Set(entry),
                Seen::Removal { key, revision } => break RegistryEvent::Removed { key, revision },
                Seen::Nothing => {}
            }
        };
    }
}

/// A longer pause. Pauses are random, since all nodes lose their watches at the same moment and should not all come
/// back in one.
fn longer(pause: Duration) -> Duration {
    let most = (pause * 2).clamp(Duration::from_millis(50), Duration::from_secs(1));
    most.mul_f64(0.5 + fastrand::f64() / 2.0)
}
