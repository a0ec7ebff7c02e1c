//! Messages of the server itself to connected players: notifications, messages of channels, and any messages on
//! streams.

use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::ports::chat::Message as Said;
use muster_domain::ports::notifications::Notification;
use muster_live::plane::{Audience, Publish, Up};
use muster_live::{Delivery, StreamKey};
use muster_wire::api;
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;

use crate::chat::to_wire;
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
        self.say_on(stream.clone(), to_wire(message));
        stream
    }

    pub(crate) fn say_on(&self, stream: StreamKey, message: api::ChannelMessage) {
        self.send(stream, Envelope::push(Message::ChannelMessage(message)), None, true);
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
