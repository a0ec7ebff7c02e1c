//! The configured database: its schema is brought up to date once per process, and each shard gets a store on it.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_domain::ports::store::Store;
use muster_store::{
    Address, BroughtUpToDate, OpenError, PostgresOptions, PostgresStore, Servers, SqliteOptions, SqliteStore,
    StoreMetrics,
};

use crate::config::{Config, DatabaseAddress};
use crate::settings;

/// Largest number of connections to PostgreSQL that one shard uses for itself. Statements share connections; with more
/// of them, fewer statements and answers would travel together.
const CONNECTIONS_PER_SHARD_MAX: usize = 16;

/// Largest number of connections to PostgreSQL that one shard uses for statements of game code, and the part of its
/// connections that they are.
const GAME_CONNECTIONS_PER_SHARD_MAX: usize = 4;
const GAME_PART: usize = 4;

/// The database of durable data; clones share it.
#[derive(Clone)]
pub enum Database {
    /// An SQLite file, with threads of its own and one handle for all shards.
    Sqlite(SqliteStore),
    /// A PostgreSQL server. Each shard has connections of its own, on its own runtime.
    Postgres {
        /// Its addresses, with passwords.
        servers: Servers,
        /// Options of each shard's connections.
        options: PostgresOptions,
        /// Counters of all shards.
        metrics: Arc<StoreMetrics>,
    },
}

/// The address of the configured database, in the store's form.
///
/// # Errors
/// A sentence, when no address is configured, or several that are not all PostgreSQL's.
pub fn address(config: &Config) -> Result<Address, OpenError> {
    let mut urls = Vec::new();
    for address in &config.database.address {
        match address {
            DatabaseAddress::Sqlite { path } if config.database.address.len() == 1 => {
                return Ok(Address::Sqlite(path.clone()));
            }
            DatabaseAddress::Sqlite { .. } => {
                return Err(OpenError(
                    "database.address has several addresses, one of a file: a file is the only one, and several are \
                     servers of one PostgreSQL database"
                        .to_owned(),
                ));
            }
            DatabaseAddress::Postgres(address) => urls.push(address.url()),
        }
    }
    if urls.is_empty() {
        return Err(OpenError("database.address is empty: give sqlite:PATH or postgres://…".to_owned()));
    }
    let urls: Vec<&str> = urls.iter().map(|url| url.expose()).collect();
    Servers::parse(&urls).map(Address::Postgres)
}

/// The connections of one of `users` of a database: its own, and those for statements of game code.
fn connections(total: usize, users: usize) -> (usize, usize) {
    let part = total / users.max(1);
    let game = (part / GAME_PART).clamp(1, GAME_CONNECTIONS_PER_SHARD_MAX);
    (part.saturating_sub(game).clamp(1, CONNECTIONS_PER_SHARD_MAX), game)
}

impl Database {
    /// Opens the configured database for `users` shards, bringing its schema up to date. Answers whether it is new,
    /// too.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn open(config: &Config, users: usize, metrics: Arc<StoreMetrics>) -> Result<(Self, bool), OpenError> {
        let (connections_max, game_connections_max) = connections(config.database.max_open_conns, users);
        let options = PostgresOptions {
            connections_max,
            game_connections_max,
            connection_lifetime: match config.database.conn_max_lifetime_ms {
                0 => None,
                milliseconds => Some(Duration::from_millis(milliseconds)),
            },
            quotas: settings::quotas(config),
            ..Default::default()
        };
        Self::open_with(address(config)?, options, metrics).await
    }

    /// Opens the database at `address`; `options` are those of each shard's connections to PostgreSQL, and
    /// the quotas.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn open_at(
        address: Address,
        options: PostgresOptions,
        metrics: Arc<StoreMetrics>,
    ) -> Result<Self, OpenError> {
        Self::open_with(address, options, metrics).await.map(|(database, _)| database)
    }

    async fn open_with(
        address: Address,
        options: PostgresOptions,
        metrics: Arc<StoreMetrics>,
    ) -> Result<(Self, bool), OpenError> {
        let BroughtUpToDate { told, is_new } = muster_store::migrate(&address).await?;
        tracing::info!("{told}");
        let database = match address {
            Address::Sqlite(path) => {
                let options = SqliteOptions { quotas: options.quotas, ..Default::default() };
                Self::Sqlite(SqliteStore::open(&path, &options, metrics)?)
            }
            Address::Postgres(servers) => Self::Postgres { servers, options, metrics },
        };
        Ok((database, is_new))
    }

    /// A store for the calling thread, on its own runtime.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn store(&self) -> Result<Rc<dyn Store>, OpenError> {
        Ok(match self {
            Self::Sqlite(store) => Rc::new(store.clone()),
            Self::Postgres { servers, options, metrics } => {
                Rc::new(PostgresStore::open(servers, options, metrics.clone()).await?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_users_are_no_more_than_the_total() {
        for total in 2..200 {
            for users in 1..=total / 2 {
                let (own, game) = connections(total, users);
                assert!(
                    own >= 1 && game >= 1 && (own + game) * users <= total,
                    "{total} for {users}: {own} and {game}"
                );
            }
        }
        assert_eq!(connections(100, 3), (16, 4));
        assert_eq!(connections(6, 3), (1, 1));
    }
}
