//! Keyed writes on SQLite: one transaction contains the write and its outcome under the key.

use muster_domain::ids::Uuid;
use muster_domain::ports::PortFuture;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::keyed_writes::{END_TICK, KeyedWriteStore, LatestWrite};
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::error::translate;
use super::job_epochs::take_job_epoch;
use super::sql::{Result, execute, exists, one, statement};
use crate::keyed_writes::{FORMAT, KeyedRequest, KeyedWrite, KnownWrite};

const KNOWN: &str = "SELECT fingerprint, format, outcome FROM muster_effect \
     WHERE match_id = ?1 AND tick = ?2 AND ordinal = ?3";
const KEEP: &str = "INSERT INTO muster_effect (match_id, tick, ordinal, fingerprint, format, outcome, create_time) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const END: &str = "INSERT INTO muster_effect (match_id, tick, ordinal, fingerprint, format, outcome, create_time) \
     VALUES (?1, ?2, 0, x'', 0, '', ?3) ON CONFLICT DO NOTHING";
const HAS_FROM: &str = "SELECT 1 FROM muster_effect WHERE match_id = ?1 AND (tick, ordinal) >= (?2, ?3) \
     AND tick < 9223372036854775807";
const LATEST: &str = "SELECT match_id, tick, ordinal, create_time FROM muster_effect WHERE match_id = ?1 \
     ORDER BY tick DESC, ordinal DESC LIMIT 1";
pub(super) const LATEST_OF_ALL: &str = "SELECT match_id, tick, ordinal, create_time FROM muster_effect AS latest \
     WHERE NOT EXISTS (SELECT 1 FROM muster_effect AS later WHERE later.match_id = latest.match_id \
     AND (later.tick, later.ordinal) > (latest.tick, latest.ordinal))";
/// Condition that a write is not the latest of its match.
const IS_NOT_LATEST: &str = "EXISTS (SELECT 1 FROM muster_effect AS later \
     WHERE later.match_id = muster_effect.match_id \
     AND (later.tick, later.ordinal) > (muster_effect.tick, muster_effect.ordinal))";

impl KeyedWriteStore for SqliteStore {
    fn forget_keyed_writes(&self, match_id: Uuid, tick: i64) -> PortFuture<'_, u64> {
        Box::pin(self.write(move |connection| {
            let sql = format!("DELETE FROM muster_effect WHERE match_id = ?1 AND tick <= ?2 AND {IS_NOT_LATEST}");
            execute(connection, &sql, (match_id, tick)).map(|removed| removed as u64)
        }))
    }

    fn end_keyed_writes(&self, match_id: Uuid, now: Timestamp) -> PortFuture<'_, ()> {
        Box::pin(self.write(move |connection| {
            let sql = "DELETE FROM muster_effect WHERE match_id = ?1 AND tick < ?2";
            if execute(connection, sql, (match_id, END_TICK))? > 0 {
                execute(connection, END, (match_id, END_TICK, now.0))?;
            }
            Ok(())
        }))
    }

    fn latest_keyed_writes(&self, matches: Option<Vec<Uuid>>) -> PortFuture<'_, Vec<(Uuid, LatestWrite)>> {
        Box::pin(self.read(move |connection| match &matches {
            Some(matches) => {
                let each = |id: &Uuid| one(connection, LATEST, [*id], latest_write).transpose();
                matches.iter().filter_map(each).collect()
            }
            None => {
                let mut all = statement(connection, LATEST_OF_ALL)?;
                let rows = all.query_map((), latest_write).map_err(translate)?;
                rows.map(|row| row.map_err(translate)).collect()
            }
        }))
    }

    fn prune_keyed_writes(&self, before: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(self.write(move |connection| {
            take_job_epoch(connection, job_epoch)?;
            let sql = format!("DELETE FROM muster_effect WHERE create_time < ?1 AND (tick = ?2 OR {IS_NOT_LATEST})");
            execute(connection, &sql, (before.0, END_TICK)).map(|removed| removed as u64)
        }))
    }
}

/// A row of [`LATEST`] or [`LATEST_OF_ALL`].
pub(super) fn latest_write(row: &Row<'_>) -> rusqlite::Result<(Uuid, LatestWrite)> {
    let at = Timestamp(row.get(3)?);
    Ok((row.get(0)?, LatestWrite { tick: row.get(1)?, ordinal: row.get(2)?, at }))
}

/// Does `work` unless its outcome is known, and keeps the outcome.
///
/// The outer error means that the outcome could not be found or kept, and the transaction fails. The inner result is
/// the outcome. A refusal is an outcome too: it is kept, and the changes that `work` made before it are undone.
pub(super) fn once<Request: KeyedRequest>(
    connection: &Connection,
    write: &KeyedWrite,
    request: &Request,
    work: impl FnOnce() -> Result<Request::Outcome>,
) -> Result<std::result::Result<Request::Outcome, StoreError>> {
    let key = (write.key.match_id, write.key.tick, write.key.ordinal);
    let known =
        |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i16>(1)?, row.get::<_, String>(2)?));
    if let Some((fingerprint, format, outcome)) = one(connection, KNOWN, key, known)? {
        return write.outcome(KnownWrite { fingerprint: &fingerprint, format, outcome: &outcome }, request);
    }
    if let Some((tick, ordinal)) = write.key.after
        && !exists(connection, HAS_FROM, (write.key.match_id, tick, ordinal))?
    {
        return Err(StoreError::Restored);
    }
    execute(connection, "SAVEPOINT effect", ())?;
    let outcome = work();
    if outcome.is_err() {
        execute(connection, "ROLLBACK TO effect", ())?;
    }
    execute(connection, "RELEASE effect", ())?;
    let Some(kept) = request.encode(&outcome) else { return outcome.map(Ok) };
    let (match_id, tick, ordinal) = key;
    let values = (match_id, tick, ordinal, write.fingerprint, FORMAT, kept, write.now.0);
    execute(connection, KEEP, values)?;
    Ok(outcome)
}
