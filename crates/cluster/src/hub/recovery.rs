//! The recovery data of a hub: a map, written in the background as it would be over a network.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;

use super::{Member, Shared};
use crate::bus::Connection;
use crate::recovery::{Recovery, RecoveryError, RecoveryMetrics, Sink, SinkError};
use crate::registry::check_key;

/// Writes a member's recovery data into the hub's map.
pub(super) struct HubSink {
    pub(super) hub: Arc<Shared>,
    pub(super) connection: watch::Receiver<Connection>,
}

impl Sink for HubSink {
    async fn write(&self, key: &str, value: Option<Bytes>) -> Result<(), SinkError> {
        if !self.connection.borrow().is_up {
            return Err(SinkError::Unavailable);
        }
        let kept = &mut self.hub.state().recovery;
        match value {
            Some(value) => kept.insert(key.to_owned(), value),
            None => kept.remove(key),
        };
        Ok(())
    }
}

impl Recovery for Member {
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
        if !self.is_up() {
            return Err(RecoveryError::Unavailable("this member is cut off".to_owned()));
        }
        let begins = |key: &str| key.strip_prefix(words).is_some_and(|rest| rest.starts_with('.'));
        let kept = &self.hub.state().recovery;
        Ok(kept.iter().filter(|(key, _)| begins(key)).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    async fn keys(&self, words: &str) -> Result<Vec<String>, RecoveryError> {
        Ok(self.load(words).await?.into_iter().map(|(key, _)| key).collect())
    }

    fn recovery_metrics(&self) -> &RecoveryMetrics {
        self.recovery.metrics()
    }
}
