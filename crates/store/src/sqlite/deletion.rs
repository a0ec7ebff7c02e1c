//! Removal of an account on SQLite, table by table, so that nothing is left that the player wrote or owned.
//!
//! Three things are kept on purpose: purchases and subscriptions, under the nil user; revocations, under the user's
//! pseudonym; and the tombstone, when it is asked for. Texts that other players or the studio wrote belong to them and
//! stay unchanged: so does what a partner said in a direct conversation, although the conversation's stream is named
//! after both players.

use muster_domain::UserId;
use muster_domain::time::Timestamp;
use rusqlite::Connection;
use uuid::Uuid;

use super::error::translate;
use super::sql::{Result, execute, exists, one, statement};
use crate::limits::STREAM_MODE_GROUP;

/// Statements that delete or change the remaining rows, in this order; ?1 is the user.
const STATEMENTS: &[&str] = &[
    // Each friend loses one edge. A pair of users has at most one edge in each direction.
    "UPDATE users SET edge_count = max(edge_count - 1, 0) \
     WHERE id IN (SELECT source_id FROM user_edge WHERE destination_id = ?1)",
    "DELETE FROM user_edge WHERE source_id = ?1",
    "DELETE FROM user_edge WHERE destination_id = ?1",
    "DELETE FROM group_edge WHERE source_id = ?1",
    "DELETE FROM group_edge WHERE destination_id = ?1",
    "UPDATE groups SET creator_id = zeroblob(16) WHERE creator_id = ?1",
    "DELETE FROM notification WHERE user_id = ?1",
    "DELETE FROM notification WHERE sender_id = ?1",
    "DELETE FROM message WHERE sender_id = ?1",
    "DELETE FROM leaderboard_record WHERE owner_id = ?1",
    "DELETE FROM wallet_ledger WHERE user_id = ?1",
    "DELETE FROM storage WHERE user_id = ?1",
    "DELETE FROM muster_object_usage WHERE user_id = ?1",
    "DELETE FROM muster_message_usage WHERE user_id = ?1",
    "DELETE FROM users_notes WHERE user_id = ?1",
    "DELETE FROM user_device WHERE user_id = ?1",
    "UPDATE purchase SET user_id = zeroblob(16) WHERE user_id = ?1",
    "UPDATE subscription SET user_id = zeroblob(16) WHERE user_id = ?1",
    "DELETE FROM user_tombstone WHERE user_id = ?1",
    "DELETE FROM users WHERE id = ?1",
];

/// Deletes an account, see [`muster_domain::ports::accounts::AccountStore::delete_account`].
pub(super) fn delete_account(connection: &Connection, user_id: UserId, recorded: bool, now: Timestamp) -> Result<bool> {
    if user_id == UserId::SYSTEM {
        return Ok(false);
    }
    let id = user_id.0;
    let Some(email) = one(connection, "SELECT email FROM users WHERE id = ?1", [id], |row| row.get(0))? else {
        return Ok(false);
    };
    leave_groups(connection, id, now)?;
    redact_audit_log(connection, id, email)?;
    for sql in STATEMENTS {
        execute(connection, sql, [id])?;
    }
    if recorded {
        execute(connection, "INSERT INTO user_tombstone (user_id, create_time) VALUES (?1, ?2)", (id, now.0))?;
    }
    Ok(true)
}

/// Removes the user from all groups. A group without other members is deleted. Otherwise its most senior member becomes
/// superadmin, if that member is not one already.
fn leave_groups(connection: &Connection, id: Uuid, now: Timestamp) -> Result<()> {
    let sql = "SELECT source_id FROM group_edge WHERE destination_id = ?1 AND state <= 2";
    let mut memberships = statement(connection, sql)?;
    let groups = memberships.query_map([id], |row| row.get(0)).map_err(translate)?;
    let groups: Vec<Uuid> = groups.collect::<rusqlite::Result<_>>().map_err(translate)?;
    for group in groups {
        let sql = "SELECT destination_id, state FROM group_edge WHERE source_id = ?1 AND destination_id <> ?2 \
                   AND state <= 2 ORDER BY state, position LIMIT 1";
        match one(connection, sql, (group, id), |row| Ok((row.get(0)?, row.get(1)?)))? {
            None => delete_group(connection, group)?,
            Some((heir, state)) => hand_over(connection, group, heir, state, now)?,
        }
    }
    Ok(())
}

fn hand_over(connection: &Connection, group: Uuid, heir: Uuid, heir_state: i16, now: Timestamp) -> Result<()> {
    let sql = "UPDATE groups SET edge_count = max(edge_count - 1, 1), update_time = ?2 WHERE id = ?1";
    execute(connection, sql, (group, now.0))?;
    if heir_state > 0 {
        let sql = "UPDATE group_edge SET state = 0, update_time = ?3 WHERE source_id = ?1 AND destination_id = ?2";
        execute(connection, sql, (group, heir, now.0))?;
        execute(connection, sql, (heir, group, now.0))?;
    }
    Ok(())
}

fn delete_group(connection: &Connection, group: Uuid) -> Result<()> {
    execute(connection, "DELETE FROM group_edge WHERE source_id = ?1", [group])?;
    execute(connection, "DELETE FROM group_edge WHERE destination_id = ?1", [group])?;
    let sql = "DELETE FROM message WHERE stream_mode = ?2 AND stream_subject = ?1";
    execute(connection, sql, (group, STREAM_MODE_GROUP))?;
    execute(connection, "DELETE FROM groups WHERE id = ?1", [group])?;
    Ok(())
}

/// Replaces the player's id and e-mail address in the audit log, and keeps the operators' entries. The address is
/// replaced only in rows that contain the player's id: addresses are not verified, so a player could choose one that
/// rewrites other rows.
fn redact_audit_log(connection: &Connection, id: Uuid, email: Option<String>) -> Result<()> {
    let id = id.to_string();
    let sql = "SELECT 1 FROM console_audit_log WHERE instr(message, ?1) OR instr(metadata, ?1)";
    if !exists(connection, sql, [&id])? {
        return Ok(());
    }
    let nobody = Uuid::nil().to_string();
    if let Some(email) = email.filter(|email| !email.is_empty()) {
        let quoted = serde_json::Value::from(email.as_str()).to_string();
        let sql = "UPDATE console_audit_log SET message = replace(message, ?2, ?4), \
                   metadata = replace(metadata, ?3, '\"' || ?4 || '\"') WHERE instr(message, ?1) OR instr(metadata, ?1)";
        execute(connection, sql, (&id, &email, &quoted, &nobody))?;
    }
    let sql = "UPDATE console_audit_log SET message = replace(message, ?1, ?2), \
               metadata = replace(metadata, ?1, ?2) WHERE instr(message, ?1) OR instr(metadata, ?1)";
    execute(connection, sql, (&id, &nobody))?;
    Ok(())
}
