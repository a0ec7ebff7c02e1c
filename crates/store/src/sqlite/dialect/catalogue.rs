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
    /// Tables that this one refers to.
    pub(super) refers_to: Vec<String>,
    /// Whether the table is one of the schema, and not made by a game.
    pub(super) is_of_schema: bool,
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

    /// Names of tables that refer to another.
    pub(super) fn referring_to(&self, name: &str) -> impl Iterator<Item = &str> {
        let all = self.tables.iter().chain(of_schema());
        let name = name.to_owned();
        all.filter(move |(own, table)| **own != name && table.refers_to.contains(&name)).map(|(own, _)| own.as_str())
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
                let table = read_table(connection, &name, text.contains(SERIAL_MARK))?;
                tables.insert(name, table);
            }
        }
        Ok(Self { tables })
    }
}

fn read_table(connection: &Connection, name: &str, has_mark: bool) -> rusqlite::Result<Table> {
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
    let mut refers_to = Vec::new();
    connection.pragma(None, "foreign_key_list", name, |row| {
        refers_to.push(row.get(2)?);
        Ok(())
    })?;
    Ok(Table { columns, key: key.into_iter().map(|(_, column)| column).collect(), refers_to, is_of_schema: false })
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
            let (mut key, mut refers_to) = (Vec::new(), Vec::new());
            for (_, constraint) in table.constraints {
                match constraint {
                    Constraint::Primary(columns) => key = columns,
                    Constraint::Foreign { table, .. } => refers_to.push(table),
                    _ => {}
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
            (table.name, Table { columns: columns.collect(), key, refers_to, is_of_schema: true })
        };
        statements.map(table).collect()
    })
}
