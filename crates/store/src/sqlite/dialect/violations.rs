//! Violated constraints: SQLite's words for them become PostgreSQL's, with the names and codes that PostgreSQL has.

use super::catalogue::Catalogue;
use super::{Change, ChangeKind};

/// The sentence for SQLite's message, if it tells of a constraint. `change` is the change that the statement made.
pub(super) fn told(catalogue: &Catalogue, change: &Change, message: &str) -> Option<String> {
    if message == "FOREIGN KEY constraint failed" {
        return Some(format!("{} (23503)", reference(catalogue, change)));
    }
    let (kind, what) = message.split_once(" constraint failed: ")?;
    let table_of = |what: &str| what.split_once('.').map(|(table, _)| table.to_owned());
    match kind {
        "UNIQUE" => {
            let name = match what.strip_prefix("index '") {
                Some(index) => index.trim_end_matches('\'').to_owned(),
                None => unique(catalogue, &table_of(what)?, what),
            };
            Some(format!("duplicate key value violates unique constraint \"{name}\" (23505)"))
        }
        "NOT NULL" => {
            let (table, column) = what.split_once('.')?;
            Some(format!(
                "null value in column \"{column}\" of relation \"{table}\" violates not-null constraint (23502)"
            ))
        }
        "CHECK" => {
            let (table, name) = (&change.table, check(catalogue, &change.table, what));
            Some(format!("new row for relation \"{table}\" violates check constraint \"{name}\" (23514)"))
        }
        _ => None,
    }
}

/// The name of the unique key over columns, which are written with the table in front.
fn unique(catalogue: &Catalogue, table: &str, columns: &str) -> String {
    let written = |all: &Vec<String>| {
        let all: Vec<_> = all.iter().map(|column| format!("{table}.{column}")).collect();
        all.join(", ") == columns
    };
    let uniques = catalogue.table(table).map(|table| table.uniques.as_slice()).unwrap_or_default();
    let found = uniques.iter().find(|(_, columns)| written(columns));
    found.map_or_else(|| columns.to_owned(), |(name, _)| name.clone())
}

/// The name of a check. SQLite tells the condition of a check that has no name, as those of the server's tables.
fn check(catalogue: &Catalogue, table: &str, told: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    if told.chars().all(is_part) {
        return told.to_owned();
    }
    let has = |word: &&str| catalogue.table(table).is_some_and(|table| table.column(word).is_some());
    match told.split(|letter| !is_part(letter)).find(has) {
        Some(column) => format!("{table}_{column}_check"),
        None => told.to_owned(),
    }
}

/// The references that a change may have violated: SQLite does not tell which it was.
fn reference(catalogue: &Catalogue, change: &Change) -> String {
    let Change { table, kind, columns } = change;
    let changes = |all: &[String]| all.iter().any(|column| columns.contains(column));
    let known = catalogue.table(table);
    let own = known.map(|table| table.references.as_slice()).unwrap_or_default();
    let own = own.iter().filter(|reference| match kind {
        ChangeKind::Insert => true,
        ChangeKind::Update => changes(&reference.columns),
        ChangeKind::Delete => false,
    });
    let key = known.map(|table| table.key.as_slice()).unwrap_or_default();
    let others = catalogue.references_to(table).filter(|(_, reference)| match kind {
        ChangeKind::Delete => reference.keeps,
        _ => changes(if reference.referred.is_empty() { key } else { &reference.referred }),
    });
    let own: Vec<_> = own.map(|reference| format!("\"{}\"", reference.name)).collect();
    let others: Vec<_> = others.map(|(other, one)| format!("\"{}\" on table \"{other}\"", one.name)).collect();
    let verbs = if others.is_empty() { "insert or update" } else { "update or delete" };
    let all = [own, others].concat();
    let what = match &all[..] {
        [] => "a foreign key constraint".to_owned(),
        [one] => format!("foreign key constraint {one}"),
        all => format!("one of the foreign key constraints {}", all.join(", ")),
    };
    format!("{verbs} on table \"{table}\" violates {what}")
}
