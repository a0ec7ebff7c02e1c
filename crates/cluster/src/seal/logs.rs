//! The messages of match logs under seal. A message's seal also covers the number of the message before it on its
//! subject, so that a message is good at its place alone. A forged message counts as one that no owner wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use bytes::{BufMut as _, Bytes, BytesMut};
use muster_domain::ids::Uuid;

use super::values::open;
use super::{Seal, SealUse, Store, VALUE_SEAL_BYTES};
use crate::match_log::subjects::{PublishError, ReadError, Subjects};

/// Bytes of the number of the message before.
const BEFORE_BYTES: usize = 8;

/// A store of messages whose messages are sealed.
#[derive(Debug)]
pub struct SealedSubjects<S> {
    inner: S,
    seal: Seal,
}

impl<S> SealedSubjects<S> {
    /// Seals the messages of a store.
    pub(crate) fn new(inner: S, seal: Seal) -> Self {
        Self { inner, seal }
    }

    fn seal(&self, partition: u16, before: u64, message: Bytes) -> Bytes {
        if self.seal.usage == SealUse::Off {
            return message;
        }
        let mut placed = BytesMut::with_capacity(message.len() + BEFORE_BYTES);
        placed.extend_from_slice(&message);
        placed.put_u64_le(before);
        self.seal.seal_value(Store::MatchLog, &partition.to_string(), placed.freeze())
    }

    /// The message without its seal, and the number of the message before it if the seal tells one. A forged message is
    /// opened as an empty one.
    fn open(&self, partition: u16, message: &Bytes) -> (Bytes, Option<u64>) {
        let has_seal = message.ends_with(&super::MARK);
        match open(&self.seal, Store::MatchLog, &partition.to_string(), message) {
            Some(opened) if !has_seal => (opened, None),
            Some(opened) => match opened.split_last_chunk() {
                Some((message, before)) => (opened.slice(..message.len()), Some(u64::from_le_bytes(*before))),
                None => (Bytes::new(), None),
            },
            None => (Bytes::new(), None),
        }
    }
}

impl<S: Subjects> Subjects for SealedSubjects<S> {
    async fn publish(&self, partition: u16, expected: u64, message: Bytes) -> Result<u64, PublishError> {
        self.inner.publish(partition, expected, self.seal(partition, expected, message)).await
    }

    async fn partitions(&self) -> Result<BTreeSet<u16>, ReadError> {
        self.inner.partitions().await
    }

    async fn last(&self, partition: u16) -> Result<Option<(u64, Bytes)>, ReadError> {
        let last = self.inner.last(partition).await?;
        Ok(last.map(|(sequence, message)| (sequence, self.open(partition, &message).0)))
    }

    async fn read(
        &self,
        partition: u16,
        until: u64,
        take: &mut (dyn FnMut(u64, Bytes) + Send),
    ) -> Result<(), ReadError> {
        let mut previous = None;
        let mut take_opened = |sequence: u64, message: Bytes| {
            let (opened, before) = self.open(partition, &message);
            let is_elsewhere = before.zip(previous).is_some_and(|(before, previous)| before != previous);
            previous = Some(sequence);
            if is_elsewhere {
                self.seal.metrics.log_messages_forged.fetch_add(1, Ordering::Relaxed);
            } else if !opened.is_empty() {
                take(sequence, opened);
            }
        };
        self.inner.read(partition, until, &mut take_opened).await
    }

    async fn purge(&self, partition: u16, before: u64) -> Result<(), ReadError> {
        self.inner.purge(partition, before).await
    }

    async fn want_forgotten(&self, id: Uuid, note: Bytes) -> Result<(), ReadError> {
        self.inner.want_forgotten(id, self.seal.seal_value(Store::MatchLog, &id.to_string(), note)).await
    }

    async fn unwanted(&self) -> Result<BTreeMap<Uuid, Bytes>, ReadError> {
        let notes = self.inner.unwanted().await?;
        let opened = notes.into_iter().filter_map(|(id, note)| {
            let note = open(&self.seal, Store::MatchLog, &id.to_string(), &note)?;
            Some((id, note))
        });
        Ok(opened.collect())
    }

    async fn forgotten(&self, id: Uuid) -> Result<(), ReadError> {
        self.inner.forgotten(id).await
    }

    fn message_bytes_max(&self) -> usize {
        self.inner.message_bytes_max().saturating_sub(BEFORE_BYTES + VALUE_SEAL_BYTES)
    }

    fn identity(&self) -> u128 {
        self.inner.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Hub;

    fn seal(usage: SealUse) -> Seal {
        Seal::new(&[5; 32], usage)
    }

    async fn read(subjects: &impl Subjects) -> Vec<Bytes> {
        let mut found = Vec::new();
        subjects.read(3, u64::MAX, &mut |_, message| found.push(message)).await.expect("read");
        found
    }

    #[tokio::test]
    async fn a_message_is_good_at_its_place_alone() {
        let hub = Hub::new(1);
        let member = hub.join();
        let (raw, sealed) = (member.subjects(), SealedSubjects::new(member.subjects(), seal(SealUse::Require)));
        let first = sealed.publish(3, 0, Bytes::from_static(b"one")).await.expect("published");
        let (_, recorded) = raw.last(3).await.expect("read").expect("a message");
        let second = sealed.publish(3, first, Bytes::from_static(b"two")).await.expect("published");
        let third = raw.publish(3, second, recorded.clone()).await.expect("repeated");
        let forged = raw.publish(3, third, Bytes::from_static(b"forged")).await.expect("forged");
        assert_eq!(sealed.last(3).await, Ok(Some((forged, Bytes::new()))));
        sealed.publish(3, forged, Bytes::from_static(b"three")).await.expect("published");
        raw.publish(4, 0, recorded).await.expect("published elsewhere");
        assert_eq!(sealed.last(4).await.map(|last| last.map(|(_, message)| message)), Ok(Some(Bytes::new())));
        assert_eq!(read(&sealed).await, ["one", "two", "three"]);
        assert_eq!(sealed.seal.metrics.log_messages_forged.load(Ordering::Relaxed), 4);
        // A log whose beginning was purged is read from where it begins.
        raw.purge(3, second).await.expect("purged");
        assert_eq!(read(&sealed).await, ["two", "three"]);
    }

    #[tokio::test]
    async fn messages_from_before_an_upgrade_are_read_during_it() {
        let hub = Hub::new(1);
        let member = hub.join();
        let of = |usage| SealedSubjects::new(member.subjects(), seal(usage));
        let first = of(SealUse::Off).publish(3, 0, Bytes::from_static(b"one")).await.expect("published");
        of(SealUse::Accept).publish(3, first, Bytes::from_static(b"two")).await.expect("published");
        assert_eq!(read(&of(SealUse::Off)).await, ["one", "two"]);
        assert_eq!(read(&of(SealUse::Accept)).await, ["one", "two"]);
        assert_eq!(read(&of(SealUse::Require)).await, ["two"]);
    }
}
