//! The configured database: opened once for the process, handed to each shard in the form it needs.

use std::rc::Rc;
use std::sync::Arc;

use muster_domain::ports::store::{Store, StoreError};
use muster_store::{OpenError, SqliteOptions, SqliteStore, StoreMetrics};

use crate::config::{Config, DatabaseAddress};

/// Where the durable data is. Cloning shares it.
#[derive(Clone)]
pub enum Database {
    /// One file: threads of its own, one handle for all.
    Sqlite(SqliteStore),
}

impl Database {
    /// Opens the database, making or completing its schema.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn open(config: &Config, metrics: Arc<StoreMetrics>) -> Result<Self, OpenError> {
        match config.database.address.first() {
            Some(DatabaseAddress::Sqlite { path }) => {
                Ok(Self::Sqlite(SqliteStore::open(path, &SqliteOptions::default(), metrics)?))
            }
            _ => Err(OpenError("database.address is empty: give sqlite:PATH or postgres://…".to_owned())),
        }
    }

    /// The store for the thread that calls, on its own runtime.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn store(&self) -> Result<Rc<dyn Store>, StoreError> {
        match self {
            Self::Sqlite(store) => Ok(Rc::new(store.clone())),
        }
    }
}
