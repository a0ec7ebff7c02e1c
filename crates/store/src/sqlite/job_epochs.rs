//! Epochs of the owners of jobs on SQLite.

use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::store::{Rejection, StoreError};
use rusqlite::Connection;

use super::sql::{Result, execute};

const TAKE_EPOCH: &str = "INSERT INTO muster_term (job, epoch) VALUES (?1, ?2) \
     ON CONFLICT (job) DO UPDATE SET epoch = excluded.epoch WHERE muster_term.epoch <= excluded.epoch";

/// Notes that the owner of a job writes, if there may be several owners.
///
/// Errors: `Rejected(Superseded)` when a later one has written.
pub(super) fn take_job_epoch(connection: &Connection, job_epoch: Option<JobEpoch>) -> Result<()> {
    match job_epoch {
        Some(job_epoch) if execute(connection, TAKE_EPOCH, (job_epoch.job, job_epoch.epoch))? == 0 => {
            Err(StoreError::Rejected(Rejection::Superseded))
        }
        _ => Ok(()),
    }
}
