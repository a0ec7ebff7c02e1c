//! Arithmetic with points in time and spans.

use super::super::tree::Expression;
use super::super::types::Type;
use super::super::values::moments;
use super::super::{Result, refuse};
use super::{Term, Translator, Typed};

impl Translator<'_> {
    /// A point in time and a span that is written out: its months are counted by the calendar.
    pub(super) fn moment_and_months(
        &mut self,
        sign: &str,
        left: &Expression,
        right: &Expression,
    ) -> Result<Option<Term>> {
        let (moment, span) = match (sign, span_text(left), span_text(right)) {
            ("+" | "-", None, Some(span)) => (left, span),
            ("+", Some(span), None) => (right, span),
            _ => return Ok(None),
        };
        let (months, micros) = moments::read_span(span)?;
        let moment = match self.expression(moment)? {
            Term::Typed(typed) if typed.kind.is_moment() => typed,
            // A span and a span: without months both are microseconds.
            Term::Typed(typed) if typed.kind == Type::Interval && months == 0 => {
                let span = Typed::new(micros.to_string(), Type::Interval);
                return self.whole_micros(sign, typed, span, Type::Interval).map(Some);
            }
            Term::Typed(typed) => {
                return refuse(format!("operator does not exist: {} {sign} interval", typed.kind.name()));
            }
            other => self.as_type(other, Type::TimestampTz)?,
        };
        let factor = if sign == "-" { -1 } else { 1 };
        let (months, micros) = (factor * months, factor * micros);
        let kind = if moment.kind == Type::Date { Type::Timestamp } else { moment.kind };
        let sql = self.call("pg_span", &[&moment.sql, &months.to_string(), &micros.to_string()]);
        Ok(Some(Typed::new(sql, kind).term()))
    }

    /// Other arithmetic with points in time; `None` if neither side is one, or a span.
    pub(super) fn moment_arithmetic(&mut self, sign: &str, left: &Term, right: &Term) -> Result<Option<Term>> {
        let kind = |term: &Term| if let Term::Typed(typed) = term { Some(typed.kind) } else { None };
        let is_of_time = |kind: Option<Type>| kind.is_some_and(|kind| kind.is_moment() || kind == Type::Interval);
        let (left_kind, right_kind) = (kind(left), kind(right));
        if !is_of_time(left_kind) && !is_of_time(right_kind) {
            return Ok(None);
        }
        let (Term::Typed(left), Term::Typed(right)) = (left.clone(), right.clone()) else {
            return refuse(
                "The type of a value next to a moment or a span is not clear: write a cast, as in $1::interval.",
            );
        };
        let days = |translator: &mut Self, count: Typed| -> Result<Typed> {
            let count = translator.cast(count, Type::Int8)?;
            let (day, kind) = (moments::DAY.to_string(), Type::Int8.number().to_string());
            Ok(Typed::new(translator.call("pg_mul", &[&count.sql, &day, &kind]), Type::Interval))
        };
        match (sign, left.kind, right.kind) {
            ("-", Type::Date, Type::Date) => {
                let sql = format!("(({} - {}) / {})", left.sql, right.sql, moments::DAY);
                Ok(Some(Typed::new(sql, Type::Int4).term()))
            }
            ("-", left_kind, right_kind) if left_kind.is_moment() && right_kind.is_moment() => {
                self.whole_micros("-", left, right, Type::Interval).map(Some)
            }
            ("+" | "-", Type::Date, other) if other.is_int() => {
                let span = days(self, right)?;
                self.later(sign, left, span, Type::Date).map(Some)
            }
            ("+", other, Type::Date) if other.is_int() => {
                let span = days(self, left)?;
                self.later("+", right, span, Type::Date).map(Some)
            }
            ("+" | "-", moment, Type::Interval) if moment.is_moment() => {
                let kind = if moment == Type::Date { Type::Timestamp } else { moment };
                self.later(sign, left, right, kind).map(Some)
            }
            ("+", Type::Interval, moment) if moment.is_moment() => {
                let kind = if moment == Type::Date { Type::Timestamp } else { moment };
                self.later("+", right, left, kind).map(Some)
            }
            ("+" | "-", Type::Interval, Type::Interval) => {
                self.whole_micros(sign, left, right, Type::Interval).map(Some)
            }
            ("*", Type::Interval, other) if other.is_int() => {
                self.whole_micros("*", left, right, Type::Interval).map(Some)
            }
            ("*", other, Type::Interval) if other.is_int() => {
                self.whole_micros("*", left, right, Type::Interval).map(Some)
            }
            (_, left, right) => refuse(format!(
                "The operator {sign} of {} and {} is not translated for SQLite.",
                left.name(),
                right.name()
            )),
        }
    }

    fn whole_micros(&mut self, sign: &str, left: Typed, right: Typed, kind: Type) -> Result<Term> {
        let function = match sign {
            "+" => "pg_add",
            "-" => "pg_sub",
            _ => "pg_mul",
        };
        let sql = self.call(function, &[&left.sql, &right.sql, &Type::Int8.number().to_string()]);
        Ok(Typed::new(sql, kind).term())
    }

    fn later(&mut self, sign: &str, moment: Typed, span: Typed, kind: Type) -> Result<Term> {
        let span = if sign == "-" { format!("(- {})", span.sql) } else { span.sql };
        Ok(Typed::new(self.call("pg_span", &[&moment.sql, "0", &span]), kind).term())
    }

    /// `extract`, an exact decimal.
    pub(super) fn extract(&mut self, field: &str, value: &Expression) -> Result<Term> {
        let value = match self.expression(value)? {
            Term::Typed(typed) => typed,
            _ => return refuse("function pg_catalog.extract(unknown, unknown) is not unique: write a cast"),
        };
        let is_epoch_of_span = value.kind == Type::Interval && field == "epoch";
        if !value.kind.is_moment() && !is_epoch_of_span {
            return refuse(format!("extract({field} from …) of {} is not translated for SQLite.", value.kind.name()));
        }
        // The field is looked at once here, so that an unknown one is refused although there is no row.
        moments::field(field, 0, value.kind)?;
        let kind = value.kind.number().to_string();
        let sql = self.call("pg_extract", &[&super::quoted(field, '\''), &value.sql, &kind]);
        Ok(Typed::new(sql, Type::Numeric).term())
    }
}

/// The text of a span that is written out.
fn span_text(expression: &Expression) -> Option<&str> {
    match expression {
        Expression::Cast(inner, declared) if declared.kind == Type::Interval => match &**inner {
            Expression::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
