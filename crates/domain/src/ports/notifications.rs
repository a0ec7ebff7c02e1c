//! Notifications that wait for their receivers.

use super::PortFuture;
use crate::ids::{NotificationId, UserId};
use crate::time::Timestamp;

/// A message from the server, or by its hand, to one player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Chosen by the rules.
    pub id: NotificationId,
    /// The receiver.
    pub user_id: UserId,
    /// At most 255 characters.
    pub subject: String,
    /// A JSON object as text.
    pub content: String,
    /// The subject as a number: negative for the server's own, see [`crate::notifications::codes`].
    pub code: i16,
    /// The sender; the system user for the server.
    pub sender_id: UserId,
    /// When it was sent.
    pub create_time: Timestamp,
    /// Whether it waits for its receiver.
    pub persistent: bool,
}

/// A place among the notifications of a player, whose order is that of time, then id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotificationPosition {
    /// When the notification there was sent.
    pub create_time: Timestamp,
    /// Its id.
    pub id: NotificationId,
}

impl NotificationPosition {
    /// Before all notifications.
    pub const START: Self = Self { create_time: Timestamp::EPOCH, id: NotificationId(uuid::Uuid::nil()) };
}

/// Change of a notification; `None` leaves a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationUpdate {
    /// Id of the notification.
    pub id: NotificationId,
    /// At most 255 characters.
    pub subject: Option<String>,
    /// A JSON object as text.
    pub content: Option<String>,
    /// The sender.
    pub sender_id: Option<UserId>,
}

/// Persistence of notifications.
pub trait NotificationStore {
    /// Stores all or none.
    ///
    /// Errors: `Invalid` when a receiver does not exist.
    fn save_notifications<'a>(&'a self, notifications: &'a [Notification]) -> PortFuture<'a, ()>;

    /// Up to `limit` notifications of a player behind a place, oldest first.
    fn list_notifications(
        &self,
        user_id: UserId,
        behind: NotificationPosition,
        limit: u32,
    ) -> PortFuture<'_, Vec<Notification>>;

    /// Whether a player has a notification of this sender and code that was sent later than `since`.
    fn is_notified(&self, user_id: UserId, sender_id: UserId, code: i16, since: Timestamp) -> PortFuture<'_, bool>;

    /// Removes those of the notifications that are the player's, or anybody's without one; others stay, silently.
    fn delete_notifications<'a>(&'a self, user_id: Option<UserId>, ids: &'a [NotificationId]) -> PortFuture<'a, ()>;

    /// Those of these notifications that there are and that are the player's, or anybody's without one; in no order.
    fn notifications<'a>(
        &'a self,
        user_id: Option<UserId>,
        ids: &'a [NotificationId],
    ) -> PortFuture<'a, Vec<Notification>>;

    /// Changes notifications, all or none. Those that there are not are left out, silently.
    ///
    /// Errors: `Invalid` for a subject too long for its column.
    fn update_notifications<'a>(&'a self, updates: &'a [NotificationUpdate]) -> PortFuture<'a, ()>;
}
