//! Damaged queries: thousands of seeded mutations of good ones. Nothing panics; what is accepted can be asked of a
//! document and of an index, with the same answer, and read again from its own text.

use super::tests::{Random, matches, search};
use super::*;

const MUTATIONS_PER_QUERY: u64 = 1_500;

const CORPUS: [&str; 12] = [
    "*",
    "+properties.mode:ranked +properties.rank:>=10 +properties.rank:<=20.5",
    "-label.a.b:\"two \\\"quoted\\\" words\"^2 label.c:x~2^0.5",
    "label.path:/^a[b-d]{1,3}(x|y)*\\/z$/ +node:*",
    "+created:>\"2024-01-31T12:30:00.5+02:00\" -created:<=\"2025-01-01\"",
    "a:b* c:?d e\\:f:g\\ h plain \"plain phrase\"",
    "n:-5 n:>-5.25 n:<=1e3 n:.5",
    "+a:1^2 +b:T -c:F d:x~ e:y^",
    "é:ü~1 日本:本*",
    "   +   a   :   >   =   5   ^   2   ",
    "properties.id:0b5a4e2e-7a4c-4d4a-9b7a-0123456789ab",
    "a:/((x*)*)*y/ b:*a*a*a*a*b",
];

fn mutate(random: &mut Random, input: &str) -> String {
    const TELLING: &[u8] = b"+-:<>=\"/\\*?~^ .5ae()[]{}|$\xc3\xa9\0";
    let mut bytes = input.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(8)).min(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.insert(at, random.pick(TELLING)),
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            4 if at < bytes.len() => bytes[at] = random.pick(TELLING),
            _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn the_parser_stands_damage() {
    let mut index = Index::new();
    let document =
        Document::new().with("a", "b").with("a", 5.0).with("é", "ü").with("n", -5.0).with("created", "2024-06-01");
    index.insert(3, document.clone());
    let mut accepted = 0;
    for (place, source) in CORPUS.iter().enumerate() {
        assert!(Query::parse(source).is_ok(), "{source}");
        for seed in 0..MUTATIONS_PER_QUERY {
            let text = mutate(&mut Random(seed << 8 | place as u64), source);
            match Query::parse(&text) {
                Ok(query) => {
                    accepted += 1;
                    let score = matches(&query, &document);
                    assert_eq!(search(&index, &query).first().map(|(_, score)| *score), score, "{text:?}");
                    let places = query.obstacles(&document, &mut Work::endless());
                    assert!(matches(&query.without(&places), &document).is_some(), "{text:?}");
                    let again: Vec<_> = query.clauses().iter().map(|clause| query.clause_source(clause)).collect();
                    let again = Query::parse(&again.join(" ")).unwrap_or_else(|error| panic!("{text:?}: {error}"));
                    assert_eq!(matches(&again, &document), score, "{text:?}");
                    assert_eq!(again.clauses().len(), query.clauses().len(), "{text:?}");
                }
                Err(error) => {
                    assert!((1..=text.chars().count() + 1).contains(&error.position), "{text:?}: {error}");
                    assert!(!error.message.is_empty());
                }
            }
        }
    }
    assert!(accepted > 1_000, "{accepted}: the mutations are too wild to test anything");
}
