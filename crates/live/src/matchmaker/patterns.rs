//! Results of wildcards and regular expressions that queries share. A pattern is tried on each ticket once, a few
//! tickets at a time, instead of once per search. The properties of the ticket in a slot never change, so results stay
//! true.

use std::collections::BTreeMap;

use muster_domain::query::{
    Bitmap, Candidates, Clause, Document, LOOKUP_UNITS_MAX, Occur, Postings, Query, Test, Work,
};

/// Limit on the patterns whose results are kept. Other patterns are tried anew in each search.
const PATTERNS_KEPT_MAX: usize = 64;

/// Results of one pattern.
#[derive(Default)]
struct PatternResults {
    /// Slots of tickets that fit the pattern.
    fitting: Bitmap,
    /// The pattern was tried on all tickets in slots below this one.
    tried_to: u32,
    /// Number of the last pass that used the pattern.
    used_in: u64,
}

/// Results of patterns, by the texts of the patterns.
#[derive(Default)]
pub(super) struct Patterns {
    known: BTreeMap<Box<str>, PatternResults>,
}

/// The patterns that a query demands and the index cannot answer, with their texts.
fn unanswered<'a>(query: &'a Query, index: &Postings, work: &mut Work) -> Vec<(&'a str, &'a Clause)> {
    let mut lookup = Work::new(LOOKUP_UNITS_MAX);
    let patterns = query.having(Occur::Must).filter(|clause| matches!(clause.test, Test::Pattern(_)));
    let unanswered = patterns.filter(|clause| !index.holding(clause, &mut lookup).1);
    let unanswered = unanswered.map(|clause| (query.clause_source(clause), clause)).collect();
    work.add(&lookup);
    unanswered
}

impl Patterns {
    /// Drops patterns that were not used in this pass or the one before.
    pub fn forget(&mut self, pass: u64) {
        self.known.retain(|_, known| known.used_in + 1 >= pass);
    }

    /// Drops all results, because tickets get new slots.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    /// Tries a query's patterns on tickets that they were not tried on yet, while work is left. Returns whether all
    /// were tried.
    pub fn learn<'a>(
        &mut self,
        query: &Query,
        index: &Postings,
        document: impl Fn(u32) -> Option<&'a Document>,
        pass: u64,
        work: &mut Work,
    ) -> bool {
        for (text, clause) in unanswered(query, index, work) {
            if !self.known.contains_key(text) && self.known.len() >= PATTERNS_KEPT_MAX {
                continue;
            }
            let known = self.known.entry(text.into()).or_default();
            known.used_in = pass;
            for slot in index.scan(Candidates::all(), known.tried_to) {
                if work.is_spent() {
                    return false;
                }
                work.spend(1);
                known.tried_to = slot + 1;
                if document(slot).is_some_and(|document| clause.test_document(document, work)) {
                    known.fitting.insert(slot);
                }
            }
        }
        true
    }

    /// Keeps in `candidates` only tickets that fit the query's patterns or were not tried.
    pub fn narrow<'a>(
        &'a self,
        query: &Query,
        index: &Postings,
        candidates: Candidates<'a>,
        work: &mut Work,
    ) -> Candidates<'a> {
        let known = unanswered(query, index, work).into_iter().filter_map(|(text, _)| self.known.get(text));
        known.fold(candidates, |candidates, known| {
            candidates.and(Candidates::set(&known.fitting).or(Candidates::from_slot(known.tried_to)))
        })
    }
}
