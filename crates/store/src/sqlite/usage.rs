//! Counts of what accounts hold and send, for the quotas on SQLite. They change in the transaction of the client's
//! write.

use muster_domain::UserId;
use muster_domain::limits::{COUNT_AGE_SEC, REFUSING_COUNT_AGE_SEC};
use muster_domain::ports::store::StoreError;
use muster_domain::quotas::{Quota, Quotas};
use muster_domain::time::Timestamp;
use rusqlite::Connection;

use super::sql::{Result, execute, exists, one};
use crate::objects;

/// Change by a write of the number and size of an account's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) objects: i64,
    pub(super) bytes: i64,
}

#[derive(Clone, Copy)]
struct Held {
    objects: i64,
    bytes: i64,
    counted_at: Timestamp,
}

/// Whether an account has been counted lately enough for its writes to be let through.
pub(super) fn is_counted(connection: &Connection, owner: UserId, now: Timestamp) -> Result<bool> {
    let held = held(connection, owner)?;
    Ok(held.is_some_and(|held| held.counted_at > now.plus_seconds(-COUNT_AGE_SEC)))
}

/// Counts a client's write of an object before it is made.
///
/// # Errors
/// `Exceeded` when the account would have more than its quotas, and more than before.
pub(super) fn grow(connection: &Connection, quotas: &Quotas, owner: UserId, growth: Growth) -> Result<()> {
    let Some(before) = held(connection, owner)? else { return Ok(()) };
    match exceeded(quotas, before, growth) {
        Some(quota) => Err(StoreError::Exceeded(quota)),
        None => add_to(connection, owner, growth),
    }
}

/// Changes the count of an account that has one.
pub(super) fn add_to(connection: &Connection, owner: UserId, growth: Growth) -> Result<()> {
    let sql = "UPDATE muster_object_usage SET objects = max(0, objects + ?2), bytes = max(0, bytes + ?3) \
               WHERE user_id = ?1";
    execute(connection, sql, (owner.0, growth.objects, growth.bytes)).map(|_| ())
}

fn exceeded(quotas: &Quotas, before: Held, growth: Growth) -> Option<Quota> {
    if growth.objects > 0 && before.objects.saturating_add(growth.objects) > quotas.objects {
        return Some(Quota::Objects);
    }
    let bytes = before.bytes.saturating_add(growth.bytes);
    (growth.bytes > 0 && bytes > quotas.object_bytes).then_some(Quota::ObjectBytes)
}

fn held(connection: &Connection, owner: UserId) -> Result<Option<Held>> {
    let sql = "SELECT objects, bytes, counted_at FROM muster_object_usage WHERE user_id = ?1";
    one(connection, sql, [owner.0], |row| {
        Ok(Held { objects: row.get(0)?, bytes: row.get(1)?, counted_at: Timestamp(row.get(2)?) })
    })
}

/// Counts all objects of an account, unless that was done a short while ago. Answers whether it was done now. This is a
/// job of its own: the count stays when the write that asked for it is refused.
pub(super) fn count(connection: &Connection, owner: UserId, now: Timestamp) -> Result<bool> {
    if !exists(connection, "SELECT 1 FROM users WHERE id = ?1", [owner.0])? {
        return Err(objects::missing_owner());
    }
    let known = held(connection, owner)?;
    if known.is_some_and(|held| held.counted_at > now.plus_seconds(-REFUSING_COUNT_AGE_SEC)) {
        return Ok(false);
    }
    let sql = "SELECT count(*), coalesce(sum(octet_length(value)), 0) FROM storage WHERE user_id = ?1";
    let found = one(connection, sql, [owner.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: (i64, i64) = found.unwrap_or_default();
    let sql =
        "INSERT OR REPLACE INTO muster_object_usage (user_id, objects, bytes, counted_at) VALUES (?1, ?2, ?3, ?4)";
    execute(connection, sql, (owner.0, found.0, found.1, now.0))?;
    Ok(true)
}

/// Counts a message that a client has sent, or changed, and that is kept. If the clock is set back at midnight, the
/// later day holds.
///
/// # Errors
/// `Exceeded` when the sender has had as many, or as many bytes, kept on that day.
pub(super) fn say(
    connection: &Connection,
    quotas: &Quotas,
    sender: UserId,
    content_bytes: usize,
    now: Timestamp,
) -> Result<()> {
    let sql = "SELECT day, messages, bytes FROM muster_message_usage WHERE user_id = ?1";
    let known: Option<(i64, i64, i64)> =
        one(connection, sql, [sender.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let today = now.days();
    let same = known.filter(|(day, ..)| (0..=1).contains(&(day - today)));
    let (day, messages, bytes) = same.unwrap_or((today, 0, 0));
    let (messages, bytes) = (messages + 1, bytes + i64::try_from(content_bytes).unwrap_or(i64::MAX));
    if messages > quotas.messages {
        return Err(StoreError::Exceeded(Quota::Messages));
    }
    if bytes > quotas.message_bytes {
        return Err(StoreError::Exceeded(Quota::MessageBytes));
    }
    let sql = "INSERT OR REPLACE INTO muster_message_usage (user_id, day, messages, bytes) VALUES (?1, ?2, ?3, ?4)";
    execute(connection, sql, (sender.0, day, messages, bytes)).map(|_| ())
}
