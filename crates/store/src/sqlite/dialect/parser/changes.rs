//! Statements that change rows.

use super::super::tree::{Assignment, Conflict, Delete, Insert, Item, Statement, Update};
use super::super::{Result, refuse};
use super::Parser;

impl Parser {
    pub(super) fn insert(&mut self) -> Result<Statement> {
        self.expect(&["insert", "into"])?;
        let table = self.table()?;
        let alias = if self.takes(&["as"]) { Some(self.name()?) } else { None };
        // A parenthesis is the list of columns, or a query.
        let is_query = ["select", "with", "values"].iter().any(|verb| {
            let next = self.words.get(self.at + 1);
            matches!(next, Some(super::Word::Name(name)) if name == verb)
        });
        let columns = if self.sees_sign("(") && !is_query { Some(self.names()?) } else { None };
        if self.sees(&["overriding"]) {
            return refuse("OVERRIDING is not translated for SQLite: leave the numbered column out.");
        }
        let source = if self.takes(&["default", "values"]) { None } else { Some(self.query()?) };
        let conflict = if self.takes(&["on", "conflict"]) { Some(self.conflict()?) } else { None };
        let returning = self.returning()?;
        Ok(Statement::Insert(Insert { table, alias, columns, source, conflict, returning }))
    }

    fn conflict(&mut self) -> Result<Conflict> {
        if self.sees(&["on", "constraint"]) {
            return refuse("ON CONFLICT ON CONSTRAINT is not translated for SQLite: write ON CONFLICT (columns).");
        }
        let columns = if self.sees_sign("(") { self.names()? } else { Vec::new() };
        let index = if self.takes(&["where"]) { Some(self.expression()?) } else { None };
        self.expect(&["do"])?;
        if self.takes(&["nothing"]) {
            return Ok(Conflict { columns, index, update: None });
        }
        self.expect(&["update", "set"])?;
        if columns.is_empty() {
            return refuse("ON CONFLICT DO UPDATE requires the columns of the conflict: write ON CONFLICT (columns).");
        }
        let assignments = self.assignments()?;
        let condition = if self.takes(&["where"]) { Some(self.expression()?) } else { None };
        Ok(Conflict { columns, index, update: Some((assignments, condition)) })
    }

    fn assignments(&mut self) -> Result<Vec<Assignment>> {
        let mut assignments = Vec::new();
        loop {
            if self.takes_sign("(") {
                let columns = self.list(Self::name)?;
                for sign in [")", "="] {
                    self.expect_sign(sign)?;
                }
                self.takes(&["row"]);
                self.expect_sign("(")?;
                if self.sees(&["select"]) {
                    return refuse(
                        "SET (…) = (SELECT …) is not translated for SQLite: write a subquery for each column.",
                    );
                }
                let values = self.list(Self::value)?;
                self.expect_sign(")")?;
                if columns.len() != values.len() {
                    return refuse("number of columns does not match number of values");
                }
                let both = columns.into_iter().zip(values);
                assignments.extend(both.map(|(column, value)| Assignment { column, value }));
            } else {
                let column = self.name()?;
                if self.sees_sign(".") {
                    return refuse("The columns of SET have no table in front: write SET column = …");
                }
                self.expect_sign("=")?;
                assignments.push(Assignment { column, value: self.value()? });
            }
            if !self.takes_sign(",") {
                return Ok(assignments);
            }
        }
    }

    fn returning(&mut self) -> Result<Vec<Item>> {
        if self.takes(&["returning"]) { self.items() } else { Ok(Vec::new()) }
    }

    pub(super) fn update(&mut self) -> Result<Statement> {
        self.expect(&["update"])?;
        let table = self.table()?;
        let alias = if self.sees(&["set"]) { None } else { self.alias()? };
        self.expect(&["set"])?;
        let assignments = self.assignments()?;
        if self.sees(&["from"]) {
            return refuse(
                "UPDATE … FROM is not translated for SQLite: write a subquery for the value, and WHERE … IN (SELECT …).",
            );
        }
        let condition = if self.takes(&["where"]) { Some(self.expression()?) } else { None };
        let returning = self.returning()?;
        Ok(Statement::Update(Update { table, alias, assignments, condition, returning }))
    }

    pub(super) fn delete(&mut self) -> Result<Statement> {
        self.expect(&["delete", "from"])?;
        let table = self.table()?;
        let alias = self.alias()?;
        if self.sees(&["using"]) {
            return refuse("DELETE … USING is not translated for SQLite: write WHERE … IN (SELECT …).");
        }
        let condition = if self.takes(&["where"]) { Some(self.expression()?) } else { None };
        let returning = self.returning()?;
        Ok(Statement::Delete(Delete { table, alias, condition, returning }))
    }
}
