//! Terms of the owners of jobs on SQLite. A job's owner writes its epoch, by which writes of earlier owners are
//! refused.

use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::ports::terms::Term;
use rusqlite::Connection;

use super::sql::{Result, execute};

const TERM: &str = "INSERT INTO muster_term (job, epoch) VALUES (?1, ?2) \
     ON CONFLICT (job) DO UPDATE SET epoch = excluded.epoch WHERE muster_term.epoch <= excluded.epoch";

/// Writes down the epoch of a job's owner. Without a term nothing is written: then there is only one owner.
///
/// Errors: `Rejected(Superseded)` when a later owner has written its epoch.
pub(super) fn take_term(connection: &Connection, term: Option<Term>) -> Result<()> {
    match term {
        Some(term) if execute(connection, TERM, (term.job, term.epoch))? == 0 => {
            Err(StoreError::Rejected(Rejection::Superseded))
        }
        _ => Ok(()),
    }
}
