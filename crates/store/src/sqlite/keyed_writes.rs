//! Keyed writes on SQLite: one transaction contains the write and its outcome under the key.

use muster_domain::ids::Uuid;
use muster_domain::ports::PortFuture;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::keyed_writes::KeyedWriteStore;
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate};
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;
use rusqlite::Connection;

use super::SqliteStore;
use super::job_epochs::take_job_epoch;
use super::sql::{Result, execute, one};
use crate::keyed_writes::{FORMAT, KeyedWrite, KnownWrite, encode};

const KNOWN: &str = "SELECT fingerprint, format, outcome FROM muster_effect \
     WHERE match_id = ?1 AND tick = ?2 AND ordinal = ?3";
const KEEP: &str = "INSERT INTO muster_effect (match_id, tick, ordinal, fingerprint, format, outcome, create_time) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

impl KeyedWriteStore for SqliteStore {
    fn forget_keyed_writes(&self, match_id: Uuid, tick: i64) -> PortFuture<'_, u64> {
        Box::pin(self.write(move |connection| {
            let sql = "DELETE FROM muster_effect WHERE match_id = ?1 AND tick <= ?2";
            execute(connection, sql, (match_id, tick)).map(|removed| removed as u64)
        }))
    }

    fn prune_keyed_writes(&self, before: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(self.write(move |connection| {
            take_job_epoch(connection, job_epoch)?;
            let sql = "DELETE FROM muster_effect WHERE create_time < ?1";
            execute(connection, sql, [before.0]).map(|removed| removed as u64)
        }))
    }
}

/// Does `work` unless its outcome is known, and keeps the outcome.
///
/// The outer error means that the outcome could not be found or kept, and the transaction fails. The inner result is
/// the outcome. A refusal is an outcome too: it is kept, and the changes that `work` made before it are undone.
pub(super) fn once(
    connection: &Connection,
    write: &KeyedWrite,
    update: &MultiUpdate,
    work: impl FnOnce() -> Result<MultiOutcome>,
) -> Result<std::result::Result<MultiOutcome, StoreError>> {
    let key = (write.key.match_id, write.key.tick, write.key.ordinal);
    let known =
        |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i16>(1)?, row.get::<_, String>(2)?));
    if let Some((fingerprint, format, outcome)) = one(connection, KNOWN, key, known)? {
        return write.outcome(KnownWrite { fingerprint: &fingerprint, format, outcome: &outcome }, update);
    }
    execute(connection, "SAVEPOINT effect", ())?;
    let outcome = work();
    if outcome.is_err() {
        execute(connection, "ROLLBACK TO effect", ())?;
    }
    execute(connection, "RELEASE effect", ())?;
    let Some(kept) = encode(&outcome, update) else { return outcome.map(Ok) };
    let (match_id, tick, ordinal) = key;
    let values = (match_id, tick, ordinal, write.fingerprint, FORMAT, kept, write.now.0);
    execute(connection, KEEP, values)?;
    Ok(outcome)
}
