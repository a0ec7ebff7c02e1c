//! Sets of slots by what the documents in them hold. Keeps no documents: whoever inserts one gives it again to remove
//! it.
//!
//! Texts lead to sets of slots, numbers lie in order. What these cannot answer (dates, patterns over many texts) is
//! asked of the documents themselves, and only of those that the rest of the query leaves.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use smol_str::SmolStr;

use super::Query;
use super::bitmap::Bitmap;
use super::candidates::{Candidates, Scan};
use super::clause::{Clause, Occur, Test};
use super::document::{Document, Value, Values, values_of};
use super::numbers::{NumberRange, Numbers};
use super::pattern::Pattern;
use super::work::{Check, LOOKUP_UNITS_MAX, Work};

/// Patterns are tried on each different text of a field if it has no more than this many; otherwise on the documents.
const TEXTS_TRIED_MAX: usize = 64;
/// A term without a field is looked up in every field if there are no more than this many.
const FIELDS_TRIED_MAX: usize = 64;

/// Slots removed together are taken out at once from fields of at most this many texts.
const TEXTS_SUBTRACTED_MAX: usize = 8;

/// Ranges of a query that are compared in one unit of work.
const RANGES_COMPARED_PER_UNIT: u32 = 8;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

#[derive(Debug, Default)]
struct Field {
    /// Slots that have the field.
    present: Bitmap,
    texts: Map<SmolStr, Bitmap>,
    numbers: Numbers,
}

/// Slots that a query may find. The caller gives out the slots; low ones make it fast.
#[derive(Default)]
pub struct Postings {
    slots: Bitmap,
    /// No slot from this one on was ever used; the very last one is taken for used.
    slots_end: u32,
    fields: BTreeMap<SmolStr, Field>,
    unindexed: Vec<SmolStr>,
}

impl Postings {
    /// Keeps no sets for these fields: fields that differ in every document and are seldom asked
    /// for. Queries still find them, by looking at documents.
    pub fn with_unindexed(fields: &[&str]) -> Self {
        Self { unindexed: fields.iter().map(SmolStr::new).collect(), ..Self::default() }
    }

    /// Whether a field is in any document, among those it keeps sets for.
    pub fn has_field(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// The fields of all documents, among those it keeps sets for, in the order of their names.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.keys().map(|field| &**field)
    }

    /// Puts a document into an empty slot.
    pub fn insert(&mut self, slot: u32, document: &Document) {
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
    }

    /// Empties a slot of the document that was put into it.
    pub fn remove(&mut self, slot: u32, document: &Document) {
        self.slots.remove(slot);
        for (name, values) in document.fields() {
            let Some(field) = self.fields.get_mut(name) else { continue };
            field.present.remove(slot);
            let numbers = count_numbers(&values);
            for value in values.clone() {
                let Value::Text(text) = value else { continue };
                let Some(slots) = field.texts.get_mut(text) else { continue };
                slots.remove(slot);
                if slots.is_empty() {
                    field.texts.remove(text);
                }
            }
            field.numbers.remove(slot, numbers);
            if field.present.is_empty() {
                self.fields.remove(name);
            }
        }
    }

    /// Lets nobody find a slot any more. What is in it stays until it is removed, and costs memory until then.
    pub fn hide(&mut self, slot: u32) {
        self.slots.remove(slot);
    }

    /// Empties slots of the documents that were put into them: many at a time cost less than one by one.
    pub fn remove_all<'a>(&mut self, removed: impl Iterator<Item = (u32, &'a Document)> + Clone) {
        if self.fields.len() > FIELDS_TRIED_MAX || removed.clone().nth(1).is_none() {
            return removed.for_each(|(slot, document)| self.remove(slot, document));
        }
        let mut gone = Bitmap::default();
        for (slot, _) in removed.clone() {
            gone.insert(slot);
        }
        self.slots.subtract(&gone);
        // Fields come in the order of their names here and there, so that each document is walked through once.
        let mut walks: Vec<_> = removed.map(|(slot, document)| (slot, document.entries())).collect();
        self.fields.retain(|name, field| {
            field.present.subtract(&gone);
            let mut subtracted: Vec<&SmolStr> = Vec::with_capacity(TEXTS_SUBTRACTED_MAX);
            for (slot, entries) in &mut walks {
                // Most are equal, which is found out faster than which comes first.
                while let Some(((other, _), rest)) = entries.split_first()
                    && other != name
                    && other < name
                {
                    *entries = rest;
                }
                let len = entries.iter().take_while(|(other, _)| other == name).count();
                let (own, rest) = entries.split_at(len);
                *entries = rest;
                let values = values_of(own);
                field.numbers.remove(*slot, count_numbers(&values));
                for value in values {
                    let Value::Text(text) = value else { continue };
                    if subtracted.contains(&text) {
                        continue;
                    }
                    let Some(slots) = field.texts.get_mut(text) else { continue };
                    if subtracted.len() < TEXTS_SUBTRACTED_MAX {
                        slots.subtract(&gone);
                        subtracted.push(text);
                    } else {
                        slots.remove(*slot);
                    }
                    if slots.is_empty() {
                        field.texts.remove(text);
                    }
                }
            }
            !field.present.is_empty()
        });
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
        self.fields.get(field).map_or(Candidates::none(), |field| field.numbers.range([(low, high)]))
    }

    /// A set of slots with all documents that match, and perhaps others: ask [`Query::matches`] about each. Takes at
    /// most [`LOOKUP_UNITS_MAX`]; terms for which no work is left narrow nothing.
    pub fn candidates(&self, query: &Query, work: &mut Work) -> Candidates<'_> {
        let mut lookup = Work::new(LOOKUP_UNITS_MAX);
        let found = self.look_up(query, &mut lookup);
        work.add(&lookup);
        found
    }

    fn look_up(&self, query: &Query, lookup: &mut Work) -> Candidates<'_> {
        let musts = query.having(Occur::Must).filter(|clause| ranged(clause).is_none());
        let musts = musts.map(|clause| self.holding(clause, lookup).0);
        let mut found = musts.fold(Candidates::all(), Candidates::and);
        found = found.and(self.in_ranges(query, lookup));
        if query.having(Occur::Must).next().is_none() && query.having(Occur::Should).next().is_some() {
            let shoulds = query.having(Occur::Should).map(|clause| self.holding(clause, lookup).0);
            let shoulds = shoulds.fold(Candidates::none(), Candidates::or);
            found = found.and(shoulds);
        }
        for clause in query.having(Occur::MustNot) {
            if let (slots, true) = self.holding(clause, lookup) {
                found = found.and_not(slots);
            }
        }
        found
    }

    /// The slots that are in all ranges that a query demands, those of one field taken together.
    fn in_ranges(&self, query: &Query, lookup: &mut Work) -> Candidates<'_> {
        let ranges = query.having(Occur::Must).filter_map(ranged);
        // Each range is compared with those before it.
        let count = ranges.clone().count() as u32;
        lookup.spend(count * count / RANGES_COMPARED_PER_UNIT);
        ranges.clone().enumerate().fold(Candidates::all(), |found, (place, (name, _))| {
            if self.unindexed.iter().any(|unindexed| **unindexed == *name) {
                return found;
            }
            let of_field = |(other, range): (&str, _)| (other == name).then_some(range);
            if ranges.clone().take(place).any(|(other, _)| other == name) {
                return found;
            }
            let Some(field) = self.fields.get(name) else { return Candidates::none() };
            if lookup.is_spent() {
                return found;
            }
            let range = field.numbers.range(ranges.clone().filter_map(of_field));
            lookup.spend(1 + range.cost());
            found.and(range)
        })
    }

    /// The slots for which a term holds, whatever its sign; and whether it is exactly those, not others besides. A term
    /// that takes more work than is left is answered with others besides.
    pub fn holding(&self, clause: &Clause, lookup: &mut Work) -> (Candidates<'_>, bool) {
        lookup.spend(1);
        match &clause.field {
            Some(field) if self.unindexed.contains(field) => (Candidates::all(), false),
            Some(field) => match self.fields.get(field) {
                Some(field) => field.passing(&clause.test, lookup),
                None => (Candidates::none(), true),
            },
            None if matches!(clause.test, Test::Exists) => (Candidates::all(), true),
            None if self.fields.len() > FIELDS_TRIED_MAX || !self.unindexed.is_empty() => (Candidates::all(), false),
            None => {
                if lookup.is_spent() {
                    return (Candidates::all(), false);
                }
                let passing = self.fields.values().map(|field| field.passing(&clause.test, lookup));
                passing.fold((Candidates::none(), true), |(all, exact), (more, more_exact)| {
                    (all.or(more), exact && more_exact)
                })
            }
        }
    }
}

impl Field {
    /// The slots with a value that passes, and whether it is exactly those.
    fn passing(&self, test: &Test, lookup: &mut Work) -> (Candidates<'_>, bool) {
        if lookup.is_spent() {
            return (Candidates::set(&self.present), false);
        }
        let with_text = |text: &str| self.texts.get(text).map_or(Candidates::none(), Candidates::set);
        let (found, is_exact) = match test {
            Test::Exists => (Candidates::set(&self.present), true),
            Test::Text(text) => (with_text(text), true),
            Test::Number { text, number, slack } => {
                let range = self.numbers.range([(Bound::Included(number - slack), Bound::Included(number + slack))]);
                (with_text(text).or(range), true)
            }
            Test::Range { low, high } => (self.numbers.range([(*low, *high)]), true),
            Test::Pattern(pattern) if self.texts.len() <= TEXTS_TRIED_MAX => match self.fitting(pattern, lookup) {
                Some(fitting) => (fitting, true),
                None => (Candidates::set(&self.present), false),
            },
            Test::Pattern(_) | Test::Dates { .. } => (Candidates::set(&self.present), false),
        };
        lookup.spend(found.cost());
        (found, is_exact)
    }

    /// The slots with a text that fits a pattern; `None` if that takes more work than is left.
    fn fitting(&self, pattern: &Pattern, lookup: &mut Work) -> Option<Candidates<'_>> {
        let mut fitting = Candidates::none();
        for (text, slots) in &self.texts {
            let (mut check, is_less) = Check::within(lookup);
            let fits = pattern.fits(text, &mut check);
            // A text that takes more than any check may do fits in no check.
            if check.take_refusal() && is_less {
                lookup.spend(lookup.left());
                return None;
            }
            lookup.add_check(&check);
            if fits {
                fitting = fitting.or(Candidates::set(slots));
            }
        }
        Some(fitting)
    }
}

/// The range that a term asks for, and of which field.
fn ranged(clause: &Clause) -> Option<(&str, NumberRange)> {
    match (&clause.field, &clause.test) {
        (Some(field), Test::Range { low, high }) => Some((field, (*low, *high))),
        _ => None,
    }
}

/// How many different numbers there are among these.
fn count_numbers(values: &Values<'_>) -> usize {
    let count = values.clone().filter(|value| matches!(value, Value::Number(_))).count();
    if count > 1 { numbers_of(values.clone()).len() } else { count }
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
