//! Queries and properties of tickets, translated into numbers. Field names and texts get numbers while a ticket uses
//! them, so that checking a pair compares a few adjacent numbers. A query that cannot be translated (patterns, dates,
//! terms without a field) is evaluated itself. A check never decides differently from its query.

use std::ops::Bound;
use std::sync::Arc;

use muster_domain::query::{Clause, Document, Occur, Query, Test, Value, Work};

use super::ticket::Ticket;
use super::{Map, UNINDEXED};

/// Placeholder for the number of a text, in a fact whose value is a number.
const NOT_A_TEXT: u32 = u32::MAX;
/// Placeholder for the number of a text, in a check that accepts no text.
const NO_TEXT: u32 = u32::MAX - 1;
/// Number of comparisons that cost about one unit of [`Work`].
const PAIRS_PER_UNIT: usize = 32;

/// One value of a ticket's document.
#[derive(Debug)]
struct Fact {
    /// Number of the field's name.
    field: u32,
    /// Number of the text; [`NOT_A_TEXT`] if the value is a number.
    text: u32,
    /// The value; NaN if it is a text.
    number: f64,
}

/// One term of a query. A value passes if it is the text, or a number from `low` to `high`, both included.
#[derive(Debug)]
struct Check {
    /// Number of the field's name.
    field: u32,
    /// Number of the text; [`NO_TEXT`] if no text passes.
    text: u32,
    low: f64,
    high: f64,
    occur: Occur,
}

impl Check {
    fn holds(&self, facts: &[Fact]) -> bool {
        facts.iter().any(|fact| {
            fact.field == self.field && (fact.text == self.text || self.low <= fact.number && fact.number <= self.high)
        })
    }
}

/// The values that a ticket offers and the checks of its query, in numbers.
#[derive(Debug, Default)]
pub(super) struct Profile {
    facts: Box<[Fact]>,
    /// `None` if the query itself must be evaluated.
    checks: Option<Box<[Check]>>,
}

impl Profile {
    /// Whether a ticket accepts another.
    fn accepts<M>(ticket: &Ticket<M>, other: &Ticket<M>, work: &mut Work) -> bool {
        let facts = &other.profile.facts;
        let Some(checks) = &ticket.profile.checks else {
            return ticket.query.matches(&other.document, work).is_some();
        };
        work.spend(1 + (checks.len() * facts.len() / PAIRS_PER_UNIT) as u32);
        let (mut any_should, mut any_held) = (false, false);
        for check in checks {
            match (check.occur, check.holds(facts)) {
                (Occur::Must, false) | (Occur::MustNot, true) => return false,
                (Occur::Must, true) | (Occur::MustNot, false) => {}
                (Occur::Should, holds) => (any_should, any_held) = (true, any_held || holds),
            }
        }
        any_held || !any_should
    }
}

/// Whether two tickets accept each other and have no player or party in common.
pub(super) fn is_mutual<M>(a: &Ticket<M>, b: &Ticket<M>, work: &mut Work) -> bool {
    Profile::accepts(a, b, work) && Profile::accepts(b, a, work) && !a.overlaps(b)
}

/// Numbers for field names and texts.
#[derive(Default)]
pub(super) struct Names {
    numbers: Map<Arc<str>, u32>,
    /// The name behind each number, with the count of its uses.
    held: Vec<(Arc<str>, u64)>,
    /// Numbers that are not in use.
    free: Vec<u32>,
}

impl Names {
    /// Translates the document and the query of a ticket.
    pub fn insert<M>(&mut self, ticket: &mut Ticket<M>) {
        let facts = self.facts(&ticket.document);
        ticket.profile = Profile { facts, checks: self.checks(&ticket.query) };
    }

    /// Translates the query of a ticket anew after widening.
    pub fn widen<M>(&mut self, ticket: &mut Ticket<M>) {
        let checks = self.checks(&ticket.query);
        let before = std::mem::replace(&mut ticket.profile.checks, checks);
        self.remove(&Profile { facts: Box::default(), checks: before });
    }

    /// Releases the numbers that a ticket uses.
    pub fn remove(&mut self, profile: &Profile) {
        let of_facts = profile.facts.iter().map(|fact| (fact.field, fact.text));
        let of_checks = profile.checks.iter().flatten().map(|check| (check.field, check.text));
        for (field, text) in of_facts.chain(of_checks) {
            self.release(field);
            if text < NO_TEXT {
                self.release(text);
            }
        }
    }

    fn facts(&mut self, document: &Document) -> Box<[Fact]> {
        let fields = document.fields().filter(|(field, _)| !UNINDEXED.contains(field));
        let facts = fields.flat_map(|(field, values)| values.map(move |value| (field, value)));
        let fact = |(field, value): (&str, &Value)| match value {
            Value::Text(text) => Fact { field: self.hold(field), text: self.hold(text), number: f64::NAN },
            Value::Number(number) => Fact { field: self.hold(field), text: NOT_A_TEXT, number: *number },
        };
        facts.map(fact).collect()
    }

    fn checks(&mut self, query: &Query) -> Option<Box<[Check]>> {
        // Beside a `+term`, terms without a sign are only preferences, so they are left out.
        let has_must = query.having(Occur::Must).next().is_some();
        let clauses = || query.clauses().iter().filter(|clause| !(has_must && clause.occur == Occur::Should));
        clauses().all(can_be_numbered).then(|| clauses().filter_map(|clause| self.check(clause)).collect())
    }

    fn check(&mut self, clause: &Clause) -> Option<Check> {
        let field = self.hold(clause.field.as_deref()?);
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let (text, (low, high)) = match &clause.test {
            Test::Text(text) => (self.hold(text), nothing),
            Test::Number { text, number, slack } => (self.hold(text), (number - slack, number + slack)),
            Test::Range { low, high } => (NO_TEXT, (least(*low), most(*high))),
            Test::Exists | Test::Dates { .. } | Test::Pattern(_) => (NO_TEXT, nothing),
        };
        Some(Check { field, text, low, high, occur: clause.occur })
    }

    fn hold(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            self.held[*number as usize].1 += 1;
            return *number;
        }
        let name: Arc<str> = name.into();
        let entry = (name.clone(), 1);
        let number = match self.free.pop() {
            Some(number) => {
                self.held[number as usize] = entry;
                number
            }
            None => {
                self.held.push(entry);
                // Memory would not hold 2^32 names.
                (self.held.len() - 1) as u32
            }
        };
        self.numbers.insert(name, number);
        number
    }

    fn release(&mut self, number: u32) {
        let (name, holders) = &mut self.held[number as usize];
        *holders -= 1;
        if *holders == 0 {
            self.numbers.remove(name);
            *name = Arc::default();
            self.free.push(number);
        }
    }
}

/// Whether a term asks for a text or number of an indexed field.
fn can_be_numbered(clause: &Clause) -> bool {
    let is_plain = matches!(clause.test, Test::Text(_) | Test::Number { .. } | Test::Range { .. });
    is_plain && clause.field.as_deref().is_some_and(|field| !UNINDEXED.contains(&field))
}

/// The smallest number within a lower bound.
fn least(low: Bound<f64>) -> f64 {
    match low {
        Bound::Included(low) => low,
        Bound::Excluded(low) => low.next_up(),
        Bound::Unbounded => f64::NEG_INFINITY,
    }
}

/// The greatest number within an upper bound.
fn most(high: Bound<f64>) -> f64 {
    match high {
        Bound::Included(high) => high,
        Bound::Excluded(high) => high.next_down(),
        Bound::Unbounded => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Widening;
    use super::super::tests::{Random, solo};
    use super::*;

    const QUERIES: [&str; 16] = [
        "*",
        "+properties.mode:x",
        "-properties.mode:x",
        "properties.mode:x properties.rank:2",
        "+properties.mode:y properties.rank:2",
        "-properties.rank:>2 properties.rank:<=0 properties.rank:4",
        "+properties.rank:>1 +properties.rank:<3",
        "+properties.rank:>=1 +properties.rank:<=3 -properties.mode:z",
        "+properties.rank:3",
        "-properties.rank:3 +max_count:>=3",
        "+properties.nothing:x",
        "-properties.nothing:x",
        "+properties.mode:/[xy]/",
        "properties.mode:* -properties.rank:>=2",
        "x",
        "-ticket:3",
    ];

    #[test]
    fn numbers_tell_what_queries_tell() {
        let (random, mut names) = (&mut Random(1), Names::default());
        let mut tickets = Vec::new();
        for number in 0..400 {
            let mut asked = solo(number, random.pick(&[(2, 2), (2, 4)]), random.pick(&QUERIES));
            if random.below(4) > 0 {
                asked = asked.text("mode", random.pick(&["x", "y", "z"]));
            }
            asked = match random.below(4) {
                0 => asked,
                1 => asked.text("rank", random.pick(&["2", "3"])),
                _ => asked.number("rank", random.below(12) as f64 / 2.0 - 0.5),
            };
            if random.below(4) == 0 {
                let rank = Widening { field: "properties.rank".into(), step: 0.5, limit: 2.0 };
                asked.widening = vec![rank];
            }
            let mut ticket = Ticket::new(asked, 1, 0).expect("it is in order");
            names.insert(&mut ticket);
            ticket.widen(random.below(4) as u32);
            names.widen(&mut ticket);
            tickets.push(ticket);
        }
        let work = &mut Work::new(u32::MAX);
        for (a, b) in tickets.iter().flat_map(|a| tickets.iter().map(move |b| (a, b))) {
            let expect = a.query.matches(&b.document, work).is_some();
            assert_eq!(Profile::accepts(a, b, work), expect, "{:?} {:?}", a.query, b.document);
        }
        let compiled = tickets.iter().filter(|ticket| ticket.profile.checks.is_some()).count();
        assert!((200..400).contains(&compiled), "{compiled}");
        // No name of a removed ticket is kept.
        tickets.iter().for_each(|ticket| names.remove(&ticket.profile));
        assert!(names.numbers.is_empty());
        assert_eq!(names.free.len(), names.held.len());
    }
}
