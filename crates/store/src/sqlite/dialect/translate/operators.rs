//! Operators between two values.

use super::super::tree::Expression;
use super::super::types::Type;
use super::super::{Result, refuse};
use super::{Term, Translator, Typed, boolean};

impl Translator<'_> {
    pub(super) fn operation(&mut self, sign: &str, left: &Expression, right: &Expression) -> Result<Term> {
        match sign {
            "=" | "<>" | "<" | ">" | "<=" | ">=" => {
                if let (Expression::Row(left), Expression::Row(right)) = (left, right) {
                    return self.rows(sign, left, right).map(boolean);
                }
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.compare(sign, left, right).map(boolean)
            }
            "+" | "-" | "*" | "/" | "%" => {
                if let Some(term) = self.moment_and_months(sign, left, right)? {
                    return Ok(term);
                }
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.arithmetic(sign, left, right)
            }
            "||" => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.joined(left, right)
            }
            sign => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.look_into(sign, left, right)
            }
        }
    }

    /// Two terms as values that can be compared with each other.
    pub(super) fn comparable(&mut self, left: Term, right: Term, sign: &str) -> Result<(Typed, Typed)> {
        match (left, right) {
            (Term::Typed(left), Term::Typed(right)) => {
                let is_of_one_form =
                    (left.kind.is_int() && right.kind.is_int()) || (left.kind.is_moment() && right.kind.is_moment());
                if is_of_one_form {
                    return Ok((left, right));
                }
                match left.kind.common(right.kind) {
                    Some(kind) => Ok((self.cast(left, kind)?, self.cast(right, kind)?)),
                    None => refuse(format!(
                        "operator does not exist: {} {sign} {}; write a cast",
                        left.kind.name(),
                        right.kind.name()
                    )),
                }
            }
            (Term::Typed(left), right) => {
                let right = self.as_type(right, left.kind)?;
                Ok((left, right))
            }
            (left, Term::Typed(right)) => {
                let left = self.as_type(left, right.kind)?;
                Ok((left, right))
            }
            (left, right) => Ok((self.as_type(left, Type::Text)?, self.as_type(right, Type::Text)?)),
        }
    }

    pub(super) fn compare(&mut self, sign: &str, left: Term, right: Term) -> Result<String> {
        let (left, right) = self.comparable(left, right, sign)?;
        match (left.kind, sign) {
            (Type::Jsonb, "=") => Ok(self.call("pg_json_equal", &[&left.sql, &right.sql])),
            (Type::Jsonb, "<>") => {
                let equal = self.call("pg_json_equal", &[&left.sql, &right.sql]);
                Ok(format!("(NOT {equal})"))
            }
            (Type::Jsonb, _) => refuse("The order of jsonb is not translated for SQLite: compare texts or numbers."),
            _ => Ok(format!("({} {sign} {})", left.sql, right.sql)),
        }
    }

    /// Rows compared value by value.
    pub(super) fn rows(&mut self, sign: &str, left: &[Expression], right: &[Expression]) -> Result<String> {
        if left.len() != right.len() {
            return refuse("unequal number of entries in row expressions");
        }
        let (mut lefts, mut rights) = (Vec::new(), Vec::new());
        for (left, right) in left.iter().zip(right) {
            let (left, right) = (self.expression(left)?, self.expression(right)?);
            let (left, right) = self.comparable(left, right, sign)?;
            if left.kind == Type::Jsonb {
                return refuse("Rows with jsonb are not translated for SQLite.");
            }
            lefts.push(left.sql);
            rights.push(right.sql);
        }
        Ok(format!("(({}) {sign} ({}))", lefts.join(", "), rights.join(", ")))
    }

    fn arithmetic(&mut self, sign: &str, left: Term, right: Term) -> Result<Term> {
        if let Some(term) = self.moment_arithmetic(sign, &left, &right)? {
            return Ok(term);
        }
        if let Term::Typed(Typed { kind: Type::Jsonb, .. }) = &left
            && sign == "-"
        {
            return self.without(left, right);
        }
        let (left, right) = self.comparable(left, right, sign)?;
        let Some(kind) = left.kind.common(right.kind).filter(|kind| kind.is_number()) else {
            return refuse(format!(
                "operator does not exist: {} {sign} {}; write a cast",
                left.kind.name(),
                right.kind.name()
            ));
        };
        if sign == "%" && !kind.is_int() {
            return refuse("The operator % is translated for whole numbers alone.");
        }
        let (left, right) = (self.cast(left, kind)?, self.cast(right, kind)?);
        let function = match sign {
            "+" => "pg_add",
            "-" => "pg_sub",
            "*" => "pg_mul",
            "/" => "pg_div",
            _ => "pg_mod",
        };
        let sql = self.call(function, &[&left.sql, &right.sql, &kind.number().to_string()]);
        Ok(Typed::new(sql, kind).term())
    }

    /// `||` of texts, of a text with anything, and of documents.
    fn joined(&mut self, left: Term, right: Term) -> Result<Term> {
        let kind = |term: &Term| if let Term::Typed(typed) = term { Some(typed.kind) } else { None };
        let (left_kind, right_kind) = (kind(&left), kind(&right));
        if left_kind == Some(Type::Jsonb) || right_kind == Some(Type::Jsonb) {
            if [left_kind, right_kind].contains(&Some(Type::Text)) {
                return refuse("operator does not exist: text || jsonb; write a cast");
            }
            let (left, right) = (self.as_type(left, Type::Jsonb)?, self.as_type(right, Type::Jsonb)?);
            let sql = self.call("pg_json_join", &[&left.sql, &right.sql]);
            return Ok(Typed::new(sql, Type::Jsonb).term());
        }
        let is_text = |kind: Option<Type>| kind.is_none_or(|kind| kind == Type::Text);
        if left_kind == Some(Type::Bytea)
            || right_kind == Some(Type::Bytea)
            || !(is_text(left_kind) || is_text(right_kind))
        {
            return refuse("The operator || is translated for texts and jsonb: cast one side to text.");
        }
        let (left, right) = (self.as_text(left)?, self.as_text(right)?);
        Ok(Typed::new(format!("({} || {})", left.sql, right.sql), Type::Text).term())
    }

    /// A term as a text, whatever its type.
    pub(super) fn as_text(&mut self, term: Term) -> Result<Typed> {
        match term {
            Term::Typed(typed) if typed.kind == Type::Interval => {
                refuse("Spans are not read on SQLite: write extract(epoch from …).")
            }
            Term::Typed(typed) => self.cast(typed, Type::Text),
            other => self.as_type(other, Type::Text),
        }
    }
}
