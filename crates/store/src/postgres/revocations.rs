//! Revocations on PostgreSQL.

use muster_domain::ports::PortFuture;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::revocations::{Revocation, RevocationRow, RevocationStore, RevokedTokens};
use muster_domain::time::Timestamp;
use muster_domain::{Subject, TokenId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::fault::{Fault, translate};
use super::job_epochs::{Removal, removal};
use super::pool::PooledConnection;
use super::values::Moment;
use crate::revocations::{reason, reason_columns};

pub(super) const INSERT: &str = "INSERT INTO muster_revocation \
     (subject, token_id, keep_token_id, all_tokens, revoked_at, expires_at, close_sockets, banned) \
     SELECT * FROM unnest($1::bytea[], $2::uuid[], $3::uuid[], $4::bool[], $5::timestamptz[], $6::timestamptz[], \
     $7::bool[], $8::bool[])";
const AFTER: &str = "SELECT sequence, subject, token_id, keep_token_id, all_tokens, revoked_at, expires_at, \
     close_sockets, banned FROM muster_revocation WHERE sequence > $1 OR revoked_at > $2 ORDER BY sequence";

const EXPIRED: Removal = removal!("muster_revocation", "expires_at");

/// The columns of rows to insert.
#[derive(Default)]
struct Columns {
    subjects: Vec<Vec<u8>>,
    tokens: Vec<Option<Uuid>>,
    keeps: Vec<Option<Uuid>>,
    alls: Vec<bool>,
    revoked_at: Vec<Moment>,
    expires_at: Vec<Moment>,
    close_sockets: Vec<bool>,
    banned: Vec<bool>,
}

impl RevocationStore for PostgresStore {
    fn revoke<'a>(&'a self, revocations: &'a [Revocation]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let rows = columns(revocations);
            self.attempts(async || {
                let connection = self.pool.shared().await?;
                insert_columns(&connection, &rows).await
            })
            .await
        })
    }

    fn revocations_after(&self, sequence: i64, since: Timestamp) -> PortFuture<'_, Vec<RevocationRow>> {
        Box::pin(async move {
            let rows = self.query(AFTER, &[&sequence, &Moment(since)]).await?;
            rows.iter().map(revocation).collect::<Result<_, _>>().map_err(|error| translate(&error))
        })
    }

    fn prune_revocations(&self, now: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(self.remove_expired(&EXPIRED, now, job_epoch))
    }
}

/// Adds a revocation, as part of the caller's transaction.
pub(super) async fn insert(connection: &PooledConnection, revocation: &Revocation) -> Result<(), Fault> {
    insert_columns(connection, &columns(&[*revocation])).await
}

async fn insert_columns(connection: &PooledConnection, rows: &Columns) -> Result<(), Fault> {
    let values: super::Values<'_> = &[
        &rows.subjects,
        &rows.tokens,
        &rows.keeps,
        &rows.alls,
        &rows.revoked_at,
        &rows.expires_at,
        &rows.close_sockets,
        &rows.banned,
    ];
    connection.query(INSERT, values).await?;
    Ok(())
}

fn columns(revocations: &[Revocation]) -> Columns {
    let mut rows = Columns::default();
    for revocation in revocations {
        let (token, keep, all) = match revocation.tokens {
            RevokedTokens::Token(token) => (Some(token.0), None, false),
            RevokedTokens::AllBut(keep) => (None, keep.map(|keep| keep.0), true),
        };
        rows.subjects.push(revocation.subject.0.to_vec());
        rows.tokens.push(token);
        rows.keeps.push(keep);
        rows.alls.push(all);
        rows.revoked_at.push(Moment(revocation.revoked_at));
        rows.expires_at.push(Moment(revocation.expires_at));
        let (close_sockets, banned) = reason_columns(revocation.reason);
        rows.close_sockets.push(close_sockets);
        rows.banned.push(banned);
    }
    rows
}

fn revocation(row: &Row) -> Result<RevocationRow, tokio_postgres::Error> {
    let token: Option<Uuid> = row.try_get(2)?;
    let keep: Option<Uuid> = row.try_get(3)?;
    let all: bool = row.try_get(4)?;
    let tokens = match token {
        Some(token) if !all => RevokedTokens::Token(TokenId(token)),
        _ => RevokedTokens::AllBut(keep.map(TokenId)),
    };
    let mut subject = [0; 16];
    // A subject of another length is cut or filled with zeros, and then matches no user.
    for (to, from) in subject.iter_mut().zip(row.try_get::<_, &[u8]>(1)?) {
        *to = *from;
    }
    Ok(RevocationRow {
        sequence: row.try_get(0)?,
        revocation: Revocation {
            subject: Subject(subject),
            tokens,
            revoked_at: row.try_get::<_, Moment>(5)?.0,
            expires_at: row.try_get::<_, Moment>(6)?.0,
            reason: reason(row.try_get(7)?, row.try_get(8)?),
        },
    })
}
