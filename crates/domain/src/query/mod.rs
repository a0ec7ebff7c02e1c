//! The query language of match labels, parties, rooms and matchmaker tickets, and the index that answers it.
//!
//! A query is a list of terms parted by spaces: `term` should hold, `+term` must, `-term` must not. A term is
//! `field:value`, where a value is a word, `"a phrase"`, a number, a range (`>5`, `<=-2.5`, `>="2024-01-01"`), a
//! wildcard (`ab*`, `a?`) or `/a regular expression/`; `~n` allows n changed letters, `^n` weighs. Nothing here reads a
//! clock or waits; texts are compared whole and with case.

mod bitmap;
mod candidates;
mod clause;
mod date;
mod document;
mod error;
mod index;
mod lexer;
mod numbers;
mod parser;
mod pattern;
mod postings;
mod work;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work_tests;

use std::fmt;

pub use bitmap::Bitmap;
pub use candidates::{Candidates, Found, Scan};
pub use clause::{Clause, Occur, Test};
pub use document::{Document, NoObject, TooManyValues, Value, Values};
pub use error::QueryError;
pub use index::Index;
pub use postings::Postings;
pub use work::{CHECK_UNITS_MAX, LOOKUP_UNITS_MAX, STEP_UNITS_MAX, Work, WorkTotals};

use self::work::Check;
use crate::error::Error;

/// Most bytes of a query's text: as many as a message of a socket has by default.
pub const QUERY_BYTES_MAX: usize = 4_096;
/// Most terms of a query.
pub const CLAUSES_MAX: usize = 128;
/// Most wildcards, regular expressions and fuzzy terms of a query: each is tried on every text of its field.
pub const PATTERNS_MAX: usize = 16;
/// Most memory of one compiled regular expression, in bytes. Its states are tried on each byte of a text.
pub const REGEX_PROGRAM_BYTES_MAX: usize = 8 * 1_024;
/// Longer texts match no wildcard, regular expression or fuzzy term.
pub const PATTERN_TEXT_BYTES_MAX: usize = 1_024;
/// Most letters that `~n` lets differ.
pub const FUZZINESS_MAX: u8 = 2;
/// Most values of a document, nested ones counted.
pub const DOCUMENT_VALUES_MAX: usize = 1_024;

/// A parsed query. One without terms (`*` or empty) matches everything.
#[derive(Clone)]
pub struct Query {
    source: Box<str>,
    clauses: Box<[Clause]>,
}

impl fmt::Debug for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Query").field("source", &self.source).field("clauses", &self.clauses).finish()
    }
}

impl Query {
    /// The query that matches everything.
    pub fn everything() -> Self {
        Self::of(Box::default(), Box::default())
    }

    fn of(source: Box<str>, clauses: Box<[Clause]>) -> Self {
        Self { source, clauses }
    }

    /// Reads a query.
    ///
    /// # Errors
    /// With the character at which reading stopped, and what to write instead.
    pub fn parse(source: &str) -> Result<Self, QueryError> {
        let clauses = parser::parse(source)?;
        Ok(Self::of(source.into(), clauses.into()))
    }

    /// The text it was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its terms, in the order of the text.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// A term as it was written, with its sign.
    pub fn clause_source(&self, clause: &Clause) -> &str {
        self.source.get(clause.span.start as usize..clause.span.end as usize).unwrap_or_default()
    }

    /// Whether every document matches.
    pub fn is_everything(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The terms of one kind.
    pub fn having(&self, occur: Occur) -> impl Iterator<Item = &Clause> + Clone {
        self.clauses.iter().filter(move |clause| clause.occur == occur)
    }

    /// The score of a document, if it matches: the weights of the terms that hold, or 1 where none has to.
    ///
    /// Every `+term` must hold and no `-term` may. Without a `+term`, at least one plain term must hold if there is
    /// one. A document whose check takes more than [`CHECK_UNITS_MAX`] does not match.
    pub fn matches(&self, document: &Document, work: &mut Work) -> Option<f64> {
        let mut check = Check::new();
        let score = self.score(document, &mut check);
        work.spend(1);
        work.add_check(&check);
        score
    }

    fn score(&self, document: &Document, check: &mut Check) -> Option<f64> {
        let (mut score, mut any_must, mut any_should, mut any_held) = (0.0, false, false, false);
        for clause in &self.clauses {
            let holds = clause.holds(document, check);
            if check.is_refused() {
                return None;
            }
            match clause.occur {
                Occur::Must if !holds => return None,
                Occur::MustNot if holds => return None,
                Occur::MustNot => continue,
                Occur::Must => any_must = true,
                Occur::Should => any_should = true,
            }
            if holds {
                any_held = true;
                score += clause.boost;
            }
        }
        match (any_must || any_should, any_must || any_held) {
            (false, _) => Some(1.0),
            (true, true) => Some(score),
            (true, false) => None,
        }
    }

    /// The places in [`Self::clauses`] of the terms that keep a document from matching: without them, it matches.
    /// Empty if it does already. Terms for which a check has no work left are among them.
    pub fn obstacles(&self, document: &Document, work: &mut Work) -> Vec<usize> {
        let (mut failing, mut check) = (Vec::new(), Check::new());
        let (mut must_left, mut should_held) = (false, false);
        for (place, clause) in self.clauses.iter().enumerate() {
            let holds = clause.holds(document, &mut check);
            if check.take_refusal() {
                failing.push(place);
                continue;
            }
            match (clause.occur, holds) {
                (Occur::Must, true) => must_left = true,
                (Occur::Must, false) | (Occur::MustNot, true) => failing.push(place),
                (Occur::Should, true) => should_held = true,
                (Occur::MustNot | Occur::Should, false) => {}
            }
        }
        if !must_left && !should_held {
            // Plain terms are wishes beside a `+term`, and demands without one.
            let is_should = |place: &usize| self.clauses[*place].occur == Occur::Should;
            failing.extend((0..self.clauses.len()).filter(is_should));
            failing.sort_unstable();
            failing.dedup();
        }
        work.spend(1);
        work.add_check(&check);
        failing
    }

    /// The query without the terms at these places of [`Self::clauses`].
    #[must_use]
    pub fn without(&self, places: &[usize]) -> Self {
        let kept = self.clauses.iter().enumerate().filter(|(place, _)| !places.contains(place));
        Self::of(self.source.clone(), kept.map(|(_, clause)| clause.clone()).collect())
    }

    /// The query with what it demands of a number in `field` relaxed by `by` to either side: lower bounds fall, upper
    /// bounds rise, a single number becomes a range around it. `-term`s stay, and so do texts and dates.
    #[must_use]
    pub fn widened(&self, field: &str, by: f64) -> Self {
        let clauses = self.clauses.iter().map(|clause| {
            let concerned = clause.occur != Occur::MustNot && clause.field.as_deref() == Some(field);
            if concerned { clause.widened(by) } else { clause.clone() }
        });
        Self::of(self.source.clone(), clauses.collect())
    }
}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        Self::invalid(error.to_string())
    }
}
