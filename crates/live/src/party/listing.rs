//! Finding parties: which are found by what, and in which order they are listed.
//!
//! Parties lie in the index in the order in which they were made, so that a page costs what it shows and not what there
//! is. Only a query whose weights differ from party to party has to look at more than that.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::{Document, Index, Occur, Query};

use super::message::{Label, PartyId, Settings};
use crate::plane::Map;

/// Parties that one listing looks at on one shard. What it did not come to is on the next page; a query that weighs
/// orders the oldest of those that it finds.
pub const LISTING_SCAN_MAX: usize = 4_096;

/// The score where all that match do so equally well.
const EQUAL: f64 = 1.0;

/// What a listing asks for.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// About the fields `label.<name>`, `open`, and `max_size`.
    pub query: Arc<Query>,
    /// Only parties that are open, or that are not.
    pub open: Option<bool>,
    /// Only what comes after this.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

/// Where a party stands in a listing: the best match first, among equals the oldest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// How well it matches.
    pub score: f64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Which party it is.
    pub party: PartyId,
}

impl Place {
    /// Which comes first.
    pub fn order(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.created_at.cmp(&other.created_at)).then(self.party.cmp(&other.party))
    }
}

/// A party in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Where it stands.
    pub place: Place,
    /// Whether anyone may join.
    pub open: bool,
    /// Seats.
    pub max_size: u16,
    /// By what it is found.
    pub label: Label,
}

/// A part of a listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// In order.
    pub parties: Vec<Listed>,
    /// Nothing behind this was looked at.
    pub until: Option<Place>,
}

impl Page {
    /// One listing out of those of several shards, with at most so many parties.
    pub fn merge(pages: Vec<Page>, limit: usize) -> Self {
        let until = pages.iter().filter_map(|page| page.until).min_by(Place::order);
        let mut parties: Vec<Listed> = pages.into_iter().flat_map(|page| page.parties).collect();
        if let Some(until) = until {
            parties.retain(|listed| listed.place.order(&until).is_le());
        }
        parties.sort_unstable_by(|one, other| one.place.order(&other.place));
        if parties.len() > limit {
            parties.truncate(limit);
            let until = parties.last().map(|last| last.place);
            return Self { parties, until };
        }
        Self { parties, until }
    }
}

#[derive(Debug)]
struct Entry {
    party: PartyId,
    created_at: Timestamp,
    open: bool,
    max_size: u16,
    label: Label,
}

impl Entry {
    fn listed(&self, score: f64) -> Listed {
        Listed {
            place: Place { score, created_at: self.created_at, party: self.party },
            open: self.open,
            max_size: self.max_size,
            label: self.label.clone(),
        }
    }
}

/// The parties of one shard, oldest first. Those that hide are not in the index.
#[derive(Default)]
pub(super) struct Directory {
    index: Index,
    /// By place in the index. Places are given out in ascending order.
    entries: BTreeMap<u32, Entry>,
    slots: Map<PartyId, u32>,
    by_age: BTreeMap<Timestamp, u32>,
    next_slot: u32,
    /// Places do not follow age: there came some that are older than those before them.
    is_unsorted: bool,
}

impl Directory {
    /// Takes in a new party.
    pub(super) fn add(&mut self, party: PartyId, settings: &Settings, max_size: u16, created_at: Timestamp) {
        // Times order parties as places do, whatever clocks say.
        let latest = self.by_age.last_key_value().map_or(created_at, |(latest, _)| Timestamp(latest.0 + 1));
        self.insert(party, settings, max_size, created_at.max(latest));
    }

    /// Takes in a party that was listed elsewhere before, at the age that it had there.
    pub(super) fn adopt(&mut self, party: PartyId, settings: &Settings, max_size: u16, created_at: Timestamp) {
        self.remove(party);
        let mut created_at = created_at;
        while self.by_age.contains_key(&created_at) {
            created_at = Timestamp(created_at.0.wrapping_add(1));
        }
        self.is_unsorted |= self.by_age.last_key_value().is_some_and(|(latest, _)| *latest > created_at);
        self.insert(party, settings, max_size, created_at);
    }

    /// When a party was made, as far as listings go.
    pub(super) fn created_at(&self, party: PartyId) -> Option<Timestamp> {
        self.slots.get(&party).and_then(|slot| self.entries.get(slot)).map(|entry| entry.created_at)
    }

    fn insert(&mut self, party: PartyId, settings: &Settings, max_size: u16, created_at: Timestamp) {
        if self.next_slot == u32::MAX {
            self.renumber();
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        let (open, label) = (settings.open, settings.label.clone());
        self.entries.insert(slot, Entry { party, created_at, open, max_size, label });
        self.slots.insert(party, slot);
        self.by_age.insert(created_at, slot);
        self.change(party, settings);
    }

    /// Shows a party as it is now, or hides it.
    pub(super) fn change(&mut self, party: PartyId, settings: &Settings) {
        let Some(slot) = self.slots.get(&party) else { return };
        let Some(entry) = self.entries.get_mut(slot) else { return };
        (entry.open, entry.label) = (settings.open, settings.label.clone());
        if settings.hidden {
            self.index.remove(*slot);
            return;
        }
        let mut document: Document = settings.label.document().clone();
        document.push("open", settings.open);
        document.push("max_size", f64::from(entry.max_size));
        self.index.insert(*slot, document);
    }

    /// Forgets a party.
    pub(super) fn remove(&mut self, party: PartyId) {
        let Some(slot) = self.slots.remove(&party) else { return };
        self.index.remove(slot);
        if let Some(entry) = self.entries.remove(&slot) {
            self.by_age.remove(&entry.created_at);
        }
    }

    /// Gives out places anew, by age.
    fn renumber(&mut self) {
        let (mut index, mut next_slot) = (Index::new(), 0);
        let mut entries = std::mem::take(&mut self.entries);
        for slot in self.by_age.values_mut() {
            let Some(entry) = entries.remove(slot) else { continue };
            if let Some(document) = self.index.remove(*slot) {
                index.insert(next_slot, document);
            }
            self.slots.insert(entry.party, next_slot);
            self.entries.insert(next_slot, entry);
            *slot = next_slot;
            next_slot += 1;
        }
        (self.index, self.next_slot, self.is_unsorted) = (index, next_slot, false);
    }

    /// What was asked for, in order.
    pub(super) fn list(&mut self, asked: &ListQuery) -> Page {
        if self.is_unsorted {
            self.renumber();
        }
        let [shoulds, musts] = [Occur::Should, Occur::Must].map(|occur| asked.query.having(occur).count());
        // Otherwise what matches at all matches equally well.
        let weighs = shoulds > 1 || (shoulds == 1 && musts > 0);
        if weighs { self.list_weighed(asked) } else { self.list_by_age(asked) }
    }

    /// Candidates from a place on, with those that match.
    fn scan<'a>(&'a self, asked: &'a ListQuery, from: u32) -> impl Iterator<Item = (&'a Entry, Option<f64>)> {
        let mut candidates = self.index.candidates(&asked.query);
        if let Some(open) = asked.open {
            candidates = candidates.and(self.index.with_text("open", if open { "T" } else { "F" }));
        }
        self.index
            .scan(candidates, from)
            .filter_map(|slot| Some((self.entries.get(&slot)?, asked.query.matches(self.index.document(slot)?))))
    }

    fn list_by_age(&self, asked: &ListQuery) -> Page {
        let from = match asked.after {
            None => 0,
            Some(after) => match self.by_age.range(after.created_at..).next() {
                Some((_, slot)) => *slot,
                None => return Page::default(),
            },
        };
        let mut parties = Vec::new();
        for (looked_at, (entry, score)) in self.scan(asked, from).enumerate() {
            let listed = entry.listed(EQUAL);
            if score.is_some() && asked.after.is_none_or(|after| listed.place.order(&after).is_gt()) {
                parties.push(listed);
                if parties.len() == asked.limit {
                    break;
                }
            } else if looked_at + 1 >= LISTING_SCAN_MAX {
                return Page { parties, until: Some(listed.place) };
            }
        }
        Page { parties, until: None }
    }

    fn list_weighed(&self, asked: &ListQuery) -> Page {
        let found = self.scan(asked, 0).take(LISTING_SCAN_MAX).filter_map(|(entry, score)| {
            let listed = entry.listed(score?);
            asked.after.is_none_or(|after| listed.place.order(&after).is_gt()).then_some(listed)
        });
        let mut parties: Vec<Listed> = found.collect();
        parties.sort_unstable_by(|one, other| one.place.order(&other.place));
        parties.truncate(asked.limit);
        Page { parties, until: None }
    }
}
