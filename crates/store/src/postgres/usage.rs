//! Counts of what accounts hold, for the quotas on PostgreSQL.
//!
//! A client's write of an object locks the count of its owner before any object. So concurrent writes of one user come
//! one after the other, each sees the sizes that the one before left, and none waits in a circle. A constraint of the
//! count's row refuses a write beyond a quota.

use muster_domain::UserId;
use muster_domain::limits::REFUSING_COUNT_AGE_SEC;
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;

use super::PostgresStore;
use super::fault::{Fault, exceeded};
use super::pool::PooledConnection;
use super::values::Moment;
use crate::metrics::add;
use crate::objects;

pub(super) const LOCK: &str = "SELECT counted_at FROM muster_object_usage WHERE user_id = $1 FOR UPDATE";
/// Makes the row of an account, as one that was never counted. The account cannot be deleted meanwhile.
const MAKE: &str = "INSERT INTO muster_object_usage (user_id, objects, bytes, objects_max, bytes_max, counted_at) \
     SELECT id, 0, 0, 0, 0, $2 FROM (SELECT id FROM users WHERE id = $1 FOR KEY SHARE) AS account \
     ON CONFLICT (user_id) DO NOTHING";
const COUNT: &str = "UPDATE muster_object_usage AS usage SET objects = held.objects, bytes = held.bytes, \
         objects_max = greatest(usage.objects_max, held.objects), \
         bytes_max = greatest(usage.bytes_max, held.bytes), counted_at = $2 \
     FROM (SELECT count(*) AS objects, coalesce(sum(octet_length(value::text)), 0)::bigint AS bytes \
         FROM storage WHERE user_id = $1) AS held WHERE usage.user_id = $1";

impl PostgresStore {
    /// Runs a transaction that writes objects of `owner` as [`PostgresStore::attempts`] does. If it fails for want of a
    /// count, or would be refused by an old one, the objects are counted and it is run again.
    pub(super) async fn counted<T>(
        &self,
        owner: UserId,
        now: Timestamp,
        mut transaction: impl AsyncFnMut() -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.attempts(async || match transaction().await {
            Err(fault) if fault.wants_count() && self.count(owner, now, &fault).await? => transaction().await,
            outcome => outcome,
        })
        .await
        .inspect_err(|error| self.metrics().count_refusal(error))
    }

    /// Counts the objects of `owner`. Answers whether a write that failed by `fault` should be tried again.
    async fn count(&self, owner: UserId, now: Timestamp, fault: &Fault) -> Result<bool, Fault> {
        let is_refused = !matches!(fault, Fault::Uncounted);
        self.transaction(async |connection| {
            connection.query(MAKE, &[&owner.0, &Moment(Timestamp::EPOCH)]).await?;
            let rows = lock(connection, owner).await?;
            let Some(counted_at) = rows else { return Err(Fault::Rule(objects::missing_owner())) };
            if counted_at > now.plus_seconds(-REFUSING_COUNT_AGE_SEC) {
                // Another transaction has just counted, if there was no count before.
                return Ok(!is_refused);
            }
            connection.query_whole_table(COUNT, &[&owner.0, &Moment(now)]).await?;
            add(&self.metrics().quota_counts, 1);
            Ok(true)
        })
        .await
    }
}

/// Locks the count of an account until the end of the transaction. Answers when it was made, if there is one.
pub(super) async fn lock(connection: &PooledConnection, owner: UserId) -> Result<Option<Timestamp>, Fault> {
    let rows = connection.query(LOCK, &[&owner.0]).await?;
    Ok(rows.first().map(|row| row.try_get::<_, Moment>(0)).transpose()?.map(|moment| moment.0))
}

impl Fault {
    /// Whether a count of the account's objects may help.
    fn wants_count(&self) -> bool {
        match self {
            Self::Uncounted => true,
            Self::Database(error) => exceeded(error).is_some(),
            Self::Rule(_) | Self::Overtaken => false,
        }
    }
}
