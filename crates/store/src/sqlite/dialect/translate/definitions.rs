//! Statements that define tables and indexes.

use super::super::catalogue::{Column, SERIAL_MARK, Table, default_name};
use super::super::tree::{Alteration, ColumnDefinition, Constraint, CreateIndex, CreateTable, Expression, Statement};
use super::super::types::Type;
use super::super::{Result, refuse};
use super::scope::{Relation, Scope};
use super::{Translator, name};

/// A statement of SQLite that changes nothing.
const NOTHING: &str = "SELECT 1 WHERE 0";

/// Beginnings of names that belong to the databases and to Muster.
const FOREIGN_PREFIXES: [&str; 3] = ["pg_", "sqlite_", "muster_"];

impl Translator<'_> {
    pub(super) fn define(&mut self, statement: &Statement) -> Result<String> {
        match statement {
            Statement::CreateTable(table) => self.create_table(table),
            Statement::CreateIndex(index) => self.create_index(index),
            Statement::DropTable { name: table, if_exists } => {
                if self.catalogue.table(table).is_none() && *if_exists {
                    return Ok(NOTHING.to_owned());
                }
                self.of_game(table)?;
                if let Some(other) = self.catalogue.referring_to(table).next() {
                    return refuse(format!(
                        "cannot drop table {table} because {other} refers to it: drop {other} first"
                    ));
                }
                Ok(format!("DROP TABLE {}", name(table)))
            }
            Statement::DropIndex { name: index, if_exists } => {
                Ok(format!("DROP INDEX {}{}", if *if_exists { "IF EXISTS " } else { "" }, name(index)))
            }
            Statement::AlterTable { name: table, change } => self.alter_table(table, change),
            _ => refuse("no definition"),
        }
    }

    /// A table that a game made.
    fn of_game(&self, table: &str) -> Result<&Table> {
        let found = self.table(table)?;
        if found.is_of_schema {
            return refuse(format!("The table {table} is of the server's schema: game code does not change its form."));
        }
        Ok(found)
    }

    fn create_table(&mut self, table: &CreateTable) -> Result<String> {
        if FOREIGN_PREFIXES.iter().any(|prefix| table.name.starts_with(prefix)) {
            return refuse(format!("The name {} belongs to the database or the server: choose another.", table.name));
        }
        if table.if_not_exists && self.catalogue.table(&table.name).is_some() {
            return Ok(NOTHING.to_owned());
        }
        let relation = relation_of(table);
        let all = table.columns.iter().flat_map(|column| &column.constraints).chain(&table.constraints);
        let keys: Vec<_> = all
            .filter_map(
                |(_, constraint)| if let Constraint::Primary(columns) = constraint { Some(columns) } else { None },
            )
            .collect();
        if keys.len() > 1 {
            return refuse(format!("multiple primary keys for table \"{}\" are not allowed", table.name));
        }
        let key = keys.first().map_or(&[][..], |columns| columns.as_slice());
        let mut parts = Vec::new();
        for column in &table.columns {
            if relation.columns.iter().filter(|(name, _)| *name == column.name).count() > 1 {
                return refuse(format!("column \"{}\" specified more than once", column.name));
            }
            parts.push(self.column_definition(column, key)?);
        }
        let of_columns = table.columns.iter().flat_map(|column| &column.constraints);
        let mut taken = Vec::new();
        for (own, constraint) in of_columns.chain(&table.constraints) {
            if !matches!(constraint, Constraint::Primary(columns) if self.is_serial_key(table, columns)) {
                let sql = self.constraint(constraint, &relation, &table.name)?;
                let own = own.clone().unwrap_or_else(|| name_of(constraint, &relation, &table.name, &sql, &taken));
                parts.push(format!("CONSTRAINT {} {sql}", name(&own)));
                taken.push(own);
            }
        }
        Ok(format!("CREATE TABLE {} ({})", name(&table.name), parts.join(", ")))
    }

    /// Whether a primary key is a column that numbers the rows. SQLite wants it at the column.
    fn is_serial_key(&self, table: &CreateTable, columns: &[String]) -> bool {
        table.columns.iter().any(|column| column.is_serial && columns == [column.name.clone()])
    }

    fn column_definition(&mut self, column: &ColumnDefinition, key: &[String]) -> Result<String> {
        let mut sql = name(&column.name);
        if column.declared.kind == Type::Interval {
            return refuse("Columns of spans are not translated for SQLite: keep seconds in a BIGINT.");
        }
        let is_key = key.contains(&column.name);
        if column.is_serial {
            if key != [column.name.clone()] || !column.declared.kind.is_int() || column.default.is_some() {
                return refuse(format!(
                    "On SQLite a column that numbers the rows is the primary key: write {} BIGSERIAL PRIMARY KEY.",
                    column.name
                ));
            }
            let mark = if column.declared.kind == Type::Int8 { String::new() } else { format!("{SERIAL_MARK} ") };
            sql += &format!(" INTEGER {mark}NOT NULL PRIMARY KEY AUTOINCREMENT");
        } else {
            sql += &format!(" {}", column.declared.declaration());
            if column.is_not_null || is_key {
                sql += " NOT NULL";
            }
            if let Some(default) = &column.default {
                sql += &format!(" DEFAULT ({})", self.default(default, column)?);
            }
        }
        Ok(sql)
    }

    /// The value of a column that is left out. Only game code's connection writes it, so it may have functions of ours.
    fn default(&mut self, default: &Expression, column: &ColumnDefinition) -> Result<String> {
        self.scopes.push(Scope::default());
        let outcome = self.expression(default).and_then(|term| self.stored(term, column.declared, &column.name));
        self.scopes.pop();
        let sql = outcome?.sql;
        if sql.contains("SELECT") || sql.contains('?') && !self.parameters.is_empty() {
            return refuse("A default has no subqueries and parameters.");
        }
        Ok(sql)
    }

    fn constraint(&mut self, constraint: &Constraint, relation: &Relation, table: &str) -> Result<String> {
        let listed = |columns: &[String]| columns.iter().map(|column| name(column)).collect::<Vec<_>>().join(", ");
        Ok(match constraint {
            Constraint::Primary(columns) => {
                self.indexed(relation, columns)?;
                format!("PRIMARY KEY ({})", listed(columns))
            }
            Constraint::Unique(columns) => {
                self.indexed(relation, columns)?;
                format!("UNIQUE ({})", listed(columns))
            }
            Constraint::Check(condition) => format!("CHECK ({})", self.in_schema(relation.clone(), condition)?),
            Constraint::Foreign { columns, table: other, referred, on_delete } => {
                let kinds = self.indexed(relation, columns)?;
                if other != table {
                    let parent = self.table(other)?;
                    let parent = Relation::of_table(other, parent);
                    let referred = if referred.is_empty() { parent.key.clone() } else { referred.clone() };
                    let others = self.indexed(&parent, &referred)?;
                    let fits = |(one, other): (&Type, &Type)| one == other || (one.is_int() && other.is_int());
                    if kinds.len() != others.len() || !kinds.iter().zip(&others).all(fits) {
                        return refuse(format!(
                            "foreign key constraint cannot be implemented: columns of {other} have other types or numbers"
                        ));
                    }
                }
                let mut sql = format!("FOREIGN KEY ({}) REFERENCES {}", listed(columns), name(other));
                if !referred.is_empty() {
                    sql += &format!("({})", listed(referred));
                }
                if let Some(action) = on_delete {
                    sql += &format!(" ON DELETE {action}");
                }
                sql
            }
        })
    }

    /// Types of columns that may be in an index or a key: equal values of theirs have one form.
    fn indexed(&self, relation: &Relation, columns: &[String]) -> Result<Vec<Type>> {
        let mut kinds = Vec::new();
        for column in columns {
            let Some(typed) = relation.column(column)? else {
                return refuse(format!("column \"{column}\" named in key does not exist"));
            };
            if matches!(typed.kind, Type::Jsonb | Type::Numeric) {
                return refuse(format!(
                    "A key or an index of {} is not translated for SQLite: keep what is looked for in a column of \
                     another type.",
                    typed.kind.name()
                ));
            }
            kinds.push(typed.kind);
        }
        Ok(kinds)
    }

    fn create_index(&mut self, index: &CreateIndex) -> Result<String> {
        let table = self.table(&index.table)?;
        let mut relation = Relation::of_table(&index.table, table);
        relation.is_qualified = false;
        let columns: Vec<_> = index.columns.iter().map(|(column, _)| column.clone()).collect();
        self.indexed(&relation, &columns)?;
        let own = match &index.name {
            Some(own) => own.clone(),
            None => format!("{}_{}_idx", index.table, columns.join("_")),
        };
        if FOREIGN_PREFIXES.iter().any(|prefix| own.starts_with(prefix)) {
            return refuse(format!("The name {own} belongs to the database or the server: choose another."));
        }
        let written = |(column, is_descending): &(String, bool)| {
            format!("{}{}", name(column), if *is_descending { " DESC" } else { "" })
        };
        let mut sql = format!(
            "CREATE {}INDEX {}{} ON {} ({})",
            if index.is_unique { "UNIQUE " } else { "" },
            if index.if_not_exists { "IF NOT EXISTS " } else { "" },
            name(&own),
            name(&index.table),
            index.columns.iter().map(written).collect::<Vec<_>>().join(", ")
        );
        if let Some(condition) = &index.condition {
            sql += &format!(" WHERE {}", self.in_schema(relation, condition)?);
        }
        Ok(sql)
    }

    fn alter_table(&mut self, table: &str, change: &Alteration) -> Result<String> {
        let found = self.of_game(table)?.clone();
        let has = |column: &str| found.column(column).is_some();
        let alter = format!("ALTER TABLE {}", name(table));
        Ok(match change {
            Alteration::RenameTable(new) => {
                if FOREIGN_PREFIXES.iter().any(|prefix| new.starts_with(prefix)) {
                    return refuse(format!("The name {new} belongs to the database or the server: choose another."));
                }
                format!("{alter} RENAME TO {}", name(new))
            }
            Alteration::RenameColumn { old, new } => {
                if !has(old) || has(new) {
                    return refuse(format!("column \"{old}\" does not exist, or \"{new}\" exists"));
                }
                format!("{alter} RENAME COLUMN {} TO {}", name(old), name(new))
            }
            Alteration::DropColumn { column, if_exists } => {
                if !has(column) && *if_exists {
                    return Ok(NOTHING.to_owned());
                }
                format!("{alter} DROP COLUMN {}", name(column))
            }
            Alteration::AddColumn { column, if_not_exists } => {
                if has(&column.name) && *if_not_exists {
                    return Ok(NOTHING.to_owned());
                }
                let mut relation = Relation::of_table(table, &found);
                relation.is_qualified = false;
                relation.columns.push((column.name.clone(), Some(column.declared.kind)));
                if column.is_serial {
                    return refuse("A column that numbers the rows is declared in CREATE TABLE.");
                }
                let mark = std::mem::replace(&mut self.has_functions, false);
                let mut sql = format!("{alter} ADD COLUMN {}", self.column_definition(column, &[])?);
                for (_, constraint) in &column.constraints {
                    let written = self.constraint(constraint, &relation, table)?;
                    let own = format!("FOREIGN KEY ({}) ", name(&column.name));
                    sql += &match constraint {
                        Constraint::Check(_) => {
                            let own = name_of(constraint, &relation, table, &written, &[]);
                            format!(" CONSTRAINT {} {written}", name(&own))
                        }
                        // At its column a reference does not name it again.
                        Constraint::Foreign { .. } => format!(" {}", written.trim_start_matches(&own)),
                        _ => return refuse("A column that is added has no UNIQUE on SQLite: make a unique index."),
                    };
                }
                if std::mem::replace(&mut self.has_functions, mark) {
                    return refuse(
                        "On SQLite the default of a column that is added is a literal: add it without, and UPDATE.",
                    );
                }
                sql
            }
        })
    }
}

/// The name that PostgreSQL gives to a constraint without one. SQLite tells it when the constraint is violated.
fn name_of(constraint: &Constraint, relation: &Relation, table: &str, sql: &str, taken: &[String]) -> String {
    let (columns, suffix) = match constraint {
        Constraint::Primary(_) => (Vec::new(), "pkey"),
        Constraint::Unique(columns) => (columns.clone(), "key"),
        Constraint::Foreign { columns, .. } => (columns.clone(), "fkey"),
        Constraint::Check(_) => {
            let all = relation.columns.iter().map(|(column, _)| column.clone());
            let checked: Vec<_> = all.filter(|column| sql.contains(&name(column))).collect();
            (if checked.len() == 1 { checked } else { Vec::new() }, "check")
        }
    };
    let mut own = default_name(table, &columns, suffix);
    let mut count = 0;
    while taken.contains(&own) {
        count += 1;
        own = default_name(table, &columns, &format!("{suffix}{count}"));
    }
    own
}

/// The table as its own constraints see it.
fn relation_of(table: &CreateTable) -> Relation {
    let column = |column: &ColumnDefinition| Column {
        name: column.name.clone(),
        declared: Some(column.declared),
        is_not_null: column.is_not_null,
        is_serial: column.is_serial,
        has_default: column.default.is_some(),
        is_now_by_default: false,
    };
    let columns = table.columns.iter().map(column).collect();
    let (key, uniques, references) = (Vec::new(), Vec::new(), Vec::new());
    let table_like = Table { columns, key, uniques, references, is_of_schema: false };
    let mut relation = Relation::of_table(&table.name, &table_like);
    relation.is_qualified = false;
    relation
}
