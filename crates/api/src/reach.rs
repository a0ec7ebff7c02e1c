//! Messages of the server itself to connected players: notifications, messages of channels, and any messages on
//! streams.

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::{MessageId, SessionId, Uuid};
use muster_domain::ports::chat::{Message as Said, MessagePosition, MessageQuery};
use muster_domain::ports::notifications::Notification;
use muster_domain::ports::store::StoreError;
use muster_live::plane::{Audience, Publish, Recalled, Up};
use muster_live::stream::SharedPayload;
use muster_live::{Delivery, Millis, StreamKey};
use muster_wire::api;
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;

use crate::chat::to_wire;
use crate::context::App;
use crate::live::Live;
use crate::realtime::events::Push;
use crate::realtime::{channels, notifications};

impl Live {
    /// Sends each notification to all sockets of its receiver.
    pub fn notify(&self, notifications: Vec<Notification>) {
        for notification in notifications {
            let receiver = notification.user_id;
            self.push_to_user(receiver, notifications::told(notification));
        }
    }

    /// Those of these notifications whose receivers have a socket. All receivers are looked up together.
    pub async fn connected(&self, notifications: Vec<Notification>) -> Vec<Notification> {
        let stream = |notification: &Notification| StreamKey::notifications(notification.user_id);
        let streams: Vec<StreamKey> = notifications.iter().map(stream).collect();
        let counts = self.count(&streams).await;
        let connected = notifications.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        connected.map(|(notification, _)| notification).collect()
    }

    /// Sends a notification to all connected players, whoever its receiver is. Resolves when all places have sent it.
    pub async fn notify_all(&self, notification: Notification) {
        let payload = notifications::told(notification);
        self.ask_every_place(|request| Up::All { request, payload: payload.clone() }).await;
    }

    /// Tells those in a channel that a message was said there. Answers the channel's stream.
    pub fn say(&self, message: Said) -> StreamKey {
        let stream = channels::stream(&message.channel);
        let delivery = channels::delivery(&message);
        self.say_on(stream.clone(), to_wire(message), delivery);
        stream
    }

    pub(crate) fn say_on(&self, stream: StreamKey, message: api::ChannelMessage, delivery: Delivery) {
        self.publish(Publish { stream, payload: said(message), audience: Audience::All, delivery, sender: None });
    }

    /// Sends a message to those on a stream: to all of them, or to those among these sessions that are on the stream. A
    /// message that is not `reliable` may be left out for a client that does not read fast enough.
    pub fn send(&self, stream: StreamKey, envelope: Envelope, to: Option<Vec<SessionId>>, reliable: bool) {
        let payload = Arc::new(Push::of(envelope));
        let audience = to.map_or(Audience::All, Audience::Only);
        let delivery = if reliable { Delivery::Reliable } else { Delivery::Droppable };
        self.publish(Publish { stream, payload, audience, delivery, sender: None });
    }
}

fn said(message: api::ChannelMessage) -> SharedPayload {
    Arc::new(Push::of(Envelope::push(Message::ChannelMessage(message))))
}

/// Reads the messages that a chat's history has got in the last `back_ms` milliseconds, in their order.
///
/// # Errors
/// When the database does not answer.
pub async fn recall(app: &App, stream: &StreamKey, back_ms: Millis) -> Result<Vec<Recalled>, StoreError> {
    let Some(channel) = channels::channel_of(stream) else { return Ok(Vec::new()) };
    let now = app.clock.now();
    // Messages have the time of a whole second.
    let since =
        Timestamp::from_seconds(now.seconds().saturating_sub(i64::try_from(back_ms / 1_000).unwrap_or(i64::MAX)) - 1);
    let behind = Some(MessagePosition { create_time: since, id: MessageId(Uuid::nil()) });
    let mut query = MessageQuery { channel, backwards: false, behind, limit: RECALL_PAGE };
    let mut recalled = Vec::new();
    loop {
        let (messages, more) = app.store.list_messages(&query).await?;
        query.behind = messages.last().map(|last| MessagePosition { create_time: last.create_time, id: last.id });
        for message in messages {
            let (number, age_ms) = (channels::number(&message), age_ms(&message, now));
            recalled.push(Recalled { stream: stream.clone(), payload: said(to_wire(message)), number, age_ms });
        }
        if !more || query.behind.is_none() {
            return Ok(recalled);
        }
    }
}

/// The largest number of messages that one statement reads when a chat's messages are recalled.
const RECALL_PAGE: u32 = 1_000;

/// Milliseconds since a message was said. Its id has the time more precisely than its creation time.
fn age_ms(message: &Said, now: Timestamp) -> u32 {
    let id = message.id.0;
    let said_ms = match id.get_version_num() {
        7 => i64::try_from(id.as_u64_pair().0 >> 16).unwrap_or(i64::MAX),
        _ => message.create_time.0 / 1_000,
    };
    u32::try_from((now.0 / 1_000).saturating_sub(said_ms).max(0)).unwrap_or(u32::MAX)
}
