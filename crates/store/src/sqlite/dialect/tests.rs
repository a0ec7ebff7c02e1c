//! The catalogue against the file's schema, and translations of damaged statements.

use rusqlite::Connection;
use uuid::Uuid;

use super::catalogue::{self, Catalogue};
use super::types::Type;
use super::{add_functions, translate};
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

/// A statement is damaged in a way that the seed chooses: words are left out, doubled, exchanged with those of another
/// statement, or it ends early.
fn damaged(statement: &str, other: &str, seed: &mut u64) -> String {
    let mut next = |below: usize| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % below.max(1)
    };
    let is_edge = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let mut words: Vec<&str> = statement.split_inclusive(is_edge).collect();
    let others: Vec<&str> = other.split_inclusive(is_edge).collect();
    for _ in 0..=next(3) {
        let (at, from) = (next(words.len()), next(words.len()));
        match next(5) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[from]),
            2 => words.swap(at, from),
            3 => words[at] = others[next(others.len())],
            _ => words.truncate(at.max(1)),
        }
        if words.is_empty() {
            break;
        }
    }
    words.concat()
}

#[test]
fn no_statement_panics_and_sqlite_understands_each_translation() {
    // The statements nest little, but a damaged one may nest more than a test's stack holds.
    let test = || {
        let connection = database();
        let catalogue = Catalogue::read(&connection).unwrap();
        let all: Vec<&str> = SETUP.iter().copied().chain(statements().into_iter().map(|(text, _)| text)).collect();
        let mut seed = 1;
        let mut understood = 0;
        for (index, statement) in all.iter().enumerate() {
            for round in 0..200 {
                let text = damaged(statement, all[(index + round) % all.len()], &mut seed);
                let Ok(translation) = translate(&text, &catalogue) else { continue };
                let outcome = connection.prepare(&translation.sql);
                // Names of tables, indexes and keys are SQLite's to judge.
                let is_of_schema = ["CREATE ", "DROP ", "ALTER "].iter().any(|verb| translation.sql.starts_with(verb));
                let is_right = outcome.is_ok() || is_of_schema || text.to_lowercase().contains("conflict");
                assert!(is_right, "{text}\n{}\n{:?}", translation.sql, outcome.err());
                understood += 1;
            }
        }
        assert!(understood > all.len(), "{understood}");
    };
    std::thread::Builder::new().stack_size(32 << 20).spawn(test).unwrap().join().unwrap();
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
