//! Revocations on SQLite.

use muster_domain::ports::PortFuture;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::revocations::{Revocation, RevocationRow, RevocationStore, RevokedTokens};
use muster_domain::time::Timestamp;
use muster_domain::{Subject, TokenId};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::SqliteStore;
use super::error::translate;
use super::job_epochs::take_job_epoch;
use super::sql::{Result, execute, statement};
use crate::revocations::{reason, reason_columns};

const INSERT: &str = "INSERT INTO muster_revocation \
     (subject, token_id, keep_token_id, all_tokens, revoked_at, expires_at, close_sockets, banned) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
/// Two searches, each with an index, instead of one search through the whole table. `UNION` drops rows that both find.
const AFTER: &str = "SELECT sequence, subject, token_id, keep_token_id, all_tokens, revoked_at, expires_at, \
     close_sockets, banned FROM muster_revocation WHERE sequence > ?1 \
     UNION SELECT sequence, subject, token_id, keep_token_id, all_tokens, revoked_at, expires_at, \
     close_sockets, banned FROM muster_revocation WHERE revoked_at > ?2 ORDER BY 1";

impl RevocationStore for SqliteStore {
    fn revoke<'a>(&'a self, revocations: &'a [Revocation]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let revocations = revocations.to_vec();
            self.write(move |connection| revocations.iter().try_for_each(|revocation| insert(connection, revocation)))
                .await
        })
    }

    fn revocations_after(&self, sequence: i64, since: Timestamp) -> PortFuture<'_, Vec<RevocationRow>> {
        Box::pin(self.read(move |connection| {
            let mut rows = statement(connection, AFTER)?;
            let rows = rows.query_map((sequence, since.0), revocation).map_err(translate)?;
            rows.collect::<rusqlite::Result<_>>().map_err(translate)
        }))
    }

    fn prune_revocations(&self, now: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(self.write(move |connection| {
            take_job_epoch(connection, job_epoch)?;
            let sql = "DELETE FROM muster_revocation WHERE expires_at < ?1";
            execute(connection, sql, [now.0]).map(|removed| removed as u64)
        }))
    }
}

/// Adds a revocation, as part of the caller's transaction.
pub(super) fn insert(connection: &Connection, revocation: &Revocation) -> Result<()> {
    let (token, keep, all) = match revocation.tokens {
        RevokedTokens::Token(token) => (Some(token.0), None, false),
        RevokedTokens::AllBut(keep) => (None, keep.map(|keep| keep.0), true),
    };
    let (revoked_at, expires_at) = (revocation.revoked_at.0, revocation.expires_at.0);
    let subject = Uuid::from_bytes(revocation.subject.0);
    let (close_sockets, banned) = reason_columns(revocation.reason);
    let values = (subject, token, keep, all, revoked_at, expires_at, close_sockets, banned);
    execute(connection, INSERT, values).map(|_| ())
}

fn revocation(row: &Row<'_>) -> rusqlite::Result<RevocationRow> {
    let token: Option<Uuid> = row.get(2)?;
    let keep: Option<Uuid> = row.get(3)?;
    let all: bool = row.get(4)?;
    let tokens = match token {
        Some(token) if !all => RevokedTokens::Token(TokenId(token)),
        _ => RevokedTokens::AllBut(keep.map(TokenId)),
    };
    Ok(RevocationRow {
        sequence: row.get(0)?,
        revocation: Revocation {
            subject: Subject(row.get::<_, Uuid>(1)?.into_bytes()),
            tokens,
            revoked_at: Timestamp(row.get(5)?),
            expires_at: Timestamp(row.get(6)?),
            reason: reason(row.get(7)?, row.get(8)?),
        },
    })
}
