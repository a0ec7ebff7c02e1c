//! Chat messages on SQLite. Appending a message is one statement of the writer.

use muster_domain::ports::PortFuture;
use muster_domain::ports::chat::{
    ChatStore, Message, MessageChange, MessageCode, MessagePosition, MessageQuery, MessageRef, MessageUpdate,
};
use muster_domain::ports::storage::Authority;
use muster_domain::{GroupId, MessageId, Timestamp, UserId};
use rusqlite::{Connection, Params, Row};

use super::error::{is_missing_owner, translate};
use super::sql::{Result, exists, one, statement};
use super::{SqliteStore, usage};
use crate::limits;
use crate::messages::{self, FRIEND_STATE_BLOCKED, GROUP_STATE_MEMBER};

const INSERT: &str = "INSERT INTO message (id, code, sender_id, username, stream_mode, stream_subject, \
     stream_descriptor, stream_label, content, create_time, update_time) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const UPDATE: &str = "UPDATE message SET username = ?7, content = ?8, update_time = ?9 WHERE sender_id = ?1 \
     AND id = ?2 AND stream_mode = ?3 AND stream_subject = ?4 AND stream_descriptor = ?5 AND stream_label = ?6 \
     RETURNING create_time";
const DELETE: &str = "DELETE FROM message WHERE sender_id = ?1 AND id = ?2 AND stream_mode = ?3 \
     AND stream_subject = ?4 AND stream_descriptor = ?5 AND stream_label = ?6 RETURNING create_time";
const ANY: &str = "SELECT 1 FROM message WHERE id = ?1";

/// The query for a page of a channel's history behind a position.
macro_rules! list {
    ($behind:literal, $order:literal) => {
        concat!(
            "SELECT id, code, sender_id, username, content, create_time, update_time FROM message \
             WHERE stream_mode = ?1 AND stream_subject = ?2 AND stream_descriptor = ?3 AND stream_label = ?4 \
             AND (create_time, id) ",
            $behind,
            " (?5, ?6) ORDER BY create_time ",
            $order,
            ", id ",
            $order,
            " LIMIT ?7"
        )
    };
}
pub(crate) const LIST_FORWARDS: &str = list!(">", "ASC");
pub(crate) const LIST_BACKWARDS: &str = list!("<", "DESC");

const MAY_ADDRESS: &str = "SELECT 1 FROM users WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM user_edge \
     WHERE source_id = ?1 AND destination_id = ?2 AND state = ?3)";
const MEMBER: &str = "SELECT 1 FROM group_edge WHERE source_id = ?1 AND destination_id = ?2 AND state <= ?3";

impl ChatStore for SqliteStore {
    fn append_message<'a>(&'a self, authority: Authority, message: &'a Message) -> PortFuture<'a, ()> {
        Box::pin(async move {
            limits::message(message)?;
            let (message, quotas) = (message.clone(), self.inner.quotas);
            let appended = self.write(move |connection| {
                if let Authority::Client(sender) = authority {
                    usage::say(connection, &quotas, sender, message.content.len(), message.create_time)?;
                }
                append(connection, &message)
            });
            appended.await.inspect_err(|error| self.metrics().count_refusal(error))
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
            let (message, update, quotas) = (message.clone(), update.clone(), self.inner.quotas);
            let changed = self.write(move |connection| {
                let MessageRef { id, channel, sender_id } = &message;
                let (parts, time) = (channel.parts(), update.update_time.0);
                let values = (
                    sender_id.0,
                    id.0,
                    parts.mode,
                    parts.subject,
                    parts.subcontext,
                    parts.label,
                    &update.username,
                    &update.content,
                    time,
                );
                let changed = change(connection, UPDATE, values, &message)?;
                if let (Authority::Client(sender), MessageChange::Done { .. }) = (authority, changed) {
                    usage::say(connection, &quotas, sender, update.content.len(), update.update_time)?;
                }
                Ok(changed)
            });
            changed.await.inspect_err(|error| self.metrics().count_refusal(error))
        })
    }

    fn remove_message<'a>(&'a self, message: &'a MessageRef) -> PortFuture<'a, MessageChange> {
        Box::pin(async move {
            let message = message.clone();
            self.write(move |connection| {
                let MessageRef { id, channel, sender_id } = &message;
                let parts = channel.parts();
                let values = (sender_id.0, id.0, parts.mode, parts.subject, parts.subcontext, parts.label);
                change(connection, DELETE, values, &message)
            })
            .await
        })
    }

    fn list_messages<'a>(&'a self, query: &'a MessageQuery) -> PortFuture<'a, (Vec<Message>, bool)> {
        Box::pin(async move {
            let query = query.clone();
            self.read(move |connection| list(connection, &query)).await
        })
    }

    fn may_address(&self, from: UserId, to: UserId) -> PortFuture<'_, bool> {
        Box::pin(async move {
            self.read(move |connection| exists(connection, MAY_ADDRESS, (to.0, from.0, FRIEND_STATE_BLOCKED))).await
        })
    }

    fn is_group_member(&self, group_id: GroupId, user_id: UserId) -> PortFuture<'_, bool> {
        Box::pin(async move {
            self.read(move |connection| exists(connection, MEMBER, (group_id.0, user_id.0, GROUP_STATE_MEMBER))).await
        })
    }
}

fn append(connection: &Connection, message: &Message) -> Result<()> {
    let parts = message.channel.parts();
    let values = (
        message.id.0,
        message.code.0,
        message.sender_id.0,
        &message.username,
        parts.mode,
        parts.subject,
        parts.subcontext,
        parts.label,
        &message.content,
        message.create_time.0,
        message.update_time.0,
    );
    match statement(connection, INSERT)?.execute(values) {
        Ok(_) => Ok(()),
        Err(error) if is_missing_owner(&error) => Err(messages::missing_user("sender")),
        Err(error) => Err(translate(error)),
    }
}

/// Runs a statement that changes the message and answers when the message was created. If no row matches, tells a
/// message of another sender or channel from one that does not exist.
fn change(connection: &Connection, sql: &str, values: impl Params, message: &MessageRef) -> Result<MessageChange> {
    if let Some(create_time) = one(connection, sql, values, |row| row.get(0).map(Timestamp))? {
        return Ok(MessageChange::Done { create_time });
    }
    let is_there = exists(connection, ANY, [message.id.0])?;
    Ok(if is_there { MessageChange::Foreign } else { MessageChange::Missing })
}

fn list(connection: &Connection, query: &MessageQuery) -> Result<(Vec<Message>, bool)> {
    let (parts, MessagePosition { create_time, id }) = (query.channel.parts(), messages::start(query));
    let sql = if query.backwards { LIST_BACKWARDS } else { LIST_FORWARDS };
    let limit = i64::from(query.limit) + 1;
    let values = (parts.mode, parts.subject, parts.subcontext, parts.label, create_time.0, id.0, limit);
    let mut rows = statement(connection, sql)?;
    let rows = rows.query_map(values, |row| message(query, row)).map_err(translate)?;
    let mut found = rows.collect::<rusqlite::Result<Vec<Message>>>().map_err(translate)?;
    let more = found.len() > query.limit as usize;
    found.truncate(query.limit as usize);
    Ok((found, more))
}

/// Reads a message from the columns of `list!`.
fn message(query: &MessageQuery, row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: MessageId(row.get(0)?),
        channel: query.channel.clone(),
        code: MessageCode(row.get(1)?),
        sender_id: UserId(row.get(2)?),
        username: row.get(3)?,
        content: row.get(4)?,
        create_time: Timestamp(row.get(5)?),
        update_time: Timestamp(row.get(6)?),
        persistent: true,
    })
}
