//! Notifications as sockets receive them.

use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::NotificationId;
use muster_domain::notifications::codes;
use muster_domain::ports::notifications::Notification;
use muster_live::stream::SharedPayload;
use muster_wire::realtime::Notifications;
use muster_wire::realtime::envelope::Message;

use super::events::Push;
use crate::context::App;
use crate::notifications::to_wire;

/// Sends each notification to all sockets of its receiver.
pub(crate) fn push(app: &App, notifications: Vec<Notification>) {
    for notification in notifications {
        let receiver = notification.user_id;
        app.live.push_to_user(receiver, payload(notification));
    }
}

/// What a socket is sent before it closes because the user opened another.
pub(super) fn single_socket(app: &App, user: UserId) -> SharedPayload {
    own(app, user, codes::SINGLE_SOCKET, "single_socket")
}

/// A passing notification by the server itself.
fn own(app: &App, user_id: UserId, code: i16, subject: &str) -> SharedPayload {
    payload(Notification {
        id: NotificationId(app.random_uuid()),
        user_id,
        subject: subject.to_owned(),
        content: "{}".to_owned(),
        code,
        sender_id: UserId::SYSTEM,
        create_time: app.clock.now(),
        persistent: false,
    })
}

fn payload(notification: Notification) -> SharedPayload {
    let notifications = vec![to_wire(notification)];
    Arc::new(Push::new(Message::Notifications(Notifications { notifications })))
}
