//! The match logs of a hub: messages by partition, published and read with the delays and faults of a network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use tokio::sync::watch;

use super::{FRAME_BYTES_MAX, Member, Shared};
use crate::bus::Connection;
use crate::match_log::subjects::{PublishError, ReadError, SubjectLogs, Subjects};
use crate::seal::{Seal, SealedSubjects};

/// The match logs of a hub's member.
pub type HubLogs = SubjectLogs<SealedSubjects<HubSubjects>>;

/// The messages of all logs of a hub.
#[derive(Debug, Default)]
pub(super) struct Messages {
    by_partition: BTreeMap<u16, BTreeMap<u64, Bytes>>,
    last: u64,
    unwanted: BTreeMap<Uuid, Bytes>,
    pub(super) answers_to_lose: u32,
}

/// A member's access to the messages.
#[derive(Debug)]
pub struct HubSubjects {
    hub: Arc<Shared>,
    connection: watch::Receiver<Connection>,
}

impl Member {
    /// The match logs, over this member's connection.
    #[must_use]
    pub fn match_logs(&self, seal: &Seal) -> HubLogs {
        let subjects = HubSubjects { hub: self.hub.clone(), connection: self.connection.subscribe() };
        SubjectLogs::new(SealedSubjects::new(subjects, seal.clone()))
    }
}

impl HubSubjects {
    /// Waits for as long as a frame may travel. Answers `false` if the member is cut off.
    async fn travel(&self) -> bool {
        let delay = {
            let mut state = self.hub.state();
            let most = state.faults.delay_max;
            most.mul_f64(state.chance.f64())
        };
        if delay > Duration::ZERO {
            tokio::time::sleep(delay).await;
        } else {
            tokio::task::yield_now().await;
        }
        self.connection.borrow().is_up
    }

    /// Same as [`Self::travel`], for reads.
    async fn ask(&self) -> Result<(), ReadError> {
        if self.travel().await { Ok(()) } else { Err(ReadError("this member is cut off".to_owned())) }
    }
}

impl Subjects for HubSubjects {
    async fn publish(&self, partition: u16, expected: u64, message: Bytes) -> Result<u64, PublishError> {
        let unknown = || PublishError::Unknown("this member is cut off".to_owned());
        if !self.travel().await {
            return Err(unknown());
        }
        let (sequence, is_lost) = {
            let messages = &mut self.hub.state().messages;
            let subject = messages.by_partition.entry(partition).or_default();
            if subject.last_key_value().map_or(0, |(last, _)| *last) != expected {
                return Err(PublishError::Conflict);
            }
            messages.last += 1;
            subject.insert(messages.last, message);
            let is_lost = messages.answers_to_lose > 0;
            messages.answers_to_lose -= u32::from(is_lost);
            (messages.last, is_lost)
        };
        if !self.travel().await || is_lost {
            return Err(unknown());
        }
        Ok(sequence)
    }

    async fn partitions(&self) -> Result<BTreeSet<u16>, ReadError> {
        self.ask().await?;
        let state = self.hub.state();
        let by_partition = state.messages.by_partition.iter().filter(|(_, messages)| !messages.is_empty());
        Ok(by_partition.map(|(partition, _)| *partition).collect())
    }

    async fn last(&self, partition: u16) -> Result<Option<(u64, Bytes)>, ReadError> {
        self.ask().await?;
        let state = self.hub.state();
        let last = state.messages.by_partition.get(&partition).and_then(BTreeMap::last_key_value);
        Ok(last.map(|(sequence, message)| (*sequence, message.clone())))
    }

    async fn read(
        &self,
        partition: u16,
        until: u64,
        take: &mut (dyn FnMut(u64, Bytes) + Send),
    ) -> Result<(), ReadError> {
        self.ask().await?;
        let state = self.hub.state();
        let subject = state.messages.by_partition.get(&partition);
        subject
            .into_iter()
            .flat_map(|subject| subject.range(..until))
            .for_each(|(number, message)| take(*number, message.clone()));
        Ok(())
    }

    async fn purge(&self, partition: u16, before: u64) -> Result<(), ReadError> {
        self.ask().await?;
        if let Some(subject) = self.hub.state().messages.by_partition.get_mut(&partition) {
            *subject = subject.split_off(&before);
        }
        Ok(())
    }

    async fn want_forgotten(&self, id: Uuid, note: Bytes) -> Result<(), ReadError> {
        self.ask().await?;
        self.hub.state().messages.unwanted.insert(id, note);
        Ok(())
    }

    async fn unwanted(&self) -> Result<BTreeMap<Uuid, Bytes>, ReadError> {
        self.ask().await?;
        Ok(self.hub.state().messages.unwanted.clone())
    }

    async fn forgotten(&self, id: Uuid) -> Result<(), ReadError> {
        self.ask().await?;
        self.hub.state().messages.unwanted.remove(&id);
        Ok(())
    }

    fn message_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }

    fn identity(&self) -> u128 {
        self.hub.state().chance.u128(..)
    }
}

#[cfg(test)]
impl Member {
    /// The messages as anybody can read and write them.
    pub(crate) fn subjects(&self) -> HubSubjects {
        HubSubjects { hub: self.hub.clone(), connection: self.connection.subscribe() }
    }
}
