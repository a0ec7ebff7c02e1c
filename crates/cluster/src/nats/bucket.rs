//! A bucket of JetStream: one message per key, written by compare-and-swap, each with its own time to live.
//!
//! The layout is that of NATS's key-value buckets, so that NATS's tools show it. The key-value functions of the client
//! are not used for writing: they drop the time to live of a value that follows a removal, and cannot set one on a
//! value that replaces another.

use std::fmt;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessageErrorKind, StorageType, Stream};
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;
use tokio::time::Instant;

use super::connection::NatsConnection;
use super::options::{NatsError, NatsOptions};
use crate::registry::{RegistryError, Revision, Written};

/// Time to live of a removal marker. A watch that was away for longer gets the whole state anyway.
const MARK_TTL: Duration = Duration::from_secs(10);

/// The pause before a write that reached no server is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Largest number of attempts to make a bucket, while a NATS cluster that has just started elects a leader.
const OPEN_ATTEMPTS: u32 = 60;
/// The pause between these attempts.
const OPEN_PAUSE: Duration = Duration::from_millis(250);

/// A reserved subject in the place of a key. A message written here tells a reader that it has seen everything written
/// before.
pub(super) const BARRIER: &str = "=";

const OPERATION: &str = "KV-Operation";
const REMOVED: [&str; 2] = ["DEL", "PURGE"];
const MARKER_REASON: &str = "Nats-Marker-Reason";

/// A bucket and the connection to it.
#[derive(Clone)]
pub(super) struct Bucket {
    pub(super) nats: NatsConnection,
    pub(super) stream: Stream<()>,
    pub(super) context: jetstream::Context,
    /// Prefix of every key's subject.
    pub(super) prefix: String,
    pub(super) config: Config,
    wait: Duration,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Bucket").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// State that a write expects of its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// Any value or none.
    Anything,
    /// The last message of the key has this number; 0 stands for none.
    Last(u64),
}

/// The change that a write makes.
pub(super) enum Change {
    /// Sets a value, with a time to live if it has one.
    Set(Bytes, Option<Duration>),
    /// Writes a removal marker.
    Remove,
}

impl Bucket {
    /// Opens the bucket of this name. Makes it if it does not exist, and corrects its settings.
    pub(super) async fn open(
        nats: &NatsConnection,
        context: &jetstream::Context,
        name: &str,
        value_bytes_max: usize,
        options: &NatsOptions,
    ) -> Result<Self, NatsError> {
        let stream_name = format!("KV_{name}");
        let prefix = format!("$KV.{name}.");
        let config = config(&stream_name, &prefix, value_bytes_max, options);
        let stream = open_stream(context, name, config.clone()).await?;
        let (nats, context) = (nats.clone(), context.clone());
        Ok(Self { nats, stream, context, prefix, config, wait: options.request_wait })
    }

    /// Writes a change and answers whether it was made. An attempt that reached no server is repeated for as long as a
    /// request may take.
    pub(super) async fn write(&self, key: &str, expect: Expect, change: Change) -> Written {
        let message = message(expect, change);
        let subject = format!("{}{key}", self.prefix);
        let deadline = Instant::now() + self.wait;
        loop {
            match self.attempt(&subject, message.clone(), deadline).await {
                Err(RegistryError::Unavailable(_)) if Instant::now() + RETRY_PAUSE < deadline && self.nats.is_up() => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self, subject: &str, message: PublishMessage, deadline: Instant) -> Written {
        let connection = *self.nats.connection.borrow();
        if !connection.is_up {
            return Err(RegistryError::Unavailable("no connection to NATS".to_owned()));
        }
        let write = async { self.context.send_publish(subject.to_owned(), message).await?.await };
        tokio::select! {
            biased;
            outcome = write => outcome.map(|ack| Revision(ack.sequence)).map_err(|error| what_became(&error)),
            () = self.nats.lost(connection.losses) => {
                Err(RegistryError::Unknown("the connection to NATS was lost".to_owned()))
            }
            () = tokio::time::sleep_until(deadline) => Err(RegistryError::Unknown("no answer in time".to_owned())),
        }
    }

    /// The last message of a key. The answer may be outdated, so the caller may use it only as the state to expect.
    pub(super) async fn last_message(&self, key: &str) -> Result<LastMessage, RegistryError> {
        let subject = format!("{}{key}", self.prefix);
        match self.stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) if is_removal(&message.headers) => Ok(LastMessage::Removal(message.sequence)),
            Ok(_) => Ok(LastMessage::Value),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => Ok(LastMessage::Nothing),
            // The request was a read, so nothing was changed.
            Err(error) => Err(RegistryError::Unavailable(error.to_string())),
        }
    }
}

/// Opens the stream of this configuration. Makes it if it does not exist, and corrects its settings.
pub(super) async fn open_stream(
    context: &jetstream::Context,
    name: &str,
    config: Config,
) -> Result<Stream<()>, NatsError> {
    let failed = |reason: String| NatsError::Bucket { bucket: name.to_owned(), reason };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let Err(error) = context.create_or_update_stream(config.clone()).await else { break };
        if attempts == OPEN_ATTEMPTS || !may_pass(&error.kind()) {
            return Err(failed(advise(&error.kind(), config.num_replicas)));
        }
        tokio::time::sleep(OPEN_PAUSE).await;
    }
    context.get_stream_no_info(&config.name).await.map_err(|error| failed(error.to_string()))
}

/// Makes the stream of this configuration again if JetStream has lost it. Answers whether it has made it.
pub(super) async fn make_again_if_lost(context: &jetstream::Context, config: &Config) -> bool {
    let is_lost = match context.get_stream(&config.name).await.map_err(|error| error.kind()) {
        Err(GetStreamErrorKind::JetStream(said)) => said.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    };
    if !is_lost {
        return false;
    }
    let made = context.create_stream(config.clone()).await;
    match &made {
        Ok(_) => tracing::warn!(stream = config.name, "jetstream has lost a stream, which is made again"),
        Err(error) => tracing::warn!(stream = config.name, %error, "jetstream has lost a stream, and makes no other"),
    }
    made.is_ok()
}

/// The last message of a key.
pub(super) enum LastMessage {
    /// The key has no message.
    Nothing,
    /// The last message is a value.
    Value,
    /// The last message is a removal marker, of this number.
    Removal(u64),
}

/// Whether a message is a removal marker and not a value.
pub(super) fn is_removal(headers: &HeaderMap) -> bool {
    headers.get(MARKER_REASON).is_some()
        || headers.get(OPERATION).is_some_and(|operation| REMOVED.contains(&operation.as_str()))
}

fn config(name: &str, prefix: &str, value_bytes_max: usize, options: &NatsOptions) -> Config {
    Config {
        name: name.to_owned(),
        subjects: vec![format!("{prefix}>")],
        // No older value may lie under an expired one, since it would come back.
        max_messages_per_subject: 1,
        // Room for the headers of a message, besides its value.
        max_message_size: i32::try_from(value_bytes_max + 4_096).unwrap_or(i32::MAX),
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: options.replicas,
        deny_delete: true,
        allow_rollup: true,
        // Direct reads may be answered by any replica, with an outdated value.
        allow_direct: false,
        allow_message_ttl: true,
        subject_delete_marker_ttl: Some(MARK_TTL),
        ..Config::default()
    }
}

fn message(expect: Expect, change: Change) -> PublishMessage {
    let message = PublishMessage::build();
    let message = match change {
        Change::Set(value, None) => message.payload(value),
        Change::Set(value, Some(time_to_live)) => message.payload(value).ttl(whole_seconds(time_to_live)),
        Change::Remove => message.header(OPERATION, REMOVED[0]).ttl(MARK_TTL),
    };
    match expect {
        Expect::Anything => message,
        Expect::Last(revision) => message.expected_last_subject_sequence(revision),
    }
}

fn whole_seconds(time_to_live: Duration) -> Duration {
    Duration::from_secs((time_to_live.as_secs() + u64::from(time_to_live.subsec_nanos() > 0)).max(1))
}

/// The error of the registry for a failed publication.
pub(super) fn what_became(error: &PublishError) -> RegistryError {
    match error.kind() {
        PublishErrorKind::WrongLastSequence => RegistryError::Conflict,
        PublishErrorKind::MaxPayloadExceeded => RegistryError::Refused(error.to_string()),
        // No server took the message.
        PublishErrorKind::StreamNotFound | PublishErrorKind::MaxAckPending => {
            RegistryError::Unavailable("JetStream has no leader".to_owned())
        }
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
            RegistryError::Unknown("no answer in time".to_owned())
        }
        PublishErrorKind::WrongLastMessageId | PublishErrorKind::Other => refusal(error),
    }
}

/// The registry's error for an error that JetStream itself reports: the write was not made.
fn refusal(error: &PublishError) -> RegistryError {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<jetstream::Error>());
    match source {
        None => RegistryError::Unknown(error.to_string()),
        // Another write of the same key is on its way.
        Some(said) if said.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => RegistryError::Conflict,
        Some(said) if said.code() == 400 => RegistryError::Refused(said.to_string()),
        Some(said) => RegistryError::Unavailable(said.to_string()),
    }
}

/// Whether making a bucket may succeed later: servers that have just started elect a leader first.
fn may_pass(error: &CreateStreamErrorKind) -> bool {
    match error {
        CreateStreamErrorKind::TimedOut
        | CreateStreamErrorKind::JetStreamUnavailable
        | CreateStreamErrorKind::Response => true,
        CreateStreamErrorKind::JetStream(said) => {
            said.code() >= 500 || said.error_code() == ErrorCode::CLUSTER_NO_PEERS
        }
        _ => false,
    }
}

fn advise(error: &CreateStreamErrorKind, replicas: usize) -> String {
    match error {
        CreateStreamErrorKind::JetStream(said) if replicas > 1 => {
            format!("{said}; cluster.nats_replicas is {replicas}, which takes as many servers in one NATS cluster")
        }
        other => other.to_string(),
    }
}
