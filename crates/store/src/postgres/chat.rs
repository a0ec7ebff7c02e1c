//! Chat messages on PostgreSQL. Each operation is one statement.

use muster_domain::ports::PortFuture;
use muster_domain::ports::chat::{
    ChatStore, Message, MessageChange, MessageCode, MessagePosition, MessageQuery, MessageRef, MessageUpdate,
};
use muster_domain::ports::storage::Authority;
use muster_domain::ports::store::StoreError;
use muster_domain::{GroupId, MessageId, UserId};
use tokio_postgres::Row;

use super::PostgresStore;
use super::fault::{Fault, is_missing_owner, translate};
use super::values::Moment;
use crate::limits;
use crate::messages::{self, FRIEND_STATE_BLOCKED, GROUP_STATE_MEMBER};

const INSERT: &str = "INSERT INTO message (id, code, sender_id, username, stream_mode, stream_subject, \
     stream_descriptor, stream_label, content, create_time, update_time) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb, $10, $11)";

/// A part of a statement that counts the messages of `$from` on the day of their sender. If the clocks of two servers
/// differ at midnight, the later day holds.
macro_rules! count_message {
    ($from:literal) => {
        concat!(
            "counted AS (INSERT INTO muster_message_usage AS usage \
                 (user_id, day, messages, bytes, messages_max, bytes_max) ",
            $from,
            " ON CONFLICT (user_id) DO UPDATE SET \
                 day = CASE WHEN usage.day - excluded.day IN (0, 1) THEN usage.day ELSE excluded.day END, \
                 messages = excluded.messages \
                     + CASE WHEN usage.day - excluded.day IN (0, 1) THEN usage.messages ELSE 0 END, \
                 bytes = excluded.bytes + CASE WHEN usage.day - excluded.day IN (0, 1) THEN usage.bytes ELSE 0 END, \
                 messages_max = excluded.messages_max, bytes_max = excluded.bytes_max)"
        )
    };
}
/// In this statement $12 is the day, $13 and $14 are the quotas.
const COUNTED_INSERT: &str = concat!(
    "WITH ",
    count_message!("VALUES ($3::uuid, $12::bigint, 1, octet_length($9::text), $13::bigint, $14::bigint)"),
    " INSERT INTO message (id, code, sender_id, username, stream_mode, stream_subject, \
     stream_descriptor, stream_label, content, create_time, update_time) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb, $10, $11)"
);

/// A statement that changes a message. It answers one row with the message's creation time if the message was changed,
/// one row with NULL if the id belongs to a message of another sender or channel, and no row if the id is unknown.
macro_rules! changing {
    ($change:literal) => {
        concat!(
            "WITH changed AS (",
            $change,
            " WHERE sender_id = $1 AND id = $2 AND stream_mode = $3 AND stream_subject = $4 \
             AND stream_descriptor = $5 AND stream_label = $6 RETURNING create_time) \
             SELECT create_time FROM changed UNION ALL \
             SELECT NULL FROM message WHERE id = $2 AND NOT EXISTS (SELECT 1 FROM changed)"
        )
    };
}
/// In this statement $10 is the day, $11 and $12 are the quotas.
const COUNTED_UPDATE: &str = concat!(
    "WITH changed AS (UPDATE message SET username = $7, content = $8::text::jsonb, update_time = $9 \
         WHERE sender_id = $1 AND id = $2 AND stream_mode = $3 AND stream_subject = $4 \
         AND stream_descriptor = $5 AND stream_label = $6 RETURNING create_time), ",
    count_message!("SELECT $1::uuid, $10::bigint, 1, octet_length($8::text), $11::bigint, $12::bigint FROM changed"),
    " SELECT create_time FROM changed UNION ALL \
     SELECT NULL FROM message WHERE id = $2 AND NOT EXISTS (SELECT 1 FROM changed)"
);
const UPDATE: &str = changing!("UPDATE message SET username = $7, content = $8::text::jsonb, update_time = $9");
const DELETE: &str = changing!("DELETE FROM message");

/// The query for a page of a channel's history behind a position.
macro_rules! list {
    ($behind:literal, $order:literal) => {
        concat!(
            "SELECT id, code, sender_id, username, content::text, create_time, update_time FROM message \
             WHERE stream_mode = $1 AND stream_subject = $2 AND stream_descriptor = $3 AND stream_label = $4 \
             AND (create_time, id) ",
            $behind,
            " ($5, $6) ORDER BY create_time ",
            $order,
            ", id ",
            $order,
            " LIMIT $7"
        )
    };
}
pub(crate) const LIST_FORWARDS: &str = list!(">", "ASC");
pub(crate) const LIST_BACKWARDS: &str = list!("<", "DESC");

const MAY_ADDRESS: &str = "SELECT 1 FROM users WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM user_edge \
     WHERE source_id = $1 AND destination_id = $2 AND state = $3)";
const MEMBER: &str = "SELECT 1 FROM group_edge WHERE source_id = $1 AND destination_id = $2 AND state <= $3";

impl ChatStore for PostgresStore {
    fn append_message<'a>(&'a self, authority: Authority, message: &'a Message) -> PortFuture<'a, ()> {
        Box::pin(async move {
            limits::message(message)?;
            let parts = message.channel.parts();
            let values: super::Values<'_> = &[
                &message.id.0,
                &message.code.0,
                &message.sender_id.0,
                &message.username,
                &i16::from(parts.mode),
                &parts.subject,
                &parts.subcontext,
                &parts.label,
                &message.content,
                &Moment(message.create_time),
                &Moment(message.update_time),
                &message.create_time.days(),
                &self.quotas.messages,
                &self.quotas.message_bytes,
            ];
            let (sql, values) = match authority {
                Authority::Client(_) => (COUNTED_INSERT, values),
                Authority::Server => (INSERT, &values[..11]),
            };
            let insert = async || match self.query_once(sql, values).await {
                Err(Fault::Database(error)) if is_missing_owner(&error) => {
                    Err(Fault::Rule(messages::missing_user("sender")))
                }
                rows => rows.map(|_| ()),
            };
            self.attempts(insert).await.inspect_err(|error| self.metrics().count_refusal(error))
        })
    }

    fn update_message<'a>(
        &'a self,
        authority: Authority,
        message: &'a MessageRef,
        update: &'a MessageUpdate,
    ) -> PortFuture<'a, MessageChange> {
        Box::pin(async move {
            limits::username(&update.username)?;
            let MessageRef { id, channel, sender_id } = message;
            let parts = channel.parts();
            let values: super::Values<'_> = &[
                &sender_id.0,
                &id.0,
                &i16::from(parts.mode),
                &parts.subject,
                &parts.subcontext,
                &parts.label,
                &update.username,
                &update.content,
                &Moment(update.update_time),
                &update.update_time.days(),
                &self.quotas.messages,
                &self.quotas.message_bytes,
            ];
            let (sql, values) = match authority {
                Authority::Client(_) => (COUNTED_UPDATE, values),
                Authority::Server => (UPDATE, &values[..9]),
            };
            let rows = self.query(sql, values).await;
            change(&rows.inspect_err(|error| self.metrics().count_refusal(error))?)
        })
    }

    fn remove_message<'a>(&'a self, message: &'a MessageRef) -> PortFuture<'a, MessageChange> {
        Box::pin(async move {
            let MessageRef { id, channel, sender_id } = message;
            let parts = channel.parts();
            let mode = i16::from(parts.mode);
            let values: super::Values<'_> =
                &[&sender_id.0, &id.0, &mode, &parts.subject, &parts.subcontext, &parts.label];
            change(&self.query(DELETE, values).await?)
        })
    }

    fn list_messages<'a>(&'a self, query: &'a MessageQuery) -> PortFuture<'a, (Vec<Message>, bool)> {
        Box::pin(async move {
            let (parts, MessagePosition { create_time, id }) = (query.channel.parts(), messages::start(query));
            let sql = if query.backwards { LIST_BACKWARDS } else { LIST_FORWARDS };
            let (mode, limit) = (i16::from(parts.mode), i64::from(query.limit) + 1);
            let time = Moment(create_time);
            let values: super::Values<'_> =
                &[&mode, &parts.subject, &parts.subcontext, &parts.label, &time, &id.0, &limit];
            let rows = self.query(sql, values).await?;
            let more = rows.len() > query.limit as usize;
            let found = rows.iter().take(query.limit as usize).map(|row| read(query, row));
            Ok((found.collect::<Result<_, _>>().map_err(|error| translate(&error))?, more))
        })
    }

    fn may_address(&self, from: UserId, to: UserId) -> PortFuture<'_, bool> {
        Box::pin(
            async move { Ok(!self.query(MAY_ADDRESS, &[&to.0, &from.0, &FRIEND_STATE_BLOCKED]).await?.is_empty()) },
        )
    }

    fn is_group_member(&self, group_id: GroupId, user_id: UserId) -> PortFuture<'_, bool> {
        Box::pin(
            async move { Ok(!self.query(MEMBER, &[&group_id.0, &user_id.0, &GROUP_STATE_MEMBER]).await?.is_empty()) },
        )
    }
}

/// Reads the answer of a `changing!` statement.
fn change(rows: &[Row]) -> Result<MessageChange, StoreError> {
    let Some(row) = rows.first() else { return Ok(MessageChange::Missing) };
    let create_time: Option<Moment> = row.try_get(0).map_err(|error| translate(&error))?;
    Ok(create_time.map_or(MessageChange::Foreign, |Moment(create_time)| MessageChange::Done { create_time }))
}

/// Reads a message from the columns of `list!`.
fn read(query: &MessageQuery, row: &Row) -> Result<Message, tokio_postgres::Error> {
    let time = |column| row.try_get::<_, Moment>(column).map(|moment| moment.0);
    Ok(Message {
        id: MessageId(row.try_get(0)?),
        channel: query.channel.clone(),
        code: MessageCode(row.try_get(1)?),
        sender_id: UserId(row.try_get(2)?),
        username: row.try_get(3)?,
        content: row.try_get(4)?,
        create_time: time(5)?,
        update_time: time(6)?,
        persistent: true,
    })
}
