//! Helpers that all statements share: each statement is prepared once per connection, and errors are those of the
//! ports.

use muster_domain::ports::store::StoreError;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row};

use super::error::translate;

pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// The statement, prepared now or taken from the connection's cache.
pub(super) fn statement<'c>(connection: &'c Connection, sql: &str) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(sql).map_err(translate)
}

/// Runs a statement. Answers the number of rows that it changed.
pub(super) fn execute(connection: &Connection, sql: &str, values: impl Params) -> Result<usize> {
    statement(connection, sql)?.execute(values).map_err(translate)
}

/// Whether a query finds a row.
pub(super) fn exists(connection: &Connection, sql: &str, values: impl Params) -> Result<bool> {
    statement(connection, sql)?.exists(values).map_err(translate)
}

/// The first row of a query.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    statement(connection, sql)?.query_row(values, read).optional().map_err(translate)
}
