//! Persistence of Muster on SQLite and PostgreSQL, behind the ports of the domain.
//!
//! [`SqliteStore`] is one handle for all shards: a writer thread with group commit and a few reader threads.
//! [`PostgresStore`] belongs to one shard and its runtime. Each port method is one whole transaction, durable when
//! its future resolves with `Ok`. No rule of the game lives here, and nothing else in Muster speaks SQL.

pub mod address;
mod advice;
mod friends;
mod keyed_writes;
mod limits;
mod messages;
pub mod metrics;
mod objects;
pub mod postgres;
mod revocations;
pub mod sqlite;
mod time;

use std::sync::Arc;

use muster_domain::ports::store::{Store, StoreError};
use muster_domain::sql::{SQL_ROWS_BYTES_MAX, SQL_ROWS_MAX};

pub use address::Address;
pub use metrics::{StoreMetric, StoreMetricKind, StoreMetrics};
pub use postgres::{PostgresOptions, PostgresStore, Servers};
pub use sqlite::{SqliteOptions, SqliteStore};

/// The refusal, on both databases, of a statement of game code that finds too many rows or bytes.
fn too_many_rows() -> StoreError {
    let message =
        format!("The statement finds more than {SQL_ROWS_MAX} rows or {SQL_ROWS_BYTES_MAX} bytes: use LIMIT.");
    StoreError::Invalid(message)
}

/// The outcome of bringing a database up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroughtUpToDate {
    /// A sentence for the operator.
    pub told: String,
    /// Whether there was no database before, neither Muster's nor another server's.
    pub is_new: bool,
}

/// Brings the database at `address` up to date, and creates it if there is none. Call it once, on a tokio runtime,
/// before stores are opened.
///
/// # Errors
/// When the database cannot be used; the sentence says what to do.
pub async fn migrate(address: &Address) -> Result<BroughtUpToDate, OpenError> {
    let (applied, is_new) = match address {
        Address::Sqlite(path) => {
            let applied = SqliteStore::migrate(path)?;
            let is_new = applied.first() == Some(&1);
            (applied, is_new)
        }
        Address::Postgres(servers) => {
            let migrated = postgres::migrate(servers).await?;
            match (migrated.created, migrated.adopted_now()) {
                (true, _) => {
                    let told = "made all tables in an empty database".to_owned();
                    return Ok(BroughtUpToDate { told, is_new: true });
                }
                (false, true) => {
                    let told = "adopted the database in place: only tables named muster_ were added, and dropping \
                                them gives it back as it was";
                    return Ok(BroughtUpToDate { told: told.to_owned(), is_new: false });
                }
                _ => (migrated.applied, false),
            }
        }
    };
    let told = if applied.is_empty() {
        "the database is up to date".to_owned()
    } else {
        format!("applied {} migration(s), the last is number {}", applied.len(), applied[applied.len() - 1])
    };
    Ok(BroughtUpToDate { told, is_new })
}

/// Reads the schema version of the database at `address` without changing anything. Answers a sentence for the
/// operator.
///
/// # Errors
/// When this program cannot use the database as it is; the sentence says what to do.
pub async fn status(address: &Address) -> Result<String, OpenError> {
    let (version, newest, kind) = match address {
        Address::Sqlite(path) => match SqliteStore::schema_version(path)? {
            None => return Ok("there is no database yet: the first start makes it".to_owned()),
            Some(version) => (version, sqlite::SCHEMA_VERSION, "Muster's own tables"),
        },
        Address::Postgres(servers) => {
            let kind = if postgres::is_adopted(servers).await? { "adopted in place" } else { "Muster's own tables" };
            (postgres::SCHEMA_VERSION, postgres::SCHEMA_VERSION, kind)
        }
    };
    let advice = if version < newest { ": `muster migrate up` or the next start brings it up to date" } else { "" };
    Ok(format!("schema {version} of {newest}, {kind}{advice}"))
}

/// Opens a store on the database at `address`, which must be up to date, see [`migrate`]. On SQLite open one and clone
/// it for every shard; on PostgreSQL open one on each shard.
///
/// # Errors
/// When the database cannot be used; the sentence says what to do.
pub async fn open(
    address: &Address,
    sqlite: &SqliteOptions,
    postgres: &PostgresOptions,
    metrics: Arc<StoreMetrics>,
) -> Result<Opened, OpenError> {
    Ok(match address {
        Address::Sqlite(path) => Opened::Sqlite(SqliteStore::open(path, sqlite, metrics)?),
        Address::Postgres(servers) => Opened::Postgres(PostgresStore::open(servers, postgres, metrics).await?),
    })
}

/// A store on either database.
pub enum Opened {
    /// One handle for all shards: clones may be sent to other threads.
    Sqlite(SqliteStore),
    /// A store of the shard that opened it; other shards open their own.
    Postgres(PostgresStore),
}

impl Opened {
    /// The opened store.
    pub fn store(&self) -> &dyn Store {
        match self {
            Self::Sqlite(store) => store,
            Self::Postgres(store) => store,
        }
    }
}

/// The reason why a database cannot be opened, migrated, copied or restored. The text says what is wrong and what to
/// do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub String);

impl OpenError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A closure for `map_err`. The error's text is the failed action, then the cause.
    pub(crate) fn because<E: std::fmt::Display>(action: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self(format!("{action}: {cause}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod suite;
