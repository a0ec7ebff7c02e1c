//! Finding parties: which are found by what, and in which order they are listed.

use std::cmp::Ordering;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::{Document, Index, Query};

use super::message::{Label, PartyId, Settings};

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

/// A party that listings show.
#[derive(Debug)]
struct Entry {
    party: PartyId,
    created_at: Timestamp,
    open: bool,
    max_size: u16,
    label: Label,
}

/// The parties that are not hidden.
#[derive(Default)]
pub(super) struct Directory {
    index: Index,
    /// By place in the index.
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
}

impl Directory {
    /// Shows a party as it is now, under the number it has, or under a new one. Answers the number; none if it hides.
    pub(super) fn show(
        &mut self,
        slot: Option<u32>,
        party: PartyId,
        settings: &Settings,
        max_size: u16,
        created_at: Timestamp,
    ) -> Option<u32> {
        if settings.hidden {
            self.hide(slot);
            return None;
        }
        let slot = slot.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        let mut document: Document = settings.label.document().clone();
        document.push("open", settings.open);
        document.push("max_size", f64::from(max_size));
        self.index.insert(slot, document);
        let (open, label) = (settings.open, settings.label.clone());
        self.entries[slot as usize] = Some(Entry { party, created_at, open, max_size, label });
        Some(slot)
    }

    /// Shows a party no longer.
    pub(super) fn hide(&mut self, slot: Option<u32>) {
        if let Some(slot) = slot {
            self.index.remove(slot);
            self.entries[slot as usize] = None;
            self.free.push(slot);
        }
    }

    /// The first that were asked for, in order.
    pub(super) fn list(&self, asked: &ListQuery) -> Vec<Listed> {
        let found = self.index.search(&asked.query).filter_map(|hit| {
            let entry = self.entries[hit.slot as usize].as_ref()?;
            let place = Place { score: hit.score, created_at: entry.created_at, party: entry.party };
            let is_after = asked.after.is_none_or(|after| place.order(&after).is_gt());
            let is_asked = asked.open.is_none_or(|open| open == entry.open);
            (is_after && is_asked).then_some((place, entry))
        });
        let mut found: Vec<(Place, &Entry)> = found.collect();
        if asked.limit < found.len() {
            found.select_nth_unstable_by(asked.limit, |one, other| one.0.order(&other.0));
            found.truncate(asked.limit);
        }
        found.sort_unstable_by(|one, other| one.0.order(&other.0));
        let listed = |(place, entry): (Place, &Entry)| Listed {
            place,
            open: entry.open,
            max_size: entry.max_size,
            label: entry.label.clone(),
        };
        found.into_iter().map(listed).collect()
    }
}
