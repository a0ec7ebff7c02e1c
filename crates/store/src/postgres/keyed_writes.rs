//! Keyed writes on PostgreSQL: one transaction contains the write and its outcome under the key.

use muster_domain::ids::Uuid;
use muster_domain::ports::PortFuture;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::keyed_writes::KeyedWriteStore;
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate};
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;

use super::PostgresStore;
use super::fault::Fault;
use super::job_epochs::{Removal, removal};
use super::pool::PooledConnection;
use super::values::Moment;
use crate::keyed_writes::{FORMAT, KeyedWrite, KnownWrite, encode};

/// Inserts the key. A transaction that finds the key taken waits here until the transaction that took it has ended.
const CLAIM: &str = "INSERT INTO muster_effect (match_id, tick, ordinal, fingerprint, format, outcome, create_time) \
     VALUES ($1, $2, $3, $4, $5, '', $6) ON CONFLICT (match_id, tick, ordinal) DO NOTHING RETURNING 1";
const KNOWN: &str = "SELECT fingerprint, format, outcome FROM muster_effect \
     WHERE match_id = $1 AND tick = $2 AND ordinal = $3";
const KEEP: &str = "UPDATE muster_effect SET outcome = $4 WHERE match_id = $1 AND tick = $2 AND ordinal = $3";
const FORGET: &str = "WITH gone AS (DELETE FROM muster_effect WHERE match_id = $1 AND tick <= $2 RETURNING 1) \
     SELECT count(*) FROM gone";
const EXPIRED: Removal = removal!("muster_effect", "create_time");

impl KeyedWriteStore for PostgresStore {
    fn forget_keyed_writes(&self, match_id: Uuid, tick: i64) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let forgotten = self.query_one(FORGET, &[&match_id, &tick], |row| row.try_get::<_, i64>(0)).await?;
            Ok(u64::try_from(forgotten.unwrap_or(0)).unwrap_or(0))
        })
    }

    fn prune_keyed_writes(&self, before: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(self.remove_expired(&EXPIRED, before, job_epoch))
    }
}

/// Does `work` unless its outcome is known, and keeps the outcome.
///
/// The outer error means that the outcome could not be found or kept, and the transaction fails. The inner result is
/// the outcome. A refusal is an outcome too: it is kept, and the changes that `work` made before it are undone.
pub(super) async fn once(
    connection: &PooledConnection,
    write: &KeyedWrite,
    update: &MultiUpdate,
    work: impl Future<Output = Result<MultiOutcome, Fault>>,
) -> Result<Result<MultiOutcome, StoreError>, Fault> {
    let (match_id, tick, ordinal) = (write.key.match_id, write.key.tick, i64::from(write.key.ordinal));
    let claim: super::Values<'_> = &[&match_id, &tick, &ordinal, &&write.fingerprint[..], &FORMAT, &Moment(write.now)];
    if connection.query(CLAIM, claim).await?.is_empty() {
        let rows = connection.query(KNOWN, &[&match_id, &tick, &ordinal]).await?;
        // The outcome was forgotten between the two statements.
        let row = rows.first().ok_or(Fault::Overtaken)?;
        let known = KnownWrite { fingerprint: row.try_get(0)?, format: row.try_get(1)?, outcome: row.try_get(2)? };
        return Ok(write.outcome(known, update)?);
    }
    connection.control("SAVEPOINT effect").await?;
    let outcome = match work.await {
        Ok(done) => Ok(done),
        Err(fault) if fault.is_transient() => return Err(fault),
        Err(fault) => Err(fault.into_store_error()),
    };
    let Some(kept) = encode(&outcome, update) else { return outcome.map(Ok).map_err(Fault::Rule) };
    if outcome.is_err() {
        connection.control("ROLLBACK TO SAVEPOINT effect").await?;
    }
    connection.query(KEEP, &[&match_id, &tick, &ordinal, &kept]).await?;
    Ok(outcome)
}
