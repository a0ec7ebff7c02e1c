//! An index of the demands that tickets' queries make. By the index a search skips tickets whose queries reject the
//! searcher, without evaluating each query. The search may keep tickets that reject the searcher, but never skips a
//! ticket that accepts it.

use std::collections::BTreeMap;
use std::ops::Bound;

use muster_domain::query::{
    Candidates, Clause, Document, LOOKUP_UNITS_MAX, Occur, Postings, Query, Test, Value, Values, Work,
};

use super::ticket::Ticket;

/// Limit on the different demands in the index. A demand is a field with a kind of condition. Further demands are
/// checked by evaluating the query.
const DEMANDS_MAX: usize = 32;

/// Prefix of a field's name in the index, for a field that must have this value.
const EQUAL: char = '=';
/// Prefix of a field's name in the index, for a field that must not have this value.
const DIFFERENT: char = '!';
/// Prefix of a field's name in the index, for a field that must hold at least this number.
const LOW: char = '>';
/// Prefix of a field's name in the index, for a field that must hold at most this number.
const HIGH: char = '<';

/// Prefix of a demand that is the text of a term with a pattern.
const PATTERN: char = '/';

/// The demands of all tickets.
#[derive(Default)]
pub(super) struct Demands {
    postings: Postings,
    /// The demanded patterns. Each pattern is tried on a searcher once, however many tickets demand it.
    patterns: BTreeMap<Box<str>, Clause>,
}

impl Demands {
    /// Adds the demands of a ticket, in place of those that it made before it was widened.
    pub fn insert<M>(&mut self, slot: u32, ticket: &mut Ticket<M>) {
        self.remove_all([(slot, &ticket.demands)].into_iter());
        let mut document = Document::new();
        self.push_demands(&ticket.query, &mut document);
        self.push_patterns(&ticket.query, &mut document);
        if !document.is_empty() {
            self.postings.insert(slot, &document);
        }
        ticket.demands = document;
    }

    /// Removes tickets and their demands.
    pub fn remove_all<'a>(&mut self, removed: impl Iterator<Item = (u32, &'a Document)> + Clone) {
        self.postings.remove_all(removed.clone().filter(|(_, document)| !document.is_empty()));
        if !self.patterns.is_empty() {
            let demands = removed.flat_map(|(_, document)| document.fields());
            for (demand, _) in demands.filter(|(demand, _)| demand.starts_with(PATTERN)) {
                if !self.postings.has_field(demand) {
                    self.patterns.remove(demand);
                }
            }
        }
    }

    fn has_room_for(&self, demand: &str) -> bool {
        self.postings.has_field(demand) || self.postings.fields().len() < DEMANDS_MAX
    }

    fn push_patterns(&mut self, query: &Query, document: &mut Document) {
        for clause in query.having(Occur::Must).filter(|clause| matches!(clause.test, Test::Pattern(_))) {
            let demand = format!("{PATTERN}{}", query.clause_source(clause));
            if self.has_room_for(&demand) {
                document.push(&demand, true);
                self.patterns.entry(demand.into()).or_insert_with(|| clause.clone());
            }
        }
    }

    fn push_demands(&self, query: &Query, document: &mut Document) {
        for clause in query.clauses() {
            let Some(field) = clause.field.as_deref() else { continue };
            let mut push = |sign: char, values: &[Value]| {
                let demand = format!("{sign}{field}");
                if self.has_room_for(&demand) {
                    values.iter().for_each(|value| document.push(&demand, value.clone()));
                }
            };
            match (clause.occur, &clause.test) {
                (Occur::Must, Test::Text(text)) => push(EQUAL, &[Value::Text(text.clone())]),
                (Occur::MustNot, Test::Text(text)) => push(DIFFERENT, &[Value::Text(text.clone())]),
                (Occur::Must, Test::Number { text, number, slack }) if *slack == 0.0 => {
                    push(EQUAL, &[Value::Text(text.clone()), Value::Number(*number)]);
                }
                (Occur::Must, Test::Range { low, high }) => {
                    if let Bound::Included(low) | Bound::Excluded(low) = low {
                        push(LOW, &[Value::Number(*low)]);
                    }
                    if let Bound::Included(high) | Bound::Excluded(high) = high {
                        push(HIGH, &[Value::Number(*high)]);
                    }
                }
                _ => {}
            }
        }
    }

    /// Removes from `candidates` tickets that certainly reject the ticket of this document. Patterns are tried up to
    /// [`LOOKUP_UNITS_MAX`] of work; others remove nobody.
    pub fn accepting<'a>(&'a self, document: &Document, candidates: Candidates<'a>, work: &mut Work) -> Candidates<'a> {
        let mut lookup = Work::new(LOOKUP_UNITS_MAX);
        let accepting = self.postings.fields().fold(candidates, |candidates, demand| {
            lookup.spend(1);
            let mut letters = demand.chars();
            let sign = letters.next();
            let values = document.values(letters.as_str());
            match sign {
                Some(EQUAL) => {
                    candidates.and_not(self.postings.with_field(demand).and_not(self.holding(demand, values)))
                }
                Some(DIFFERENT) => candidates.and_not(self.holding(demand, values)),
                Some(sign @ (LOW | HIGH)) => candidates.and_not(self.out_of_reach(sign, demand, values)),
                Some(PATTERN) if self.is_rejecting(demand, document, &mut lookup) => {
                    candidates.and_not(self.postings.with_field(demand))
                }
                _ => candidates,
            }
        });
        work.add(&lookup);
        accepting
    }

    /// Whether a document does not fit a demanded pattern, as far as there is work left to find out.
    fn is_rejecting(&self, demand: &str, document: &Document, lookup: &mut Work) -> bool {
        let Some(clause) = self.patterns.get(demand).filter(|_| !lookup.is_spent()) else { return false };
        !clause.test_document(document, lookup)
    }

    /// Tickets that demand one of these values.
    fn holding(&self, demand: &str, values: Values<'_>) -> Candidates<'_> {
        let holding = values.map(|value| match value {
            Value::Text(text) => self.postings.with_text(demand, text),
            Value::Number(number) => {
                self.postings.with_number(demand, Bound::Included(*number), Bound::Included(*number))
            }
        });
        holding.fold(Candidates::none(), Candidates::or)
    }

    /// Tickets that demand a number above the greatest of these, or, for [`HIGH`], below the smallest. Without numbers,
    /// all tickets with the demand.
    fn out_of_reach(&self, sign: char, demand: &str, values: Values<'_>) -> Candidates<'_> {
        let numbers = values.filter_map(|value| match value {
            Value::Number(number) => Some(*number),
            Value::Text(_) => None,
        });
        let best = if sign == LOW { numbers.reduce(f64::max) } else { numbers.reduce(f64::min) };
        match best {
            None => self.postings.with_field(demand),
            Some(best) if sign == LOW => self.postings.with_number(demand, Bound::Excluded(best), Bound::Unbounded),
            Some(best) => self.postings.with_number(demand, Bound::Unbounded, Bound::Excluded(best)),
        }
    }
}
