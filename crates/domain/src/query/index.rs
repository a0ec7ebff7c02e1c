//! Documents by slot, and which of them match a query. What is inserted is found at once; removing forgets all of it.

use std::collections::HashMap;

use super::Query;
use super::candidates::{Candidates, Scan};
use super::document::Document;
use super::postings::Postings;
use super::work::Work;

/// Documents that queries find. The caller gives out the slots; low ones make it fast.
#[derive(Default)]
pub struct Index {
    documents: HashMap<u32, Document, foldhash::fast::RandomState>,
    postings: Postings,
}

impl Index {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty index that keeps no sets for these fields: see [`Postings::with_unindexed`].
    pub fn with_unindexed(fields: &[&str]) -> Self {
        Self { postings: Postings::with_unindexed(fields), ..Self::default() }
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

    /// Puts a document into a slot; gives back the one that was there.
    pub fn insert(&mut self, slot: u32, document: Document) -> Option<Document> {
        let replaced = self.remove(slot);
        self.postings.insert(slot, &document);
        self.documents.insert(slot, document);
        replaced
    }

    /// Empties a slot; gives back what was in it.
    pub fn remove(&mut self, slot: u32) -> Option<Document> {
        let document = self.documents.remove(&slot)?;
        self.postings.remove(slot, &document);
        Some(document)
    }

    /// The fields of all documents, among those it keeps sets for: see [`Postings::fields`].
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        self.postings.fields()
    }

    /// See [`Postings::scan`].
    pub fn scan<'a>(&'a self, candidates: Candidates<'a>, from: u32) -> Scan<'a> {
        self.postings.scan(candidates, from)
    }

    /// See [`Postings::with_text`].
    pub fn with_text(&self, field: &str, text: &str) -> Candidates<'_> {
        self.postings.with_text(field, text)
    }

    /// See [`Postings::candidates`].
    pub fn candidates(&self, query: &Query, work: &mut Work) -> Candidates<'_> {
        self.postings.candidates(query, work)
    }
}
