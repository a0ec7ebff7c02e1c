//! Reading a bucket from its beginning: first the last message of each key, then every change, in order and without
//! gaps.
//!
//! JetStream's replicas may lag, and so may a reader. A reader therefore first writes a barrier (a mark of its own) and
//! reads at least up to it. A key that is written meanwhile leaves its place and moves to the end, so that at the
//! barrier it may not have been seen yet and would seem to be gone. So the reader has the leader list the existing
//! keys, and reads on until it has seen all of them.

use std::collections::HashSet;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, push};
use async_nats::{Message, StatusCode, Subscriber, jetstream};
use bytes::Bytes;
use futures_util::StreamExt as _;

use super::bucket::{BARRIER, Bucket, Change, Expect, is_removal};
use crate::registry::{Entry, Revision};

/// Interval of JetStream's heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Silence after which JetStream counts as gone.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// Time after which JetStream forgets a reader that is gone.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);

/// Header of heartbeats: the number of the last message that was sent to this reader.
const LAST_SENT: &str = "Nats-Last-Consumer";
/// Header with the subject to answer on when JetStream waits for this reader.
const STALLED: &str = "Nats-Consumer-Stalled";

/// The error of a read that may have missed messages. The reader has to begin anew.
#[derive(Debug)]
pub(super) struct Interrupted(pub(super) String);

/// A read of a bucket, message by message.
pub(super) struct Reading<'a> {
    bucket: &'a Bucket,
    messages: Subscriber,
    context: jetstream::Context,
    /// Number of messages so far, as JetStream counts them for this reader.
    count: u64,
    /// Revision of the last message read.
    last: u64,
    barrier: Revision,
    /// Keys that existed after the barrier and have not been seen yet.
    unseen: HashSet<String>,
    losses: u64,
}

/// Result of reading one message.
pub(super) enum Seen {
    Value(Entry),
    Removal {
        key: String,
        revision: Revision,
    },
    /// No change of a key, but the reader may have become current.
    Nothing,
}

impl<'a> Reading<'a> {
    /// Begins to read the keys that begin with `words`, or all keys.
    pub(super) async fn open(bucket: &'a Bucket, words: Option<&str>) -> Result<Self, Interrupted> {
        let nats = &bucket.nats;
        let connection = *nats.connection.borrow();
        if !connection.is_up {
            return Err(Interrupted("no connection to NATS".to_owned()));
        }
        let inbox = nats.client.new_inbox();
        let messages = nats.client.subscribe(inbox.clone()).await.map_err(|error| failed(&error))?;
        let written = bucket.write(BARRIER, Expect::Anything, Change::Set(Bytes::new(), None)).await;
        let barrier = written.map_err(|error| failed(&error))?;
        let prefix = &bucket.prefix;
        let wanted = words.map_or_else(|| format!("{prefix}>"), |words| format!("{prefix}{words}.>"));
        let unseen = list(bucket, &wanted, barrier).await?;
        let mut filter_subjects = vec![wanted];
        filter_subjects.extend(words.map(|_| format!("{prefix}{BARRIER}")));
        let config = push::Config {
            deliver_subject: inbox,
            deliver_policy: DeliverPolicy::LastPerSubject,
            ack_policy: AckPolicy::None,
            filter_subjects,
            idle_heartbeat: HEARTBEAT,
            flow_control: true,
            memory_storage: true,
            num_replicas: 1,
            inactive_threshold: FORGOTTEN_AFTER,
            ..push::Config::default()
        };
        bucket.stream.create_consumer(config).await.map_err(|error| failed(&error))?;
        let (context, losses) = (bucket.context.clone(), connection.losses);
        Ok(Self { bucket, messages, context, count: 0, last: 0, barrier, unseen, losses })
    }

    /// Whether everything written before the read began has been read.
    pub(super) fn is_current(&self) -> bool {
        self.last >= self.barrier.0 && self.unseen.is_empty()
    }

    /// Reads the next message, in the order of revisions.
    pub(super) async fn next(&mut self) -> Result<Seen, Interrupted> {
        loop {
            let message = tokio::select! {
                biased;
                () = self.bucket.nats.lost(self.losses) => return Err(Interrupted("connection lost".to_owned())),
                message = tokio::time::timeout(SILENCE_MAX, self.messages.next()) => match message {
                    Ok(Some(message)) => message,
                    Ok(None) => return Err(Interrupted("the client is gone".to_owned())),
                    Err(_) => return Err(Interrupted("JetStream is silent".to_owned())),
                },
            };
            match message.status {
                None => return self.take(message),
                Some(StatusCode::IDLE_HEARTBEAT) => {
                    let is_idle = !self.answer(&message).await?;
                    // A key not seen by now was removed without a trace: removal markers expire.
                    if is_idle && self.last >= self.barrier.0 && !self.unseen.is_empty() {
                        self.unseen.clear();
                        return Ok(Seen::Nothing);
                    }
                }
                Some(status) => return Err(Interrupted(format!("JetStream ends it: {status}"))),
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<Seen, Interrupted> {
        let message = jetstream::Message { message, context: self.context.clone() };
        let (count, revision) = match message.info() {
            Ok(info) => (info.consumer_sequence, info.stream_sequence),
            Err(error) => return Err(Interrupted(error.to_string())),
        };
        self.count += 1;
        if count != self.count {
            return Err(Interrupted(format!("message {} is missing", self.count)));
        }
        self.last = revision;
        let message = message.message;
        let key = message.subject.strip_prefix(&*self.bucket.prefix).unwrap_or_default();
        self.unseen.remove(key);
        let (key, revision) = (key.to_owned(), Revision(revision));
        if key == BARRIER {
            return Ok(Seen::Nothing);
        }
        if message.headers.as_ref().is_some_and(is_removal) {
            return Ok(Seen::Removal { key, revision });
        }
        Ok(Seen::Value(Entry { key, value: message.payload, revision }))
    }

    /// Checks by a heartbeat whether messages were lost, and answers it if JetStream waits for that. Returns whether
    /// JetStream waited; if not, no message is about to come.
    async fn answer(&self, message: &Message) -> Result<bool, Interrupted> {
        let header = |name: &str| message.headers.as_ref().and_then(|headers| headers.get(name));
        let is_missing = header(LAST_SENT).is_some_and(|last| last.as_str().parse() != Ok(self.count));
        if is_missing {
            return Err(Interrupted("messages are missing".to_owned()));
        }
        let reply = message.reply.as_ref().map(ToString::to_string);
        let reply = reply.or_else(|| header(STALLED).map(|subject| subject.as_str().to_owned()));
        let Some(reply) = reply else { return Ok(false) };
        let answered = self.bucket.nats.client.publish(reply, Bytes::new()).await;
        answered.map_err(|error| Interrupted(error.to_string()))?;
        Ok(true)
    }
}

/// The keys that begin with `words`, including those with a removal marker.
pub(super) async fn keys(bucket: &Bucket, words: &str) -> Result<Vec<String>, Interrupted> {
    let written = bucket.write(BARRIER, Expect::Anything, Change::Set(Bytes::new(), None)).await;
    let barrier = written.map_err(|error| failed(&error))?;
    let listed = list(bucket, &format!("{}{words}.>", bucket.prefix), barrier).await?;
    Ok(listed.into_iter().collect())
}

/// The keys that exist now, at the barrier or later.
async fn list(bucket: &Bucket, wanted: &str, barrier: Revision) -> Result<HashSet<String>, Interrupted> {
    let mut listed = bucket.stream.info_with_subjects(wanted).await.map_err(|error| failed(&error))?;
    if listed.info.state.last_sequence < barrier.0 {
        return Err(Interrupted("a former leader answered".to_owned()));
    }
    let mut keys = HashSet::new();
    while let Some(subject) = listed.next().await {
        let (subject, _) = subject.map_err(|error| failed(&error))?;
        keys.extend(subject.strip_prefix(&*bucket.prefix).map(str::to_owned));
    }
    Ok(keys)
}

fn failed(error: &dyn std::fmt::Display) -> Interrupted {
    Interrupted(error.to_string())
}
