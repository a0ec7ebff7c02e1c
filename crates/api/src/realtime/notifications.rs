//! Notifications as sockets receive them.

use std::sync::Arc;

use muster_domain::notifications::codes;
use muster_domain::ports::notifications::Notification;
use muster_live::matchmaker::TicketId;
use muster_live::stream::SharedPayload;
use muster_wire::api;
use muster_wire::realtime::Notifications;
use muster_wire::realtime::envelope::Message;

use super::events::Push;
use crate::context::App;
use crate::notifications::to_wire;
use crate::wire_time::whole_time;

/// A notification as the receiver's sockets are sent it. Unlike listings, as in the original, it names the server as
/// its sender.
pub(crate) fn told(notification: Notification) -> SharedPayload {
    let sender_id = notification.sender_id.to_string();
    payload(api::Notification { sender_id, ..to_wire(notification) })
}

/// The notification to a socket before it closes because the user opened another.
pub(super) fn single_socket(app: &App) -> SharedPayload {
    own(app, codes::SINGLE_SOCKET, "single_socket", "{}".to_owned())
}

/// The notification to a socket before it closes because its user was banned.
pub(super) fn banned(app: &App) -> SharedPayload {
    own(app, codes::BANNED, "banned", "{}".to_owned())
}

/// The notification to a player whose ticket ends without a match, because the owner that kept it has died.
pub(super) fn ticket_lost(app: &App, ticket: &TicketId) -> SharedPayload {
    let content = serde_json::json!({ "ticket": &*ticket.0 }).to_string();
    own(app, codes::TICKET_LOST, "matchmaker_ticket_lost", content)
}

/// A notification of the server itself that is not stored.
fn own(app: &App, code: i16, subject: &str, content: String) -> SharedPayload {
    payload(api::Notification {
        id: app.random_uuid().to_string(),
        subject: subject.to_owned(),
        content,
        code: code.into(),
        create_time: Some(whole_time(app.clock.now())),
        ..api::Notification::default()
    })
}

fn payload(notification: api::Notification) -> SharedPayload {
    let notifications = vec![notification];
    Arc::new(Push::new(Message::Notifications(Notifications { notifications })))
}
