//! Reading a bucket from its beginning on: what each key has last, and then what changes, in order and without a gap.
//!
//! JetStream's replicas may lag, and so may what is read from them. So a reader first writes a mark of its own, a
//! barrier, and reads at least to that. Meanwhile a key that is written leaves its place and comes last, so at the barrier
//! it may not have been seen yet, and would seem to be gone. So the reader has the leader list the keys that there are,
//! and goes on until it has seen all of them.

use std::collections::HashSet;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, push};
use async_nats::{Message, StatusCode, Subscriber, jetstream};
use bytes::Bytes;
use futures_util::StreamExt as _;

use super::bucket::{BARRIER, Bucket, Change, Expect, is_removal};
use crate::registry::{Entry, Revision};

/// How often JetStream says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Silence for this long means that it is not.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// When JetStream forgets about a reader that is gone.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);

/// The last message that was sent to this reader, in JetStream's heartbeats.
const LAST_SENT: &str = "Nats-Last-Consumer";
/// Where to say that we read on, when JetStream has paused for us.
const STALLED: &str = "Nats-Consumer-Stalled";

/// Something may have been missed: read from the beginning again.
#[derive(Debug)]
pub(super) struct Interrupted(pub(super) String);

/// What a bucket holds, message by message.
pub(super) struct Reading<'a> {
    bucket: &'a Bucket,
    messages: Subscriber,
    context: jetstream::Context,
    /// Messages so far, as JetStream numbers them for this reader.
    count: u64,
    /// What was read last.
    last: u64,
    barrier: Revision,
    /// Keys that there were after the barrier, and that were not seen yet.
    unseen: HashSet<String>,
    losses: u64,
}

/// What was read.
pub(super) enum Seen {
    Value(Entry),
    Removal {
        key: String,
        revision: Revision,
    },
    /// Nothing of anybody's; but now it may be current.
    Nothing,
}

impl<'a> Reading<'a> {
    /// Reads the keys that begin with `words`, or all.
    pub(super) async fn open(bucket: &'a Bucket, words: Option<&str>) -> Result<Self, Interrupted> {
        let line = &bucket.line;
        let connection = *line.connection.borrow();
        if !connection.is_up {
            return Err(Interrupted("no connection to NATS".to_owned()));
        }
        let inbox = line.client.new_inbox();
        let messages = line.client.subscribe(inbox.clone()).await.map_err(|error| failed(&error))?;
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

    /// Whether all was read that was written before it began.
    pub(super) fn is_current(&self) -> bool {
        self.last >= self.barrier.0 && self.unseen.is_empty()
    }

    /// The next message, in the order of revisions.
    pub(super) async fn next(&mut self) -> Result<Seen, Interrupted> {
        loop {
            let message = tokio::select! {
                biased;
                () = self.bucket.line.lost(self.losses) => return Err(Interrupted("connection lost".to_owned())),
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
                    // What was not seen by now went without a trace, as the mark of a removal does after a while.
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

    /// Looks whether a message was lost, and answers if JetStream waits for us to read on. `false`: it has nothing more.
    async fn answer(&self, message: &Message) -> Result<bool, Interrupted> {
        let header = |name: &str| message.headers.as_ref().and_then(|headers| headers.get(name));
        let is_missing = header(LAST_SENT).is_some_and(|last| last.as_str().parse() != Ok(self.count));
        if is_missing {
            return Err(Interrupted("messages are missing".to_owned()));
        }
        let reply = message.reply.as_ref().map(ToString::to_string);
        let reply = reply.or_else(|| header(STALLED).map(|subject| subject.as_str().to_owned()));
        let Some(reply) = reply else { return Ok(false) };
        let answered = self.bucket.line.client.publish(reply, Bytes::new()).await;
        answered.map_err(|error| Interrupted(error.to_string()))?;
        Ok(true)
    }
}

/// The keys that begin with `words`, marks of removals among them.
pub(super) async fn keys(bucket: &Bucket, words: &str) -> Result<Vec<String>, Interrupted> {
    let written = bucket.write(BARRIER, Expect::Anything, Change::Set(Bytes::new(), None)).await;
    let barrier = written.map_err(|error| failed(&error))?;
    let listed = list(bucket, &format!("{}{words}.>", bucket.prefix), barrier).await?;
    Ok(listed.into_iter().collect())
}

/// The keys that there are now, at the barrier or later.
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
