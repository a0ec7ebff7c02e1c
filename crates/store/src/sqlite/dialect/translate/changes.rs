//! Statements that change rows.

use super::super::catalogue::{Column, Table};
use super::super::tree::{Assignment, Body, Conflict, Delete, Expression, Insert, Item, Query, Update};
use super::super::types::Type;
use super::super::{Result, refuse};
use super::queries::Wanted;
use super::scope::{Relation, Scope};
use super::{Columns, Term, Translator, name};

impl<'a> Translator<'a> {
    pub(super) fn insert(&mut self, insert: &Insert) -> Result<(String, Columns)> {
        let table = self.table(&insert.table)?;
        let alias = insert.alias.as_deref().unwrap_or(&insert.table);
        let given = self.given_columns(insert, table)?;
        let mut written: Vec<String> = given.iter().map(|column| name(&column.name)).collect();
        let missing: Vec<_> = table
            .columns
            .iter()
            .filter(|column| column.is_now_by_default && !given.iter().any(|other| other.name == column.name))
            .collect();
        let mut sql = format!("INSERT INTO {} AS {}", name(&insert.table), name(alias));
        let source = match &insert.source {
            Some(Query { body: Body::Values(rows), with, order, limit: None, offset: None, .. })
                if with.is_empty() && order.is_empty() =>
            {
                self.rows_of_values(rows, &given, &missing, &mut written, insert.conflict.as_ref())?
            }
            Some(query) => self.rows_of_query(query, &given, &missing, insert.conflict.as_ref())?,
            None if missing.is_empty() => "DEFAULT VALUES".to_owned(),
            None => format!("VALUES ({})", vec![self.call("pg_now", &[]); missing.len()].join(", ")),
        };
        written.extend(missing.iter().map(|column| name(&column.name)));
        if written.is_empty() {
            sql += " DEFAULT VALUES";
        } else {
            sql += &format!(" ({}) {source}", written.join(", "));
        }
        if let Some(conflict) = &insert.conflict {
            sql += &self.conflict(conflict, table, alias)?;
        }
        let (returning, columns) = self.returning(&insert.returning, table, alias)?;
        Ok((sql + &returning, columns))
    }

    /// The columns that an `INSERT` gives values to.
    fn given_columns(&self, insert: &Insert, table: &'a Table) -> Result<Vec<&'a Column>> {
        let mut given: Vec<&Column> = Vec::new();
        match (&insert.columns, &insert.source) {
            (Some(columns), _) => {
                for column in columns {
                    let found = self.target(table, &insert.table, column)?;
                    if given.iter().any(|other| other.name == found.name) {
                        return refuse(format!("column \"{column}\" specified more than once"));
                    }
                    given.push(found);
                }
            }
            (None, Some(source)) => {
                // As many columns, from the left, as there are values.
                let count = match &source.body {
                    Body::Values(rows) => rows.first().map_or(0, Vec::len),
                    _ => table.columns.len(),
                };
                if count > table.columns.len() {
                    return refuse("INSERT has more expressions than target columns");
                }
                given.extend(&table.columns[..count]);
            }
            (None, None) => {}
        }
        Ok(given)
    }

    fn target(&self, table: &'a Table, table_name: &str, column: &str) -> Result<&'a Column> {
        match table.column(column) {
            Some(column) => Ok(column),
            None => {
                let known = table.columns.iter().map(|column| column.name.as_str());
                let advice = crate::advice::of_name(column, known).unwrap_or_default();
                refuse(format!("column \"{column}\" of relation \"{table_name}\" does not exist{advice} (42703)"))
            }
        }
    }

    /// A value for a column.
    fn value(&mut self, value: &Expression, column: &Column) -> Result<String> {
        let Some(declared) = column.declared else {
            return refuse(format!("The column {} has a type that is not translated for SQLite.", column.name));
        };
        if column.is_serial {
            return refuse(format!(
                "On SQLite the column {} numbers its rows itself: leave it out, or write DEFAULT.",
                column.name
            ));
        }
        let term = self.expression(value)?;
        Ok(self.stored(term, declared, &column.name)?.sql)
    }

    fn rows_of_values(
        &mut self,
        rows: &[Vec<Expression>],
        given: &[&Column],
        missing: &[&Column],
        written: &mut Vec<String>,
        conflict: Option<&Conflict>,
    ) -> Result<String> {
        if rows.iter().any(|row| row.len() != given.len()) {
            return refuse("INSERT has more target columns than expressions, or fewer");
        }
        // SQLite has no DEFAULT among values: a column where all rows have it is left out.
        let is_default = |index: usize| rows.iter().any(|row| matches!(row[index], Expression::Default));
        let defaults: Vec<bool> = (0..given.len()).map(is_default).collect();
        self.scopes.push(Scope::default());
        let outcome = rows.iter().map(|row| self.row_of_values(row, given, &defaults)).collect::<Result<Vec<_>>>();
        self.scopes.pop();
        let mut all = outcome?;
        let mut index = 0;
        written.retain(|_| {
            index += 1;
            !defaults[index - 1]
        });
        let kept: Vec<&Column> =
            given.iter().zip(&defaults).filter(|(_, is_default)| !**is_default).map(|(column, _)| *column).collect();
        if all.len() > 1 {
            if kept.is_empty() && missing.is_empty() {
                return refuse(
                    "Several rows of DEFAULT alone are not translated for SQLite: send a statement for each.",
                );
            }
            self.guard_keys(&mut all, &kept, conflict)?;
        }
        let now = if missing.is_empty() { String::new() } else { self.call("pg_now", &[]) };
        let row = |mut row: Vec<String>| {
            row.extend(missing.iter().map(|_| now.clone()));
            format!("({})", row.join(", "))
        };
        Ok(format!("VALUES {}", all.into_iter().map(row).collect::<Vec<_>>().join(", ")))
    }

    fn row_of_values(&mut self, row: &[Expression], given: &[&Column], defaults: &[bool]) -> Result<Vec<String>> {
        let mut values = Vec::new();
        for ((value, column), has_default) in row.iter().zip(given).zip(defaults) {
            match (value, has_default) {
                (Expression::Default, _) if column.is_now_by_default => {
                    return refuse(format!("Leave the column {} out in place of DEFAULT.", column.name));
                }
                (Expression::Default, _) => {}
                (_, true) => {
                    return refuse(format!(
                        "On SQLite the column {} has DEFAULT in all rows or in none: send two statements.",
                        column.name
                    ));
                }
                (value, false) => values.push(self.value(value, column)?),
            }
        }
        Ok(values)
    }

    /// PostgreSQL refuses two rows with one key in an `INSERT … ON CONFLICT DO UPDATE`; SQLite would change one twice.
    fn guard_keys(&mut self, rows: &mut [Vec<String>], given: &[&Column], conflict: Option<&Conflict>) -> Result<()> {
        let Some(conflict) = conflict.filter(|conflict| conflict.update.is_some()) else { return Ok(()) };
        let place = |column: &String| given.iter().position(|other| other.name == *column);
        let Some(places) = conflict.columns.iter().map(place).collect::<Option<Vec<_>>>() else {
            return refuse("On SQLite an INSERT of several rows gives the columns of ON CONFLICT … DO UPDATE a value.");
        };
        if std::mem::take(&mut self.is_volatile) {
            return refuse(
                "Values that are new at each look stand in no INSERT of several rows with ON CONFLICT DO UPDATE.",
            );
        }
        for row in rows {
            let keys: Vec<String> = places.iter().map(|place| row[*place].clone()).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            row[places[0]] = self.call("pg_once", &keys);
        }
        Ok(())
    }

    fn rows_of_query(
        &mut self,
        query: &Query,
        given: &[&Column],
        missing: &[&Column],
        conflict: Option<&Conflict>,
    ) -> Result<String> {
        if let Some(column) = given.iter().find(|column| column.is_serial) {
            return refuse(format!(
                "On SQLite the column {} numbers its rows itself: name the other columns in INSERT INTO table (…).",
                column.name
            ));
        }
        let kinds: Vec<_> = given.iter().map(|column| column.declared.map_or(Type::Text, |one| one.kind)).collect();
        let places: Vec<_> = (0..given.len()).map(|index| format!("c{index}")).collect();
        let (sql, columns) = self.query(query, Wanted { names: None, kinds: Some(&kinds) })?;
        if columns.len() != given.len() {
            return refuse(format!("INSERT has {} target columns and {} expressions", given.len(), columns.len()));
        }
        let mut row = Vec::new();
        for ((place, (_, kind)), column) in places.iter().zip(&columns).zip(given) {
            let Some(declared) = column.declared else {
                return refuse(format!("The column {} has a type that is not translated for SQLite.", column.name));
            };
            let term = Term::Typed(super::Typed::new(format!("pg_row.{place}"), *kind));
            row.push(self.stored(term, declared, &column.name)?.sql);
        }
        let mut rows = vec![row];
        self.guard_keys(&mut rows, given, conflict)?;
        let mut row = rows.remove(0);
        for _ in missing {
            row.push(self.call("pg_now", &[]));
        }
        // The names of the columns are given by a WITH, because they may be twice in the query. The condition keeps
        // SQLite from taking ON CONFLICT for the ON of a join.
        let row = row.join(", ");
        let places = places.join(", ");
        Ok(format!("SELECT {row} FROM (WITH pg_rows ({places}) AS ({sql}) SELECT * FROM pg_rows) AS pg_row WHERE 1"))
    }

    fn conflict(&mut self, conflict: &Conflict, table: &'a Table, alias: &str) -> Result<String> {
        let mut sql = " ON CONFLICT".to_owned();
        if !conflict.columns.is_empty() {
            for column in &conflict.columns {
                self.target(table, alias, column)?;
            }
            let columns: Vec<_> = conflict.columns.iter().map(|column| name(column)).collect();
            sql += &format!(" ({})", columns.join(", "));
        }
        if let Some(index) = &conflict.index {
            let mut relation = Relation::of_table(alias, table);
            relation.is_qualified = false;
            sql += &format!(" WHERE {}", self.in_schema(relation, index)?);
        }
        let Some((assignments, condition)) = &conflict.update else { return Ok(sql + " DO NOTHING") };
        // A name alone is ambiguous between the row that is there and the proposed one, as in PostgreSQL.
        let relations = vec![Relation::of_table(alias, table), Relation::of_table("excluded", table)];
        self.scopes.push(Scope { relations, ..Scope::default() });
        let outcome = self.assignments(assignments, table, alias).and_then(|set| {
            let condition = condition.as_ref().map(|one| self.condition(one, "WHERE")).transpose()?;
            Ok(format!(" DO UPDATE SET {set}{}", condition.map_or(String::new(), |one| format!(" WHERE {one}"))))
        });
        self.scopes.pop();
        Ok(sql + &outcome?)
    }

    fn assignments(&mut self, assignments: &[Assignment], table: &'a Table, alias: &str) -> Result<String> {
        let mut all: Vec<String> = Vec::new();
        let mut seen = Vec::new();
        for Assignment { column, value } in assignments {
            let column = self.target(table, alias, column)?;
            if seen.contains(&&column.name) {
                return refuse(format!("multiple assignments to same column \"{}\"", column.name));
            }
            seen.push(&column.name);
            let value = match value {
                Expression::Default if column.has_default || column.is_serial => {
                    return refuse("SET column = DEFAULT is not translated for SQLite: write the value.");
                }
                Expression::Default => "NULL".to_owned(),
                value => self.value(value, column)?,
            };
            all.push(format!("{} = {value}", name(&column.name)));
        }
        Ok(all.join(", "))
    }

    pub(super) fn update(&mut self, update: &Update) -> Result<(String, Columns)> {
        let table = self.table(&update.table)?;
        let alias = update.alias.as_deref().unwrap_or(&update.table);
        self.scopes.push(Scope { relations: vec![Relation::of_table(alias, table)], ..Scope::default() });
        let set = self.assignments(&update.assignments, table, alias)?;
        let mut sql = format!("UPDATE {} AS {} SET {set}", name(&update.table), name(alias));
        if let Some(condition) = &update.condition {
            sql += &format!(" WHERE {}", self.condition(condition, "WHERE")?);
        }
        self.scopes.pop();
        let (returning, columns) = self.returning(&update.returning, table, alias)?;
        Ok((sql + &returning, columns))
    }

    pub(super) fn delete(&mut self, delete: &Delete) -> Result<(String, Columns)> {
        let table = self.table(&delete.table)?;
        let alias = delete.alias.as_deref().unwrap_or(&delete.table);
        let mut sql = format!("DELETE FROM {} AS {}", name(&delete.table), name(alias));
        if let Some(condition) = &delete.condition {
            self.scopes.push(Scope { relations: vec![Relation::of_table(alias, table)], ..Scope::default() });
            sql += &format!(" WHERE {}", self.condition(condition, "WHERE")?);
            self.scopes.pop();
        }
        let (returning, columns) = self.returning(&delete.returning, table, alias)?;
        Ok((sql + &returning, columns))
    }

    /// The rows that were changed. SQLite names their columns without a table, and a subquery would see another state.
    fn returning(&mut self, items: &[Item], table: &'a Table, alias: &str) -> Result<(String, Columns)> {
        if items.is_empty() {
            return Ok((String::new(), Vec::new()));
        }
        let mut relation = Relation::of_table(alias, table);
        relation.is_qualified = false;
        self.scopes.push(Scope { relations: vec![relation], ..Scope::default() });
        let items = self.items(items, None);
        self.scopes.pop();
        let (mut written, mut columns) = (Vec::new(), Vec::new());
        for (column, typed) in items? {
            if typed.sql.contains("SELECT") {
                return refuse(
                    "A subquery in RETURNING is not translated for SQLite: read it with a statement of its own.",
                );
            }
            written.push(format!("{} AS {}", typed.sql, name(&column)));
            columns.push((column, typed.kind));
        }
        Ok((format!(" RETURNING {}", written.join(", ")), columns))
    }

    /// A condition that is kept in the schema. Other connections keep it too, so it has no function of ours.
    pub(super) fn in_schema(&mut self, relation: Relation, condition: &Expression) -> Result<String> {
        let mark = std::mem::replace(&mut self.has_functions, false);
        let count = self.parameters.len();
        self.scopes.push(Scope { relations: vec![relation], ..Scope::default() });
        let outcome = self.condition(condition, "CHECK");
        self.scopes.pop();
        let sql = outcome?;
        let is_simple = !std::mem::replace(&mut self.has_functions, mark) && !sql.contains("COLLATE");
        if !is_simple || sql.contains("SELECT") || self.parameters.len() > count {
            return refuse(
                "On SQLite the conditions of CHECK and of indexes compare columns with literals, with =, <, >, IN, \
                 IS NULL, AND and OR. Check the rest in your code.",
            );
        }
        Ok(sql)
    }
}
