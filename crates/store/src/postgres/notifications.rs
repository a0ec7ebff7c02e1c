//! Notifications on PostgreSQL. Each operation is one statement.

use std::collections::BTreeMap;

use muster_domain::ports::PortFuture;
use muster_domain::ports::notifications::{Notification, NotificationPosition, NotificationStore, NotificationUpdate};
use muster_domain::{NotificationId, Timestamp, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::fault::{Fault, is_missing_owner, translate};
use super::pool::PooledConnection;
use super::values::Moment;
use crate::{limits, messages};

const INSERT: &str = "INSERT INTO notification (id, user_id, subject, content, code, sender_id, create_time) \
     SELECT id, user_id, subject, content::jsonb, code, sender_id, create_time FROM \
     unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int2[], $6::uuid[], $7::timestamptz[]) \
     AS sent (id, user_id, subject, content, code, sender_id, create_time)";
pub(crate) const LIST: &str = "SELECT id, user_id, subject, content::text, code, sender_id, create_time \
     FROM notification WHERE user_id = $1 AND (create_time, id) > ($2, $3) ORDER BY create_time, id LIMIT $4";
pub(crate) const IS_NOTIFIED: &str = "SELECT EXISTS (SELECT FROM notification \
     WHERE user_id = $1 AND create_time > $2 AND sender_id = $3 AND code = $4)";
const NOTIFIED: &str = "SELECT due.user_id, due.code FROM unnest($1::uuid[], $2::int2[]) AS due (user_id, code) \
     WHERE EXISTS (SELECT FROM notification AS known WHERE known.user_id = due.user_id AND known.create_time > $3 \
     AND known.sender_id = $4 AND known.code = due.code)";
const DELETE: &str = "DELETE FROM notification WHERE id = ANY ($1) AND user_id = coalesce($2::uuid, user_id)";
pub(crate) const GET: &str = "SELECT id, user_id, subject, content::text, code, sender_id, create_time \
     FROM notification WHERE id = ANY ($1) AND user_id = coalesce($2::uuid, user_id)";
const UPDATE: &str = "UPDATE notification n SET subject = coalesce(changed.subject, n.subject), \
     content = coalesce(changed.content::jsonb, n.content), sender_id = coalesce(changed.sender_id, n.sender_id) FROM \
     unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) AS changed (id, subject, content, sender_id) \
     WHERE n.id = changed.id";

impl NotificationStore for PostgresStore {
    fn save_notifications<'a>(&'a self, notifications: &'a [Notification]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            notifications.iter().try_for_each(limits::notification)?;
            self.attempts(async || {
                let connection = self.pool.shared().await?;
                insert(&connection, notifications).await
            })
            .await
        })
    }

    fn list_notifications(
        &self,
        user_id: UserId,
        behind: NotificationPosition,
        limit: u32,
    ) -> PortFuture<'_, Vec<Notification>> {
        Box::pin(async move {
            let NotificationPosition { create_time, id } = behind;
            let values: super::Values<'_> = &[&user_id.0, &Moment(create_time), &id.0, &i64::from(limit)];
            let rows = self.query(LIST, values).await?;
            rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| translate(&error))
        })
    }

    fn is_notified(&self, user_id: UserId, sender_id: UserId, code: i16, since: Timestamp) -> PortFuture<'_, bool> {
        Box::pin(async move {
            let values: super::Values<'_> = &[&user_id.0, &Moment(since), &sender_id.0, &code];
            Ok(self.query_one(IS_NOTIFIED, values, |row| row.try_get(0)).await?.unwrap_or(false))
        })
    }

    fn delete_notifications<'a>(&'a self, user_id: Option<UserId>, ids: &'a [NotificationId]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
            let owner = user_id.map(|user_id| user_id.0);
            self.query(DELETE, &[&ids, &owner]).await.map(|_| ())
        })
    }

    fn notifications<'a>(
        &'a self,
        user_id: Option<UserId>,
        ids: &'a [NotificationId],
    ) -> PortFuture<'a, Vec<Notification>> {
        Box::pin(async move {
            let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
            let owner = user_id.map(|user_id| user_id.0);
            let rows = self.query(GET, &[&ids, &owner]).await?;
            rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| translate(&error))
        })
    }

    fn update_notifications<'a>(&'a self, updates: &'a [NotificationUpdate]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            updates.iter().try_for_each(limits::notification_update)?;
            // Several updates of one notification are combined: the last value of each field counts, as if they were
            // run one by one.
            let mut last: BTreeMap<NotificationId, NotificationUpdate> = BTreeMap::new();
            for update in updates {
                let known = last.entry(update.id).or_insert_with(|| update.clone());
                known.subject = update.subject.clone().or(known.subject.take());
                known.content = update.content.clone().or(known.content.take());
                known.sender_id = update.sender_id.or(known.sender_id);
            }
            let each = || last.values();
            let ids: Vec<_> = each().map(|each| each.id.0).collect();
            let subjects: Vec<Option<&str>> = each().map(|each| each.subject.as_deref()).collect();
            let contents: Vec<Option<&str>> = each().map(|each| each.content.as_deref()).collect();
            let senders: Vec<_> = each().map(|each| each.sender_id.map(|sender_id| sender_id.0)).collect();
            self.query(UPDATE, &[&ids, &subjects, &contents, &senders]).await.map(|_| ())
        })
    }
}

/// Stores notifications inside the caller's transaction, or as one of their own.
pub(super) async fn insert(connection: &PooledConnection, notifications: &[Notification]) -> Result<(), Fault> {
    let each = || notifications.iter();
    let ids: Vec<_> = each().map(|each| each.id.0).collect();
    let receivers: Vec<_> = each().map(|each| each.user_id.0).collect();
    let subjects: Vec<&str> = each().map(|each| each.subject.as_str()).collect();
    let contents: Vec<&str> = each().map(|each| each.content.as_str()).collect();
    let codes: Vec<i16> = each().map(|each| each.code).collect();
    let senders: Vec<_> = each().map(|each| each.sender_id.0).collect();
    let times: Vec<Moment> = each().map(|each| Moment(each.create_time)).collect();
    let values: super::Values<'_> = &[&ids, &receivers, &subjects, &contents, &codes, &senders, &times];
    match connection.query(INSERT, values).await {
        Err(Fault::Database(error)) if is_missing_owner(&error) => {
            Err(Fault::Rule(messages::missing_user("receiver of a notification")))
        }
        rows => rows.map(|_| ()),
    }
}

/// Receivers and codes of those of these notifications, all by one sender, whose receivers have one of the same code by
/// the same sender that is later than `since`.
pub(super) async fn notified(
    connection: &PooledConnection,
    due: impl Iterator<Item = &Notification> + Clone,
    since: Timestamp,
) -> Result<Vec<(UserId, i16)>, Fault> {
    let Some(sender_id) = due.clone().next().map(|first| first.sender_id.0) else { return Ok(Vec::new()) };
    let (receivers, codes): (Vec<Uuid>, Vec<i16>) = due.map(|each| (each.user_id.0, each.code)).unzip();
    let rows = connection.query(NOTIFIED, &[&receivers, &codes, &Moment(since), &sender_id]).await?;
    rows.iter().map(|row| Ok((UserId(row.try_get(0)?), row.try_get(1)?))).collect()
}

/// Reads a notification from the columns of [`LIST`].
fn read(row: &Row) -> Result<Notification, tokio_postgres::Error> {
    Ok(Notification {
        id: NotificationId(row.try_get(0)?),
        user_id: UserId(row.try_get(1)?),
        subject: row.try_get(2)?,
        content: row.try_get(3)?,
        code: row.try_get(4)?,
        sender_id: UserId(row.try_get(5)?),
        create_time: row.try_get::<_, Moment>(6)?.0,
        persistent: true,
    })
}
