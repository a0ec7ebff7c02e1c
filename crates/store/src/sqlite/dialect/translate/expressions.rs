//! Expressions.

use super::super::tree::{Expression, Like, Query};
use super::super::types::Type;
use super::super::{Result, refuse, values};
use super::{Term, Translator, Typed, boolean};

impl Translator<'_> {
    /// An expression. One that is a group of its query needs no aggregate around its columns.
    pub(super) fn expression(&mut self, expression: &Expression) -> Result<Term> {
        let mark = self.scope().ungrouped.len();
        let term = self.bare(expression)?;
        if let Term::Typed(typed) = &term
            && self.scope().groups.contains(&typed.sql)
        {
            self.scope().ungrouped.truncate(mark);
        }
        Ok(term)
    }

    /// An expression whose type is known, or follows from the place.
    pub(super) fn typed(&mut self, expression: &Expression, kind: Type) -> Result<Typed> {
        let term = self.expression(expression)?;
        self.as_type(term, kind)
    }

    /// A condition, or an operand of one.
    pub(super) fn condition(&mut self, expression: &Expression, place: &str) -> Result<String> {
        match self.expression(expression)? {
            Term::Typed(typed) if typed.kind != Type::Flag => {
                refuse(format!("argument of {place} must be type boolean, not type {}", typed.kind.name()))
            }
            term => Ok(self.as_type(term, Type::Flag)?.sql),
        }
    }

    fn bare(&mut self, expression: &Expression) -> Result<Term> {
        match expression {
            Expression::Column(table, column) => self.column(table.as_deref(), column),
            Expression::Number(number) => self.number(number),
            Expression::Text(text) => Ok(Term::Text(text.clone())),
            Expression::Flag(flag) => Ok(Typed::new(if *flag { "1" } else { "0" }, Type::Flag).term()),
            Expression::Null => Ok(Term::Null),
            Expression::Default => refuse("DEFAULT is not allowed in this context"),
            Expression::Parameter(number) => Ok(match self.parameter(*number) {
                Some(kind) => Typed::new(format!("?{number}"), kind).term(),
                None => Term::Parameter(*number),
            }),
            Expression::Minus(inner) => self.minus(inner),
            Expression::Operation(sign, left, right) => self.operation(sign, left, right),
            Expression::All(all) => self.conditions(all, "AND"),
            Expression::Any(any) => self.conditions(any, "OR"),
            Expression::Not(inner) => Ok(boolean(format!("(NOT {})", self.condition(inner, "NOT")?))),
            Expression::IsNull(inner, is_not) => self.is_null(inner, *is_not),
            Expression::IsFlag(inner, flag, is_not) => {
                let inner = self.condition(inner, "IS")?;
                let flag = flag.map_or("NULL", |flag| if flag { "1" } else { "0" });
                Ok(boolean(format!("({inner} IS {}{flag})", if *is_not { "NOT " } else { "" })))
            }
            Expression::IsDistinct(left, right, is_not) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                let (left, right) = self.comparable(left, right, "IS DISTINCT FROM")?;
                if left.kind == Type::Jsonb {
                    return refuse("IS DISTINCT FROM of jsonb is not translated for SQLite: write = and IS NULL.");
                }
                let sign = if *is_not { "IS" } else { "IS NOT" };
                Ok(boolean(format!("({} {sign} {})", left.sql, right.sql)))
            }
            Expression::Between { value, low, high, is_not } => self.between(value, low, high, *is_not),
            Expression::InList(value, all, is_not) => self.in_list(value, all, *is_not),
            Expression::InQuery(value, query, is_not) => self.in_query(value, query, *is_not),
            Expression::Like(like) => self.like(like),
            Expression::Cast(value, declared) => self.written_cast(value, *declared),
            Expression::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            Expression::Exists(query) => {
                let (sql, _) = self.subquery(query)?;
                Ok(boolean(format!("EXISTS ({sql})")))
            }
            Expression::Subquery(query) => self.scalar(query),
            Expression::Row(_) => refuse("A row is translated in a comparison alone, as in (a, b) = (1, 2)."),
            Expression::Call(call) => self.function(call),
            Expression::Extract(field, value) => self.extract(field, value),
        }
    }

    fn number(&mut self, number: &str) -> Result<Term> {
        if number.bytes().all(|byte| byte.is_ascii_digit()) {
            if let Ok(small) = number.parse::<i32>() {
                return Ok(Typed::new(small.to_string(), Type::Int4).term());
            }
            if let Ok(large) = number.parse::<i64>() {
                return Ok(Typed::new(large.to_string(), Type::Int8).term());
            }
        }
        let value = values::read(number, Type::Numeric)?;
        Ok(Typed::new(self.literal(value), Type::Numeric).term())
    }

    fn minus(&mut self, inner: &Expression) -> Result<Term> {
        let term = match self.expression(inner)? {
            Term::Typed(typed) => typed,
            _ => return refuse("operator is not unique: - unknown; write a cast"),
        };
        if matches!(inner, Expression::Number(_)) && term.kind.is_int() {
            return Ok(Typed::new(format!("-{}", term.sql), term.kind).term());
        }
        match term.kind {
            Type::Interval => Ok(Typed::new(format!("(- {})", term.sql), Type::Interval).term()),
            kind if kind.is_number() => {
                let sql = self.call("pg_neg", &[&term.sql, &kind.number().to_string()]);
                Ok(Typed::new(sql, kind).term())
            }
            kind => refuse(format!("operator does not exist: - {}", kind.name())),
        }
    }

    fn conditions(&mut self, all: &[Expression], word: &str) -> Result<Term> {
        let all = all.iter().map(|one| self.condition(one, word)).collect::<Result<Vec<_>>>()?;
        // SQLite's tree of many conditions would be as deep as they are many; halves keep it flat.
        Ok(boolean(balanced(&all, word)))
    }

    fn is_null(&mut self, inner: &Expression, is_not: bool) -> Result<Term> {
        let inner = match self.expression(inner)? {
            Term::Parameter(number) => {
                return refuse(format!("could not determine data type of parameter ${number}: write ${number}::text"));
            }
            term => self.settled(term)?,
        };
        Ok(boolean(format!("({} {})", inner.sql, if is_not { "NOTNULL" } else { "ISNULL" })))
    }

    fn between(&mut self, value: &Expression, low: &Expression, high: &Expression, is_not: bool) -> Result<Term> {
        let mark = self.is_volatile;
        self.is_volatile = false;
        let value = self.expression(value)?;
        if std::mem::replace(&mut self.is_volatile, mark) {
            return refuse("BETWEEN of a value that is new at each look is not translated for SQLite.");
        }
        let (low, high) = (self.expression(low)?, self.expression(high)?);
        // PostgreSQL takes it for two comparisons.
        let low = self.compare(">=", value.clone(), low)?;
        let high = self.compare("<=", value, high)?;
        Ok(boolean(format!("({}({low} AND {high}))", if is_not { "NOT " } else { "" })))
    }

    fn in_list(&mut self, value: &Expression, all: &[Expression], is_not: bool) -> Result<Term> {
        let not = if is_not { "NOT " } else { "" };
        if let Expression::Row(values) = value {
            let one = |row: &Expression| match row {
                Expression::Row(others) => self.rows("=", values, others),
                _ => refuse("A row is compared with rows of as many values."),
            };
            let any = all.iter().map(one).collect::<Result<Vec<_>>>()?;
            return Ok(boolean(format!("({not}{})", balanced(&any, "OR"))));
        }
        let mut terms = vec![self.expression(value)?];
        for one in all {
            terms.push(self.expression(one)?);
        }
        let (mut terms, kind) = self.as_one_type(terms, "IN")?;
        if kind == Type::Jsonb {
            return refuse("IN of jsonb is not translated for SQLite: write = and OR.");
        }
        let value = terms.remove(0);
        let all: Vec<_> = terms.into_iter().map(|one| one.sql).collect();
        Ok(boolean(format!("({} {not}IN ({}))", value.sql, all.join(", "))))
    }

    fn in_query(&mut self, value: &Expression, query: &Query, is_not: bool) -> Result<Term> {
        let values = match value {
            Expression::Row(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut terms = Vec::new();
        for value in values {
            terms.push(self.expression(value)?);
        }
        let (sql, columns) = self.subquery(query)?;
        if columns.len() != terms.len() {
            return refuse(format!("subquery has {} columns, and {} are compared", columns.len(), terms.len()));
        }
        let mut all = Vec::new();
        for (term, (_, kind)) in terms.into_iter().zip(&columns) {
            let term = match term {
                Term::Typed(typed) => typed,
                other => self.as_type(other, *kind)?,
            };
            // Values of the two types are held in one form if they are equal, or whole numbers, or moments.
            let has_one_form = term.kind == *kind
                || (term.kind.is_int() && kind.is_int())
                || (term.kind.is_moment() && kind.is_moment());
            if !has_one_form || *kind == Type::Jsonb {
                return refuse(format!(
                    "IN of {} and a subquery's {} is not translated for SQLite: cast one to the type of the other",
                    term.kind.name(),
                    kind.name()
                ));
            }
            all.push(term.sql);
        }
        let value = if let [one] = &all[..] { one.clone() } else { format!("({})", all.join(", ")) };
        Ok(boolean(format!("({value} {}IN ({sql}))", if is_not { "NOT " } else { "" })))
    }

    fn like(&mut self, like: &Like) -> Result<Term> {
        let text = self.typed(&like.text, Type::Text)?;
        let pattern = self.typed(&like.pattern, Type::Text)?;
        let escape = match &like.escape {
            Some(escape) => self.typed(escape, Type::Text)?.sql,
            None => "'\\'".to_owned(),
        };
        let ignores_case = if like.ignores_case { "1" } else { "0" };
        let sql = self.call("pg_like", &[&text.sql, &pattern.sql, &escape, ignores_case]);
        Ok(boolean(if like.is_not { format!("(NOT {sql})") } else { sql }))
    }

    fn case(
        &mut self,
        operand: Option<&Expression>,
        branches: &[(Expression, Expression)],
        otherwise: Option<&Expression>,
    ) -> Result<Term> {
        let operand = operand.map(|operand| self.expression(operand)).transpose()?;
        let operand = operand.map(|operand| self.settled(operand)).transpose()?;
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for (condition, result) in branches {
            conditions.push(match &operand {
                None => self.condition(condition, "CASE/WHEN")?,
                Some(operand) => {
                    let condition = self.expression(condition)?;
                    self.compare("=", operand.clone().term(), condition)?
                }
            });
            results.push(self.expression(result)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.expression(otherwise)?,
            None => Term::Null,
        });
        let (results, kind) = self.as_one_type(results, "CASE")?;
        let mut sql = "(CASE".to_owned();
        for (condition, result) in conditions.iter().zip(&results) {
            sql += &format!(" WHEN {condition} THEN {}", result.sql);
        }
        sql += &format!(" ELSE {} END)", results.last().map_or("NULL", |last| last.sql.as_str()));
        Ok(Typed::new(sql, kind).term())
    }

    /// A subquery as a value. SQLite would take the first of several rows.
    fn scalar(&mut self, query: &Query) -> Result<Term> {
        let (sql, columns) = self.subquery(query)?;
        let [(_, kind)] = columns[..] else { return refuse("subquery must return only one column") };
        let sql = if super::queries::has_one_row(query) {
            format!("({sql})")
        } else {
            // The column's name in this subquery is that which the inner one gives it.
            let column = super::name(&columns[0].0);
            let single = self.call("pg_single", &[&column]);
            format!("(SELECT {single} FROM ({sql}))")
        };
        Ok(Typed::new(sql, kind).term())
    }
}

/// Conditions with a word between them, as a tree of little depth.
fn balanced(all: &[String], word: &str) -> String {
    match all {
        [] => "1".to_owned(),
        [one] => one.clone(),
        all => {
            let (left, right) = all.split_at(all.len() / 2);
            format!("({} {word} {})", balanced(left, word), balanced(right, word))
        }
    }
}
