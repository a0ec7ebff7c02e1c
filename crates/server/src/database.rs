//! The configured database: brought up to date once for the process, handed to each shard in the form it needs.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_domain::ports::store::Store;
use muster_store::{Address, OpenError, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, StoreMetrics};

use crate::config::{Config, DatabaseAddress};

/// Connections to PostgreSQL that one shard makes use of: statements share them, and more of them only means that fewer
/// statements leave and fewer answers arrive together.
const CONNECTIONS_PER_SHARD_MAX: usize = 16;

/// Where the durable data is. Cloning shares it.
#[derive(Clone)]
pub enum Database {
    /// One file: threads of its own, one handle for all.
    Sqlite(SqliteStore),
    /// A server: connections of its own for each shard, on the shard's runtime.
    Postgres {
        /// With its password.
        url: String,
        /// Of each shard.
        options: PostgresOptions,
        /// Of all shards.
        metrics: Arc<StoreMetrics>,
    },
}

/// The address in the form the store takes.
///
/// # Errors
/// When there is none.
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

    /// The store for the thread that calls, on its own runtime.
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
