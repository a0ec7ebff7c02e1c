//! Removal of expired rows on PostgreSQL. In a cluster the job's owner writes its epoch with each removal, by which
//! removals of earlier owners are refused.

use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::time::Timestamp;
use tokio_postgres::Row;

use super::PostgresStore;
use super::values::Moment;

/// Statements that remove the rows of a table whose time is before `$1`. They answer whether that was allowed, and the
/// number of removed rows.
pub(super) struct Removal {
    pub(super) plain: &'static str,
    /// The statement with the job's epoch. The epoch's row stays locked until the end of the transaction, so that two
    /// owners of the job follow each other, and the earlier owner is refused.
    pub(super) fenced: &'static str,
}

/// The [`Removal`] of the rows of `$table` by the column `$time`, and by a further condition if one is given.
macro_rules! removal {
    ($table:literal, $time:literal $(, $also:literal)?) => {
        $crate::postgres::job_epochs::Removal {
            plain: concat!(
                "WITH gone AS (DELETE FROM ",
                $table,
                " WHERE ",
                $time,
                " < $1",
                $(" AND ", $also,)?
                " RETURNING 1) SELECT true, (SELECT count(*) FROM gone)"
            ),
            fenced: concat!(
                "WITH term AS (INSERT INTO muster_term (job, epoch) VALUES ($2, $3) ON CONFLICT (job) DO UPDATE \
                 SET epoch = excluded.epoch WHERE muster_term.epoch <= excluded.epoch RETURNING 1), \
                 gone AS (DELETE FROM ",
                $table,
                " WHERE ",
                $time,
                " < $1",
                $(" AND ", $also,)?
                " AND EXISTS (SELECT 1 FROM term) RETURNING 1) \
                 SELECT EXISTS (SELECT 1 FROM term), (SELECT count(*) FROM gone)"
            ),
        }
    };
}
pub(super) use removal;

impl PostgresStore {
    /// Removes the rows whose time is before `before`. Answers their number.
    ///
    /// Errors: `Rejected(Superseded)` when a later owner of the job has written its epoch.
    pub(super) async fn remove_expired(
        &self,
        removal: &Removal,
        before: Timestamp,
        job_epoch: Option<JobEpoch>,
    ) -> Result<u64, StoreError> {
        let counts = |row: &Row| Ok((row.try_get::<_, bool>(0)?, row.try_get::<_, i64>(1)?));
        let removed = match job_epoch {
            Some(job_epoch) => {
                self.query_one(removal.fenced, &[&Moment(before), &job_epoch.job, &job_epoch.epoch], counts).await?
            }
            None => self.query_one(removal.plain, &[&Moment(before)], counts).await?,
        };
        match removed {
            Some((true, removed)) => Ok(u64::try_from(removed).unwrap_or(0)),
            _ => Err(StoreError::Rejected(Rejection::Superseded)),
        }
    }
}
