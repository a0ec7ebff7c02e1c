//! Columns that can be named at a place of a statement.

use std::collections::HashSet;

use super::super::catalogue::Table;
use super::super::types::Type;
use super::super::{Result, refuse};
use super::{Columns, Term, Translator, Typed, name};

/// A table or a subquery among those that a query reads.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) alias: String,
    /// Whether columns are written with the alias in front. SQLite does not take it behind `RETURNING`.
    pub(super) is_qualified: bool,
    /// Columns with their types; `None` for a type that is not known.
    pub(super) columns: Vec<(String, Option<Type>)>,
    /// Columns that are never NULL, because the table forbids it.
    pub(super) not_null: HashSet<String>,
    /// Columns of the primary key.
    pub(super) key: Vec<String>,
    /// Whether columns are found by their names alone.
    pub(super) is_open: bool,
}

/// One query: the tables that it reads, and what is known of its groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) relations: Vec<Relation>,
    /// Columns of `USING`, which stand for the columns of both sides.
    pub(super) merged: Vec<(String, Typed)>,
    /// Expressions of `GROUP BY`.
    pub(super) groups: HashSet<String>,
    /// Columns met outside of aggregates and of the groups.
    pub(super) ungrouped: Vec<String>,
    pub(super) has_aggregates: bool,
    /// Whether aggregates may stand at the present place.
    pub(super) allows_aggregates: bool,
    pub(super) allows_windows: bool,
    /// Whether the present place is inside of an aggregate.
    pub(super) in_aggregate: bool,
    /// Whether a row may be missing on one side of a join.
    pub(super) has_outer_join: bool,
}

impl Relation {
    pub(super) fn of_table(alias: &str, table: &Table) -> Self {
        Self {
            alias: alias.to_owned(),
            is_qualified: true,
            columns: table.columns.iter().map(|one| (one.name.clone(), one.declared.map(|kind| kind.kind))).collect(),
            not_null: table.columns.iter().filter(|one| one.is_not_null).map(|one| one.name.clone()).collect(),
            key: table.key.clone(),
            is_open: true,
        }
    }

    pub(super) fn of_query(alias: &str, columns: &Columns) -> Self {
        Self {
            alias: alias.to_owned(),
            is_qualified: true,
            columns: columns.iter().map(|(name, kind)| (name.clone(), Some(*kind))).collect(),
            not_null: HashSet::new(),
            key: Vec::new(),
            is_open: true,
        }
    }

    pub(super) fn write(&self, column: &str) -> String {
        if self.is_qualified { format!("{}.{}", name(&self.alias), name(column)) } else { name(column) }
    }

    /// The column of this name; an error for several, and for one whose type is not known.
    pub(super) fn column(&self, column: &str) -> Result<Option<Typed>> {
        let mut found = self.columns.iter().filter(|(name, _)| name == column);
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => refuse(format!("column reference \"{column}\" is ambiguous")),
            (Some((_, Some(kind))), None) => Ok(Some(Typed::new(self.write(column), *kind))),
            (Some((_, None)), None) => refuse(format!(
                "The column {column} of {} has a type that is not translated for SQLite: make the table anew.",
                self.alias
            )),
        }
    }
}

impl Translator<'_> {
    pub(super) fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The column of a name, in the innermost query that has it.
    pub(super) fn column(&mut self, table: Option<&str>, column: &str) -> Result<Term> {
        for index in (0..self.scopes.len()).rev() {
            let Some(typed) = self.column_of(index, table, column)? else { continue };
            if index + 1 < self.scopes.len() && self.scopes[index + 1..].iter().any(|scope| scope.in_aggregate) {
                return refuse("An aggregate of a column of an outer query is not translated for SQLite.");
            }
            let scope = &mut self.scopes[index];
            if !scope.in_aggregate && !scope.groups.contains(&typed.sql) {
                scope.ungrouped.push(column.to_owned());
            }
            return Ok(typed.term());
        }
        let relations = self.scopes.iter().flat_map(|scope| &scope.relations);
        let meant = relations.filter(|relation| table.is_none_or(|table| table == relation.alias));
        let known = meant.flat_map(|relation| &relation.columns).map(|(name, _)| name.as_str());
        let advice = crate::advice::of_name(column, known).unwrap_or_default();
        match table {
            Some(table) => refuse(format!("column {table}.{column} does not exist{advice} (42703)")),
            None => refuse(format!("column \"{column}\" does not exist{advice} (42703)")),
        }
    }

    fn column_of(&self, index: usize, table: Option<&str>, column: &str) -> Result<Option<Typed>> {
        let scope = &self.scopes[index];
        if table.is_none()
            && let Some((_, typed)) = scope.merged.iter().find(|(name, _)| name == column)
        {
            return Ok(Some(typed.clone()));
        }
        let mut found = None;
        for relation in &scope.relations {
            let is_meant = table.map_or(relation.is_open, |table| table == relation.alias);
            let Some(typed) = (if is_meant { relation.column(column)? } else { None }) else { continue };
            if found.is_some() {
                return refuse(format!("column reference \"{column}\" is ambiguous: write the table in front"));
            }
            found = Some(typed);
        }
        Ok(found)
    }

    /// Whether a column is settled by the groups, because they hold the whole primary key of its table.
    pub(super) fn depends_on_groups(&self, column: &str) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        let by_key = |relation: &Relation| {
            let has_column = relation.columns.iter().any(|(name, _)| name == column);
            let is_keyed = !relation.key.is_empty()
                && relation.key.iter().all(|column| scope.groups.contains(&relation.write(column)));
            !has_column || is_keyed
        };
        // A column of this name may stand in several tables: all of them must be settled.
        scope.relations.iter().all(by_key)
    }

    /// Refuses columns that are neither in the groups nor inside of an aggregate.
    pub(super) fn check_groups(&mut self, is_grouped: bool) -> Result<()> {
        let ungrouped = std::mem::take(&mut self.scope().ungrouped);
        if !is_grouped {
            return Ok(());
        }
        match ungrouped.into_iter().find(|column| !self.depends_on_groups(column)) {
            Some(column) => refuse(format!(
                "column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
            )),
            None => Ok(()),
        }
    }
}
