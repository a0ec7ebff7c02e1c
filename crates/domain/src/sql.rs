//! Statements that game code may send to the database. One that changes the connection's own state, which others use
//! after it, is refused, and so is what only an operator may do.

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

/// First words of statements.
const VERBS: [&str; 21] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES", "TABLE", "MERGE", "REPLACE", "CREATE", "ALTER", "DROP",
    "TRUNCATE", "EXPLAIN", "ANALYZE", "COMMENT", "REFRESH", "GRANT", "REVOKE", "DO", "CALL",
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
    let verb = verb(statement).to_ascii_uppercase();
    if VERBS.contains(&verb.as_str()) {
        return Ok(());
    }
    Err(Error::invalid(match nearest(&verb, VERBS) {
        Some(near) => format!("syntax error: no statement begins with \"{verb}\": did you mean {near}? (42601)"),
        None => {
            format!("Game code sends no statement that begins with \"{verb}\": each is a transaction of its own.")
        }
    }))
}

/// The known name that another name is probably a misspelling of: of three letters at most one is wrong, and at most
/// two in all.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const WRONG_MAX: usize = 2;
    let near = known.into_iter().map(|one| (strsim::damerau_levenshtein(name, one), one)).min()?;
    ((1..=WRONG_MAX).contains(&near.0) && near.0 * 3 <= near.1.chars().count()).then_some(near.1)
}

/// The first word, behind comments and parentheses.
fn verb(statement: &str) -> &str {
    let mut rest = statement;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '(' || letter == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            return &rest[..end];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_concern_the_connection_are_refused() {
        for statement in [
            "SELECT 1",
            "  (select 1)",
            "-- why\n/* because */ insert into t values (1)",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "VALUES(1)",
        ] {
            assert!(check(statement, &[]).is_ok(), "{statement}");
        }
        for statement in [
            "",
            "BEGIN",
            "commit",
            "ROLLBACK",
            "SAVEPOINT a",
            "SET x = 1",
            "RESET ALL",
            "LISTEN a",
            "DISCARD ALL",
            "PRAGMA synchronous = off",
            "ATTACH 'x' AS y",
            "VACUUM INTO 'x'",
            "COPY t TO '/x'",
            "LOCK t",
            "PREPARE a AS x",
            "/* open",
            "--",
            "/* SELECT */ BEGIN",
            "12",
        ] {
            assert!(check(statement, &[]).is_err(), "{statement}");
        }
        for (misspelt, told) in [("SELEC 1", "did you mean SELECT?"), ("/* x */ delte from t", "did you mean DELETE?")]
        {
            let Err(error) = check(misspelt, &[]) else { panic!("{misspelt}") };
            assert!(error.message.contains(told), "{}", error.message);
        }
        assert!(check("SELECT 1", &vec![SqlValue::Null; SQL_PARAMETERS_MAX + 1]).is_err());
        assert!(check(&format!("SELECT {}", "1".repeat(SQL_STATEMENT_BYTES_MAX)), &[]).is_err());
    }
}
