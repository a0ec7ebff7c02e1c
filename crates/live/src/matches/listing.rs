//! Finding matches by what their labels say.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::{Document, Index, Query};

use super::durable::Outline;
use super::game::Game;
use super::owner::MatchId;
use crate::plane::Map;

/// Matches that one listing looks at on one shard.
pub const LISTING_SCAN_MAX: usize = 4_096;

/// What a listing asks for.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// About the fields `label.<name>` of labels that are JSON objects, `label_string`, `handler_name`, `tick_rate` and
    /// `create_time` (seconds).
    pub query: Option<Arc<Query>>,
    /// This label and no other.
    pub label: Option<Arc<str>>,
    /// With no fewer players, and no more.
    pub sizes: (usize, usize),
    /// At most so many.
    pub limit: usize,
}

/// A match in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Which.
    pub id: MatchId,
    /// How well it fits.
    pub score: f64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// By what it is found.
    pub label: Arc<str>,
    /// Loops a second.
    pub tick_rate: u32,
    /// Whose callbacks are called.
    pub handler: Arc<str>,
    /// Players.
    pub size: usize,
}

impl Listed {
    pub(super) fn of(game: &Game, score: f64) -> Self {
        Self {
            id: game.outline.id,
            score,
            created_at: game.outline.created_at,
            label: game.listed_label().clone(),
            tick_rate: game.outline.tick_rate,
            handler: game.outline.handler.clone(),
            size: game.size(),
        }
    }

    /// Which comes first: the best, among equals the newest.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(other.created_at.cmp(&self.created_at)).then(self.id.cmp(&other.id))
    }
}

/// The matches of one shard, newest first.
#[derive(Default)]
pub(super) struct Directory {
    index: Index,
    slots: Map<MatchId, u32>,
    /// By place in the index. Places are given out in descending order, so that a scan finds the newest first.
    ids: BTreeMap<u32, MatchId>,
}

impl Directory {
    /// Takes in a match, or what it is found by now.
    pub(super) fn put(&mut self, game: &Outline) {
        let slot = match self.slots.get(&game.id) {
            Some(slot) => *slot,
            None => self.place(game.id),
        };
        let mut document = Document::of_object("label", &game.label).unwrap_or_default();
        document.push("label_string", &*game.label);
        document.push("handler_name", &*game.handler);
        document.push("tick_rate", f64::from(game.tick_rate));
        document.push("create_time", game.created_at.seconds() as f64);
        self.index.insert(slot, document);
    }

    fn place(&mut self, id: MatchId) -> u32 {
        if self.ids.first_key_value().is_some_and(|(first, _)| *first == 0) {
            self.renumber();
        }
        let slot = self.ids.first_key_value().map_or(u32::MAX, |(first, _)| first - 1);
        self.ids.insert(slot, id);
        self.slots.insert(id, slot);
        slot
    }

    /// Gives out places anew.
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
    }

    pub(super) fn remove(&mut self, id: MatchId) {
        if let Some(slot) = self.slots.remove(&id) {
            self.ids.remove(&slot);
            self.index.remove(slot);
        }
    }

    pub(super) fn list<'g>(&self, asked: &ListQuery, game: impl Fn(MatchId) -> Option<&'g Game>) -> Vec<Listed> {
        let everything = Arc::new(Query::everything());
        let query = asked.query.as_ref().unwrap_or(&everything);
        let mut candidates = self.index.candidates(query);
        if let Some(label) = &asked.label {
            candidates = candidates.and(self.index.with_text("label_string", label));
        }
        let fits = |listed: &Listed| (asked.sizes.0..=asked.sizes.1).contains(&listed.size);
        let found = self.index.scan(candidates, 0).take(LISTING_SCAN_MAX).filter_map(|slot| {
            let score = query.matches(self.index.document(slot)?)?;
            Some(Listed::of(game(*self.ids.get(&slot)?)?, score)).filter(fits)
        });
        let mut found: Vec<Listed> = found.collect();
        found.sort_unstable_by(Listed::order);
        found.truncate(asked.limit);
        found
    }
}
