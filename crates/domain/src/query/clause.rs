//! One term of a query: whether it must hold, for which field, and what is asked of its values.

use std::ops::Range;

use smol_str::SmolStr;

use super::date;
use super::document::{Document, Value};
use super::pattern::Pattern;
use crate::time::Timestamp;

/// Costs of a plain check and of a pattern, in the units of [`super::Query::cost`].
const PLAIN_COST: u32 = 1;
const PATTERN_COST: u32 = 40;

/// Whether a term has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occur {
    /// The term adds to the score; where no term must hold, one of these must.
    Should,
    /// The term must hold: `+term`.
    Must,
    /// The term must not hold: `-term`.
    MustNot,
}

/// A test of a field's values: one of them has to pass.
#[derive(Clone, Debug)]
pub enum Test {
    /// There is a value. Without a field: always.
    Exists,
    /// The value is this text.
    Text(SmolStr),
    /// The value is this number, give or take `slack`, or the text that the query has.
    Number {
        /// The number as the query has it.
        text: SmolStr,
        /// The same as a number.
        number: f64,
        /// Zero unless the query was widened.
        slack: f64,
    },
    /// The value is a number between these, both included or not.
    Range {
        /// The lower bound.
        low: Bound<f64>,
        /// The upper bound.
        high: Bound<f64>,
    },
    /// The value is a text that reads as a date between these.
    Dates {
        /// The lower bound.
        low: Bound<Timestamp>,
        /// The upper bound.
        high: Bound<Timestamp>,
    },
    /// The value is a text that fits a wildcard, a regular expression, or a word roughly.
    Pattern(Pattern),
}

pub use std::ops::Bound;

impl Test {
    /// Whether one value passes.
    fn passes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Exists, _) => true,
            (Self::Text(text) | Self::Number { text, .. }, Value::Text(found)) => text == found,
            (Self::Number { number, slack, .. }, Value::Number(found)) => {
                (*number - *slack..=*number + *slack).contains(found)
            }
            (Self::Range { low, high }, Value::Number(found)) => is_between(low, high, found),
            (Self::Dates { low, high }, Value::Text(found)) => {
                date::parse(found).is_some_and(|found| is_between(low, high, &found))
            }
            (Self::Pattern(pattern), Value::Text(found)) => pattern.fits(found),
            (Self::Text(_) | Self::Dates { .. } | Self::Pattern(_), Value::Number(_))
            | (Self::Range { .. }, Value::Text(_)) => false,
        }
    }
}

fn is_between<T: PartialOrd>(low: &Bound<T>, high: &Bound<T>, found: &T) -> bool {
    let above = match low {
        Bound::Included(low) => found >= low,
        Bound::Excluded(low) => found > low,
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(high) => found <= high,
            Bound::Excluded(high) => found < high,
            Bound::Unbounded => true,
        }
}

/// A term.
#[derive(Clone, Debug)]
pub struct Clause {
    /// Whether it has to hold.
    pub occur: Occur,
    /// The field whose values are asked; without one, those of every field.
    pub field: Option<SmolStr>,
    /// The test of the values.
    pub test: Test,
    /// Score of the clause when it holds.
    pub boost: f64,
    /// Where it stands in the query's text, in bytes.
    pub(super) span: Range<u32>,
}

impl Clause {
    /// Whether a document has a value that passes, whatever the sign.
    pub fn test_document(&self, document: &Document) -> bool {
        match &self.field {
            Some(field) => document.values(field).any(|value| self.test.passes(value)),
            None if matches!(self.test, Test::Exists) => true,
            None => document.fields().any(|(_, mut values)| values.any(|value| self.test.passes(value))),
        }
    }

    /// Cost of asking a document, in the units of [`super::Query::cost`].
    pub fn cost(&self) -> u32 {
        match self.test {
            Test::Pattern(_) | Test::Dates { .. } => PATTERN_COST,
            _ => PLAIN_COST,
        }
    }

    pub(super) fn widened(&self, by: f64) -> Self {
        let moved = |bound: &Bound<f64>, by: f64| match bound {
            Bound::Included(at) => Bound::Included(at + by),
            Bound::Excluded(at) => Bound::Excluded(at + by),
            Bound::Unbounded => Bound::Unbounded,
        };
        let test = match &self.test {
            Test::Range { low, high } => Test::Range { low: moved(low, -by), high: moved(high, by) },
            Test::Number { text, number, slack } => {
                Test::Number { text: text.clone(), number: *number, slack: slack + by }
            }
            other => other.clone(),
        };
        Self { test, ..self.clone() }
    }
}
