//! Game code's SQL on SQLite. It is written in PostgreSQL's dialect; a statement is translated to one of SQLite that
//! has the same answer, and refused where the translation cannot promise that. The answers are those of a PostgreSQL
//! whose time zone is UTC and whose collation is C.UTF-8.
//!
//! `words` and `parser` make a tree of a text, `translate` gives each expression its type and writes SQLite's text, and
//! `runtime` holds the functions that such texts call. `values` has the values' forms in both databases.

mod cache;
mod catalogue;
mod parser;
mod runtime;
mod translate;
mod tree;
mod types;
mod values;
mod violations;
mod words;

#[cfg(test)]
mod tests;

use muster_domain::ports::sql::SqlValue;
use muster_domain::time::Timestamp;
use rusqlite::types::{Value, ValueRef};

pub(super) use self::cache::{Dialect, Untranslated};
use self::catalogue::Catalogue;
use self::runtime::add_functions;
pub(super) use self::runtime::{INTERRUPTED, Run};
use self::types::Type;

/// Why a statement or a value is refused, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) String);

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

type Result<T> = std::result::Result<T, Refusal>;

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Refusal(why.into()))
}

/// A statement for SQLite.
#[derive(Debug)]
pub(super) struct Translation {
    pub(super) sql: String,
    /// Types of the parameters, in order.
    pub(super) parameters: Vec<Type>,
    /// Names and types of the result's columns.
    pub(super) columns: Vec<(String, Type)>,
    /// The rows that the statement changes, if it does.
    change: Option<Change>,
}

/// The rows that a statement changes.
#[derive(Debug)]
struct Change {
    table: String,
    kind: ChangeKind,
    /// Columns of rows that were there before and are given other values.
    columns: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeKind {
    Insert,
    Update,
    Delete,
}

/// Translates a statement.
pub(super) fn translate(statement: &str, catalogue: &Catalogue) -> Result<Translation> {
    translate::translate(&parser::parse(statement)?, catalogue)
}

/// A parameter in the form of the type that its place has. It is read from its text, as PostgreSQL does it.
pub(super) fn of_parameter(value: &SqlValue, kind: Type) -> Result<Value> {
    match (value, kind) {
        (SqlValue::Null, _) => Ok(Value::Null),
        (SqlValue::Flag(flag), Type::Flag) => Ok(Value::Integer((*flag).into())),
        (SqlValue::Integer(number), Type::Int8) => Ok(Value::Integer(*number)),
        (SqlValue::Flag(flag), kind) => values::read(&flag.to_string(), kind),
        (SqlValue::Integer(number), kind) => values::read(&number.to_string(), kind),
        (SqlValue::Number(number), kind) => values::read(&number.to_string(), kind),
        (SqlValue::Text(text), kind) => values::read(text, kind),
        (SqlValue::Bytes(bytes), Type::Bytea) => Ok(Value::Blob(bytes.clone())),
        (SqlValue::Bytes(bytes), kind) => values::read(&values::write(&Value::Blob(bytes.clone()), Type::Bytea)?, kind),
        (SqlValue::Time(time), kind) => values::read(&time.seconds().to_string(), kind),
    }
}

/// A value of a result, whose type is known.
pub(super) fn of_result(value: ValueRef<'_>, kind: Type) -> Result<SqlValue> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match (value, kind) {
        (ValueRef::Null, _) => SqlValue::Null,
        (ValueRef::Integer(number @ (0 | 1)), Type::Flag) => SqlValue::Flag(number == 1),
        (ValueRef::Integer(number), kind) if kind.is_int() => SqlValue::Integer(number),
        (ValueRef::Integer(micros), kind) if kind.is_moment() => SqlValue::Time(Timestamp(micros)),
        (ValueRef::Real(number), Type::Float8) => SqlValue::Number(number),
        (ValueRef::Text(bytes), Type::Text | Type::Numeric) => SqlValue::Text(text(bytes)),
        (ValueRef::Text(bytes), Type::Jsonb) => SqlValue::Text(values::jsonb::Json::read(&text(bytes))?.write()),
        (ValueRef::Blob(bytes), Type::Uuid) => SqlValue::Text(values::write(&Value::Blob(bytes.to_vec()), Type::Uuid)?),
        (ValueRef::Blob(bytes), Type::Bytea) => SqlValue::Bytes(bytes.to_vec()),
        _ => return values::broken(kind),
    })
}
