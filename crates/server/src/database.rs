//! The configured database: its schema is brought up to date once per process, and each shard gets a store on it.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_domain::ports::store::Store;
use muster_store::{Address, OpenError, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, StoreMetrics};

use crate::config::{Config, DatabaseAddress};

/// Largest number of connections to PostgreSQL that one shard uses. Statements share connections; with more of them,
/// fewer statements and answers would travel together.
const CONNECTIONS_PER_SHARD_MAX: usize = 16;

/// The database of durable data; clones share it.
#[derive(Clone)]
pub enum Database {
    /// An SQLite file, with threads of its own and one handle for all shards.
    Sqlite(SqliteStore),
    /// A PostgreSQL server. Each shard has connections of its own, on its own runtime.
    Postgres {
        /// Address of the database, with its password.
        url: String,
        /// Options of each shard's connections.
        options: PostgresOptions,
        /// Counters of all shards.
        metrics: Arc<StoreMetrics>,
    },
}

/// The address of the configured database, in the store's form.
///
/// # Errors
/// When no address is configured.
pub fn address(config: &Config) -> Result<Address, OpenError> {
    match config.database.address.first() {
        Some(DatabaseAddress::Sqlite { path }) => Ok(Address::Sqlite(path.clone())),
        Some(DatabaseAddress::Postgres(address)) => Ok(Address::Postgres(address.url().expose().to_owned())),
        None => Err(OpenError("database.address is empty: give sqlite:PATH or postgres://…".to_owned())),
    }
}

impl Database {
    /// Opens the configured database for `users` shards, bringing its schema up to date.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn open(config: &Config, users: usize, metrics: Arc<StoreMetrics>) -> Result<Self, OpenError> {
        let options = PostgresOptions {
            connections_max: (config.database.max_open_conns / users.max(1)).clamp(1, CONNECTIONS_PER_SHARD_MAX),
            connection_lifetime: match config.database.conn_max_lifetime_ms {
                0 => None,
                milliseconds => Some(Duration::from_millis(milliseconds)),
            },
            ..Default::default()
        };
        Self::open_at(address(config)?, options, metrics).await
    }

    /// Opens the database at `address`; `options` are those of each shard's connections to PostgreSQL.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn open_at(
        address: Address,
        options: PostgresOptions,
        metrics: Arc<StoreMetrics>,
    ) -> Result<Self, OpenError> {
        let told = muster_store::migrate(&address).await?;
        tracing::info!("{told}");
        Ok(match address {
            Address::Sqlite(path) => Self::Sqlite(SqliteStore::open(&path, &SqliteOptions::default(), metrics)?),
            Address::Postgres(url) => Self::Postgres { url, options, metrics },
        })
    }

    /// A store for the calling thread, on its own runtime.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn store(&self) -> Result<Rc<dyn Store>, OpenError> {
        Ok(match self {
            Self::Sqlite(store) => Rc::new(store.clone()),
            Self::Postgres { url, options, metrics } => {
                Rc::new(PostgresStore::open(url, options, metrics.clone()).await?)
            }
        })
    }
}
