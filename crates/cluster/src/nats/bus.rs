//! The bus on core NATS: for each address a subject for frames, and another on which the listening process answers
//! probes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{PublishErrorKind, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::Nats;
use crate::bus::{Address, Bus, BusError, Connection, Inbox, Probe};

/// Time after a loss or return of this process's connection, during which no node is reported as gone: the others may
/// have lost their connections too. The time is twice the longest pause between attempts to connect.
const RETURN_WAIT: Duration = Duration::from_secs(4);

/// The reason for which a node cannot listen.
const NOT_PERMITTED: &str = "NATS does not let this user subscribe or publish to subjects of its cluster: correct the \
                             user's permissions";

/// The receiving end of a listening node.
#[derive(Debug)]
pub struct NatsInbox {
    frames: Subscriber,
    /// The task that answers probes.
    answering: AbortHandle,
}

impl Nats {
    fn frames_subject(&self, address: Address) -> String {
        format!("{}.node.{address}", self.prefix)
    }

    fn probe_subject(&self, address: Address) -> String {
        format!("{}.probe.{address}", self.prefix)
    }

    async fn subscribe(&self, me: Address) -> Result<NatsInbox, BusError> {
        let client = self.nats.client.clone();
        let frames = client.subscribe(self.frames_subject(me)).await.map_err(|_| BusError::Down)?;
        let mut probes = client.subscribe(self.probe_subject(me)).await.map_err(|_| BusError::Down)?;
        let answering = tokio::spawn(async move {
            while let Some(probe) = probes.next().await {
                let Some(reply) = probe.reply else { continue };
                if client.publish(reply, Bytes::new()).await.is_err() {
                    return;
                }
            }
        });
        let inbox = NatsInbox { frames, answering: answering.abort_handle() };
        // An answer to our own probe proves that the server knows both subscriptions.
        match self.nats.client.request(self.probe_subject(me), Bytes::new()).await {
            Ok(_) => Ok(inbox),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => Err(BusError::Refused(NOT_PERMITTED)),
            Err(_) => Err(BusError::Down),
        }
    }

    /// Whether the other nodes have had time to reconnect after the event that cost this process its connection.
    fn is_settled(&self) -> bool {
        self.nats.changed_at.borrow().is_none_or(|since| since.elapsed() >= RETURN_WAIT)
    }
}

impl Bus for Nats {
    type Inbox = NatsInbox;

    async fn listen(&self, me: Address) -> Result<NatsInbox, BusError> {
        if !self.nats.is_up() {
            return Err(BusError::Down);
        }
        // Without a connection the client holds subscriptions back for an unlimited time, hence the timeout.
        let listening = async {
            tokio::select! {
                biased;
                _ = self.nats.refused() => Err(BusError::Refused(NOT_PERMITTED)),
                listening = self.subscribe(me) => listening,
            }
        };
        tokio::time::timeout(self.wait, listening).await.unwrap_or(Err(BusError::Down))
    }

    fn send(&self, to: Address, frame: Bytes) -> Result<(), BusError> {
        let (bytes, bytes_max) = (frame.len(), self.frame_bytes_max());
        if bytes > bytes_max {
            return Err(BusError::TooLarge { bytes, bytes_max });
        }
        // Without a connection the client queues frames. They would arrive late, which helps nobody.
        if !self.nats.is_up() {
            return Err(BusError::Down);
        }
        // The future waits only for room in the queue. It is polled outside the task's budget, since an exhausted
        // budget must not look like a full queue.
        let publish = self.nats.client.publish(self.frames_subject(to), frame);
        match tokio::task::unconstrained(publish).now_or_never() {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if error.kind() == PublishErrorKind::MaxPayloadExceeded => {
                Err(BusError::TooLarge { bytes, bytes_max: self.frame_bytes_max() })
            }
            Some(Err(_)) => Err(BusError::Down),
            None => {
                self.nats.metrics.frames_refused.fetch_add(1, Ordering::Relaxed);
                Err(BusError::Full)
            }
        }
    }

    async fn probe(&self, node: Address) -> Probe {
        let connection = *self.nats.connection.borrow();
        if !connection.is_up {
            return Probe::Unknown;
        }
        let answer = self.nats.client.request(self.probe_subject(node), Bytes::new());
        tokio::select! {
            answer = answer => match answer {
                Ok(_) => Probe::Listening,
                Err(error) if error.kind() == RequestErrorKind::NoResponders && self.is_settled() => Probe::Nobody,
                Err(_) => Probe::Unknown,
            },
            () = self.nats.lost(connection.losses) => Probe::Unknown,
        }
    }

    fn connection(&self) -> watch::Receiver<Connection> {
        self.nats.connection.clone()
    }

    fn frame_bytes_max(&self) -> usize {
        self.nats.client.max_payload()
    }
}

impl Inbox for NatsInbox {
    async fn receive(&mut self) -> Option<Bytes> {
        self.frames.next().await.map(|message| message.payload)
    }

    fn try_receive(&mut self) -> Option<Bytes> {
        // A frame that has arrived is taken, even if the task's budget for this turn is used up.
        tokio::task::unconstrained(self.frames.next()).now_or_never().flatten().map(|message| message.payload)
    }
}

impl Drop for NatsInbox {
    fn drop(&mut self) {
        self.answering.abort();
    }
}
