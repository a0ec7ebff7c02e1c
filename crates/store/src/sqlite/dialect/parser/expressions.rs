//! Expressions, from the loosest operator to the tightest.

use super::super::tree::{Call, Expression, Like, Window};
use super::super::types::Type;
use super::super::words::Word;
use super::super::{Result, refuse};
use super::{Parser, is_reserved};

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.deeper(|parser| {
            let mut any = vec![parser.conjunction()?];
            while parser.takes(&["or"]) {
                any.push(parser.conjunction()?);
            }
            Ok(alone(any).unwrap_or_else(Expression::Any))
        })
    }

    fn conjunction(&mut self) -> Result<Expression> {
        let mut all = vec![self.negation()?];
        while self.takes(&["and"]) {
            all.push(self.negation()?);
        }
        Ok(alone(all).unwrap_or_else(Expression::All))
    }

    fn negation(&mut self) -> Result<Expression> {
        if self.takes(&["not"]) {
            return self.deeper(|parser| Ok(Expression::Not(Box::new(parser.negation()?))));
        }
        self.test()
    }

    /// `IS` and its kin.
    fn test(&mut self) -> Result<Expression> {
        let mut value = self.comparison()?;
        loop {
            let (is, words): (_, &[&str]) = match () {
                () if self.takes(&["isnull"]) => (true, &["null"]),
                () if self.takes(&["notnull"]) => (false, &["null"]),
                () if self.takes(&["is", "not"]) => (false, &[]),
                () if self.takes(&["is"]) => (true, &[]),
                () => return Ok(value),
            };
            self.count_operator()?;
            let inner = Box::new(value);
            value = match () {
                () if !words.is_empty() || self.takes(&["null"]) => Expression::IsNull(inner, !is),
                () if self.takes(&["true"]) => Expression::IsFlag(inner, Some(true), !is),
                () if self.takes(&["false"]) => Expression::IsFlag(inner, Some(false), !is),
                () if self.takes(&["unknown"]) => Expression::IsFlag(inner, None, !is),
                () if self.takes(&["distinct", "from"]) => {
                    Expression::IsDistinct(inner, Box::new(self.comparison()?), !is)
                }
                () => return self.unexpected(),
            };
        }
    }

    /// Comparisons do not associate: `a < b < c` is a syntax error.
    fn comparison(&mut self) -> Result<Expression> {
        let left = self.pattern()?;
        let Some(Word::Sign(sign @ ("=" | "<>" | "<" | ">" | "<=" | ">="))) = self.peek() else { return Ok(left) };
        let sign = *sign;
        self.at += 1;
        self.count_operator()?;
        if ["any", "some", "all"].iter().any(|word| self.sees(&[word])) {
            return refuse("ANY and ALL are not translated for SQLite: write IN ($1, $2, …) or IN (SELECT …).");
        }
        let right = self.pattern()?;
        if matches!(self.peek(), Some(Word::Sign("=" | "<>" | "<" | ">" | "<=" | ">="))) {
            return self.unexpected();
        }
        Ok(Expression::Operation(sign, Box::new(left), Box::new(right)))
    }

    /// `BETWEEN`, `IN`, `LIKE`.
    fn pattern(&mut self) -> Result<Expression> {
        let value = self.other_operation()?;
        let is_not = self.sees(&["not"])
            && ["between", "in", "like", "ilike", "similar"].iter().any(|word| self.sees(&["not", word]));
        self.at += usize::from(is_not);
        let outcome = match () {
            () if self.takes(&["between"]) => {
                if self.sees(&["symmetric"]) {
                    return refuse("BETWEEN SYMMETRIC is not translated for SQLite: write both orders with OR.");
                }
                self.takes(&["asymmetric"]);
                let low = Box::new(self.other_operation()?);
                self.expect(&["and"])?;
                let high = Box::new(self.other_operation()?);
                Expression::Between { value: Box::new(value), low, high, is_not }
            }
            () if self.takes(&["in"]) => self.membership(value, is_not)?,
            () if self.sees(&["like"]) || self.sees(&["ilike"]) => {
                let ignores_case = self.takes(&["ilike"]) || !self.takes(&["like"]);
                let pattern = self.other_operation()?;
                let escape = if self.takes(&["escape"]) { Some(self.other_operation()?) } else { None };
                Expression::Like(Box::new(Like { text: value, pattern, escape, ignores_case, is_not }))
            }
            () if self.sees(&["similar"]) => {
                return refuse("SIMILAR TO is not translated for SQLite: write LIKE, or use PostgreSQL.");
            }
            () => return Ok(value),
        };
        self.count_operator()?;
        Ok(outcome)
    }

    fn membership(&mut self, value: Expression, is_not: bool) -> Result<Expression> {
        self.expect_sign("(")?;
        let value = Box::new(value);
        let outcome = if ["select", "with", "values"].iter().any(|verb| self.sees(&[verb])) {
            Expression::InQuery(value, Box::new(self.query()?), is_not)
        } else {
            Expression::InList(value, self.list(Self::expression)?, is_not)
        };
        self.expect_sign(")")?;
        Ok(outcome)
    }

    /// The operators that are not of standard SQL.
    fn other_operation(&mut self) -> Result<Expression> {
        let signs = ["||", "->", "->>", "#>", "#>>", "@>", "<@", "?", "?|", "?&"];
        self.chain(&signs, Self::sum)
    }

    fn sum(&mut self) -> Result<Expression> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Expression> {
        self.chain(&["*", "/", "%"], Self::signed)
    }

    /// Operands with operators between them, from left to right.
    fn chain(&mut self, signs: &[&'static str], operand: fn(&mut Self) -> Result<Expression>) -> Result<Expression> {
        let mut left = operand(self)?;
        loop {
            let Some(sign) = signs.iter().find(|sign| self.sees_sign(sign)) else { return Ok(left) };
            self.at += 1;
            self.count_operator()?;
            left = Expression::Operation(*sign, Box::new(left), Box::new(operand(self)?));
        }
    }

    fn signed(&mut self) -> Result<Expression> {
        if self.takes_sign("-") {
            return self.deeper(|parser| Ok(Expression::Minus(Box::new(parser.signed()?))));
        }
        if self.takes_sign("+") {
            return self.deeper(Self::signed);
        }
        let value = self.cast()?;
        if self.sees_sign("^") {
            return refuse("The operator ^ is not translated for SQLite: write power(a, b).");
        }
        Ok(value)
    }

    fn cast(&mut self) -> Result<Expression> {
        let mut value = self.primary()?;
        loop {
            if self.takes_sign("::") {
                self.count_operator()?;
                value = Expression::Cast(Box::new(value), self.declared()?);
            } else if self.sees(&["at", "time", "zone"]) {
                return refuse("AT TIME ZONE is not translated for SQLite: moments are in UTC there.");
            } else if self.sees(&["collate"]) {
                return refuse("COLLATE is not translated for SQLite: texts are ordered by their bytes there.");
            } else if self.sees_sign("[") {
                return refuse("Arrays are not translated for SQLite: use a table with a row for each, or JSONB.");
            } else {
                return Ok(value);
            }
        }
    }

    pub(super) fn primary(&mut self) -> Result<Expression> {
        let Some(word) = self.peek().cloned() else { return self.unexpected() };
        match word {
            Word::Number(number) => {
                self.at += 1;
                Ok(Expression::Number(number))
            }
            Word::Text(text) => {
                self.at += 1;
                Ok(Expression::Text(text))
            }
            Word::Parameter(number) => {
                self.at += 1;
                Ok(Expression::Parameter(number))
            }
            Word::Sign("(") => self.parenthesis(),
            Word::Name(name) => match self.keyword(&name)? {
                Some(expression) => Ok(expression),
                None => self.named(),
            },
            Word::Quoted(_) => self.named(),
            Word::Sign(_) => self.unexpected(),
        }
    }

    /// The value of a column's default, which ends where the next constraint begins.
    pub(super) fn default_value(&mut self) -> Result<Expression> {
        self.other_operation()
    }

    fn parenthesis(&mut self) -> Result<Expression> {
        self.expect_sign("(")?;
        if ["select", "with", "values"].iter().any(|verb| self.sees(&[verb])) {
            let query = self.query()?;
            self.expect_sign(")")?;
            return Ok(Expression::Subquery(Box::new(query)));
        }
        let all = self.list(Self::expression)?;
        self.expect_sign(")")?;
        Ok(alone(all).unwrap_or_else(Expression::Row))
    }

    /// An expression that begins with a keyword.
    fn keyword(&mut self, name: &str) -> Result<Option<Expression>> {
        let next = self.words.get(self.at + 1).cloned();
        let is_call = next == Some(Word::Sign("("));
        let simple = match name {
            "null" => Some(Expression::Null),
            "true" => Some(Expression::Flag(true)),
            "false" => Some(Expression::Flag(false)),
            "current_timestamp" | "current_date" if !is_call => {
                Some(Expression::Call(Box::new(call(name, Vec::new()))))
            }
            _ => None,
        };
        if simple.is_some() {
            self.at += 1;
            return Ok(simple);
        }
        match name {
            "case" => self.deeper(Self::case).map(Some),
            "cast" if is_call => {
                self.at += 2;
                let value = Box::new(self.expression()?);
                self.expect(&["as"])?;
                let declared = self.declared()?;
                self.expect_sign(")")?;
                self.count_operator()?;
                Ok(Some(Expression::Cast(value, declared)))
            }
            "exists" if is_call => {
                self.at += 2;
                let query = Box::new(self.query()?);
                self.expect_sign(")")?;
                Ok(Some(Expression::Exists(query)))
            }
            "row" if is_call => {
                self.at += 2;
                let all = self.list(Self::expression)?;
                self.expect_sign(")")?;
                Ok(Some(Expression::Row(all)))
            }
            "extract" | "position" | "substring" | "trim" if is_call => self.special_call(name).map(Some),
            "array" => refuse("Arrays are not translated for SQLite: use a table with a row for each, or JSONB."),
            "left" | "right" if is_call => Ok(None),
            _ if is_reserved(name) => self.unexpected(),
            _ => self.typed_text(name),
        }
    }

    /// A type before a text, as in `interval '1 day'`.
    fn typed_text(&mut self, name: &str) -> Result<Option<Expression>> {
        let types = ["timestamptz", "timestamp", "date", "interval", "uuid", "jsonb", "bool", "boolean", "double"];
        let next = self.words.get(self.at + 1);
        let is_typed = types.contains(&name)
            && (matches!(next, Some(Word::Text(_)))
                || self.sees(&["timestamp", "with"])
                || self.sees(&["timestamp", "without"])
                || self.sees(&["double", "precision"]));
        if !is_typed {
            return Ok(None);
        }
        let declared = self.declared()?;
        let Some(Word::Text(text)) = self.peek().cloned() else { return self.unexpected() };
        self.at += 1;
        let units = ["year", "month", "day", "hour", "minute", "second"];
        if declared.kind == Type::Interval && units.iter().any(|unit| self.sees(&[unit])) {
            return refuse(format!("Write the unit inside of the text: interval '{text} days'."));
        }
        Ok(Some(Expression::Cast(Box::new(Expression::Text(text)), declared)))
    }

    fn case(&mut self) -> Result<Expression> {
        self.expect(&["case"])?;
        let operand = if self.sees(&["when"]) { None } else { Some(Box::new(self.expression()?)) };
        let mut branches = Vec::new();
        while self.takes(&["when"]) {
            let condition = self.expression()?;
            self.expect(&["then"])?;
            branches.push((condition, self.expression()?));
        }
        if branches.is_empty() {
            return self.unexpected();
        }
        let otherwise = if self.takes(&["else"]) { Some(Box::new(self.expression()?)) } else { None };
        self.expect(&["end"])?;
        Ok(Expression::Case { operand, branches, otherwise })
    }

    /// Calls with keywords between their arguments.
    fn special_call(&mut self, name: &str) -> Result<Expression> {
        self.at += 2;
        let outcome = match name {
            "extract" => {
                let field = match self.peek() {
                    Some(Word::Name(field) | Word::Text(field)) => field.to_ascii_lowercase(),
                    _ => return self.unexpected(),
                };
                self.at += 1;
                self.expect(&["from"])?;
                Expression::Extract(field, Box::new(self.expression()?))
            }
            "position" => {
                let part = self.other_operation()?;
                self.expect(&["in"])?;
                let text = self.other_operation()?;
                Expression::Call(Box::new(call("position", vec![text, part])))
            }
            "substring" => {
                let mut arguments = vec![self.expression()?];
                if self.takes_sign(",") {
                    arguments.extend(self.list(Self::expression)?);
                } else {
                    let from =
                        if self.takes(&["from"]) { self.expression()? } else { Expression::Number("1".to_owned()) };
                    arguments.push(from);
                    if self.takes(&["for"]) {
                        arguments.push(self.expression()?);
                    }
                }
                Expression::Call(Box::new(call("substring", arguments)))
            }
            _ => {
                let name = match () {
                    () if self.takes(&["leading"]) => "ltrim",
                    () if self.takes(&["trailing"]) => "rtrim",
                    () => {
                        self.takes(&["both"]);
                        "btrim"
                    }
                };
                let mut arguments = if self.takes(&["from"]) { Vec::new() } else { vec![self.expression()?] };
                if arguments.is_empty() || self.takes(&["from"]) {
                    arguments.insert(0, self.expression()?);
                } else if self.takes_sign(",") {
                    arguments.push(self.expression()?);
                }
                Expression::Call(Box::new(call(name, arguments)))
            }
        };
        self.expect_sign(")")?;
        Ok(outcome)
    }

    /// A column or the call of a function.
    fn named(&mut self) -> Result<Expression> {
        let is_left_or_right = self.sees(&["left"]) || self.sees(&["right"]);
        let name = if is_left_or_right { self.label()? } else { self.name()? };
        if self.sees_sign("(") {
            return self.call(name);
        }
        if !self.takes_sign(".") {
            return Ok(Expression::Column(None, name));
        }
        let mut column = self.label()?;
        let mut table = name;
        if self.takes_sign(".") {
            if table != "public" {
                return refuse(format!("On SQLite there is one schema, public: {table} is not there."));
            }
            table = std::mem::replace(&mut column, self.label()?);
        }
        if self.sees_sign("(") {
            return refuse(format!("Functions of {table} are not translated for SQLite."));
        }
        Ok(Expression::Column(Some(table), column))
    }

    fn call(&mut self, name: String) -> Result<Expression> {
        self.expect_sign("(")?;
        let mut call = call(&name, Vec::new());
        if self.takes_sign("*") {
            call.is_of_rows = true;
        } else if !self.sees_sign(")") {
            call.is_distinct = self.takes(&["distinct"]);
            call.arguments = self.list(Self::expression)?;
            if self.takes(&["order", "by"]) {
                call.order = self.orders()?;
            }
        }
        self.expect_sign(")")?;
        if self.takes(&["filter"]) {
            self.expect_sign("(")?;
            self.expect(&["where"])?;
            call.filter = Some(self.expression()?);
            self.expect_sign(")")?;
        }
        if self.takes(&["over"]) {
            self.expect_sign("(")?;
            let partition = if self.takes(&["partition", "by"]) { self.list(Self::expression)? } else { Vec::new() };
            let order = if self.takes(&["order", "by"]) { self.orders()? } else { Vec::new() };
            if !self.sees_sign(")") {
                return refuse("Frames and names of windows are not translated for SQLite: leave ROWS and RANGE out.");
            }
            self.expect_sign(")")?;
            call.window = Some(Window { partition, order });
        }
        self.count_operator()?;
        Ok(Expression::Call(Box::new(call)))
    }
}

/// The one of a list that has one, or the list.
fn alone(mut all: Vec<Expression>) -> std::result::Result<Expression, Vec<Expression>> {
    if all.len() == 1 { all.pop().ok_or(all) } else { Err(all) }
}

fn call(name: &str, arguments: Vec<Expression>) -> Call {
    Call {
        name: name.to_owned(),
        arguments,
        is_of_rows: false,
        is_distinct: false,
        order: Vec::new(),
        filter: None,
        window: None,
    }
}
