//! Notifications that wait for players. Rules are `domain::notifications`'s.

use muster_domain::ports::notifications::Notification;
use muster_domain::{Result, UserId, notifications};
use muster_wire::api;

use crate::context::Context;
use crate::cursors;
use crate::wire_time::whole_time;

/// Notifications that wait for the caller, oldest first, and the cursor to ask with the next time.
pub async fn list(context: &Context<'_>, request: api::ListNotificationsRequest) -> Result<api::NotificationList> {
    let user_id = context.user()?;
    let filter = user_id.to_string();
    let behind = cursors::read_notifications(&request.cacheable_cursor, &[&filter])?;
    let (found, next) = notifications::list(&*context.app.store, user_id, request.limit, behind).await?;
    Ok(api::NotificationList {
        notifications: found.into_iter().map(to_wire).collect(),
        cacheable_cursor: cursors::write_notifications(next, &[&filter]),
    })
}

/// Deletes notifications of the caller's; others stay.
pub async fn delete(context: &Context<'_>, request: api::DeleteNotificationsRequest) -> Result<()> {
    notifications::delete(&*context.app.store, Some(context.user()?), &request.ids).await
}

/// A notification in the protocol's form. A notification of the server has an empty sender id.
pub(crate) fn to_wire(notification: Notification) -> api::Notification {
    let sender = notification.sender_id;
    api::Notification {
        id: notification.id.to_string(),
        subject: notification.subject,
        content: notification.content,
        code: notification.code.into(),
        sender_id: if sender == UserId::SYSTEM { String::new() } else { sender.to_string() },
        create_time: Some(whole_time(notification.create_time)),
        persistent: notification.persistent,
    }
}
