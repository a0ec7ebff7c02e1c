//! Casts: those that are written, and those of values that are stored in a column.

use super::super::tree::{Declared, Expression};
use super::super::types::Type;
use super::super::values;
use super::super::{Result, refuse};
use super::{Term, Translator, Typed};

impl Translator<'_> {
    /// A cast between types of which PostgreSQL has one.
    pub(super) fn cast(&mut self, typed: Typed, kind: Type) -> Result<Typed> {
        let is_widening = typed.kind.is_int() && kind.is_int() && typed.kind.common(kind) == Some(kind);
        let is_same_form = typed.kind.is_moment() && kind.is_moment() && kind != Type::Date;
        if typed.kind == kind || is_widening || is_same_form {
            return Ok(Typed { kind, ..typed });
        }
        let (from, to) = (typed.kind.number().to_string(), kind.number().to_string());
        Ok(Typed::new(self.call("pg_cast", &[&typed.sql, &from, &to]), kind))
    }

    /// A cast that stands in the statement.
    pub(super) fn written_cast(&mut self, value: &Expression, declared: Declared) -> Result<Term> {
        if declared.kind == Type::Interval
            && let Expression::Text(text) = value
        {
            // Months count by the calendar, so a span that has some stands next to its moment, see there.
            return match values::moments::read_span(text)? {
                (0, micros) => Ok(Typed::new(micros.to_string(), Type::Interval).term()),
                _ => refuse(
                    "Months and years of a span are translated for SQLite next to a moment alone, as in now() + \
                     interval '1 month': write days.",
                ),
            };
        }
        if let (Expression::Number(number), Type::Float8) = (value, declared.kind) {
            // The number may be larger than an exact decimal can be here.
            let value = values::read(number, Type::Float8)?;
            return Ok(Typed::new(self.literal(value), Type::Float8).term());
        }
        let typed = match self.expression(value)? {
            Term::Typed(typed) => {
                if !is_written_cast(typed.kind, declared.kind) {
                    return refuse(format!("cannot cast type {} to {}", typed.kind.name(), declared.kind.name()));
                }
                self.cast(typed, declared.kind)?
            }
            other => self.as_type(other, declared.kind)?,
        };
        Ok(match (declared.length, declared.precision) {
            (Some(length), _) => {
                let length = length.to_string();
                Typed::new(format!("substr({}, 1, {length})", typed.sql), Type::Text)
            }
            (_, Some(_)) => self.fitted(typed, declared),
            _ => typed,
        }
        .term())
    }

    /// A term as it is stored in a column.
    pub(super) fn stored(&mut self, term: Term, declared: Declared, column: &str) -> Result<Typed> {
        let typed = match term {
            Term::Typed(typed) if is_stored_cast(typed.kind, declared.kind) => self.cast(typed, declared.kind)?,
            Term::Typed(typed) => {
                return refuse(format!(
                    "column \"{column}\" is of type {} but expression is of type {}: write a cast",
                    declared.kind.name(),
                    typed.kind.name()
                ));
            }
            other => self.as_type(other, declared.kind)?,
        };
        Ok(self.fitted(typed, declared))
    }

    /// A value as long as its column allows.
    fn fitted(&mut self, typed: Typed, declared: Declared) -> Typed {
        if typed.sql == "NULL" {
            return typed;
        }
        match (declared.length, declared.precision) {
            (Some(length), _) => Typed::new(self.call("pg_varchar", &[&typed.sql, &length.to_string()]), declared.kind),
            (_, Some((digits, behind))) => {
                let (digits, behind) = (digits.to_string(), behind.to_string());
                Typed::new(self.call("pg_fit", &[&typed.sql, &digits, &behind]), declared.kind)
            }
            _ => typed,
        }
    }
}

/// Whether PostgreSQL stores values of a type in a column of another.
fn is_stored_cast(from: Type, to: Type) -> bool {
    from == to
        || (to == Type::Text && from != Type::Interval)
        || (from.is_number() && to.is_number())
        || (from.is_moment() && to.is_moment())
}

/// Whether a cast from a type to another may be written.
fn is_written_cast(from: Type, to: Type) -> bool {
    is_stored_cast(from, to)
        || from == Type::Text
        || matches!((from, to), (Type::Flag, Type::Int4) | (Type::Int4, Type::Flag))
        || (from == Type::Jsonb && (to.is_number() || to == Type::Flag))
}
