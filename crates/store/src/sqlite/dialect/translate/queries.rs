//! Queries.

use super::super::tree::{Body, Common, Expression, From, Item, Join, On, Order, Query, Select, Source};
use super::super::types::Type;
use super::super::{Result, refuse};
use super::calls::direction;
use super::scope::{Relation, Scope};
use super::{Columns, Term, Translator, Typed, name, names};

/// The refusal of an order that PostgreSQL and SQLite have of different kinds.
pub(super) const NO_ORDER: &str =
    "The order of jsonb is not translated for SQLite: order by a text or a number in it, as in value->>'name'.";

/// The demands of a query's place on its columns.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted<'w> {
    /// Names of the columns, in place of those of the query.
    pub(super) names: Option<&'w [String]>,
    /// Types of columns that have none of their own.
    pub(super) kinds: Option<&'w [Type]>,
}

impl Translator<'_> {
    pub(super) fn whole_query(&mut self, query: &Query) -> Result<(String, Columns)> {
        let (sql, columns) = self.query(query, Wanted::default())?;
        if let Some((name, _)) = columns.iter().find(|(_, kind)| *kind == Type::Interval) {
            return refuse(format!(
                "The column {name} is a span, which is not read on SQLite: write extract(epoch from …)."
            ));
        }
        Ok((sql, columns))
    }

    pub(super) fn subquery(&mut self, query: &Query) -> Result<(String, Columns)> {
        // Flags of the place around it do not hold inside.
        self.query(query, Wanted::default())
    }

    pub(super) fn query(&mut self, query: &Query, wanted: Wanted<'_>) -> Result<(String, Columns)> {
        let mark = self.commons.len();
        let mut sql = String::new();
        for (index, common) in query.with.iter().enumerate() {
            sql += if index > 0 {
                ", "
            } else if query.is_recursive {
                "WITH RECURSIVE "
            } else {
                "WITH "
            };
            sql += &self.common(common, query.is_recursive)?;
        }
        if !query.with.is_empty() {
            sql.push(' ');
        }
        let (body, columns) = match &query.body {
            Body::Select(select) => self.select(select, &query.order, wanted)?,
            Body::Query(inner) if query.order.is_empty() && query.limit.is_none() && query.offset.is_none() => {
                self.query(inner, wanted)?
            }
            body => {
                let (mut sql, columns) = self.branch(body, wanted)?;
                sql += &orders_by_name(&query.order, &columns)?;
                (sql, columns)
            }
        };
        sql += &body;
        sql += &self.limits(query)?;
        self.commons.truncate(mark);
        Ok((sql, columns))
    }

    fn limits(&mut self, query: &Query) -> Result<String> {
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(String::new());
        }
        let mut one = |expression: &Option<Expression>, word: &str| -> Result<String> {
            let Some(expression) = expression else { return Ok("-1".to_owned()) };
            // Nothing of the query can be named here.
            let scopes = std::mem::take(&mut self.scopes);
            let typed = self.typed(expression, Type::Int8);
            self.scopes = scopes;
            Ok(self.call("pg_limit", &[&typed?.sql, &format!("'{word}'")]))
        };
        let limit = one(&query.limit, "LIMIT")?;
        Ok(match &query.offset {
            None => format!(" LIMIT {limit}"),
            offset => format!(" LIMIT {limit} OFFSET {}", one(offset, "OFFSET")?),
        })
    }

    /// A query of `WITH`. It does not see the queries around it.
    fn common(&mut self, common: &Common, is_recursive: bool) -> Result<String> {
        if self.catalogue.table(&common.name).is_some() {
            return refuse(format!("A query of WITH has the name of the table {}: give it another.", common.name));
        }
        let scopes = std::mem::take(&mut self.scopes);
        let outcome = self.common_alone(common, is_recursive);
        self.scopes = scopes;
        let (sql, columns) = outcome?;
        let written: Vec<_> = columns.iter().map(|(column, _)| name(column)).collect();
        let sql = format!("{} ({}) AS ({sql})", name(&common.name), written.join(", "));
        self.commons.push((common.name.clone(), columns));
        Ok(sql)
    }

    fn common_alone(&mut self, common: &Common, is_recursive: bool) -> Result<(String, Columns)> {
        let names = (!common.columns.is_empty()).then_some(&common.columns[..]);
        let wanted = Wanted { names, kinds: None };
        let query = &common.query;
        let Body::Set { operator: operator @ ("UNION" | "UNION ALL"), left, right } = &query.body else {
            return self.query(query, wanted);
        };
        if !is_recursive {
            return self.query(query, wanted);
        }
        if !query.order.is_empty() || query.limit.is_some() || query.offset.is_some() || !query.with.is_empty() {
            return refuse("ORDER BY, LIMIT and WITH in a recursive query are not implemented: write them outside.");
        }
        let (first, columns) = self.branch(left, wanted)?;
        self.commons.push((common.name.clone(), columns.clone()));
        let kinds: Vec<_> = columns.iter().map(|(_, kind)| *kind).collect();
        let next = self.branch(right, Wanted { names: None, kinds: Some(&kinds) });
        self.commons.pop();
        let (next, others) = next?;
        if others.iter().map(|(_, kind)| *kind).ne(kinds.iter().copied()) {
            return refuse("A recursive query has columns of the same types in both parts: write a cast in the first.");
        }
        if *operator == "UNION" && kinds.contains(&Type::Jsonb) {
            return refuse("UNION of jsonb is not translated for SQLite: write UNION ALL.");
        }
        Ok((format!("{first} {operator} {next}"), columns))
    }

    /// A part of a set operation, as SQLite takes it: without parentheses.
    fn branch(&mut self, body: &Body, wanted: Wanted<'_>) -> Result<(String, Columns)> {
        match body {
            Body::Select(select) => self.select(select, &[], wanted),
            Body::Values(rows) => self.values(rows, wanted),
            Body::Query(query) => {
                let (sql, columns) = self.query(query, wanted)?;
                Ok((format!("SELECT * FROM ({sql})"), columns))
            }
            Body::Set { operator, left, right } => {
                let (left, columns) = self.branch(left, wanted)?;
                let kinds: Vec<_> = columns.iter().map(|(_, kind)| *kind).collect();
                let (mut other, others) = self.branch(right, Wanted { names: None, kinds: Some(&kinds) })?;
                if matches!(&**right, Body::Set { .. }) {
                    other = format!("SELECT * FROM ({other})");
                }
                if columns.len() != others.len() {
                    return refuse(format!("each {operator} query must have the same number of columns"));
                }
                let mut all = Vec::new();
                for ((name, kind), (_, other)) in columns.into_iter().zip(others) {
                    let has_one_form =
                        kind == other || (kind.is_int() && other.is_int()) || (kind.is_moment() && other.is_moment());
                    let (Some(common), true) = (kind.common(other), has_one_form) else {
                        return refuse(format!(
                            "{operator} types {} and {} cannot be matched: cast one to the type of the other",
                            kind.name(),
                            other.name()
                        ));
                    };
                    if common == Type::Jsonb && *operator != "UNION ALL" {
                        return refuse(format!("{operator} of jsonb is not translated for SQLite: write value::text."));
                    }
                    all.push((name, common));
                }
                Ok((format!("{left} {operator} {other}"), all))
            }
        }
    }

    fn values(&mut self, rows: &[Vec<Expression>], wanted: Wanted<'_>) -> Result<(String, Columns)> {
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != width) {
            return refuse("VALUES lists must all be the same length");
        }
        self.scopes.push(Scope::default());
        let outcome = self.value_columns(rows, width, wanted);
        self.scopes.pop();
        let columns: Vec<(Vec<String>, Type)> = outcome?;
        let row = |index: usize| {
            let values: Vec<_> = columns.iter().map(|(all, _)| all[index].as_str()).collect();
            format!("({})", values.join(", "))
        };
        let mut sql = format!("VALUES {}", (0..rows.len()).map(row).collect::<Vec<_>>().join(", "));
        let mut names: Vec<_> = (1..=width).map(|number| format!("column{number}")).collect();
        if let Some(wanted) = wanted.names {
            let items = names.iter().enumerate().map(|(index, own)| match wanted.get(index) {
                Some(other) => format!("{} AS {}", name(own), name(other)),
                None => name(own),
            });
            let items = items.collect::<Vec<_>>().join(", ");
            sql = format!("SELECT {items} FROM ({sql})");
            renamed(&mut names, wanted)?;
        }
        Ok((sql, names.into_iter().zip(columns.into_iter().map(|(_, kind)| kind)).collect()))
    }

    /// Columns of `VALUES`, each with its values from top to bottom.
    fn value_columns(
        &mut self,
        rows: &[Vec<Expression>],
        width: usize,
        wanted: Wanted<'_>,
    ) -> Result<Vec<(Vec<String>, Type)>> {
        let mut columns = Vec::new();
        for column in 0..width {
            let mut terms = Vec::new();
            for row in rows {
                terms.push(self.expression(&row[column])?);
            }
            let is_open = terms.iter().all(|term| !matches!(term, Term::Typed(_)));
            let (terms, kind) = match wanted.kinds.and_then(|kinds| kinds.get(column)) {
                Some(kind) if is_open => {
                    let terms = terms.into_iter().map(|term| self.as_type(term, *kind)).collect::<Result<Vec<_>>>()?;
                    (terms, *kind)
                }
                _ => self.as_one_type(terms, "VALUES")?,
            };
            columns.push((terms.into_iter().map(|term| term.sql).collect(), kind));
        }
        Ok(columns)
    }

    fn select(&mut self, select: &Select, order: &[Order], wanted: Wanted<'_>) -> Result<(String, Columns)> {
        self.scopes.push(Scope::default());
        let outcome = self.select_inside(select, order, wanted);
        self.scopes.pop();
        outcome
    }

    fn select_inside(&mut self, select: &Select, order: &[Order], wanted: Wanted<'_>) -> Result<(String, Columns)> {
        let from = self.sources(&select.from)?;
        let mut tail = String::new();
        if let Some(condition) = &select.condition {
            tail += &format!(" WHERE {}", self.condition(condition, "WHERE")?);
        }
        let groups = self.groups(select)?;
        self.scope().ungrouped.clear();
        self.scope().groups = groups.iter().cloned().collect();
        if !groups.is_empty() {
            tail += &format!(" GROUP BY {}", groups.join(", "));
        }
        self.scope().allows_aggregates = true;
        if let Some(having) = &select.having {
            tail += &format!(" HAVING {}", self.condition(having, "HAVING")?);
        }
        self.scope().allows_windows = true;
        let items = self.items(&select.items, wanted.kinds)?;
        let (mut names, typed): (Vec<String>, Vec<Typed>) = items.into_iter().unzip();
        if let Some(wanted) = wanted.names {
            renamed(&mut names, wanted)?;
        }
        if select.is_distinct && typed.iter().any(|one| one.kind == Type::Jsonb) {
            return refuse("DISTINCT of jsonb is not translated for SQLite: write value::text.");
        }
        tail += &self.orders(order, select.is_distinct, &names, &typed)?;
        let is_grouped = !groups.is_empty() || select.having.is_some() || self.scope().has_aggregates;
        self.check_groups(is_grouped)?;
        let written: Vec<_> =
            names.iter().zip(&typed).map(|(column, one)| format!("{} AS {}", one.sql, name(column))).collect();
        let distinct = if select.is_distinct { "DISTINCT " } else { "" };
        let columns = names.into_iter().zip(typed.iter().map(|one| one.kind)).collect();
        Ok((format!("SELECT {distinct}{}{from}{tail}", written.join(", ")), columns))
    }

    /// Expressions of `GROUP BY`: columns, then names and numbers of the result's columns.
    fn groups(&mut self, select: &Select) -> Result<Vec<String>> {
        let mut groups = Vec::new();
        for group in &select.groups {
            let named = |wanted: &str| {
                select.items.iter().find_map(|item| match item {
                    Item::One(expression, Some(alias)) if alias == wanted => Some(expression),
                    _ => None,
                })
            };
            let expression = match group {
                Expression::Number(number) => {
                    match number.parse::<usize>().ok().and_then(|at| select.items.get(at.wrapping_sub(1))) {
                        Some(Item::One(expression, _)) => expression,
                        _ => return refuse(format!("GROUP BY position {number} is not in select list")),
                    }
                }
                Expression::Column(None, column) if self.column(None, column).is_err() => {
                    named(column).unwrap_or(group)
                }
                other => other,
            };
            let term = self.expression(expression)?;
            let typed = self.settled(term)?;
            if typed.kind == Type::Jsonb {
                return refuse("GROUP BY jsonb is not translated for SQLite: write value::text.");
            }
            if typed.sql.parse::<i64>().is_ok() {
                return refuse("GROUP BY a constant is not translated for SQLite: leave it out.");
            }
            groups.push(typed.sql);
        }
        Ok(groups)
    }

    /// The columns of a result, with `*` written out.
    pub(super) fn items(&mut self, items: &[Item], kinds: Option<&[Type]>) -> Result<Vec<(String, Typed)>> {
        let mut all = Vec::new();
        for item in items {
            match item {
                Item::One(expression, alias) => {
                    let term = self.expression(expression)?;
                    let typed = match (term, kinds.and_then(|kinds| kinds.get(all.len()))) {
                        (Term::Typed(typed), _) => typed,
                        (term, Some(kind)) => self.as_type(term, *kind)?,
                        (term, None) => self.settled(term)?,
                    };
                    all.push((alias.clone().unwrap_or_else(|| names::of(expression)), typed));
                }
                Item::All(table) => self.all_columns(table.as_deref(), &mut all)?,
            }
        }
        Ok(all)
    }

    fn all_columns(&mut self, table: Option<&str>, all: &mut Vec<(String, Typed)>) -> Result<()> {
        let scope = self.scope();
        let mut found = Vec::new();
        if table.is_none() {
            found.extend(scope.merged.iter().map(|(column, _)| (None, column.clone())));
        }
        let merged: Vec<String> = scope.merged.iter().map(|(column, _)| column.clone()).collect();
        let mut is_known = table.is_none();
        for relation in &scope.relations {
            if table.map_or(!relation.is_open, |table| table != relation.alias) {
                continue;
            }
            is_known = true;
            for (column, _) in &relation.columns {
                if table.is_some() || !merged.contains(column) {
                    found.push((Some(relation.alias.clone()), column.clone()));
                }
            }
        }
        if !is_known || found.is_empty() {
            return refuse("SELECT * with no tables specified, or of a table that is not in FROM");
        }
        for (table, column) in found {
            let Term::Typed(typed) = self.column(table.as_deref(), &column)? else { continue };
            all.push((column, typed));
        }
        Ok(())
    }

    fn orders(&mut self, orders: &[Order], is_distinct: bool, names: &[String], items: &[Typed]) -> Result<String> {
        let mut all = Vec::new();
        for order in orders {
            if let Some(place) = place(&order.expression, names)? {
                if items[place].kind == Type::Jsonb {
                    return refuse(NO_ORDER);
                }
                if self.is_never_null(&items[place].sql) {
                    all.push(format!("{} {}", items[place].sql, if order.is_descending { "DESC" } else { "ASC" }));
                } else {
                    all.push(format!("{} {}", place + 1, direction(order)));
                }
                continue;
            }
            let term = self.expression(&order.expression)?;
            let typed = self.settled(term)?;
            if is_distinct && !items.iter().any(|item| item.sql == typed.sql) {
                return refuse("for SELECT DISTINCT, ORDER BY expressions must appear in select list");
            }
            if typed.kind == Type::Jsonb {
                return refuse(NO_ORDER);
            }
            if self.is_never_null(&typed.sql) {
                all.push(format!("{} {}", typed.sql, if order.is_descending { "DESC" } else { "ASC" }));
            } else {
                all.push(self.order_of(typed.term(), order)?);
            }
        }
        Ok(if all.is_empty() { String::new() } else { format!(" ORDER BY {}", all.join(", ")) })
    }

    /// Whether an expression is a column that holds no NULL: then SQLite may read an index for the order.
    fn is_never_null(&self, sql: &str) -> bool {
        let Some(scope) = self.scopes.last().filter(|scope| !scope.has_outer_join) else { return false };
        let has = |relation: &Relation| relation.not_null.iter().any(|column| relation.write(column) == sql);
        scope.relations.iter().any(has)
    }

    fn sources(&mut self, all: &[From]) -> Result<String> {
        let mut sql = String::new();
        for (index, from) in all.iter().enumerate() {
            let first = self.scope().relations.len();
            sql += if index == 0 { " FROM " } else { ", " };
            sql += &self.source(&from.first)?;
            for join in &from.joins {
                if index > 0 && matches!(join.kind, "RIGHT" | "FULL") {
                    return refuse(
                        "RIGHT and FULL JOIN behind a comma are not translated for SQLite: write CROSS JOIN.",
                    );
                }
                sql += &self.join(join, first)?;
            }
        }
        Ok(sql)
    }

    fn join(&mut self, join: &Join, first: usize) -> Result<String> {
        let sql = format!(" {} JOIN {}", join.kind, self.source(&join.source)?);
        self.scope().has_outer_join |= matches!(join.kind, "LEFT" | "RIGHT" | "FULL");
        match &join.on {
            On::Nothing => Ok(sql),
            On::Condition(condition) => {
                // The condition sees the tables of its own join, not those before a comma.
                let before: Vec<_> = self.scope().relations.drain(..first).collect();
                let condition = self.condition(condition, "JOIN/ON");
                drop(self.scope().relations.splice(0..0, before));
                Ok(format!("{sql} ON {}", condition?))
            }
            On::Using(columns) => {
                if join.kind == "FULL" || first > 0 {
                    return refuse("USING of a FULL JOIN or behind a comma is not translated for SQLite: write ON.");
                }
                let mut conditions = Vec::new();
                for column in columns {
                    let Some(right) = self.scope().relations.pop() else { return refuse("a join has no table") };
                    let left = self.column(None, column);
                    let other = right.column(column);
                    self.scope().relations.push(right);
                    let (Term::Typed(left), Some(right)) = (left?, other?) else {
                        return refuse(format!("column \"{column}\" specified in USING does not exist on both sides"));
                    };
                    let are_ints = left.kind.is_int() && right.kind.is_int();
                    let (Some(kind), true) = (left.kind.common(right.kind), left.kind == right.kind || are_ints) else {
                        return refuse("USING of columns of different types is not translated for SQLite: write ON.");
                    };
                    if kind == Type::Jsonb {
                        return refuse("USING of jsonb is not translated for SQLite: write ON.");
                    }
                    conditions.push(format!("{} = {}", left.sql, right.sql));
                    let merged = Typed { kind, ..if join.kind == "RIGHT" { right } else { left } };
                    let scope = self.scope();
                    scope.merged.retain(|(name, _)| name != column);
                    scope.merged.push((column.clone(), merged));
                }
                Ok(format!("{sql} ON {}", conditions.join(" AND ")))
            }
        }
    }

    fn source(&mut self, source: &Source) -> Result<String> {
        let (sql, relation) = match source {
            Source::Table { name: table, alias } => {
                let alias = alias.as_deref().unwrap_or(table);
                let common = self.commons.iter().rev().find(|(name, _)| name == table);
                let relation = match common {
                    Some((_, columns)) => Relation::of_query(alias, columns),
                    None => Relation::of_table(alias, self.table(table)?),
                };
                (format!("{} AS {}", name(table), name(alias)), relation)
            }
            Source::Query { query, alias, columns } => {
                // The query sees those around this one, but not this one's tables.
                let own = self.scopes.pop().unwrap_or_default();
                let names = (!columns.is_empty()).then_some(&columns[..]);
                let outcome = self.query(query, Wanted { names, kinds: None });
                self.scopes.push(own);
                let (sql, columns) = outcome?;
                (format!("({sql}) AS {}", name(alias)), Relation::of_query(alias, &columns))
            }
        };
        let scope = self.scope();
        if scope.relations.iter().any(|other| other.alias.eq_ignore_ascii_case(&relation.alias)) {
            return refuse(format!("table name \"{}\" specified more than once", relation.alias));
        }
        scope.relations.push(relation);
        Ok(sql)
    }
}

fn renamed(names: &mut [String], wanted: &[String]) -> Result<()> {
    if wanted.len() > names.len() {
        return refuse(format!("{} names are given for {} columns", wanted.len(), names.len()));
    }
    names.iter_mut().zip(wanted).for_each(|(own, wanted)| own.clone_from(wanted));
    Ok(())
}

/// The column of a result that an order names, by its number or its name.
fn place(expression: &Expression, names: &[String]) -> Result<Option<usize>> {
    match expression {
        Expression::Number(number) => match number.parse::<usize>() {
            Ok(place) if (1..=names.len()).contains(&place) => Ok(Some(place - 1)),
            _ => refuse(format!("ORDER BY position {number} is not in select list")),
        },
        Expression::Column(None, column) => {
            let mut found = names.iter().enumerate().filter(|(_, name)| *name == column);
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => refuse(format!("ORDER BY \"{column}\" is ambiguous")),
                (found, _) => Ok(found.map(|(place, _)| place)),
            }
        }
        _ => Ok(None),
    }
}

fn orders_by_name(orders: &[Order], columns: &Columns) -> Result<String> {
    let names: Vec<_> = columns.iter().map(|(name, _)| name.clone()).collect();
    let mut all = Vec::new();
    for order in orders {
        match place(&order.expression, &names)? {
            Some(place) if columns[place].1 == Type::Jsonb => {
                return refuse(NO_ORDER);
            }
            Some(place) => all.push(format!("{} {}", place + 1, direction(order))),
            None => {
                return refuse(
                    "Only names and numbers of columns stand in the ORDER BY of UNION and of VALUES: add them.",
                );
            }
        }
    }
    Ok(if all.is_empty() { String::new() } else { format!(" ORDER BY {}", all.join(", ")) })
}

/// Whether a query cannot have two rows, by its form.
pub(super) fn has_one_row(query: &Query) -> bool {
    if matches!(&query.limit, Some(Expression::Number(limit)) if limit == "1") {
        return true;
    }
    let Body::Select(select) = &query.body else { return false };
    let is_aggregate = |item: &Item| match item {
        Item::One(Expression::Call(call), _) => {
            call.window.is_none() && matches!(call.name.as_str(), "count" | "sum" | "avg" | "min" | "max")
        }
        _ => false,
    };
    select.groups.is_empty() && (select.from.is_empty() || select.items.iter().any(is_aggregate))
}
