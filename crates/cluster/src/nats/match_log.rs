//! The match logs in a stream of JetStream: a subject for each partition.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessageErrorKind, StorageType, Stream};
use async_nats::jetstream::{self};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use muster_domain::ids::Uuid;

use super::Nats;
use super::bucket::{open_stream, what_became};
use super::connection::NatsConnection;
use super::options::{NatsError, NatsOptions};
use crate::match_log::subjects::{PublishError, ReadError, SubjectLogs, Subjects};
use crate::registry::RegistryError;
use crate::seal::{Seal, SealedSubjects};

/// Largest size of a message, in bytes. JetStream answers a request for a single message with text in base64, which is
/// longer; even that stays below NATS's default limit.
pub const MESSAGE_BYTES_MAX: usize = 512 * 1024;

/// Room for the headers of a message.
const HEADERS_BYTES: usize = 4_096;

/// Beginning of the last token of subjects that name matches which an operator wants forgotten.
const UNWANTED: &str = "forget-";

/// Silence after which JetStream forgets a reader.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// The match logs of a cluster on NATS.
pub type JetLogs = SubjectLogs<SealedSubjects<MatchSubjects>>;

/// The stream, and the connection to it.
pub struct MatchSubjects {
    nats: NatsConnection,
    context: jetstream::Context,
    stream: Stream<()>,
    /// Prefix of every partition's subject.
    prefix: String,
    wait: Duration,
}

impl fmt::Debug for MatchSubjects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MatchSubjects").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Nats {
    /// Opens the match logs, and makes their stream if it does not exist. `options` are those of the connection.
    ///
    /// # Errors
    /// [`NatsError::Bucket`].
    pub async fn match_logs(&self, options: &NatsOptions, seal: &Seal) -> Result<JetLogs, NatsError> {
        let (nats, context) = (self.nats.clone(), self.values.context.clone());
        let name = format!("{}_matches", options.cluster);
        let prefix = format!("{}.matches.", self.prefix);
        let config = Config {
            name: name.clone(),
            subjects: vec![format!("{prefix}*")],
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            num_replicas: options.replicas,
            deny_delete: true,
            // Direct reads may be answered by any replica, with an outdated message.
            allow_direct: false,
            ..Config::default()
        };
        let stream = self.nats.permitted(open_stream(&context, &name, config.clone())).await?;
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(config);
        let subjects = MatchSubjects { nats, context, stream, prefix, wait: options.request_wait };
        Ok(SubjectLogs::new(SealedSubjects::new(subjects, seal.clone())))
    }
}

impl MatchSubjects {
    fn subject(&self, partition: u16) -> String {
        format!("{}{partition}", self.prefix)
    }

    /// Subject of the note that an operator wants a match forgotten. It is no number, so it is no partition's.
    fn unwanted_subject(&self, id: &str) -> String {
        format!("{}{UNWANTED}{id}", self.prefix)
    }

    /// The last tokens of all subjects that have messages.
    async fn names<T: Ord>(&self, read: impl Fn(&str) -> Option<T>) -> Result<BTreeSet<T>, ReadError> {
        self.ask(async {
            let told = self.stream.info_with_subjects(format!("{}*", self.prefix)).await;
            let subjects = told.map_err(|error| failed(&error))?.try_collect::<Vec<_>>().await;
            let subjects = subjects.map_err(|error| failed(&error))?;
            Ok(subjects.iter().filter_map(|(subject, _)| read(subject.strip_prefix(&self.prefix)?)).collect())
        })
        .await
    }

    /// Waits for a read, for as long as a request may take and the connection is up.
    async fn ask<T>(&self, what: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
        let connection = *self.nats.connection.borrow();
        if !connection.is_up {
            return Err(ReadError("no connection to NATS".to_owned()));
        }
        tokio::select! {
            biased;
            outcome = what => outcome,
            () = self.nats.lost(connection.losses) => Err(ReadError("the connection to NATS was lost".to_owned())),
            () = tokio::time::sleep(self.wait) => Err(ReadError("no answer in time".to_owned())),
        }
    }

    /// The last message of a subject, with its number.
    async fn last_of(&self, subject: &str) -> Result<Option<(u64, Bytes)>, ReadError> {
        self.ask(async {
            // This request is answered by the leader.
            match self.stream.get_last_raw_message_by_subject(subject).await {
                Ok(message) => Ok(Some((message.sequence, message.payload))),
                Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => Ok(None),
                Err(error) => Err(failed(&error)),
            }
        })
        .await
    }

    async fn read_on(
        &self,
        partition: u16,
        until: u64,
        take: &mut (dyn FnMut(u64, Bytes) + Send),
    ) -> Result<(), ReadError> {
        let config = push::OrderedConfig {
            deliver_subject: self.nats.client.new_inbox(),
            filter_subject: self.subject(partition),
            deliver_policy: DeliverPolicy::All,
            ..push::OrderedConfig::default()
        };
        let consumer = self.stream.create_consumer(config).await.map_err(|error| failed(&error))?;
        let mut messages = consumer.messages().await.map_err(|error| failed(&error))?;
        loop {
            let message = match tokio::time::timeout(SILENCE_MAX, messages.next()).await {
                Ok(Some(message)) => message.map_err(|error| failed(&error))?,
                Ok(None) => return Err(ReadError("the client is gone".to_owned())),
                Err(_) => return Err(ReadError("JetStream is silent".to_owned())),
            };
            // The claim, which JetStream has acknowledged, ends the read.
            let number = message.info().map_err(|error| failed(&error))?.stream_sequence;
            if number >= until {
                return Ok(());
            }
            take(number, message.message.payload);
        }
    }
}

impl Subjects for MatchSubjects {
    async fn publish(&self, partition: u16, expected: u64, message: Bytes) -> Result<u64, PublishError> {
        let connection = *self.nats.connection.borrow();
        if !connection.is_up {
            return Err(PublishError::Unknown("no connection to NATS".to_owned()));
        }
        let message = PublishMessage::build().payload(message).expected_last_subject_sequence(expected);
        let publish = async { self.context.send_publish(self.subject(partition), message).await?.await };
        tokio::select! {
            biased;
            outcome = publish => match outcome {
                Ok(ack) => Ok(ack.sequence),
                Err(error) => Err(match what_became(&error) {
                    RegistryError::Conflict => PublishError::Conflict,
                    RegistryError::Refused(reason) => PublishError::Refused(reason),
                    RegistryError::Unavailable(reason) => PublishError::Unknown(reason),
                    RegistryError::Unknown(reason) => PublishError::Unknown(reason),
                }),
            },
            () = self.nats.lost(connection.losses) => {
                Err(PublishError::Unknown("the connection to NATS was lost".to_owned()))
            }
            () = tokio::time::sleep(self.wait) => Err(PublishError::Unknown("no answer in time".to_owned())),
        }
    }

    async fn partitions(&self) -> Result<BTreeSet<u16>, ReadError> {
        self.names(|name| name.parse().ok()).await
    }

    async fn last(&self, partition: u16) -> Result<Option<(u64, Bytes)>, ReadError> {
        self.last_of(&self.subject(partition)).await
    }

    async fn read(
        &self,
        partition: u16,
        until: u64,
        take: &mut (dyn FnMut(u64, Bytes) + Send),
    ) -> Result<(), ReadError> {
        let connection = *self.nats.connection.borrow();
        tokio::select! {
            biased;
            outcome = self.read_on(partition, until, take) => outcome,
            () = self.nats.lost(connection.losses) => Err(ReadError("the connection to NATS was lost".to_owned())),
        }
    }

    async fn purge(&self, partition: u16, before: u64) -> Result<(), ReadError> {
        let subject = self.subject(partition);
        self.ask(async {
            let purge = self.stream.purge().sequence(before).filter(subject);
            purge.await.map(|_| ()).map_err(|error| failed(&error))
        })
        .await
    }

    async fn want_forgotten(&self, id: Uuid, note: Bytes) -> Result<(), ReadError> {
        let subject = self.unwanted_subject(&id.to_string());
        self.ask(async {
            let publish = async { self.context.publish(subject, note).await?.await };
            publish.await.map(drop).map_err(|error| failed(&error))
        })
        .await
    }

    async fn unwanted(&self) -> Result<BTreeMap<Uuid, Bytes>, ReadError> {
        let ids: BTreeSet<Uuid> = self.names(|name| name.strip_prefix(UNWANTED)?.parse().ok()).await?;
        let mut notes = BTreeMap::new();
        for id in ids {
            let subject = self.unwanted_subject(&id.to_string());
            notes.extend(self.last_of(&subject).await?.map(|(_, note)| (id, note)));
        }
        Ok(notes)
    }

    async fn forgotten(&self, id: Uuid) -> Result<(), ReadError> {
        let subject = self.unwanted_subject(&id.to_string());
        self.ask(async {
            let purge = self.stream.purge().filter(subject);
            purge.await.map(drop).map_err(|error| failed(&error))
        })
        .await
    }

    fn message_bytes_max(&self) -> usize {
        let most = self.nats.client.server_info().max_payload.saturating_sub(HEADERS_BYTES);
        most.clamp(HEADERS_BYTES, MESSAGE_BYTES_MAX)
    }

    fn identity(&self) -> u128 {
        fastrand::u128(..)
    }
}

fn failed(error: &dyn fmt::Display) -> ReadError {
    ReadError(error.to_string())
}
