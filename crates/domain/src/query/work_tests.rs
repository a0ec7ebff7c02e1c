//! Queries and documents made to cost as much as they can. Limits of work hold for each of them, and the index finds
//! what a look at every document finds.

use muster_testenv::Random;

use super::tests::{matches, search};
use super::*;

/// Expressions whose programs are large, or that keep many states alive.
const PATTERNS: [&str; 12] = [
    "/(.*){20}b/",
    "/(?:.*){80}b/",
    "/(?:.|a|aa|aaa){15}b/",
    "/((a?){12}){3}(a){12}/",
    "/[a-f0-9]{40}x?/",
    "/(?:.{0,9}a){8}/",
    "/((((.*)*)*)*)*b/",
    "*aaaaaaaaaaaaaaaaab",
    "a?a?a?*b",
    "aaaaaaaaaaaaaaaab~2",
    "/./",
    "a*",
];

/// A text of at most `len_max` bytes, mostly of one letter.
fn text(random: &mut Random, len_max: usize) -> String {
    let len = random.pick(&[0, 1, 30, 200, 1_000, len_max]).min(len_max);
    let letter = random.pick(&["a", "a", "é", "ab"]);
    let mut text = letter.repeat(len / letter.len());
    text.push_str(random.pick(&["", "", "b"]));
    text
}

pub(super) fn nasty_document(random: &mut Random) -> Document {
    let mut document = Document::new();
    let long_name = format!("f.{}", "n".repeat(random.pick(&[1, 500])));
    for _ in 0..random.pick(&[1, 5, 30, 200]) {
        let field = random.pick(&["f", "f", "g", &long_name]);
        match random.below(8) {
            0 => document.push(field, random.below(9) as f64),
            _ => document.push(field, &*text(random, 1_024)),
        }
    }
    document
}

pub(super) fn nasty_query(random: &mut Random) -> String {
    let mut terms: Vec<String> = Vec::new();
    for _ in 0..random.pick(&[1, 3, 16]) {
        let sign = random.pick(&["+", "-", "-", ""]);
        let field = random.pick(&["f:", "f:", "g:", ""]);
        terms.push(format!("{sign}{field}{}", random.pick(&PATTERNS)));
    }
    for _ in 0..random.pick(&[0, 0, 5, 100]) {
        let sign = random.pick(&["+", "-", ""]);
        terms.push(match random.below(4) {
            0 => format!("{sign}f:>\"2024-01-01\""),
            1 => format!("{sign}f:>={}", random.below(9)),
            _ => format!("{sign}aaaa"),
        });
    }
    terms.join(" ")
}

#[test]
fn no_check_and_no_look_up_exceeds_its_limit() {
    let (mut limited, mut dearest) = (0, 0);
    for seed in 0..100 {
        let random = &mut Random::new(seed);
        let mut index = Index::new();
        let documents: Vec<Document> = (0..random.pick(&[3, 90])).map(|_| nasty_document(random)).collect();
        for (slot, document) in documents.iter().enumerate() {
            index.insert(slot as u32, document.clone());
        }
        let text = nasty_query(random);
        let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut lookup = Work::new(0);
        index.candidates(&query, &mut lookup);
        // The last look at the index may give as many sets as texts are tried of a field.
        assert!(lookup.spent() <= u64::from(LOOKUP_UNITS_MAX) + 200, "seed {seed}: {} for {text}", lookup.spent());
        for document in &documents {
            let mut work = Work::new(0);
            query.matches(document, &mut work);
            dearest = dearest.max(work.spent());
            assert!(work.spent() <= u64::from(CHECK_UNITS_MAX) + 1, "seed {seed}: {} for {text}", work.spent());
            let mut totals = WorkTotals::default();
            totals.count(&work);
            limited += totals.checks_limited;
            let places = query.obstacles(document, &mut Work::endless());
            assert!(matches(&query.without(&places), document).is_some(), "seed {seed}: {text}");
        }
        let expect: Vec<(u32, f64)> =
            documents.iter().zip(0..).filter_map(|(document, slot)| Some((slot, matches(&query, document)?))).collect();
        assert_eq!(search(&index, &query), expect, "seed {seed}: {text}");
    }
    assert!(limited > 1_000, "{limited}: the queries are too cheap to meet a limit");
    assert!(dearest > u64::from(CHECK_UNITS_MAX) * 9 / 10, "{dearest}");
}

#[test]
fn work_follows_the_size_of_the_pattern_and_of_the_text() {
    let units = |query: &str, len: usize| {
        let mut work = Work::endless();
        let document = Document::new().with("f", &*"a".repeat(len));
        Query::parse(query).expect("it is in order").matches(&document, &mut work);
        work.spent()
    };
    for (small, large) in [("/(.*){4}b/", "/(.*){40}b/"), ("*b", "*aaaaaaaaab")] {
        assert!(units(large, 20) > 3 * units(small, 20), "{large}");
        assert!(units(large, 80) > 3 * units(large, 20), "{large}");
    }
    assert!(units("f:x", 1_000) <= 3);
    // Beyond the limit of a check nothing more is done.
    assert_eq!(units("f:/(?:.*){60}b/", 1_000), units("f:x", 1_000));
}

#[test]
fn a_document_whose_check_takes_too_much_matches_neither_a_term_nor_its_opposite() {
    let document = Document::new().with("f", &*"a".repeat(1_000));
    for query in ["+f:/(?:.*){60}b/", "-f:/(?:.*){60}b/", "+f:a* -f:/(?:.*){60}b/"] {
        let query = Query::parse(query).expect("it is in order");
        assert_eq!(matches(&query, &document), None, "{query:?}");
    }
    let short = Document::new().with("f", "aaa");
    assert_eq!(matches(&Query::parse("-f:/(?:.*){60}b/").expect("it is in order"), &short), Some(1.0));
}

#[test]
fn a_scan_whose_work_is_spent_goes_on_where_it_stopped() {
    let mut index = Index::new();
    for slot in (0..60_000).step_by(7) {
        index.insert(slot, Document::new().with("f", if slot % 5 == 0 { "x" } else { "y" }));
    }
    let query = Query::parse("+f:x").expect("it is in order");
    let all: Vec<u32> = index.scan(index.candidates(&query, &mut Work::endless()), 0).collect();
    let (mut found, mut from, mut slices) = (Vec::new(), Some(0), 0);
    while let Some(first) = from {
        slices += 1;
        let mut work = Work::new(1);
        let mut scan = index.scan(index.candidates(&query, &mut Work::endless()), first);
        while let Found::Slot(slot) = scan.next_within(&mut work) {
            found.push(slot);
        }
        from = scan.next_slot();
    }
    assert_eq!(found, all);
    // One for each chunk, and one that finds no further chunk.
    assert_eq!(slices, 60_000_u32.div_ceil(4_096) + 1);
}
