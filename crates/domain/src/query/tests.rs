//! Meanings of queries, and that the index finds the same documents as a look at each of them.

use std::collections::BTreeMap;

use muster_testenv::Random;
use serde_json::json;

use super::*;

fn query(text: &str) -> Query {
    Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The score of a document, however much work that is.
pub(super) fn matches(query: &Query, document: &Document) -> Option<f64> {
    query.matches(document, &mut Work::endless())
}

/// The slots that a query finds in an index, with their scores.
pub(super) fn search(index: &Index, query: &Query) -> Vec<(u32, f64)> {
    let candidates = index.candidates(query, &mut Work::endless());
    let found = index.scan(candidates, 0).filter_map(|slot| Some((slot, matches(query, index.document(slot)?)?)));
    found.collect()
}

fn document(json: serde_json::Value) -> Document {
    let mut document = Document::new();
    document.push_json("", &json).expect("it is small");
    document
}

/// A document that has one of everything.
fn label() -> Document {
    document(json!({
        "mode": "ranked",
        "name": "two words",
        "level": 5,
        "skill": -2.5,
        "open": true,
        "full": false,
        "tags": ["a", "b", 7],
        "none": null,
        "map": { "size": { "x": 10 }, "name": "de:dust" },
        "opened": "2024-05-06T07:08:09Z",
        "plus": "-x+y=z",
        "seven": "7",
        "path": "/a/b",
    }))
}

#[test]
fn a_query_matches_and_scores() {
    let label = label();
    let check = |text: &str, expect: Option<f64>| assert_eq!(matches(&query(text), &label), expect, "{text}");
    // Everything.
    check("", Some(1.0));
    check("  ", Some(1.0));
    check("*", Some(1.0));
    check("+*", Some(1.0));
    // Must, should, must not.
    check("mode:ranked", Some(1.0));
    check("mode:casual", None);
    check("+mode:ranked", Some(1.0));
    check("+mode:ranked +level:5", Some(2.0));
    check("+mode:ranked +level:6", None);
    check("+mode:ranked level:6", Some(1.0));
    check("+mode:ranked level:5", Some(2.0));
    check("mode:casual level:5", Some(1.0));
    check("mode:casual level:6", None);
    check("-mode:casual", Some(1.0));
    check("-mode:ranked", None);
    check("-mode:casual level:6", None);
    check("-mode:casual level:5^3", Some(3.0));
    check("+ mode : ranked", Some(1.0));
    // Texts are compared whole and with case.
    check("mode:Ranked", None);
    check("mode:rank", None);
    check("name:\"two words\"", Some(1.0));
    check("name:two\\ words", Some(1.0));
    check("name:two", None);
    check("map.name:\"de:dust\"", Some(1.0));
    check("map.name:de\\:dust", Some(1.0));
    check("plus:\\-x+y=z", Some(1.0));
    check("path:/a/b", Some(1.0));
    // Nesting, arrays, booleans, null.
    check("map.size.x:10", Some(1.0));
    check("+tags:a +tags:b +tags:7", Some(3.0));
    check("+open:T +full:F", Some(2.0));
    check("open:true", None);
    check("none:*", None);
    check("mode:*", Some(1.0));
    check("level:*", Some(1.0));
    // A number is a number, or a text that looks like one.
    check("level:5", Some(1.0));
    check("level:5.0", Some(1.0));
    check("level:5e0", Some(1.0));
    check("seven:7", Some(1.0));
    check("seven:7.0", None);
    check("skill:-2.5", Some(1.0));
    check("skill:2.5", None);
    check("level:\"5\"", None);
    // Ranges.
    check("level:>4", Some(1.0));
    check("level:>5", None);
    check("level:>=5", Some(1.0));
    check("level:<=5", Some(1.0));
    check("level:<5", None);
    check("level:<5.1", Some(1.0));
    check("+skill:>=-3 +skill:<-2", Some(2.0));
    check("seven:>1", None);
    check("level: >= 5", Some(1.0));
    check("-level:>7", Some(1.0));
    // Dates.
    check("opened:>\"2024-05-06\"", Some(1.0));
    check("opened:>\"2024-05-07\"", None);
    check("opened:<=\"2024-05-06T09:08:09+02:00\"", Some(1.0));
    check("opened:2024-05-06T07\\:08\\:09Z", Some(1.0));
    check("mode:>\"2024-05-06\"", None);
    // Patterns.
    check("mode:ra*", Some(1.0));
    check("mode:r?nked", Some(1.0));
    check("mode:r?ked", None);
    check("mode:r\\*", None);
    check("mode:/ra.+d/", Some(1.0));
    check("mode:/ra/", None);
    check("name:/two\\ w[^a]+/^2", Some(2.0));
    check("map.name:/(?:de|cs):dust/", Some(1.0));
    check("mode:rnked~", Some(1.0));
    check("mode:rkd~2", None);
    check("mode:rnkd~2^4", Some(4.0));
    check("mode:ranked~0", Some(1.0));
    // Without a field: any.
    check("ranked", Some(1.0));
    check("\"two words\"", Some(1.0));
    check("+5 +10", Some(2.0));
    check("unheard", None);
    check("rank*", Some(1.0));
    // A weight of nothing means one.
    check("mode:ranked^", Some(1.0));
    check("mode:ranked^0.5", Some(0.5));
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    let check = |text: &str, position: usize, remedy: &str| {
        let error = Query::parse(text).expect_err(text);
        assert_eq!(error.position, position, "{text}: {error}");
        assert!(error.message.contains(remedy), "{text}: {error}");
    };
    check("a:", 3, "write `field:value`");
    check("+", 2, "write `field:value`");
    check("é:b +:c", 6, "put a backslash");
    check("a:b:c", 4, "`\\:`");
    check("a:http://x", 7, "in quotes");
    check("a:\"b", 3, "`\\\"`");
    check("a:b\\", 4, "`\\\\`");
    check("a:>b", 4, "`>=5`");
    check("a:>=", 5, "`>=5`");
    check("a:>\"soon\"", 4, "in quotes");
    check("a:<-\"2024-01-01\"", 4, "in quotes");
    check("a:-b", 3, "`\\-`");
    check("a:+b", 3, "backslash");
    check("a:b^x", 4, "`a:b^2`");
    check("a:b~x", 4, "`a:b~1`");
    check("a:b~3", 4, "`~2`");
    check("a:b~0.5", 4, "`~2`");
    check("a:b*~1", 5, "escape the `*`");
    check("a:\"b\"~1", 6, "single word");
    check("a:b^1^2", 6, "one weight");
    check("a:b =c", 5, "backslash");
    check("\"a\":b", 4, "colon");
    check("a:/(/", 3, "regular expression");
    check("a:/x{2,1}/", 3, "regular expression");
}

#[test]
fn a_term_knows_its_text() {
    let query = query("+a:b  -\"c d\"^2 e:>=5");
    let sources: Vec<_> = query.clauses().iter().map(|clause| query.clause_source(clause)).collect();
    assert_eq!(sources, ["+a:b", "-\"c d\"^2", "e:>=5"]);
}

#[test]
fn queries_have_limits() {
    let limited = |text: &str| Query::parse(text).map(|_| ()).map_err(|error| error.message);
    let terms = |count| vec!["a:b"; count].join(" ");
    assert_eq!(limited(&terms(CLAUSES_MAX)), Ok(()));
    assert!(limited(&terms(CLAUSES_MAX + 1)).is_err_and(|message| message.contains("terms")));
    let patterns = |count| vec!["a:b*"; count].join(" ");
    assert_eq!(limited(&patterns(PATTERNS_MAX)), Ok(()));
    assert!(limited(&patterns(PATTERNS_MAX + 1)).is_err_and(|message| message.contains("wildcards")));
    let long = format!("a:{}", "b".repeat(QUERY_BYTES_MAX - 2));
    assert_eq!(limited(&long), Ok(()));
    assert!(limited(&format!("{long}b")).is_err_and(|message| message.contains("bytes")));
}

#[test]
fn documents_have_a_limit() {
    let mut document = Document::new();
    assert_eq!(document.push_json("a", &json!(vec![1; DOCUMENT_VALUES_MAX])), Ok(()));
    assert_eq!(document.push_json("b", &json!(null)), Ok(()));
    assert_eq!(document.push_json("b", &json!(1)), Err(TooManyValues));
    let mut label = Document::new();
    label.push_json("label", &json!({"a": {"b": 1}, "c": [{"d": "x"}, {"d": "y"}]})).expect("it is small");
    let expect = Document::new().with("label.a.b", 1.0).with("label.c.d", "x").with("label.c.d", "y");
    assert_eq!(label, expect);
    label.push("nan", f64::NAN);
    assert_eq!(label, expect);
}

#[test]
fn widening_relaxes_the_numbers_of_a_field() {
    let check = |text: &str, by: f64, rank: f64, expect: bool| {
        let document = Document::new().with("rank", rank).with("other", rank);
        let matches = matches(&query(text).widened("rank", by), &document).is_some();
        assert_eq!(matches, expect, "{text} by {by} for {rank}");
    };
    check("+rank:>=10 +rank:<20", 0.0, 9.0, false);
    check("+rank:>=10 +rank:<20", 1.0, 9.0, true);
    check("+rank:>=10 +rank:<20", 1.0, 21.0, false);
    check("+rank:>=10 +rank:<20", 1.5, 21.0, true);
    check("+rank:10", 0.5, 10.5, true);
    check("+rank:10", 0.5, 11.0, false);
    check("-rank:>=10", 5.0, 9.0, true);
    check("+other:>=10", 5.0, 9.0, false);
    check("+rank:<20 +other:>=10", 5.0, 21.0, true);
}

#[test]
fn without_its_obstacles_a_query_matches() {
    let label = label();
    let check = |text: &str, expect: &[usize]| {
        let query = query(text);
        assert_eq!(query.obstacles(&label, &mut Work::endless()), expect, "{text}");
        assert!(matches(&query.without(expect), &label).is_some(), "{text}");
    };
    check("+mode:ranked level:6", &[]);
    check("+mode:casual", &[0]);
    check("+mode:ranked -level:5 +skill:>0", &[1, 2]);
    check("mode:casual level:6", &[0, 1]);
    check("+mode:casual level:6 -open:F", &[0, 1]);
    check("+mode:casual level:5", &[0]);
    check("*", &[]);
}

const TEXTS: [&str; 5] = ["a", "ab", "b", "5", "ba"];

fn random_document(random: &mut Random) -> Document {
    let mut document = Document::new();
    for _ in 0..random.below(4) {
        let field = random.pick(&["t", "n", "m"]);
        match random.below(3) {
            0 => document.push(field, random.pick(&TEXTS)),
            // Single-valued mostly, so that both ways to a range are taken.
            _ if field == "n" && document.values("n").next().is_some() && random.below(8) > 0 => {}
            _ => document.push(field, random.below(12) as f64 / 2.0 - 1.0),
        }
    }
    document
}

fn random_query(random: &mut Random) -> String {
    let mut terms = Vec::new();
    for _ in 0..random.below(4) {
        let sign = random.pick(&["+", "-", ""]);
        let field = random.pick(&["t:", "n:", "m:", "absent:", ""]);
        let value = match random.below(7) {
            0 if !field.is_empty() => {
                format!("{}{}", random.pick(&[">", ">=", "<", "<="]), random.below(12) as f64 / 2.0 - 1.0)
            }
            1 => random.pick(&["a*", "?", "*", "/a.?/", "a~1"]).to_owned(),
            2 => random.below(6).to_string(),
            3 if !field.is_empty() => "-1".to_owned(),
            _ => random.pick(&TEXTS).to_owned(),
        };
        let boost = random.pick(&["", "", "^2"]);
        terms.push(format!("{sign}{field}{value}{boost}"));
    }
    terms.join(" ")
}

#[test]
fn the_index_finds_what_a_look_at_every_document_finds() {
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let mut index = if seed % 3 == 0 { Index::with_unindexed(&["m"]) } else { Index::new() };
        let mut documents: BTreeMap<u32, Document> = BTreeMap::new();
        let (slots, step) = (random.pick(&[10, 600, 3_000]), random.pick(&[1, 7, 5_000]));
        for _ in 0..random.pick(&[20, 1_500]) {
            let slot = random.below(slots) as u32 * step;
            if random.below(3) > 0 {
                let document = random_document(random);
                assert_eq!(index.insert(slot, document.clone()), documents.insert(slot, document));
            } else {
                assert_eq!(index.remove(slot), documents.remove(&slot));
            }
        }
        assert_eq!(index.len(), documents.len());
        for _ in 0..40 {
            let text = random_query(random);
            let query = query(&text);
            let found = search(&index, &query);
            let expect: Vec<_> =
                documents.iter().filter_map(|(slot, document)| Some((*slot, matches(&query, document)?))).collect();
            assert_eq!(found, expect, "seed {seed}: {text}");
            let from = random.below(slots) as u32 * step;
            let scanned: Vec<_> = index.scan(index.candidates(&query, &mut Work::endless()), from).collect();
            assert!(expect.iter().all(|(slot, _)| *slot < from || scanned.contains(slot)), "seed {seed}: {text}");
            assert!(scanned.iter().all(|slot| *slot >= from), "seed {seed}: {text}");
        }
        for slot in documents.keys() {
            index.remove(*slot);
        }
        assert!(index.is_empty() && index.fields().len() == 0, "seed {seed}");
    }
}

#[test]
fn ranges_stay_exact_while_numbers_come_and_go() {
    for seed in 0..12 {
        let random = &mut Random::new(seed);
        let spread = random.pick(&[3, 200, 1_000_000]);
        let mut index = Index::new();
        // Some slots have no number, and may have had one before.
        let mut numbers: BTreeMap<u32, Option<f64>> = BTreeMap::new();
        for step in 0..6_000_u32 {
            // Grows, then shrinks; the numbers drift.
            let slot = random.below(4_000) as u32;
            let drift = f64::from(step / 10) - 300.0;
            if random.below(10) < if step < 3_500 { 8 } else { 2 } {
                let number = (random.below(6) > 0).then(|| random.below(spread) as f64 + drift);
                let document = number.map_or(Document::new(), |number| Document::new().with("n", number));
                index.insert(slot, document);
                numbers.insert(slot, number);
            } else {
                index.remove(slot);
                numbers.remove(&slot);
            }
            if step % 50 == 0 {
                let low = random.below(spread) as f64 + drift;
                let high = low + random.below(spread) as f64;
                let check = |text: String, expect: &dyn Fn(Option<f64>) -> bool| {
                    let query = query(&text);
                    let found: Vec<_> = search(&index, &query).into_iter().map(|(slot, _)| slot).collect();
                    let expect: Vec<_> =
                        numbers.iter().filter(|(_, number)| expect(**number)).map(|(slot, _)| *slot).collect();
                    assert_eq!(found, expect, "seed {seed}, step {step}: {text}");
                };
                check(format!("+n:>={low} +n:<{high}"), &|number| number.is_some_and(|n| n >= low && n < high));
                check(format!("-n:>={low}"), &|number| number.is_none_or(|n| n < low));
                check(format!("-n:<={low}"), &|number| number.is_none_or(|n| n > low));
            }
        }
    }
}
