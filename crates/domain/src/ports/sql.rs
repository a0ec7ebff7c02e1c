//! Statements that game code writes itself.

use super::PortFuture;
use crate::time::Timestamp;

/// A parameter or a result.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// NULL.
    Null,
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Any other.
    Number(f64),
    /// A text, and whatever is written as one: ids, JSON, exact decimals.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A moment. Results alone: as a parameter it is a number of seconds, for `to_timestamp`.
    Time(Timestamp),
}

/// Rows that a query found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqlRows {
    /// Names, in order.
    pub columns: Vec<String>,
    /// Values in the columns' order.
    pub rows: Vec<Vec<SqlValue>>,
}

/// Runs statements, each a transaction of its own, bounded in time, rows and bytes. They are written in PostgreSQL's
/// dialect for either database, and parameters as `$1`, `$2`.
/// The database's word on a wrong statement is [`super::store::StoreError::Invalid`].
pub trait SqlStore {
    /// Runs a statement. Answers how many rows it changed.
    fn sql_exec<'a>(&'a self, statement: &'a str, parameters: Vec<SqlValue>) -> PortFuture<'a, u64>;

    /// Runs a statement. Answers its rows.
    fn sql_query<'a>(&'a self, statement: &'a str, parameters: Vec<SqlValue>) -> PortFuture<'a, SqlRows>;
}
