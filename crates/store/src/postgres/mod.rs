//! The store on PostgreSQL, in the original server's own tables with Muster's beside them.
//!
//! Each shard creates its own [`PostgresStore`]. The connections live on the shard's runtime, so that no answer crosses
//! threads. Most operations are one statement and one round trip; operations of several statements are one transaction.

pub(crate) mod accounts;
mod adopt;
pub(crate) mod chat;
mod connect;
mod deletion;
mod export;
mod fault;
pub(crate) mod friends;
mod game_role;
mod job_epochs;
mod keyed_writes;
mod multi_update;
pub(crate) mod notifications;
mod pool;
mod revocations;
mod schema;
mod servers;
mod sql;
mod storage;
mod tls;
mod usage;
mod values;
pub(crate) mod wallet;

#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::Arc;

use muster_domain::ports::PortFuture;
use muster_domain::ports::store::{DatabaseOrigin, DatabaseStatus, Store, StoreError};
use muster_domain::quotas::Quotas;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::connect::Settings;
use self::fault::{Fault, attempts};
use self::pool::{ConnectionPool, PooledConnection};
use self::values::Moment;
use crate::OpenError;
use crate::metrics::StoreMetrics;

pub use self::pool::PostgresOptions;
#[cfg(test)]
pub(crate) use self::schema::NAKAMA;
pub use self::schema::{Migrated, SCHEMA_VERSION, is_adopted, migrate, wait_until_there};
pub use self::servers::Servers;

/// Values for a statement's parameters.
type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A store of one shard. Its futures must run on a tokio runtime of one thread.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Rc<ConnectionPool>,
    /// The connections of game code's statements.
    game_pool: Rc<ConnectionPool>,
    adopted: bool,
    quotas: Quotas,
}

impl PostgresStore {
    /// Connects to the database on `servers`, whose schema must be migrated already, see [`migrate`]. Counts into
    /// `metrics`.
    ///
    /// # Errors
    /// When the database does not answer, or its schema is not this program's.
    pub async fn open(
        servers: &Servers,
        options: &PostgresOptions,
        metrics: Arc<StoreMetrics>,
    ) -> Result<Self, OpenError> {
        let known = schema::look(servers).await?;
        let pool = |more, connections_max| {
            let settings = Settings { statement_timeout: options.statement_timeout, more };
            let metrics = Arc::clone(&metrics);
            ConnectionPool::new(servers.clone(), settings, connections_max, options.clone(), metrics)
        };
        Ok(Self {
            pool: pool(String::new(), options.connections_max),
            game_pool: pool(game_role::settings(known.has_game_role), options.game_connections_max),
            adopted: known.adopted,
            quotas: options.quotas,
        })
    }

    /// The counters of this store.
    pub fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.pool.metrics
    }

    /// Runs one statement as a transaction of its own, and again if it fails because of other transactions.
    async fn query(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        self.attempts(async || Ok(self.query_once(sql, values).await?)).await
    }

    /// Runs one statement that finds at most one row.
    async fn query_one<T>(
        &self,
        sql: &'static str,
        values: Values<'_>,
        read: impl FnOnce(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.query(sql, values).await?;
        rows.first().map(read).transpose().map_err(|error| fault::translate(&error))
    }

    async fn query_once(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, Fault> {
        let connection = self.pool.shared().await?;
        connection.query(sql, values).await
    }

    async fn attempts<T>(&self, transaction: impl AsyncFnMut() -> Result<T, Fault>) -> Result<T, StoreError> {
        attempts(&self.pool.metrics, transaction).await
    }

    /// Runs `steps` between `BEGIN` and `COMMIT`; an error rolls back.
    async fn transaction<T>(&self, steps: impl AsyncFnOnce(&PooledConnection) -> Result<T, Fault>) -> Result<T, Fault> {
        let connection = self.pool.exclusive().await?;
        connection.control("BEGIN").await?;
        let outcome = steps(&connection).await;
        connection.control(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        connection.ended();
        outcome
    }
}

impl Store for PostgresStore {
    fn ping(&self) -> PortFuture<'_, DatabaseStatus> {
        Box::pin(async move {
            // A standby server and a server set to read-only still answer reads.
            let sql = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool";
            let read_only = self.query_one(sql, &[], |row| row.try_get::<_, bool>(0)).await?;
            if read_only == Some(true) {
                return Err(StoreError::Unavailable("the database is read-only".to_owned()));
            }
            Ok(DatabaseStatus { engine: "postgres", adopted: self.adopted })
        })
    }

    fn latest_epoch(&self) -> PortFuture<'_, i64> {
        Box::pin(async move {
            let sql = "SELECT coalesce(max(epoch), 0) FROM muster_term";
            Ok(self.query_one(sql, &[], |row| row.try_get(0)).await?.unwrap_or(0))
        })
    }

    fn origin(&self) -> PortFuture<'_, DatabaseOrigin> {
        Box::pin(async move {
            // The moment of the first migration, in microseconds, is never that of another database.
            let sql = "SELECT applied_at, clock_timestamp() FROM muster_migration ORDER BY version LIMIT 1";
            let read = |row: &Row| Ok((row.try_get::<_, Moment>(0)?.0, row.try_get::<_, Moment>(1)?.0));
            let Some((first, now)) = self.query_one(sql, &[], read).await? else {
                return Err(StoreError::Unavailable("the table muster_migration is empty".to_owned()));
            };
            Ok(DatabaseOrigin { identity: first.0.unsigned_abs().max(1), now })
        })
    }
}
