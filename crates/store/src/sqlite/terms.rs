//! Terms of the owners of jobs on SQLite.

use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::ports::terms::Term;
use rusqlite::Connection;

use super::sql::{Result, execute};

const TERM: &str = "INSERT INTO muster_term (job, epoch) VALUES (?1, ?2) \
     ON CONFLICT (job) DO UPDATE SET epoch = excluded.epoch WHERE muster_term.epoch <= excluded.epoch";

/// Notes that the owner of a job writes, if there may be several owners.
///
/// Errors: `Rejected(Superseded)` when a later one has written.
pub(super) fn take_term(connection: &Connection, term: Option<Term>) -> Result<()> {
    match term {
        Some(term) if execute(connection, TERM, (term.job, term.epoch))? == 0 => {
            Err(StoreError::Rejected(Rejection::Superseded))
        }
        _ => Ok(()),
    }
}
