//! Tables with the types of their columns: Muster's own, from the schema of PostgreSQL, and those that a game made,
//! from the types that SQLite keeps as they were declared.

use std::collections::HashMap;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::parser;
use super::tree::{Constraint, Declared, Expression, Statement};
use super::types::Type;

const SCHEMA: &str = include_str!("../../../migrations/postgres/0000_nakama.sql");

/// The mark of a numbered column of 32 bits in the text of a table. SQLite calls such columns INTEGER, whatever their
/// width.
pub(super) const SERIAL_MARK: &str = "/* serial */";

#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// `None` for a type that is not known: then statements that use the column are refused.
    pub(super) declared: Option<Declared>,
    pub(super) is_not_null: bool,
    /// Whether the database numbers the rows in this column.
    pub(super) is_serial: bool,
    pub(super) has_default: bool,
    /// Whether PostgreSQL writes the time of the statement when no value is given. SQLite's schema has no such default.
    pub(super) is_now_by_default: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    /// Columns of the primary key.
    pub(super) key: Vec<String>,
    /// Unique keys, the primary one among them, with their names and columns.
    pub(super) uniques: Vec<(String, Vec<String>)>,
    pub(super) references: Vec<Reference>,
    /// Whether the table is one of the schema, and not made by a game.
    pub(super) is_of_schema: bool,
}

/// The reference of a table's rows to rows of a table.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) table: String,
    /// Columns of the other table; none stand for its primary key.
    pub(super) referred: Vec<String>,
    /// Whether rows that are referred to cannot be deleted.
    pub(super) keeps: bool,
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// All tables, by their names.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Catalogue {
    tables: HashMap<String, Table>,
}

impl Catalogue {
    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name).or_else(|| of_schema().get(name))
    }

    /// Names of all tables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().chain(of_schema().keys()).map(String::as_str)
    }

    /// References of tables to another, each with the name of its own table.
    pub(super) fn references_to(&self, name: &str) -> impl Iterator<Item = (&str, &Reference)> {
        let all = self.tables.iter().chain(of_schema());
        let all = all.flat_map(|(own, table)| table.references.iter().map(move |reference| (own.as_str(), reference)));
        all.filter(move |(_, reference)| reference.table == name)
    }

    /// Names of other tables that refer to one.
    pub(super) fn referring_to(&self, name: &str) -> impl Iterator<Item = &str> {
        self.references_to(name).map(|(own, _)| own).filter(move |own| *own != name)
    }

    /// The tables of an open file.
    pub(in crate::sqlite) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut names = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")?;
        let names = names.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut tables = HashMap::new();
        for name in names {
            let (name, text) = name?;
            let is_hidden = ["muster_", "sqlite_"].iter().any(|prefix| name.starts_with(prefix));
            if !is_hidden && !of_schema().contains_key(&name) {
                let table = read_table(connection, &name, &text)?;
                tables.insert(name, table);
            }
        }
        Ok(Self { tables })
    }
}

fn read_table(connection: &Connection, name: &str, text: &str) -> rusqlite::Result<Table> {
    let has_mark = text.contains(SERIAL_MARK);
    let (mut columns, mut key) = (Vec::new(), Vec::new());
    connection.pragma(None, "table_xinfo", name, |row| {
        let column: String = row.get(1)?;
        let declared: String = row.get(2)?;
        let place: i64 = row.get(5)?;
        let is_serial = place > 0 && declared.eq_ignore_ascii_case("INTEGER");
        let declared = match Type::of_column(&declared) {
            Some(_) if is_serial && !has_mark => Some(Declared::plain(Type::Int8)),
            other => other,
        };
        if place > 0 {
            key.push((place, column.clone()));
        }
        columns.push(Column {
            name: column,
            declared,
            is_not_null: row.get(3)?,
            is_serial,
            has_default: row.get::<_, Option<String>>(4)?.is_some(),
            is_now_by_default: false,
        });
        Ok(())
    })?;
    key.sort();
    let key: Vec<String> = key.into_iter().map(|(_, column)| column).collect();
    let uniques = read_uniques(connection, name, text, &key)?;
    let references = read_references(connection, name, text)?;
    Ok(Table { columns, key, uniques, references, is_of_schema: false })
}

fn read_uniques(
    connection: &Connection,
    table: &str,
    text: &str,
    key: &[String],
) -> rusqlite::Result<Vec<(String, Vec<String>)>> {
    let mut indexes: Vec<(String, String)> = Vec::new();
    connection.pragma(None, "index_list", table, |row| {
        if row.get(2)? {
            indexes.push((row.get(1)?, row.get(3)?));
        }
        Ok(())
    })?;
    let mut uniques = Vec::new();
    for (index, origin) in indexes {
        let mut columns: Vec<String> = Vec::new();
        connection.pragma(None, "index_info", &index, |row| {
            columns.extend(row.get::<_, Option<String>>(2)?);
            Ok(())
        })?;
        match origin.as_str() {
            "pk" => {}
            "u" => {
                let own = written_name(text, "UNIQUE", &columns);
                uniques.push((own.unwrap_or_else(|| default_name(table, &columns, "key")), columns));
            }
            _ => uniques.push((index, columns)),
        }
    }
    if !key.is_empty() {
        let own = written_name(text, "PRIMARY KEY", key);
        uniques.push((own.unwrap_or_else(|| default_name(table, &[], "pkey")), key.to_vec()));
    }
    Ok(uniques)
}

fn read_references(connection: &Connection, table: &str, text: &str) -> rusqlite::Result<Vec<Reference>> {
    // The rows of one reference follow each other, one for each column.
    let mut references: Vec<(i64, Reference)> = Vec::new();
    connection.pragma(None, "foreign_key_list", table, |row| {
        let (id, other, action): (i64, String, String) = (row.get(0)?, row.get(2)?, row.get(6)?);
        if references.last().is_none_or(|(last, _)| *last != id) {
            let keeps = matches!(action.as_str(), "NO ACTION" | "RESTRICT");
            let (columns, referred) = (Vec::new(), Vec::new());
            references.push((id, Reference { name: String::new(), columns, table: other, referred, keeps }));
        }
        if let Some((_, reference)) = references.last_mut() {
            reference.columns.push(row.get(3)?);
            reference.referred.extend(row.get::<_, Option<String>>(4)?);
        }
        Ok(())
    })?;
    let named = |(_, reference): (i64, Reference)| {
        let own = written_name(text, "FOREIGN KEY", &reference.columns);
        let name = own.unwrap_or_else(|| default_name(table, &reference.columns, "fkey"));
        Reference { name, ..reference }
    };
    Ok(references.into_iter().map(named).collect())
}

/// The name of a constraint in the text of its table. A table that an older release made has none.
fn written_name(text: &str, kind: &str, columns: &[String]) -> Option<String> {
    let quoted: Vec<_> = columns.iter().map(|column| format!("\"{}\"", column.replace('"', "\"\""))).collect();
    let (before, _) = text.split_once(&format!("\" {kind} ({})", quoted.join(", ")))?;
    let (_, name) = before.rsplit_once("CONSTRAINT \"")?;
    (!name.contains('"')).then(|| name.to_owned())
}

/// The name that PostgreSQL gives to a constraint without one. Long names of table and columns are cut short.
pub(super) fn default_name(table: &str, columns: &[String], suffix: &str) -> String {
    const BYTES_MAX: usize = 63;
    let (mut first, mut second) = (table.to_owned(), columns.join("_"));
    let room = BYTES_MAX - suffix.len() - if second.is_empty() { 1 } else { 2 };
    while first.len() + second.len() > room {
        let longer = if first.len() > second.len() { &mut first } else { &mut second };
        longer.pop();
    }
    let middle = if second.is_empty() { String::new() } else { format!("_{second}") };
    format!("{first}{middle}_{suffix}")
}

/// Muster's own tables. The schema is parsed at the first use; a test compares it with SQLite's.
pub(super) fn of_schema() -> &'static HashMap<String, Table> {
    static TABLES: OnceLock<HashMap<String, Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let statements = SCHEMA.split(";\n").filter_map(|text| match parser::parse(text) {
            Ok(Statement::CreateTable(table)) => Some(table),
            _ => None,
        });
        let table = |table: super::tree::CreateTable| {
            let (mut key, mut uniques, mut references) = (Vec::new(), Vec::new(), Vec::new());
            for (name, constraint) in table.constraints {
                let name = name.unwrap_or_default();
                match constraint {
                    Constraint::Primary(columns) => {
                        key.clone_from(&columns);
                        uniques.push((name, columns));
                    }
                    Constraint::Unique(columns) => uniques.push((name, columns)),
                    Constraint::Foreign { columns, table, referred, on_delete } => {
                        let keeps = matches!(on_delete, None | Some("NO ACTION" | "RESTRICT"));
                        references.push(Reference { name, columns, table, referred, keeps });
                    }
                    Constraint::Check(_) => {}
                }
            }
            let columns = table.columns.into_iter().map(|column| Column {
                name: column.name,
                declared: Some(column.declared),
                is_not_null: column.is_not_null,
                is_serial: false,
                has_default: column.default.is_some(),
                is_now_by_default: matches!(column.default, Some(Expression::Call(_))),
            });
            let columns = columns.collect();
            (table.name, Table { columns, key, uniques, references, is_of_schema: true })
        };
        statements.map(table).collect()
    })
}
