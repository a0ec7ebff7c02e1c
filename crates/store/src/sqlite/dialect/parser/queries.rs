//! Queries.

use super::super::tree::{Body, Common, Expression, From, Item, Join, On, Order, Query, Select, Source};
use super::super::words::Word;
use super::super::{Result, refuse};
use super::{Parser, is_reserved};

impl Parser {
    pub(super) fn query(&mut self) -> Result<Query> {
        self.deeper(|parser| {
            let (with, is_recursive) = parser.commons()?;
            let body = parser.body()?;
            let order = if parser.takes(&["order", "by"]) { parser.orders()? } else { Vec::new() };
            let (mut limit, mut offset) = (None, None);
            loop {
                if limit.is_none() && parser.takes(&["limit"]) {
                    limit = if parser.takes(&["all"]) { None } else { Some(parser.expression()?) };
                } else if offset.is_none() && parser.takes(&["offset"]) {
                    offset = Some(parser.expression()?);
                    let _ = parser.takes(&["rows"]) || parser.takes(&["row"]);
                } else if limit.is_none() && parser.takes(&["fetch"]) {
                    limit = Some(parser.fetch()?);
                } else {
                    break;
                }
            }
            // A statement is a transaction of its own, and on SQLite one writes at a time: a lock has no effect.
            while parser.takes(&["for"]) {
                let _ = parser.takes(&["no", "key"]) || parser.takes(&["key"]);
                if !parser.takes(&["update"]) && !parser.takes(&["share"]) {
                    return parser.unexpected();
                }
                if parser.takes(&["of"]) {
                    parser.list(Self::name)?;
                }
            }
            Ok(Query { with, is_recursive, body, order, limit, offset })
        })
    }

    fn fetch(&mut self) -> Result<Expression> {
        if !self.takes(&["first"]) && !self.takes(&["next"]) {
            return self.unexpected();
        }
        let count = if self.sees(&["row"]) || self.sees(&["rows"]) {
            Expression::Number("1".to_owned())
        } else {
            self.primary()?
        };
        if !self.takes(&["rows"]) {
            self.expect(&["row"])?;
        }
        self.expect(&["only"])?;
        Ok(count)
    }

    fn commons(&mut self) -> Result<(Vec<Common>, bool)> {
        if !self.takes(&["with"]) {
            return Ok((Vec::new(), false));
        }
        let is_recursive = self.takes(&["recursive"]);
        let commons = self.list(|parser| {
            let name = parser.name()?;
            let columns = if parser.sees_sign("(") { parser.names()? } else { Vec::new() };
            parser.expect(&["as"])?;
            let _ = parser.takes(&["not", "materialized"]) || parser.takes(&["materialized"]);
            parser.expect_sign("(")?;
            if ["insert", "update", "delete"].iter().any(|verb| parser.sees(&[verb])) {
                return refuse(
                    "A WITH that changes rows is not translated for SQLite: send the change as a statement of its own.",
                );
            }
            let query = parser.query()?;
            parser.expect_sign(")")?;
            Ok(Common { name, columns, query })
        })?;
        Ok((commons, is_recursive))
    }

    fn body(&mut self) -> Result<Body> {
        let mut left = self.body_of_intersections()?;
        loop {
            let operator = match () {
                () if self.takes(&["union", "all"]) => "UNION ALL",
                () if self.takes(&["union", "distinct"]) || self.takes(&["union"]) => "UNION",
                () if self.sees(&["except", "all"]) => return refuse("EXCEPT ALL is not translated for SQLite."),
                () if self.takes(&["except", "distinct"]) || self.takes(&["except"]) => "EXCEPT",
                () => return Ok(left),
            };
            self.count_operator()?;
            let right = Box::new(self.body_of_intersections()?);
            left = Body::Set { operator, left: Box::new(left), right };
        }
    }

    fn body_of_intersections(&mut self) -> Result<Body> {
        let mut left = self.body_alone()?;
        while self.sees(&["intersect"]) {
            if self.sees(&["intersect", "all"]) {
                return refuse("INTERSECT ALL is not translated for SQLite.");
            }
            let _ = self.takes(&["intersect", "distinct"]) || self.takes(&["intersect"]);
            self.count_operator()?;
            let right = Box::new(self.body_alone()?);
            left = Body::Set { operator: "INTERSECT", left: Box::new(left), right };
        }
        Ok(left)
    }

    fn body_alone(&mut self) -> Result<Body> {
        if self.takes_sign("(") {
            let query = self.query()?;
            self.expect_sign(")")?;
            return Ok(Body::Query(Box::new(query)));
        }
        if self.takes(&["values"]) {
            return self
                .list(|parser| {
                    parser.expect_sign("(")?;
                    let row = parser.list(Self::value)?;
                    parser.expect_sign(")")?;
                    Ok(row)
                })
                .map(Body::Values);
        }
        self.expect(&["select"])?;
        self.select().map(|select| Body::Select(Box::new(select)))
    }

    /// An expression, or `DEFAULT`.
    pub(super) fn value(&mut self) -> Result<Expression> {
        if self.takes(&["default"]) { Ok(Expression::Default) } else { self.expression() }
    }

    fn select(&mut self) -> Result<Select> {
        let is_distinct = self.takes(&["distinct"]);
        if is_distinct && self.sees(&["on"]) {
            return refuse(
                "DISTINCT ON is not translated for SQLite: number the rows with row_number() OVER (PARTITION BY … \
                 ORDER BY …) in a subquery, and take those that are 1.",
            );
        }
        if !is_distinct {
            self.takes(&["all"]);
        }
        let items = self.items()?;
        let from = if self.takes(&["from"]) { self.list(Self::from)? } else { Vec::new() };
        let condition = if self.takes(&["where"]) { Some(self.expression()?) } else { None };
        let groups = if self.takes(&["group", "by"]) { self.list(Self::expression)? } else { Vec::new() };
        let having = if self.takes(&["having"]) { Some(self.expression()?) } else { None };
        Ok(Select { is_distinct, items, from, condition, groups, having })
    }

    pub(super) fn items(&mut self) -> Result<Vec<Item>> {
        self.list(|parser| {
            if parser.takes_sign("*") {
                return Ok(Item::All(None));
            }
            let begins_with_table = matches!(parser.peek(), Some(Word::Name(_) | Word::Quoted(_)))
                && parser.words.get(parser.at + 1) == Some(&Word::Sign("."))
                && parser.words.get(parser.at + 2) == Some(&Word::Sign("*"));
            if begins_with_table {
                let table = parser.name()?;
                parser.at += 2;
                return Ok(Item::All(Some(table)));
            }
            let expression = parser.expression()?;
            Ok(Item::One(expression, parser.alias()?))
        })
    }

    pub(super) fn orders(&mut self) -> Result<Vec<Order>> {
        self.list(|parser| {
            let expression = parser.expression()?;
            let is_descending = parser.takes(&["desc"]);
            if !is_descending {
                parser.takes(&["asc"]);
            }
            let nulls_first = match () {
                () if parser.takes(&["nulls", "first"]) => true,
                () if parser.takes(&["nulls", "last"]) => false,
                () => is_descending,
            };
            Ok(Order { expression, is_descending, nulls_first })
        })
    }

    fn from(&mut self) -> Result<From> {
        let first = self.source()?;
        let mut joins = Vec::new();
        loop {
            let kind = match () {
                () if self.takes(&["join"]) || self.takes(&["inner", "join"]) => "INNER",
                () if self.takes(&["left", "join"]) || self.takes(&["left", "outer", "join"]) => "LEFT",
                () if self.takes(&["right", "join"]) || self.takes(&["right", "outer", "join"]) => "RIGHT",
                () if self.takes(&["full", "join"]) || self.takes(&["full", "outer", "join"]) => "FULL",
                () if self.takes(&["cross", "join"]) => "CROSS",
                () if self.sees(&["natural"]) => {
                    return refuse("NATURAL JOIN is not translated for SQLite: write JOIN … USING (…).");
                }
                () => return Ok(From { first, joins }),
            };
            let source = self.source()?;
            let on = match () {
                () if kind == "CROSS" => On::Nothing,
                () if self.takes(&["on"]) => On::Condition(self.expression()?),
                () if self.takes(&["using"]) => On::Using(self.names()?),
                () => return self.unexpected(),
            };
            joins.push(Join { kind, source, on });
        }
    }

    fn source(&mut self) -> Result<Source> {
        if self.sees(&["lateral"]) {
            return refuse("LATERAL is not translated for SQLite: write a subquery among the columns.");
        }
        if self.sees(&["only"]) {
            return refuse("ONLY is not translated for SQLite: tables have no heirs there, leave it out.");
        }
        if self.takes_sign("(") {
            if !["select", "with", "values"].iter().any(|verb| self.sees(&[verb])) && !self.sees_sign("(") {
                return refuse("Joins in parentheses are not translated for SQLite: write them without.");
            }
            let query = Box::new(self.query()?);
            self.expect_sign(")")?;
            let Some(alias) = self.alias()? else {
                return refuse("subquery in FROM must have an alias: write (SELECT …) AS name.");
            };
            let columns = if self.sees_sign("(") { self.names()? } else { Vec::new() };
            return Ok(Source::Query { query, alias, columns });
        }
        let name = self.table()?;
        if self.sees_sign("(") {
            return refuse(format!("The function {name} in FROM is not translated for SQLite: use PostgreSQL for it."));
        }
        let alias = match self.peek() {
            Some(Word::Name(next)) if !self.sees(&["as"]) && is_reserved(next) => None,
            _ => self.alias()?,
        };
        if alias.is_some() && self.sees_sign("(") {
            return refuse("New names for a table's columns are not translated for SQLite: name them in a subquery.");
        }
        Ok(Source::Table { name, alias })
    }
}
