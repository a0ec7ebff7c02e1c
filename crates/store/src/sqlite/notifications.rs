//! Notifications on SQLite.

use muster_domain::ports::PortFuture;
use muster_domain::ports::notifications::{Notification, NotificationPosition, NotificationStore, NotificationUpdate};
use muster_domain::{NotificationId, Timestamp, UserId};
use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::error::{is_missing_owner, translate};
use super::sql::{Result, execute, one, statement};
use crate::{limits, messages};

const INSERT: &str = "INSERT INTO notification (id, user_id, subject, content, code, sender_id, create_time) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(crate) const LIST: &str = "SELECT id, user_id, subject, content, code, sender_id, create_time FROM notification \
     WHERE user_id = ?1 AND (create_time, id) > (?2, ?3) ORDER BY create_time, id LIMIT ?4";
/// The plus keeps SQLite from using the index by sender, which is slow for senders of many notifications.
pub(crate) const IS_NOTIFIED: &str = "SELECT EXISTS (SELECT 1 FROM notification \
     WHERE user_id = ?1 AND create_time > ?2 AND +sender_id = ?3 AND code = ?4)";
const DELETE: &str = "DELETE FROM notification WHERE id = ?1 AND user_id = coalesce(?2, user_id)";
pub(crate) const GET: &str = "SELECT id, user_id, subject, content, code, sender_id, create_time FROM notification \
     WHERE id = ?1 AND user_id = coalesce(?2, user_id)";
const UPDATE: &str = "UPDATE notification SET subject = coalesce(?2, subject), content = coalesce(?3, content), \
     sender_id = coalesce(?4, sender_id) WHERE id = ?1";

impl NotificationStore for SqliteStore {
    fn save_notifications<'a>(&'a self, notifications: &'a [Notification]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            notifications.iter().try_for_each(limits::notification)?;
            let notifications = notifications.to_vec();
            self.write(move |connection| notifications.iter().try_for_each(|each| insert(connection, each))).await
        })
    }

    fn list_notifications(
        &self,
        user_id: UserId,
        behind: NotificationPosition,
        limit: u32,
    ) -> PortFuture<'_, Vec<Notification>> {
        Box::pin(async move {
            self.read(move |connection| {
                let mut rows = statement(connection, LIST)?;
                let values = (user_id.0, behind.create_time.0, behind.id.0, limit);
                let rows = rows.query_map(values, notification).map_err(translate)?;
                rows.collect::<rusqlite::Result<_>>().map_err(translate)
            })
            .await
        })
    }

    fn is_notified(&self, user_id: UserId, sender_id: UserId, code: i16, since: Timestamp) -> PortFuture<'_, bool> {
        Box::pin(self.read(move |connection| is_notified(connection, user_id, (sender_id, code), since)))
    }

    fn delete_notifications<'a>(&'a self, user_id: Option<UserId>, ids: &'a [NotificationId]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let (ids, owner) = (ids.to_vec(), user_id.map(|user_id| user_id.0));
            self.write(move |connection| {
                ids.iter().try_for_each(|id| execute(connection, DELETE, (id.0, owner)).map(|_| ()))
            })
            .await
        })
    }

    fn notifications<'a>(
        &'a self,
        user_id: Option<UserId>,
        ids: &'a [NotificationId],
    ) -> PortFuture<'a, Vec<Notification>> {
        Box::pin(async move {
            let (ids, owner) = (ids.to_vec(), user_id.map(|user_id| user_id.0));
            self.read(move |connection| {
                let mut found: Vec<Notification> = Vec::new();
                for id in &ids {
                    let is_new = found.iter().all(|known| known.id != *id);
                    found.extend(one(connection, GET, (id.0, owner), notification)?.filter(|_| is_new));
                }
                Ok(found)
            })
            .await
        })
    }

    fn update_notifications<'a>(&'a self, updates: &'a [NotificationUpdate]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            updates.iter().try_for_each(limits::notification_update)?;
            let updates = updates.to_vec();
            self.write(move |connection| {
                updates.iter().try_for_each(|update| {
                    let NotificationUpdate { id, subject, content, sender_id } = update;
                    let values = (id.0, subject, content, sender_id.map(|sender_id| sender_id.0));
                    execute(connection, UPDATE, values).map(|_| ())
                })
            })
            .await
        })
    }
}

/// See [`NotificationStore::is_notified`].
pub(super) fn is_notified(
    connection: &Connection,
    user_id: UserId,
    (sender_id, code): (UserId, i16),
    since: Timestamp,
) -> Result<bool> {
    let values = (user_id.0, since.0, sender_id.0, code);
    statement(connection, IS_NOTIFIED)?.query_row(values, |row| row.get(0)).map_err(translate)
}

pub(super) fn insert(connection: &Connection, notification: &Notification) -> Result<()> {
    let Notification { id, user_id, subject, content, code, sender_id, create_time, .. } = notification;
    let values = (id.0, user_id.0, subject, content, code, sender_id.0, create_time.0);
    match statement(connection, INSERT)?.execute(values) {
        Ok(_) => Ok(()),
        Err(error) if is_missing_owner(&error) => Err(messages::missing_user("receiver of a notification")),
        Err(error) => Err(translate(error)),
    }
}

/// Reads a notification from the columns of [`LIST`].
fn notification(row: &Row<'_>) -> rusqlite::Result<Notification> {
    Ok(Notification {
        id: NotificationId(row.get(0)?),
        user_id: UserId(row.get(1)?),
        subject: row.get(2)?,
        content: row.get(3)?,
        code: row.get(4)?,
        sender_id: UserId(row.get(5)?),
        create_time: Timestamp(row.get(6)?),
        persistent: true,
    })
}
