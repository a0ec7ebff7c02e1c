//! Functions that take SQLite's time in proportion to the square of their arguments' length, in versions that take time
//! in proportion to the length: nothing interrupts a function, and while a statement of game code writes, nobody else
//! does.

use std::sync::Arc;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Error, Result};

use super::dialect::Run;

/// Replaces the functions of a connection. `bytes_max` bounds the texts that they make.
pub(super) fn replace_functions(connection: &Connection, run: &Arc<Run>, bytes_max: usize) -> Result<()> {
    let run = Arc::clone(run);
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("replace", 3, flags, move |context| {
        run.check()?;
        replaced(context, bytes_max)
    })
}

fn replaced(context: &Context<'_>, bytes_max: usize) -> Result<Option<String>> {
    let argument =
        |index| context.get_raw(index).as_str_or_null().map_err(|error| Error::UserFunctionError(error.into()));
    let (Some(text), Some(from), Some(to)) = (argument(0)?, argument(1)?, argument(2)?) else { return Ok(None) };
    if from.is_empty() {
        return Ok(Some(text.to_owned()));
    }
    let longer_by = to.len().saturating_sub(from.len()).saturating_mul(text.matches(from).count());
    if text.len().saturating_add(longer_by) > bytes_max {
        return Err(Error::UserFunctionError(format!("A text is longer than {bytes_max} bytes.").into()));
    }
    Ok(Some(text.replace(from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_as_before_and_makes_no_text_without_end() {
        let connection = Connection::open_in_memory().unwrap();
        replace_functions(&connection, &Arc::default(), 10).unwrap();
        let check = |arguments: &str, expect: Option<&str>| {
            let sql = format!("SELECT replace({arguments})");
            let found: Result<Option<String>> = connection.query_row(&sql, [], |row| row.get(0));
            assert_eq!(found.unwrap().as_deref(), expect, "{arguments}");
        };
        check("'abcabc', 'b', 'xy'", Some("axycaxyc"));
        check("'aaa', 'aa', 'b'", Some("ba"));
        check("'abc', '', 'x'", Some("abc"));
        check("'äöä', 'ä', ''", Some("ö"));
        check("NULL, 'a', 'b'", None);
        check("'a', 'a', NULL", None);
        check("'aaaaa', 'a', 'bb'", Some("bbbbbbbbbb"));
        let long: Result<String> = connection.query_row("SELECT replace('aaaaaa', 'a', 'bb')", [], |row| row.get(0));
        assert!(long.unwrap_err().to_string().contains("longer than 10 bytes"));
    }
}
