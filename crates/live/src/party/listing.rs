//! The listing of parties: which parties a query finds, and in which order. Never lists hidden parties.
//!
//! Parties are indexed in the order in which they were made, so the cost of a page depends on the page's length and not
//! on the number of parties. Only a query whose terms weigh differently must look at more.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::{Document, Found, Index, Occur, Query, Work};

use super::message::{Label, PartyId, Settings};
use crate::listings::{LISTING_UNITS_MAX, Listing};
use crate::plane::Map;

/// The largest number of parties that one shard looks at for a page; the next page goes on behind them. A query whose
/// terms weigh differently is answered from only that many parties, the oldest, and further pages find no others.
pub const LISTING_SCAN_MAX: usize = 4_096;

/// The score of every party that matches, for a query that all its matches fit equally well.
const EQUAL: f64 = 1.0;

/// A request for a page of parties.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The query; it may ask for the fields `label.<name>`, `open` and `max_size`.
    pub query: Arc<Query>,
    /// Whether only open parties (true) or only closed ones (false) are listed; `None` for both.
    pub open: Option<bool>,
    /// The place behind which the page begins; `None` for the first page.
    pub after: Option<ListingPosition>,
    /// The largest number of parties on the page.
    pub limit: usize,
}

/// The place of a party in a listing. The best match comes first, and the oldest party among equal matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListingPosition {
    /// The score of the party for the query; better matches have higher scores.
    pub score: f64,
    /// The time at which the party was made.
    pub created_at: Timestamp,
    /// The party's id.
    pub party: PartyId,
}

impl ListingPosition {
    /// The order of two places in a listing.
    pub fn order(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.created_at.cmp(&other.created_at)).then(self.party.cmp(&other.party))
    }
}

/// A party as a listing shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The party's place in the listing.
    pub place: ListingPosition,
    /// Whether sessions may join without being let in by the leader.
    pub open: bool,
    /// Number of seats.
    pub max_size: u16,
    /// The label by which players find the party.
    pub label: Label,
}

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The parties in the order of the listing.
    pub parties: Vec<Listed>,
    /// The place behind which the next page begins, if parties behind it may have been left out.
    pub until: Option<ListingPosition>,
}

impl Page {
    /// Merges the pages of several shards into one with at most `limit` parties.
    pub fn merge(pages: Vec<Page>, limit: usize) -> Self {
        let until = pages.iter().filter_map(|page| page.until).min_by(ListingPosition::order);
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
            place: ListingPosition { score, created_at: self.created_at, party: self.party },
            open: self.open,
            max_size: self.max_size,
            label: self.label.clone(),
        }
    }
}

/// The parties of one shard, oldest first. Hidden ones are known too, but the index that queries search lacks them.
#[derive(Default)]
pub(super) struct PartyIndex {
    index: Index,
    /// Parties by slot in the index. Slots are given out in ascending order.
    entries: BTreeMap<u32, Entry>,
    slots: Map<PartyId, u32>,
    by_age: BTreeMap<Timestamp, u32>,
    next_slot: u32,
    /// Whether slots no longer follow age, because a party of another shard was added that is older than some before
    /// it.
    is_unsorted: bool,
    /// Number of times that all parties got new slots.
    renumbered: u64,
}

/// Work of one party that fits, apart from its check.
const LISTED_UNITS: u32 = 4;
/// Parties that fit are kept up to twice as many as are asked for, or twice this.
const LISTED_KEPT_MIN: usize = 64;

/// A listing of parties that may take several slices.
#[derive(Debug)]
pub(super) struct Finding {
    asked: ListQuery,
    /// Whether matches have different scores, so that all parties must be looked at.
    weighs: bool,
    /// The next slot to look at, and the number of times that slots were given anew before; `None` at the beginning.
    from: Option<(u32, u64)>,
    looked_at: usize,
    /// Work so far.
    units: u64,
    /// The last party that was looked at.
    last: Option<ListingPosition>,
    parties: Vec<Listed>,
}

impl Finding {
    pub(super) fn new(asked: ListQuery) -> Self {
        let [shoulds, musts] = [Occur::Should, Occur::Must].map(|occur| asked.query.having(occur).count());
        // Any other query scores all its matches equally.
        let weighs = shoulds > 1 || (shoulds == 1 && musts > 0);
        Self { asked, weighs, from: None, looked_at: 0, units: 0, last: None, parties: Vec::new() }
    }

    /// Takes a party that fits. Answers whether the page is full.
    fn take(&mut self, listed: Listed) -> bool {
        self.parties.push(listed);
        if self.weighs && self.parties.len() / 2 >= self.asked.limit.max(LISTED_KEPT_MIN) {
            self.keep_best();
        }
        !self.weighs && self.parties.len() == self.asked.limit
    }

    /// Drops all but the first parties in the order of the listing, as many as are asked for.
    fn keep_best(&mut self) {
        self.parties.sort_unstable_by(|one, other| one.place.order(&other.place));
        self.parties.truncate(self.asked.limit);
    }
}

/// The end of a listing, or of its turn.
enum PageEnd {
    /// No work is left.
    Spent,
    /// The listing has looked at as many parties as it may.
    Cut,
    /// The page is full, or all parties were looked at.
    Over,
}

impl Listing for Finding {
    type Of<'a> = &'a mut PartyIndex;
    type Answer = Page;

    fn go_on(&mut self, index: &mut &mut PartyIndex, work: &mut Work) -> Option<(Page, bool)> {
        let end = index.go_on(self, work);
        self.units += work.spent();
        let is_cut = match end {
            PageEnd::Spent if self.units < LISTING_UNITS_MAX.into() => return None,
            PageEnd::Spent | PageEnd::Cut => true,
            PageEnd::Over => false,
        };
        if self.weighs {
            self.keep_best();
        }
        // The next page of a query whose terms weigh differently does not begin where this one stopped.
        let until = self.last.filter(|_| is_cut && !self.weighs);
        Some((Page { parties: std::mem::take(&mut self.parties), until }, is_cut))
    }
}

impl PartyIndex {
    /// Adds a new party at the end of listings.
    pub(super) fn add(&mut self, party: PartyId, settings: &Settings, max_size: u16, created_at: Timestamp) {
        // The new party gets a later time than all others, even if the clock went back, so that slots follow age.
        let latest = self.by_age.last_key_value().map_or(created_at, |(latest, _)| Timestamp(latest.0 + 1));
        self.insert(party, settings, max_size, created_at.max(latest));
    }

    /// Adds a party that another shard listed before, with its former age.
    pub(super) fn adopt(&mut self, party: PartyId, settings: &Settings, max_size: u16, created_at: Timestamp) {
        self.remove(party);
        let mut created_at = created_at;
        while self.by_age.contains_key(&created_at) {
            created_at = Timestamp(created_at.0.wrapping_add(1));
        }
        self.is_unsorted |= self.by_age.last_key_value().is_some_and(|(latest, _)| *latest > created_at);
        self.insert(party, settings, max_size, created_at);
    }

    /// The time at which a party was made, as listings use it.
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

    /// Updates the index entry of a party, or removes it if the party is hidden.
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

    /// Removes a party.
    pub(super) fn remove(&mut self, party: PartyId) {
        let Some(slot) = self.slots.remove(&party) else { return };
        self.index.remove(slot);
        if let Some(entry) = self.entries.remove(&slot) {
            self.by_age.remove(&entry.created_at);
        }
    }

    /// Gives all parties new slots in the order of their age.
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
        self.renumbered += 1;
    }

    /// Goes on with a listing until it is over or the work is spent.
    fn go_on(&mut self, finding: &mut Finding, work: &mut Work) -> PageEnd {
        if self.is_unsorted {
            self.renumber();
        }
        let from = match finding.from {
            Some((from, renumbered)) if renumbered == self.renumbered => from,
            _ => {
                finding.parties.clear();
                finding.looked_at = 0;
                match self.first_slot(finding) {
                    Some(from) => from,
                    None => return PageEnd::Over,
                }
            }
        };
        let query = finding.asked.query.clone();
        let mut candidates = self.index.candidates(&query, work);
        if let Some(open) = finding.asked.open {
            candidates = candidates.and(self.index.with_text("open", if open { "T" } else { "F" }));
        }
        let mut scan = self.index.scan(candidates, from);
        let mut is_first = true;
        loop {
            let next = if !is_first && work.is_spent() { Found::Spent } else { scan.next_within(work) };
            finding.from = scan.next_slot().map(|from| (from, self.renumbered));
            let slot = match next {
                Found::Slot(slot) => slot,
                Found::Spent => return PageEnd::Spent,
                Found::End => return PageEnd::Over,
            };
            if finding.looked_at == LISTING_SCAN_MAX {
                return PageEnd::Cut;
            }
            (finding.looked_at, is_first) = (finding.looked_at + 1, false);
            let score = self.index.document(slot).and_then(|document| query.matches(document, work));
            let Some(entry) = self.entries.get(&slot) else { continue };
            let listed = entry.listed(score.filter(|_| finding.weighs).unwrap_or(EQUAL));
            finding.last = Some(listed.place);
            let is_behind = finding.asked.after.is_none_or(|after| listed.place.order(&after).is_gt());
            if score.is_some() && is_behind {
                work.spend(LISTED_UNITS);
                if finding.take(listed) {
                    return PageEnd::Over;
                }
            }
        }
    }

    /// The slot at which a listing begins; `None` if there is no party from there on.
    fn first_slot(&self, finding: &Finding) -> Option<u32> {
        match finding.asked.after.filter(|_| !finding.weighs) {
            None => Some(0),
            Some(after) => self.by_age.range(after.created_at..).next().map(|(_, slot)| *slot),
        }
    }
}
