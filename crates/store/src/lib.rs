//! Persistence of Muster on SQLite and PostgreSQL, behind the ports of the domain.
//!
//! [`SqliteStore`] is one handle for all shards: a writer thread with group commit and a few reader threads.
//! [`PostgresStore`] belongs to one shard and its runtime. Each port method is one whole transaction, durable when
//! its future resolves with `Ok`. No rule of the game lives here, and nothing else in Muster speaks SQL.

pub mod address;
mod limits;
pub mod metrics;
mod objects;
pub mod postgres;
pub mod sqlite;
mod time;

pub use address::Address;
pub use metrics::StoreMetrics;
pub use postgres::{PostgresOptions, PostgresStore};
pub use sqlite::{SqliteOptions, SqliteStore};

/// Why a database cannot be opened, migrated, copied or restored. The text says what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub String);

impl OpenError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A closure for `map_err`: what was being done, then the cause.
    pub(crate) fn because<E: std::fmt::Display>(action: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self(format!("{action}: {cause}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod suite;
