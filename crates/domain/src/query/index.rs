//! Documents by slot, and which of them match a query. What is inserted is found at once; removing forgets all of it.
//!
//! Texts lead to sets of slots, numbers lie in order. What these cannot answer (dates, patterns over many texts) is
//! asked of the documents themselves, and only of those that the rest of the query leaves.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::Query;
use super::bitmap::Bitmap;
use super::candidates::{Candidates, Scan};
use super::clause::{Clause, Occur, Test};
use super::document::{Document, Value, Values};
use super::numbers::Numbers;

/// Patterns are tried on each different text of a field if it has no more than this many; otherwise on the documents.
const TEXTS_TRIED_MAX: usize = 64;
/// A term without a field is looked up in every field if there are no more than this many.
const FIELDS_TRIED_MAX: usize = 64;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

#[derive(Debug, Default)]
struct Field {
    /// Slots that have the field.
    present: Bitmap,
    texts: Map<Box<str>, Bitmap>,
    numbers: Numbers,
}

/// A document found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Where it lies.
    pub slot: u32,
    /// The weights of the terms that hold.
    pub score: f64,
}

/// Documents that queries find. The caller gives out the slots; low ones make it fast.
#[derive(Default)]
pub struct Index {
    documents: Map<u32, Document>,
    slots: Bitmap,
    /// No slot from this one on was ever used; the very last one is taken for used.
    slots_end: u32,
    fields: BTreeMap<Box<str>, Field>,
    unindexed: Vec<Box<str>>,
}

impl Index {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty index that keeps no sets for these fields: fields that differ in every document and are seldom asked
    /// for. Queries still find them, by looking at documents.
    pub fn with_unindexed(fields: &[&str]) -> Self {
        Self { unindexed: fields.iter().map(|field| Box::from(*field)).collect(), ..Self::default() }
    }

    /// How many documents it holds.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The document in a slot.
    pub fn document(&self, slot: u32) -> Option<&Document> {
        self.documents.get(&slot)
    }

    /// Whether a field is in any document, among those it keeps sets for.
    pub fn has_field(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// The fields of all documents, among those it keeps sets for, in the order of their names.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.keys().map(|field| &**field)
    }

    /// Puts a document into a slot; gives back the one that was there.
    pub fn insert(&mut self, slot: u32, document: Document) -> Option<Document> {
        let replaced = self.remove(slot);
        if slot < self.slots_end || slot == u32::MAX {
            self.fields.values_mut().for_each(|field| field.numbers.comes_back(slot));
        }
        self.slots_end = self.slots_end.max(slot.saturating_add(1));
        self.slots.insert(slot);
        for (name, values) in document.fields() {
            if self.unindexed.iter().any(|unindexed| **unindexed == *name) {
                continue;
            }
            if !self.fields.contains_key(name) {
                self.fields.insert(name.into(), Field::default());
            }
            let Some(field) = self.fields.get_mut(name) else { continue };
            field.present.insert(slot);
            for value in values.clone() {
                let Value::Text(text) = value else { continue };
                match field.texts.get_mut(text) {
                    Some(slots) => {
                        slots.insert(slot);
                    }
                    None => {
                        let mut slots = Bitmap::default();
                        slots.insert(slot);
                        field.texts.insert(text.clone(), slots);
                    }
                }
            }
            field.numbers.insert(slot, &numbers_of(values));
        }
        self.documents.insert(slot, document);
        replaced
    }

    /// Empties a slot; gives back what was in it.
    pub fn remove(&mut self, slot: u32) -> Option<Document> {
        let document = self.documents.remove(&slot)?;
        self.slots.remove(slot);
        for (name, values) in document.fields() {
            let Some(field) = self.fields.get_mut(name) else { continue };
            field.present.remove(slot);
            for value in values.clone() {
                let Value::Text(text) = value else { continue };
                let Some(slots) = field.texts.get_mut(text) else { continue };
                slots.remove(slot);
                if slots.is_empty() {
                    field.texts.remove(text);
                }
            }
            field.numbers.remove(slot, &numbers_of(values));
            if field.present.is_empty() {
                self.fields.remove(name);
            }
        }
        Some(document)
    }

    /// The documents that match, in the order of their slots.
    pub fn search<'a>(&'a self, query: &'a Query) -> impl Iterator<Item = Hit> + 'a {
        self.scan(self.candidates(query), 0).filter_map(|slot| {
            let score = query.matches(self.documents.get(&slot)?)?;
            Some(Hit { slot, score })
        })
    }

    /// The slots of a combination from `from` on, ascending.
    pub fn scan<'a>(&'a self, candidates: Candidates<'a>, from: u32) -> Scan<'a> {
        candidates.scan(&self.slots, from)
    }

    /// The slots that have a field.
    pub fn with_field(&self, field: &str) -> Candidates<'_> {
        self.fields.get(field).map_or(Candidates::none(), |field| Candidates::set(&field.present))
    }

    /// The slots with this text in a field.
    pub fn with_text(&self, field: &str, text: &str) -> Candidates<'_> {
        let slots = self.fields.get(field).and_then(|field| field.texts.get(text));
        slots.map_or(Candidates::none(), Candidates::set)
    }

    /// The slots with a number in a field that lies between these.
    pub fn with_number(&self, field: &str, low: Bound<f64>, high: Bound<f64>) -> Candidates<'_> {
        self.fields.get(field).map_or(Candidates::none(), |field| field.numbers.range(low, high))
    }

    /// A set of slots that holds all documents that match, and perhaps others: ask [`Query::matches`] about each.
    pub fn candidates(&self, query: &Query) -> Candidates<'_> {
        let musts = query.having(Occur::Must).map(|clause| self.holding(clause).0);
        let mut found = musts.fold(Candidates::all(), Candidates::and);
        if query.having(Occur::Must).next().is_none() && query.having(Occur::Should).next().is_some() {
            let shoulds = query.having(Occur::Should).map(|clause| self.holding(clause).0);
            found = found.and(shoulds.fold(Candidates::none(), Candidates::or));
        }
        for clause in query.having(Occur::MustNot) {
            if let (slots, true) = self.holding(clause) {
                found = found.and_not(slots);
            }
        }
        found
    }

    /// The slots for which a term holds, whatever its sign; and whether it is exactly those, not others besides.
    pub fn holding(&self, clause: &Clause) -> (Candidates<'_>, bool) {
        match &clause.field {
            Some(field) if self.unindexed.contains(field) => (Candidates::all(), false),
            Some(field) => match self.fields.get(field) {
                Some(field) => field.passing(&clause.test),
                None => (Candidates::none(), true),
            },
            None if matches!(clause.test, Test::Exists) => (Candidates::all(), true),
            None if self.fields.len() > FIELDS_TRIED_MAX || !self.unindexed.is_empty() => (Candidates::all(), false),
            None => {
                let passing = self.fields.values().map(|field| field.passing(&clause.test));
                passing.fold((Candidates::none(), true), |(all, exact), (more, more_exact)| {
                    (all.or(more), exact && more_exact)
                })
            }
        }
    }
}

impl Field {
    /// The slots with a value that passes, and whether it is exactly those.
    fn passing(&self, test: &Test) -> (Candidates<'_>, bool) {
        let with_text = |text: &str| self.texts.get(text).map_or(Candidates::none(), Candidates::set);
        match test {
            Test::Exists => (Candidates::set(&self.present), true),
            Test::Text(text) => (with_text(text), true),
            Test::Number { text, number, slack } => {
                let range = self.numbers.range(Bound::Included(number - slack), Bound::Included(number + slack));
                (with_text(text).or(range), true)
            }
            Test::Range { low, high } => (self.numbers.range(*low, *high), true),
            Test::Pattern(pattern) if self.texts.len() <= TEXTS_TRIED_MAX => {
                let fitting = self.texts.iter().filter(|(text, _)| pattern.fits(text));
                (fitting.map(|(_, slots)| Candidates::set(slots)).fold(Candidates::none(), Candidates::or), true)
            }
            Test::Pattern(_) | Test::Dates { .. } => (Candidates::set(&self.present), false),
        }
    }
}

/// The different numbers among these.
fn numbers_of(values: Values<'_>) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Number(number) => Some(*number),
        Value::Text(_) => None,
    };
    let mut numbers: Vec<f64> = values.filter_map(number).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}
