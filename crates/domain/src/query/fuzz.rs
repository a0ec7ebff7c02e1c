//! Damaged queries. What is accepted can be asked of a document and of an index, with the same answer; it can be read
//! again from its own text, and no check takes more work than it may.

use muster_testenv::fuzz::Fuzz;

use super::tests::{matches, search};
use super::*;

const WORDS: &[&str] = &[
    "+",
    "-",
    ":",
    "*",
    "?",
    "\\",
    "\"",
    "/",
    "^2",
    "~2",
    "~",
    "^",
    ">=",
    "<",
    ">\"2024-01-01\"",
    "(",
    ")",
    "[a-c]",
    "{3}",
    "{0,9}",
    "(.*)",
    "|",
    "\n",
    " ",
    "properties.",
    "a:",
    "n:",
    "5",
    "-2.5",
    "1e3",
    "0x1p3",
    "T",
    "é",
    "日",
    "\0",
    "aaaaaaaaaaaaaaaaaaaa",
    "\"a\":",
    "{}",
    "[1,2]",
    "null",
];

/// The document of an input: the JSON behind the query's line, and some values that the corpus asks for.
fn document(json: &str) -> Document {
    let mut document = Document::new();
    // A label that is too large or no object has those values that were read before.
    let _ = document.push_json_text("", json);
    document.with("a", "b").with("a", 5.0).with("é", "ü").with("n", -5.0).with("created", "2024-06-01")
}

fn check_accepted(query: &Query, text: &str, document: &Document) {
    let mut index = Index::new();
    index.insert(3, document.clone());
    let mut work = Work::endless();
    let score = query.matches(document, &mut work);
    assert!(work.spent() <= u64::from(CHECK_UNITS_MAX) + 1, "{} units", work.spent());
    assert_eq!(search(&index, query).first().map(|(_, score)| *score), score);
    let mut work = Work::endless();
    let places = query.obstacles(document, &mut work);
    assert!(work.spent() <= u64::from(CHECK_UNITS_MAX) + 1, "{} units", work.spent());
    assert_eq!(score.is_some(), places.is_empty(), "{places:?}");
    assert!(matches(&query.without(&places), document).is_some());
    let again: Vec<_> = query.clauses().iter().map(|clause| query.clause_source(clause)).collect();
    let again = Query::parse(&again.join(" ")).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(matches(&again, document), score);
    assert_eq!(again.clauses().len(), query.clauses().len());
    if score.is_some() {
        assert!(matches(&query.widened("n", 1.0), document).is_some());
    }
}

#[test]
fn damaged_queries_are_refused_or_mean_what_they_say() {
    let tried = Fuzz::new("query").words(WORDS).input_bytes_max(2_000).runs(15_000).run(|input| {
        let input = String::from_utf8_lossy(input);
        let (text, json) = input.split_once('\n').unwrap_or((&input, ""));
        match Query::parse(text) {
            Ok(query) => {
                check_accepted(&query, text, &document(json));
                true
            }
            Err(error) => {
                assert!((1..=text.chars().count() + 1).contains(&error.position), "{error}");
                assert!(!error.message.is_empty());
                false
            }
        }
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}: the inputs are too wild to test anything");
}
