//! Removal of an account on PostgreSQL, table by table, so that nothing is left that the player wrote or owned.
//!
//! The same statements for SQLite say which rows are kept, and why. The original's tables have no index on the sender
//! of a notification or on the creator of a group, and none is added. Those steps read the whole table.

use muster_domain::UserId;
use muster_domain::time::Timestamp;
use uuid::Uuid;

use super::fault::Fault;
use super::pool::PooledConnection;
use super::values::Moment;
use crate::limits::STREAM_MODE_GROUP;

/// Statements that delete or change the remaining rows, in this order; $1 is the user.
const STATEMENTS: &[&str] = &[
    "UPDATE users SET edge_count = greatest(edge_count - 1, 0) \
     WHERE id IN (SELECT source_id FROM user_edge WHERE destination_id = $1)",
    "DELETE FROM user_edge WHERE source_id = $1 OR destination_id = $1",
    "DELETE FROM group_edge WHERE source_id = $1 OR destination_id = $1",
    "UPDATE groups SET creator_id = '00000000-0000-0000-0000-000000000000' WHERE creator_id = $1",
    "DELETE FROM notification WHERE user_id = $1 OR sender_id = $1",
    "DELETE FROM message WHERE sender_id = $1",
    "DELETE FROM leaderboard_record WHERE owner_id = $1",
    "DELETE FROM wallet_ledger WHERE user_id = $1",
    "DELETE FROM storage WHERE user_id = $1",
    "DELETE FROM muster_object_usage WHERE user_id = $1",
    "DELETE FROM muster_message_usage WHERE user_id = $1",
    "DELETE FROM users_notes WHERE user_id = $1",
    "DELETE FROM user_device WHERE user_id = $1",
    "UPDATE purchase SET user_id = '00000000-0000-0000-0000-000000000000' WHERE user_id = $1",
    "UPDATE subscription SET user_id = '00000000-0000-0000-0000-000000000000' WHERE user_id = $1",
    "DELETE FROM user_tombstone WHERE user_id = $1",
    "DELETE FROM users WHERE id = $1",
];

/// Deletes an account inside the caller's transaction, see
/// [`muster_domain::ports::accounts::AccountStore::delete_account`].
pub(super) async fn delete_account(
    connection: &PooledConnection,
    user_id: UserId,
    recorded: bool,
    now: Timestamp,
) -> Result<bool, Fault> {
    if user_id == UserId::SYSTEM {
        return Ok(false);
    }
    let id = user_id.0;
    let rows = connection.query("SELECT email FROM users WHERE id = $1 FOR UPDATE", &[&id]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let email: Option<String> = row.try_get(0)?;
    leave_groups(connection, id, now).await?;
    redact_audit_log(connection, id, email).await?;
    for sql in STATEMENTS {
        connection.query(sql, &[&id]).await?;
    }
    if recorded {
        let sql = "INSERT INTO user_tombstone (user_id, create_time) VALUES ($1, $2)";
        connection.query(sql, &[&id, &Moment(now)]).await?;
    }
    Ok(true)
}

/// Removes the user from all groups. A group without other members is deleted. Otherwise its most senior member becomes
/// superadmin, if that member is not one already.
async fn leave_groups(connection: &PooledConnection, id: Uuid, now: Timestamp) -> Result<(), Fault> {
    let sql = "SELECT id FROM groups WHERE id IN \
               (SELECT source_id FROM group_edge WHERE destination_id = $1 AND state <= 2) ORDER BY id FOR UPDATE";
    for row in connection.query(sql, &[&id]).await? {
        let group: Uuid = row.try_get(0)?;
        let sql = "SELECT destination_id, state FROM group_edge WHERE source_id = $1 AND destination_id <> $2 \
                   AND state <= 2 ORDER BY state, position LIMIT 1";
        match connection.query(sql, &[&group, &id]).await?.first() {
            None => delete_group(connection, group).await?,
            Some(heir) => hand_over(connection, group, heir.try_get(0)?, heir.try_get(1)?, now).await?,
        }
    }
    Ok(())
}

async fn hand_over(
    connection: &PooledConnection,
    group: Uuid,
    heir: Uuid,
    heir_state: i16,
    now: Timestamp,
) -> Result<(), Fault> {
    let sql = "UPDATE groups SET edge_count = greatest(edge_count - 1, 1), update_time = $2 WHERE id = $1";
    connection.query(sql, &[&group, &Moment(now)]).await?;
    if heir_state > 0 {
        let sql = "UPDATE group_edge SET state = 0, update_time = $3 WHERE source_id = $1 AND destination_id = $2";
        connection.query(sql, &[&group, &heir, &Moment(now)]).await?;
        connection.query(sql, &[&heir, &group, &Moment(now)]).await?;
    }
    Ok(())
}

async fn delete_group(connection: &PooledConnection, group: Uuid) -> Result<(), Fault> {
    connection.query("DELETE FROM group_edge WHERE source_id = $1 OR destination_id = $1", &[&group]).await?;
    let sql = "DELETE FROM message WHERE stream_mode = $2 AND stream_subject = $1";
    connection.query(sql, &[&group, &STREAM_MODE_GROUP]).await?;
    connection.query("DELETE FROM groups WHERE id = $1", &[&group]).await?;
    Ok(())
}

/// Replaces the player's id and e-mail address in the audit log, and keeps the operators' entries. The address is
/// replaced only in rows that contain the player's id: addresses are not verified, so a player could choose one that
/// rewrites other rows.
async fn redact_audit_log(connection: &PooledConnection, id: Uuid, email: Option<String>) -> Result<(), Fault> {
    let (id, nobody) = (id.to_string(), Uuid::nil().to_string());
    // Without an address the id takes its place, and is replaced by the first of two equal replacements.
    let email = email.filter(|email| !email.is_empty()).unwrap_or_else(|| id.clone());
    let sql = "UPDATE console_audit_log SET message = replace(replace(message, $2, $3), $1, $3), \
               metadata = \
               replace(replace(metadata::text, to_json($2::text)::text, to_json($3::text)::text), $1, $3)::jsonb \
               WHERE strpos(message, $1) > 0 OR strpos(metadata::text, $1) > 0";
    connection.query(sql, &[&id, &email, &nobody]).await?;
    Ok(())
}
