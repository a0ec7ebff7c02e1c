//! One term of a query: whether it must hold, for which field, and what is asked of its values.

use std::ops::Range;

use smol_str::SmolStr;

use super::date;
use super::document::{Document, Value};
use super::pattern::Pattern;
use super::work::{Check, Work};
use crate::time::Timestamp;

/// Steps of a term apart from those of finding and comparing values.
const CLAUSE_STEPS: usize = 4;
/// Steps in which a text is read as a date, or found to be none, apart from its length.
const DATE_STEPS: usize = 8;
/// Bytes of texts that are compared in one step.
const BYTES_COMPARED_PER_STEP: usize = 64;
/// Bytes of a date that are read in one step.
const BYTES_READ_PER_STEP: usize = 4;

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
    /// Whether one value passes. If the check may not do that much, the answer is that the value does not.
    fn passes(&self, value: &Value, check: &mut Check) -> bool {
        if !check.affords(self.steps(value)) {
            return false;
        }
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
            (Self::Pattern(pattern), Value::Text(found)) => pattern.fits(found, check),
            (Self::Text(_) | Self::Dates { .. } | Self::Pattern(_), Value::Number(_))
            | (Self::Range { .. }, Value::Text(_)) => false,
        }
    }

    /// Steps of asking one value. Patterns count their own steps.
    fn steps(&self, value: &Value) -> usize {
        match (self, value) {
            (Self::Text(text) | Self::Number { text, .. }, Value::Text(found)) if text.len() == found.len() => {
                1 + text.len() / BYTES_COMPARED_PER_STEP
            }
            (Self::Dates { .. }, Value::Text(found)) => DATE_STEPS + found.len() / BYTES_READ_PER_STEP,
            _ => 1,
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
    /// Whether a document has a value that passes, whatever the sign. If that takes more than
    /// [`CHECK_UNITS_MAX`](super::CHECK_UNITS_MAX), the answer is no.
    pub fn test_document(&self, document: &Document, work: &mut Work) -> bool {
        let mut check = Check::new();
        let holds = self.holds(document, &mut check);
        work.add_check(&check);
        holds
    }

    /// The same within a check. If the check may not do that much, the answer is no, and the check says so.
    pub(super) fn holds(&self, document: &Document, check: &mut Check) -> bool {
        match &self.field {
            Some(field) => {
                let (values, steps) = document.find(field);
                check.affords(CLAUSE_STEPS + steps) && self.any(values, check)
            }
            None if matches!(self.test, Test::Exists) => true,
            None => check.affords(CLAUSE_STEPS) && self.any(document.all_values(), check),
        }
    }

    fn any<'a>(&self, values: impl Iterator<Item = &'a Value>, check: &mut Check) -> bool {
        for value in values {
            if self.test.passes(value, check) {
                return true;
            }
            if check.is_refused() {
                return false;
            }
        }
        false
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
