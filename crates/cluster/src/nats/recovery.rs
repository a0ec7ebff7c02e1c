//! Recovery data in a bucket of their own, so that their writes do not delay those of the registry.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::Nats;
use super::bucket::{Bucket, Change, Expect};
use super::reading::{self, Interrupted, Reading, Seen};
use crate::recovery::{Recovery, RecoveryError, RecoveryMetrics, Sink, SinkError};
use crate::registry::{RegistryError, check_key};

/// The bucket of recovery data as a sink.
pub(super) struct BucketSink(pub(super) Arc<Bucket>);

impl Sink for BucketSink {
    async fn write(&self, key: &str, value: Option<Bytes>) -> Result<(), SinkError> {
        let change = value.map_or(Change::Remove, |value| Change::Set(value, None));
        match self.0.write(key, Expect::Anything, change).await {
            Ok(_) => Ok(()),
            Err(RegistryError::Refused(reason)) => {
                tracing::warn!(key, reason, "recovery data are refused");
                Err(SinkError::Refused)
            }
            // A write with an unknown outcome may be repeated, since each key has one writer.
            Err(RegistryError::Unavailable(_) | RegistryError::Unknown(_) | RegistryError::Conflict) => {
                Err(SinkError::Unavailable)
            }
        }
    }
}

impl Recovery for Nats {
    fn put(&self, key: &str, value: Bytes) -> Result<(), RecoveryError> {
        self.recovery.push(key, Some(value))
    }

    fn remove(&self, key: &str) -> Result<(), RecoveryError> {
        self.recovery.push(key, None)
    }

    async fn flush(&self) {
        self.recovery.flush().await;
    }

    async fn load(&self, words: &str) -> Result<Vec<(String, Bytes)>, RecoveryError> {
        check_key(words).map_err(|error| RecoveryError::Refused(error.to_string()))?;
        let unavailable = |Interrupted(reason)| RecoveryError::Unavailable(reason);
        let mut reading = Reading::open(&self.kept, Some(words)).await.map_err(unavailable)?;
        let mut found = BTreeMap::new();
        while !reading.is_current() {
            match reading.next().await.map_err(unavailable)? {
                Seen::Value(entry) => drop(found.insert(entry.key, entry.value)),
                Seen::Removal { key, .. } => drop(found.remove(&key)),
                Seen::Nothing => {}
            }
        }
        Ok(found.into_iter().collect())
    }

    async fn keys(&self, words: &str) -> Result<Vec<String>, RecoveryError> {
        check_key(words).map_err(|error| RecoveryError::Refused(error.to_string()))?;
        let keys = reading::keys(&self.kept, words).await;
        keys.map_err(|Interrupted(reason)| RecoveryError::Unavailable(reason))
    }

    fn recovery_metrics(&self) -> &RecoveryMetrics {
        self.recovery.metrics()
    }
}
