//! All that is stored of one player on PostgreSQL, as JSON by table. One statement, so one snapshot.

use muster_domain::ports::store::StoreError;
use muster_domain::{Subject, UserId};

use super::PostgresStore;

/// The export. $1 is the player's id, $2 the id as text, $3 the player's pseudonym. The password's hash is left out: a
/// stolen export must not help anyone to guess passwords.
const EXPORT: &str = "SELECT json_object_agg(name, content)::text FROM (VALUES \
     ('users', (SELECT json_agg(to_jsonb(t) - 'password') FROM users t WHERE id = $1)), \
     ('user_device', (SELECT json_agg(t) FROM user_device t WHERE user_id = $1)), \
     ('user_edge', (SELECT json_agg(t) FROM user_edge t WHERE source_id = $1 OR destination_id = $1)), \
     ('user_tombstone', (SELECT json_agg(t) FROM user_tombstone t WHERE user_id = $1)), \
     ('users_notes', (SELECT json_agg(t) FROM users_notes t WHERE user_id = $1)), \
     ('notification', (SELECT json_agg(t) FROM notification t WHERE user_id = $1 OR sender_id = $1)), \
     ('storage', (SELECT json_agg(t) FROM storage t WHERE user_id = $1)), \
     ('message', (SELECT json_agg(t) FROM message t WHERE sender_id = $1 \
         OR (stream_mode = 4 AND (stream_subject = $1 OR stream_descriptor = $1)))), \
     ('leaderboard_record', (SELECT json_agg(t) FROM leaderboard_record t WHERE owner_id = $1)), \
     ('wallet_ledger', (SELECT json_agg(t) FROM wallet_ledger t WHERE user_id = $1)), \
     ('groups', (SELECT json_agg(t) FROM groups t WHERE creator_id = $1)), \
     ('group_edge', (SELECT json_agg(t) FROM group_edge t WHERE source_id = $1 OR destination_id = $1)), \
     ('purchase', (SELECT json_agg(t) FROM purchase t WHERE user_id = $1)), \
     ('subscription', (SELECT json_agg(t) FROM subscription t WHERE user_id = $1)), \
     ('console_audit_log', (SELECT json_agg(t) FROM console_audit_log t \
         WHERE strpos(message, $2) > 0 OR strpos(metadata::text, $2) > 0)), \
     ('muster_object_usage', (SELECT json_agg(t) FROM muster_object_usage t WHERE user_id = $1)), \
     ('muster_message_usage', (SELECT json_agg(t) FROM muster_message_usage t WHERE user_id = $1)), \
     ('muster_revocation', (SELECT json_agg(t) FROM muster_revocation t WHERE subject = $3)) \
     ) AS tables (name, content) WHERE content IS NOT NULL AND EXISTS (SELECT 1 FROM users WHERE id = $1)";

/// Exports an account, see [`muster_domain::ports::accounts::AccountStore::export_account`].
pub(super) async fn export_account(store: &PostgresStore, user_id: UserId) -> Result<Option<String>, StoreError> {
    let subject = Subject::from(user_id).0.to_vec();
    let values: super::Values<'_> = &[&user_id.0, &user_id.to_string(), &subject];
    let exported = store.query_one(EXPORT, values, |row| row.try_get::<_, Option<String>>(0)).await?;
    Ok(exported.flatten())
}
