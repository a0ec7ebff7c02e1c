//! Keyed writes on PostgreSQL: one transaction contains the write and its outcome under the key.

use muster_domain::ids::Uuid;
use muster_domain::ports::PortFuture;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::keyed_writes::{END_TICK, KeyedWriteStore, LatestWrite};
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;
use tokio_postgres::Row;

use super::PostgresStore;
use super::fault::{self, Fault};
use super::job_epochs::{Removal, removal};
use super::pool::PooledConnection;
use super::values::Moment;
use crate::keyed_writes::{FORMAT, KeyedRequest, KeyedWrite, KnownWrite};

/// Inserts the key, unless the write that it follows is missing. A transaction that finds the key taken waits here
/// until the transaction that took it has ended.
const CLAIM: &str = "INSERT INTO muster_effect (match_id, tick, ordinal, fingerprint, format, outcome, create_time) \
     SELECT $1::uuid, $2::bigint, $3::bigint, $4::bytea, $5::smallint, '', $6::timestamptz \
     WHERE $7::bigint IS NULL OR EXISTS (SELECT 1 FROM muster_effect \
     WHERE match_id = $1::uuid AND (tick, ordinal) >= ($7::bigint, $8::bigint) AND tick < 9223372036854775807) \
     ON CONFLICT (match_id, tick, ordinal) DO NOTHING RETURNING 1";
const HAS_FROM: &str = "SELECT 1 FROM muster_effect WHERE match_id = $1 AND (tick, ordinal) >= ($2, $3) \
     AND tick < 9223372036854775807 LIMIT 1";
const LATEST: &str = "SELECT DISTINCT ON (match_id) match_id, tick, ordinal, create_time FROM muster_effect \
     WHERE match_id = ANY($1) ORDER BY match_id, tick DESC, ordinal DESC";
const LATEST_OF_ALL: &str = "SELECT DISTINCT ON (match_id) match_id, tick, ordinal, create_time FROM muster_effect \
     ORDER BY match_id, tick DESC, ordinal DESC";
const KNOWN: &str = "SELECT fingerprint, format, outcome FROM muster_effect \
     WHERE match_id = $1 AND tick = $2 AND ordinal = $3";
const KEEP: &str = "UPDATE muster_effect SET outcome = $4 WHERE match_id = $1 AND tick = $2 AND ordinal = $3";
const FORGET: &str = "WITH gone AS (DELETE FROM muster_effect AS one WHERE match_id = $1 AND tick <= $2 \
     AND EXISTS (SELECT 1 FROM muster_effect AS later WHERE later.match_id = $1 \
     AND (later.tick, later.ordinal) > (one.tick, one.ordinal)) RETURNING 1) SELECT count(*) FROM gone";
const END: &str = "WITH gone AS (DELETE FROM muster_effect WHERE match_id = $1::uuid AND tick < $2::bigint \
     RETURNING 1) INSERT INTO muster_effect (match_id, tick, ordinal, fingerprint, format, outcome, create_time) \
     SELECT $1::uuid, $2::bigint, 0, ''::bytea, 0::smallint, '', $3::timestamptz WHERE EXISTS (SELECT 1 FROM gone) \
     ON CONFLICT (match_id, tick, ordinal) DO NOTHING";
const EXPIRED: Removal = removal!(
    "muster_effect",
    "create_time",
    // The tick of an end is `END_TICK`.
    "(tick = 9223372036854775807 OR EXISTS (SELECT 1 FROM muster_effect AS later \
     WHERE later.match_id = muster_effect.match_id \
     AND (later.tick, later.ordinal) > (muster_effect.tick, muster_effect.ordinal)))"
);

impl KeyedWriteStore for PostgresStore {
    fn forget_keyed_writes(&self, match_id: Uuid, tick: i64) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let forgotten = self.query_one(FORGET, &[&match_id, &tick], |row| row.try_get::<_, i64>(0)).await?;
            Ok(u64::try_from(forgotten.unwrap_or(0)).unwrap_or(0))
        })
    }

    fn end_keyed_writes(&self, match_id: Uuid, now: Timestamp) -> PortFuture<'_, ()> {
        Box::pin(async move { self.query(END, &[&match_id, &END_TICK, &Moment(now)]).await.map(drop) })
    }

    fn latest_keyed_writes(&self, matches: Option<Vec<Uuid>>) -> PortFuture<'_, Vec<(Uuid, LatestWrite)>> {
        Box::pin(async move {
            let rows = match &matches {
                Some(matches) => self.query(LATEST, &[matches]).await?,
                None => self.query(LATEST_OF_ALL, &[]).await?,
            };
            rows.iter().map(latest_write).collect::<Result<_, _>>().map_err(|error| fault::translate(&error))
        })
    }

    fn prune_keyed_writes(&self, before: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(self.remove_expired(&EXPIRED, before, job_epoch))
    }
}

/// A row of [`LATEST`] or [`LATEST_OF_ALL`].
fn latest_write(row: &Row) -> Result<(Uuid, LatestWrite), tokio_postgres::Error> {
    let (tick, ordinal) = (row.try_get(1)?, row.try_get::<_, i64>(2)?);
    let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
    Ok((row.try_get(0)?, LatestWrite { tick, ordinal, at: row.try_get::<_, Moment>(3)?.0 }))
}

/// Does `work` unless its outcome is known, and keeps the outcome.
///
/// The outer error means that the outcome could not be found or kept, and the transaction fails. The inner result is
/// the outcome. A refusal is an outcome too: it is kept, and the changes that `work` made before it are undone.
pub(super) async fn once<Request: KeyedRequest>(
    connection: &PooledConnection,
    write: &KeyedWrite,
    request: &Request,
    work: impl Future<Output = Result<Request::Outcome, Fault>>,
) -> Result<Result<Request::Outcome, StoreError>, Fault> {
    let (match_id, tick, ordinal) = (write.key.match_id, write.key.tick, i64::from(write.key.ordinal));
    let (after_tick, after_ordinal) = write.key.after.map(|(tick, ordinal)| (tick, i64::from(ordinal))).unzip();
    let claim: super::Values<'_> = &[
        &match_id,
        &tick,
        &ordinal,
        &&write.fingerprint[..],
        &FORMAT,
        &Moment(write.now),
        &after_tick,
        &after_ordinal,
    ];
    if connection.query(CLAIM, claim).await?.is_empty() {
        let rows = connection.query(KNOWN, &[&match_id, &tick, &ordinal]).await?;
        let Some(row) = rows.first() else {
            if let (Some(tick), Some(ordinal)) = (after_tick, after_ordinal)
                && connection.query(HAS_FROM, &[&match_id, &tick, &ordinal]).await?.is_empty()
            {
                return Err(Fault::Rule(StoreError::Restored));
            }
            // The outcome was forgotten between the two statements.
            return Err(Fault::Overtaken);
        };
        let known = KnownWrite { fingerprint: row.try_get(0)?, format: row.try_get(1)?, outcome: row.try_get(2)? };
        return Ok(write.outcome(known, request)?);
    }
    connection.control("SAVEPOINT effect").await?;
    let outcome = match work.await {
        Ok(done) => Ok(done),
        Err(fault) if fault.is_transient() => return Err(fault),
        Err(fault) => Err(fault.into_store_error()),
    };
    let Some(kept) = request.encode(&outcome) else { return outcome.map(Ok).map_err(Fault::Rule) };
    if outcome.is_err() {
        connection.control("ROLLBACK TO SAVEPOINT effect").await?;
    }
    connection.query(KEEP, &[&match_id, &tick, &ordinal, &kept]).await?;
    Ok(outcome)
}
