//! Queries: what is accepted is answered the same by a document and by an index, and matches without its obstacles.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_domain::query::{Document, Index, Query};

fuzz_target!(|text: &str| {
    let Ok(query) = Query::parse(text) else { return };
    let document = Document::new().with("a", "b").with("a", 5.0).with("n", -5.0).with("created", "2024-06-01");
    let mut index = Index::new();
    index.insert(3, document.clone());
    let score = query.matches(&document);
    assert_eq!(index.search(&query).map(|hit| hit.score).next(), score);
    assert!(query.without(&query.obstacles(&document)).matches(&document).is_some());
});
