//! Statements that game code may send to the database. One that changes the connection's own state, which others use
//! after it, is refused, and so is what only an operator may do.

#[cfg(test)]
mod fuzz;
mod permitted;
mod words;

use crate::ports::sql::{SqlRows, SqlStore, SqlValue};
use crate::{Error, Result};

/// A longer statement is refused.
pub const SQL_STATEMENT_BYTES_MAX: usize = 1 << 20;

/// More parameters are refused.
pub const SQL_PARAMETERS_MAX: usize = 1_000;

/// More rows are refused.
pub const SQL_ROWS_MAX: usize = 10_000;

/// More bytes of rows are refused.
pub const SQL_ROWS_BYTES_MAX: usize = 8 << 20;

/// The original's tables, whose rows game code may change, and not their form.
pub const ORIGINAL_TABLES: [&str; 20] = [
    "console_acl_template",
    "console_audit_log",
    "console_user",
    "group_edge",
    "groups",
    "leaderboard",
    "leaderboard_record",
    "message",
    "migration_info",
    "notification",
    "purchase",
    "setting",
    "storage",
    "subscription",
    "user_device",
    "user_edge",
    "user_tombstone",
    "users",
    "users_notes",
    "wallet_ledger",
];

/// Runs a statement. Answers how many rows it changed.
///
/// # Errors
/// `InvalidArgument` for a statement that is refused, or that the database does not understand.
pub async fn exec(store: &dyn SqlStore, statement: &str, parameters: Vec<SqlValue>) -> Result<u64> {
    check(statement, &parameters)?;
    Ok(store.sql_exec(statement, parameters).await?)
}

/// Runs a statement. Answers its rows.
///
/// # Errors
/// The same as of [`exec`].
pub async fn query(store: &dyn SqlStore, statement: &str, parameters: Vec<SqlValue>) -> Result<SqlRows> {
    check(statement, &parameters)?;
    Ok(store.sql_query(statement, parameters).await?)
}

/// How many bytes a value takes, about.
pub fn bytes_of(value: &SqlValue) -> usize {
    size_of::<SqlValue>()
        + match value {
            SqlValue::Text(text) => text.len(),
            SqlValue::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
}

fn check(statement: &str, parameters: &[SqlValue]) -> Result<()> {
    if statement.len() > SQL_STATEMENT_BYTES_MAX {
        return Err(Error::invalid(format!("A statement has at most {SQL_STATEMENT_BYTES_MAX} bytes.")));
    }
    if parameters.len() > SQL_PARAMETERS_MAX {
        return Err(Error::invalid(format!("A statement has at most {SQL_PARAMETERS_MAX} parameters.")));
    }
    permitted::check(statement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_and_many_parameters_are_refused() {
        assert!(check("SELECT 1", &vec![SqlValue::Null; SQL_PARAMETERS_MAX]).is_ok());
        assert!(check("SELECT 1", &vec![SqlValue::Null; SQL_PARAMETERS_MAX + 1]).is_err());
        assert!(check(&format!("SELECT {}", "1".repeat(SQL_STATEMENT_BYTES_MAX)), &[]).is_err());
    }
}
