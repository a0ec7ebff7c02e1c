//! Listings of matches, which are found by their labels and by other properties that the server knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::{Document, Found, Index, Query, Work};

use super::durable::Outline;
use super::owner::MatchId;
use super::running::RunningMatch;
use crate::listings::{LISTING_UNITS_MAX, Listing};
use crate::plane::Map;

/// Limit on the matches that one listing looks at on one shard.
pub const LISTING_SCAN_MAX: usize = 4_096;

/// Work of one match that fits, apart from its check.
const LISTED_UNITS: u32 = 6;
/// Matches that fit are kept up to twice as many as are asked for, or twice this.
const LISTED_KEPT_MIN: usize = 64;

/// A request for a listing.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Query that a match must fit. Its fields are `label.<name>` for labels that are JSON objects, `label_string`,
    /// `handler_name`, `tick_rate`, and `create_time` in seconds.
    pub query: Option<Arc<Query>>,
    /// Exact label that a match must have.
    pub label: Option<Arc<str>>,
    /// Smallest and largest number of players that a match may have.
    pub sizes: (usize, usize),
    /// Limit on the matches in the answer.
    pub limit: usize,
}

/// A match in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The match.
    pub id: MatchId,
    /// Score of the match for the query; higher fits better.
    pub score: f64,
    /// Moment of the request to create the match.
    pub created_at: Timestamp,
    /// Label of the match.
    pub label: Arc<str>,
    /// Loops per second.
    pub tick_rate: u32,
    /// Name of the handler.
    pub handler: Arc<str>,
    /// Number of players.
    pub size: usize,
}

impl Listed {
    pub(super) fn of(running: &RunningMatch, score: f64) -> Self {
        let Outline { id, created_at, tick_rate, ref handler, .. } = running.outline;
        let (label, handler) = (running.listed_label().clone(), handler.clone());
        Self { id, score, created_at, label, tick_rate, handler, size: running.size() }
    }

    /// The order of matches in a listing: the best score comes first; among equal scores the newest match comes first.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(other.created_at.cmp(&self.created_at)).then(self.id.cmp(&other.id))
    }
}

/// Index of the matches of one shard, newest first.
#[derive(Default)]
pub(super) struct MatchIndex {
    index: Index,
    slots: Map<MatchId, u32>,
    /// Matches by their slots in the index. Slots are given out in descending order, so that a scan finds the newest
    /// match first.
    ids: BTreeMap<u32, MatchId>,
    /// Number of times that all matches got new slots.
    renumbered: u64,
}

/// A listing of matches that may take several slices.
#[derive(Debug)]
pub(super) struct Finding {
    asked: ListQuery,
    /// The next slot to look at, and the number of times that slots were given anew before.
    from: (u32, u64),
    looked_at: usize,
    /// Work so far.
    units: u64,
    found: Vec<Listed>,
}

impl Finding {
    pub(super) fn new(asked: ListQuery) -> Self {
        Self { asked, from: (0, 0), looked_at: 0, units: 0, found: Vec::new() }
    }

    /// Drops all but the best matches, as many as are asked for.
    fn keep_best(&mut self) {
        self.found.sort_unstable_by(Listed::order);
        self.found.truncate(self.asked.limit);
    }
}

impl Listing for Finding {
    type Of<'a> = (&'a MatchIndex, &'a Map<MatchId, RunningMatch>);
    type Answer = Vec<Listed>;

    fn go_on(&mut self, (index, running): &mut Self::Of<'_>, work: &mut Work) -> Option<(Vec<Listed>, bool)> {
        let end = index.go_on(self, running, work);
        self.units += work.spent();
        let is_cut = match end {
            Found::Slot(_) => true,
            Found::Spent if self.units < LISTING_UNITS_MAX.into() => return None,
            Found::Spent => true,
            Found::End => false,
        };
        self.keep_best();
        Some((std::mem::take(&mut self.found), is_cut))
    }
}

impl MatchIndex {
    /// Adds a match, or takes in its new label.
    pub(super) fn put(&mut self, outline: &Outline) {
        let slot = match self.slots.get(&outline.id) {
            Some(slot) => *slot,
            None => self.add_slot(outline.id),
        };
        let mut document = Document::of_object("label", &outline.label).unwrap_or_default();
        document.push("label_string", &*outline.label);
        document.push("handler_name", &*outline.handler);
        document.push("tick_rate", f64::from(outline.tick_rate));
        document.push("create_time", outline.created_at.seconds() as f64);
        self.index.insert(slot, document);
    }

    fn add_slot(&mut self, id: MatchId) -> u32 {
        if self.ids.first_key_value().is_some_and(|(first, _)| *first == 0) {
            self.renumber();
        }
        let slot = self.ids.first_key_value().map_or(u32::MAX, |(first, _)| first - 1);
        self.ids.insert(slot, id);
        self.slots.insert(id, slot);
        slot
    }

    /// Gives all matches new slots from the highest down, because slot 0 is taken and no lower slot is left.
    fn renumber(&mut self) {
        let mut index = Index::new();
        let ids: Vec<(u32, MatchId)> = std::mem::take(&mut self.ids).into_iter().collect();
        for ((old, id), slot) in ids.into_iter().rev().zip((0..=u32::MAX).rev()) {
            if let Some(document) = self.index.remove(old) {
                index.insert(slot, document);
            }
            self.ids.insert(slot, id);
            self.slots.insert(id, slot);
        }
        self.index = index;
        self.renumbered += 1;
    }

    pub(super) fn remove(&mut self, id: MatchId) {
        if let Some(slot) = self.slots.remove(&id) {
            self.ids.remove(&slot);
            self.index.remove(slot);
        }
    }

    /// Goes on with a listing until the work is spent, all matches were looked at, or a slot is left out because
    /// [`LISTING_SCAN_MAX`] were looked at.
    fn go_on(&self, finding: &mut Finding, running: &Map<MatchId, RunningMatch>, work: &mut Work) -> Found {
        if finding.from.1 != self.renumbered {
            (finding.from, finding.looked_at) = ((0, self.renumbered), 0);
            finding.found.clear();
        }
        let Finding { asked, from, looked_at, found, .. } = finding;
        let everything = Arc::new(Query::everything());
        let query = asked.query.as_ref().unwrap_or(&everything);
        let mut candidates = self.index.candidates(query, work);
        if let Some(label) = &asked.label {
            candidates = candidates.and(self.index.with_text("label_string", label));
        }
        let kept_max = asked.limit.max(LISTED_KEPT_MIN).saturating_mul(2);
        let mut scan = self.index.scan(candidates, from.0);
        let mut is_first = true;
        loop {
            let next = if !is_first && work.is_spent() { Found::Spent } else { scan.next_within(work) };
            let Found::Slot(slot) = next else {
                from.0 = scan.next_slot().unwrap_or(u32::MAX);
                return next;
            };
            if *looked_at == LISTING_SCAN_MAX {
                return next;
            }
            (*looked_at, is_first) = (*looked_at + 1, false);
            let score = self.index.document(slot).and_then(|document| query.matches(document, work));
            if let Some(score) = score
                && let Some(running) = self.ids.get(&slot).and_then(|id| running.get(id))
                && (asked.sizes.0..=asked.sizes.1).contains(&running.size())
            {
                work.spend(LISTED_UNITS);
                found.push(Listed::of(running, score));
                if found.len() >= kept_max {
                    found.sort_unstable_by(Listed::order);
                    found.truncate(asked.limit);
                }
            }
        }
    }
}
