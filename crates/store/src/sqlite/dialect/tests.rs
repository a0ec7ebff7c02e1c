//! The catalogue against the file's schema, and translations of damaged statements.

use muster_testenv::fuzz::Fuzz;
use rusqlite::Connection;
use uuid::Uuid;

use super::catalogue::{self, Catalogue};
use super::types::{TYPES, Type};
use super::{add_functions, translate, values};
use crate::suite::dialect::{SETUP, statements};

/// A database with the server's tables, and those that the suite's statements make.
fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(include_str!("../../../migrations/sqlite/0001_initial.sql")).unwrap();
    add_functions(&connection).unwrap();
    for statement in SETUP {
        let catalogue = Catalogue::read(&connection).unwrap();
        let translation = translate(statement, &catalogue).unwrap();
        if translation.sql.starts_with("CREATE") || translation.sql.starts_with("ALTER") {
            connection.execute(&translation.sql, []).unwrap();
        }
    }
    connection
}

#[test]
fn the_server_s_tables_have_the_columns_and_forms_of_the_catalogue() {
    let connection = database();
    let mut columns = 0;
    for (table, known) in catalogue::of_schema() {
        let mut own = Vec::new();
        let read = connection.pragma(None, "table_xinfo", table, |row| {
            own.push((row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, bool>(3)?));
            Ok(())
        });
        read.unwrap();
        assert_eq!(own.len(), known.columns.len(), "{table}");
        for (name, declared, is_not_null) in own {
            let column = known.column(&name).unwrap_or_else(|| panic!("{table}.{name}"));
            let form = match column.declared.unwrap().kind {
                Type::Flag => "BOOLEAN INTEGER",
                Type::Int2 | Type::Int4 | Type::Int8 => "INTEGER",
                Type::Text => "TEXT",
                Type::Uuid => "UUID BLOB",
                Type::TimestampTz => "TIME INTEGER",
                Type::Jsonb => "JSON TEXT",
                Type::Bytea => "BLOB",
                other => panic!("{table}.{name}: {other:?}"),
            };
            assert_eq!((declared.as_str(), is_not_null), (form, column.is_not_null), "{table}.{name}");
            columns += 1;
        }
    }
    assert!(columns > 100, "{columns}");
}

/// Words that mean something in statements.
const WORDS: &[&str] = &[
    "SELECT ",
    "FROM ",
    "WHERE ",
    "(",
    ")",
    ",",
    "'",
    "''",
    "\"",
    "$1",
    "$2",
    "::text",
    "::int",
    "::jsonb",
    "::uuid",
    "::date",
    "::timestamptz",
    "::numeric",
    " AND ",
    " OR NOT ",
    " IN (SELECT ",
    " UNION ALL ",
    " ORDER BY 1",
    " LIMIT 1",
    "CASE WHEN ",
    " END",
    "count(*)",
    "coalesce(",
    "interval '1 month'",
    "now()",
    "ON CONFLICT DO NOTHING",
    "RETURNING *",
    "WITH a AS (",
    "LATERAL ",
    " GROUP BY ",
    "array_agg(",
    "->>'a'",
    "#>'{a,0}'",
    " @> ",
    "||",
    " LIKE 'a%'",
    "/*",
    "*/",
    "--",
    ";",
    "E'",
    "\\",
    "9223372036854775808",
    "1e400",
    ".5",
    "NULL",
    "DISTINCT ON (",
    "\0",
    "é",
    "muster_effect",
    "sqlite_master",
    "rowid",
];

/// A target needs more stack than a thread of a test has: statements may nest.
fn with_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(32 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn damaged_statements_are_refused_or_sqlite_understands_them() {
    with_stack(|| {
        let connection = database();
        let catalogue = Catalogue::read(&connection).unwrap();
        let all = SETUP.iter().copied().chain(statements().into_iter().map(|(text, _)| text));
        let tried = Fuzz::new("sql-dialect").seeds(all).words(WORDS).runs(20_000).run(|input| {
            let text = String::from_utf8_lossy(input);
            let Ok(translation) = translate(&text, &catalogue) else { return false };
            let outcome = connection.prepare(&translation.sql);
            // Names of tables, indexes and keys are SQLite's to judge.
            let is_of_schema = ["CREATE ", "DROP ", "ALTER "].iter().any(|verb| translation.sql.starts_with(verb));
            let is_right = outcome.is_ok() || is_of_schema || text.to_lowercase().contains("conflict");
            assert!(is_right, "{text}\n{}\n{:?}", translation.sql, outcome.err());
            let Ok(statement) = outcome else { return true };
            let columns = translation.columns.len();
            let has_them = columns == 0 || statement.column_count() == columns;
            assert!(has_them, "{text}\n{}", translation.sql);
            assert!(statement.parameter_count() <= translation.parameters.len(), "{text}\n{}", translation.sql);
            true
        });
        assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
    });
}

#[test]
fn damaged_values_are_refused_or_written_as_they_are_read() {
    const OF_VALUES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\u0000",
        "\\ud800",
        "1e400",
        "-",
        "0.1",
        "NaN",
        "infinity",
        "t",
        "\\x",
        "\\\\",
        "\\377",
        "2024-02-29",
        " 24:00:00",
        "+15:59",
        "BC",
        "99999-01-01",
        "e-1000",
        "0000-0000",
        "_",
        "\0",
        "é",
        " ",
        "true",
    ];
    with_stack(|| {
        let tried = Fuzz::new("sql-values").words(OF_VALUES).run(|input| {
            let Some((kind, text)) = input.split_first() else { return false };
            let (kind, text) = (TYPES[usize::from(*kind) % TYPES.len()], String::from_utf8_lossy(text));
            let Ok(value) = values::read(&text, kind) else { return false };
            // Spans have no text here.
            let Ok(written) = values::write(&value, kind) else {
                assert_eq!(kind, Type::Interval);
                return true;
            };
            assert_eq!(values::read(&written, kind), Ok(value), "{written}");
            for other in TYPES {
                // Any conversion may be refused.
                let _ = values::convert(values::read(&text, kind).unwrap(), kind, other);
            }
            true
        });
        assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
    });
}

/// Whether a text fits a pattern, slowly.
fn fits(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|taken| fits(&text[taken..], rest)),
        ['_', rest @ ..] => !text.is_empty() && fits(&text[1..], rest),
        [letter, rest @ ..] => text.first() == Some(letter) && fits(&text[1..], rest),
    }
}

#[test]
fn damaged_patterns_fit_what_they_say() {
    let tried = Fuzz::new("sql-like").words(&["%", "_", "a", "b", "\n", "é"]).input_bytes_max(16).run(|input| {
        let input = String::from_utf8_lossy(input);
        let (text, pattern) = input.split_once('\n').unwrap_or((&input, "%a_"));
        let slowly = fits(&text.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>());
        assert_eq!(values::pattern::fits(text, pattern, None), Ok(slowly));
        slowly
    });
    assert!(tried.accepted > tried.inputs / 50, "{tried:?}");
}

#[test]
fn parameters_are_data() {
    let connection = database();
    let catalogue = Catalogue::read(&connection).unwrap();
    let translation =
        translate("SELECT name FROM guild WHERE key = $1 AND name = $2 AND key <> $1", &catalogue).unwrap();
    assert_eq!(translation.parameters, [Type::Uuid, Type::Text]);
    assert!(!translation.sql.contains('$'));
    let id = super::of_parameter(&muster_domain::ports::sql::SqlValue::Text(Uuid::nil().to_string()), Type::Uuid);
    assert_eq!(id, Ok(rusqlite::types::Value::Blob(vec![0; 16])));
}
