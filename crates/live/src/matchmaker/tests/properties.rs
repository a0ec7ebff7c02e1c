//! Random pools, checked by brute force: every match satisfies all its tickets, and no possible group is left
//! unmatched.

use std::collections::BTreeMap;

use muster_domain::query::{Document, Query, Work};

use super::*;

/// A ticket as the checker sees it, made only from the request.
struct Asked {
    ticket: NewTicket<u128>,
    query: Query,
    document: Document,
    /// Number of the first pass after the ticket was added.
    first_pass: u64,
}

impl Asked {
    fn new(ticket: NewTicket<u128>, first_pass: u64) -> Self {
        let query = Query::parse(&ticket.query).expect("it is in order");
        let mut document = Document::new();
        for (name, text) in &ticket.string_properties {
            document.push(&format!("properties.{name}"), text.as_str());
        }
        for (name, number) in &ticket.numeric_properties {
            document.push(&format!("properties.{name}"), *number);
        }
        document.push("min_count", f64::from(ticket.min_count));
        document.push("max_count", f64::from(ticket.max_count));
        Self { ticket, query, document, first_pass }
    }

    fn size(&self) -> u32 {
        self.ticket.members.len() as u32
    }

    fn is_patient(&self, pass: u64, max_intervals: u32) -> bool {
        pass + 1 < self.first_pass + u64::from(max_intervals)
    }

    fn accepts(&self, other: &Self) -> bool {
        let has = |member: &TicketMember<u128>| other.ticket.members.iter().any(|with| with.key == member.key);
        self.query.matches(&other.document, &mut Work::endless()).is_some() && !self.ticket.members.iter().any(has)
    }
}

/// Whether every ticket of a group accepts every other, and the number of players satisfies all of them.
fn is_sound(group: &[&Asked]) -> bool {
    let players: u32 = group.iter().map(|asked| asked.size()).sum();
    group.iter().all(|asked| {
        let NewTicket { min_count, max_count, count_multiple, .. } = asked.ticket;
        (min_count..=max_count).contains(&players) && players.is_multiple_of(count_multiple)
    }) && group.iter().enumerate().all(|(place, asked)| {
        group.iter().enumerate().all(|(other, asked_too)| place == other || asked.accepts(asked_too))
    })
}

/// Whether some ticket may form the group as its searcher: the group has that ticket's `max_count`, or `is_due` says
/// that the ticket takes fewer players. No ticket that has patience may have a greater `max_count`.
fn is_allowed(group: &[&Asked], pass: u64, max_intervals: u32, is_due: impl Fn(&Asked) -> bool) -> bool {
    let players: u32 = group.iter().map(|asked| asked.size()).sum();
    group.iter().any(|searcher| {
        let most = searcher.ticket.max_count;
        let hopes = |asked: &&&Asked| asked.is_patient(pass, max_intervals) && asked.ticket.max_count > most;
        searcher.first_pass <= pass && (players == most || is_due(searcher)) && !group.iter().any(|asked| hopes(&asked))
    })
}

const QUERIES: [&str; 15] = [
    "*",
    "*",
    "*",
    "+properties.mode:x",
    "+properties.mode:x properties.rank:3^2",
    "-properties.mode:y",
    "+properties.rank:>=2",
    "+properties.rank:<3 -properties.mode:z",
    "+properties.rank:>=1 +properties.rank:<=4",
    "properties.mode:x properties.mode:y",
    "properties.rank:2 properties.rank:3 -properties.mode:y",
    "+properties.mode:/[xy]/",
    "+properties.rank:2",
    "+max_count:>=3",
    "-properties.rank:>4 +properties.mode:*",
];

pub(super) fn random_solo(random: &mut Random, number: u128, counts: (u32, u32)) -> NewTicket<u128> {
    let mut ticket = solo(number, counts, random.pick(&QUERIES));
    if random.below(5) > 0 {
        ticket = ticket.text("mode", random.pick(&["x", "x", "y", "z"]));
    }
    match random.below(5) {
        0 => ticket,
        1 => ticket.text("rank", random.pick(&["2", "3"])),
        _ => ticket.number("rank", random.below(6) as f64),
    }
}

/// A random ticket, of one of the players 1 to 14 alone or of a party of them.
fn random_ticket(random: &mut Random, number: usize) -> NewTicket<u128> {
    let (min_count, max_count, multiple) = random.pick(&[
        (2, 2, 1),
        (2, 2, 1),
        (2, 4, 1),
        (2, 4, 2),
        (3, 3, 1),
        (2, 6, 2),
        (3, 6, 3),
        (4, 4, 1),
        (2, 3, 1),
    ]);
    let player = 1 + random.below(14) as u128;
    let ticket = random_solo(random, player, (min_count, max_count));
    let ticket = ticket.multiple(multiple).named(&number.to_string());
    if random.below(4) > 0 {
        return ticket;
    }
    let first = 1 + random.below(12) as u128;
    let members = (first..=first + 1 + random.below(2) as u128).map(member).collect();
    NewTicket { owner: TicketOwner::Party(format!("party {first}").into()), members, ..ticket }
}

/// A pool with its checker.
struct Checked {
    pool: Pool,
    asked: BTreeMap<String, Asked>,
    max_intervals: u32,
    pass: u64,
    made: usize,
}

impl Checked {
    fn new(max_intervals: u32) -> Self {
        Self { pool: Pool::new(max_intervals), asked: BTreeMap::new(), max_intervals, pass: 0, made: 0 }
    }

    fn add(&mut self, random: &mut Random, seed: u64) {
        self.made += 1;
        let ticket = random_ticket(random, self.made);
        match self.pool.matchmaker.add(ticket.clone(), self.pool.now) {
            Ok(()) => drop(self.asked.insert(ticket.id.0.to_string(), Asked::new(ticket, self.pass + 1))),
            Err(error) => assert_eq!(error.kind, ErrorKind::ResourceExhausted, "seed {seed}"),
        }
    }

    fn take(&mut self, tickets: &[Box<Ticket<u128>>]) -> Vec<Asked> {
        tickets.iter().map(|ticket| self.asked.remove(&*ticket.id.0).expect("it was waiting")).collect()
    }

    fn check_matches(&mut self, matches: &[FoundMatch<u128>], seed: u64) {
        for found in matches {
            let group = self.take(&found.tickets);
            let group: Vec<_> = group.iter().collect();
            let is_due = |asked: &Asked| !asked.is_patient(self.pass, self.max_intervals);
            assert!(group.len() > 1 && is_sound(&group), "seed {seed}: {found:?}");
            assert!(is_allowed(&group, self.pass, self.max_intervals, is_due), "seed {seed}: {found:?}");
            let dropped = self.take(&found.dropped);
            let is_theirs = |asked: &Asked| {
                group.iter().any(|matched| !matched.accepts(asked) || matched.ticket.owner == asked.ticket.owner)
            };
            assert!(dropped.iter().all(is_theirs), "seed {seed}: {found:?}");
        }
    }

    /// Checks that no possible group is left in which a ticket has its `max_count`, or loses its patience in this pass.
    fn check_nobody_left(&self, seed: u64) {
        let waiting: Vec<_> = self.asked.values().collect();
        let is_last = |asked: &Asked| self.pass + 1 == asked.first_pass + u64::from(self.max_intervals);
        for subset in 1_u32..1 << waiting.len() {
            if !(2..=6).contains(&subset.count_ones()) {
                continue;
            }
            let group: Vec<_> = (0..waiting.len()).filter(|at| subset >> at & 1 == 1).map(|at| waiting[at]).collect();
            let is_left = is_sound(&group) && is_allowed(&group, self.pass, self.max_intervals, is_last);
            let tickets: Vec<_> = group.iter().map(|asked| &asked.ticket).collect();
            assert!(!is_left, "seed {seed}, pass {}: {tickets:#?}", self.pass);
        }
    }

    fn begin_pass(&mut self) {
        self.pass += 1;
        self.pool.now += 1_000;
        self.pool.matchmaker.begin_pass(self.pool.now);
    }
}

#[test]
fn a_pass_leaves_no_group_that_could_have_been_made() {
    let mut matched = 0;
    for seed in 0..500 {
        let random = &mut Random(seed);
        let mut checked = Checked::new(1 + random.below(3) as u32);
        for _ in 0..6 {
            for _ in 0..random.below(7) {
                if checked.asked.len() < 10 {
                    checked.add(random, seed);
                }
            }
            checked.begin_pass();
            let (units, mut matches) = (random.pick(&[1, 50, u32::MAX]), Vec::new());
            while checked.pool.matchmaker.run_slice(units, &mut matches) == Slice::More {}
            checked.check_matches(&matches, seed);
            checked.check_nobody_left(seed);
            matched += matches.len();
        }
        assert_eq!(checked.pool.matchmaker.totals().searches_cut, 0, "seed {seed}: too few tries for this test");
    }
    assert!(matched > 500, "{matched}");
}

#[test]
fn matches_are_sound_while_tickets_come_and_go_between_slices() {
    for seed in 0..500 {
        let random = &mut Random(seed);
        let mut checked = Checked::new(1 + random.below(3) as u32);
        for _ in 0..5 {
            for _ in 0..random.below(10) {
                checked.add(random, seed);
            }
            checked.begin_pass();
            loop {
                let mut matches = Vec::new();
                let slice = checked.pool.matchmaker.run_slice(1 + random.below(60) as u32, &mut matches);
                checked.check_matches(&matches, seed);
                if slice == Slice::Done {
                    break;
                }
                match random.below(12) {
                    0 if checked.made < 60 => checked.add(random, seed),
                    1 => {
                        let removed = checked.pool.matchmaker.remove_session(session(1 + random.below(14) as u128));
                        checked.take(&removed);
                    }
                    _ => {}
                }
            }
        }
        let matchmaker = &checked.pool.matchmaker;
        assert_eq!(matchmaker.len(), checked.asked.len(), "seed {seed}");
        assert!(checked.asked.keys().all(|name| matchmaker.ticket(&id(name)).is_some()), "seed {seed}");
        let totals = matchmaker.totals();
        let gone = totals.matched + totals.dropped + totals.removed;
        assert_eq!(totals.added, gone + matchmaker.len() as u64, "seed {seed}");
    }
}

#[test]
fn slices_change_nothing() {
    for seed in 0..60 {
        let run = |units: u32| {
            let random = &mut Random(seed);
            let mut checked = Checked::new(2);
            let mut found = Vec::new();
            for _ in 0..4 {
                for _ in 0..random.below(30) {
                    checked.add(random, seed);
                }
                checked.begin_pass();
                let mut matches = Vec::new();
                while checked.pool.matchmaker.run_slice(units, &mut matches) == Slice::More {}
                checked.check_matches(&matches, seed);
                found.extend(matches.iter().map(|found| ids(&found.tickets)));
            }
            found
        };
        assert_eq!(run(1), run(u32::MAX), "seed {seed}");
    }
}

#[test]
fn widening_accepts_what_it_says_and_nothing_else() {
    for seed in 0..500 {
        let random = &mut Random(seed);
        let mut pool = Pool::new(2);
        let mut asked = BTreeMap::new();
        for number in 1..=12 {
            let rank = random.below(100) as f64;
            let reach = random.below(5) as f64;
            let query = format!("+properties.rank:>={} +properties.rank:<={}", rank - reach, rank + reach);
            let query = query.replace(":>=-", ":>= -");
            let (step, steps) = (1.0 + random.below(5) as f64, random.below(4) as f64);
            let widening = Widening { field: "properties.rank".into(), step, limit: step * steps };
            let widening = if steps > 0.0 { vec![widening] } else { Vec::new() };
            asked.insert(number.to_string(), (rank, reach, step, steps));
            pool.add(NewTicket { widening, ..solo(number, (2, 2), &query).number("rank", rank) });
        }
        for pass in 0..6 {
            let reach = |(_, reach, step, steps): (f64, f64, f64, f64)| reach + step * steps.min(f64::from(pass));
            for found in pool.pass() {
                let (left, right) = found.split_once(' ').expect("a pair");
                let pair = [left, right].map(|name| asked.remove(name).expect("it waited"));
                let apart = (pair[0].0 - pair[1].0).abs();
                assert!(pair.iter().all(|one| apart <= reach(*one)), "seed {seed}, pass {pass}: {pair:?}");
            }
            for (name, one) in &asked {
                for (other_name, other) in asked.iter().filter(|(other, _)| *other > name) {
                    let apart = (one.0 - other.0).abs();
                    assert!(
                        apart > reach(*one) || apart > reach(*other),
                        "seed {seed}, pass {pass}: {name} {other_name} are left"
                    );
                }
            }
        }
    }
}
