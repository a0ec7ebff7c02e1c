//! Epochs of the owners of jobs on SQLite. A job's owner writes its epoch, by which writes of earlier owners are
//! refused.

use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::store::{Rejection, StoreError};
use rusqlite::Connection;

use super::sql::{Result, execute};

const TAKE_EPOCH: &str = "INSERT INTO muster_term (job, epoch) VALUES (?1, ?2) \
     ON CONFLICT (job) DO UPDATE SET epoch = excluded.epoch WHERE muster_term.epoch <= excluded.epoch";

/// Writes down the epoch of a job's owner. Without a term nothing is written: then there is only one owner.
///
/// Errors: `Rejected(Superseded)` when a later owner has written its epoch.
pub(super) fn take_job_epoch(connection: &Connection, job_epoch: Option<JobEpoch>) -> Result<()> {
    match job_epoch {
        Some(job_epoch) if execute(connection, TAKE_EPOCH, (job_epoch.job, job_epoch.epoch))? == 0 => {
            Err(StoreError::Rejected(Rejection::Superseded))
        }
        _ => Ok(()),
    }
}
