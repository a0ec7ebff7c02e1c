//! What the matchmaker did, as plain numbers. The rim reads them for metrics; nothing here decides anything.

use std::collections::VecDeque;

use muster_domain::Timestamp;

use crate::session::Millis;

/// How many completions are kept for `GET /v2/matchmaker/stats`.
pub const COMPLETIONS_KEPT: usize = 10;

/// Upper bounds of the buckets of [`Waits`], in milliseconds; one more bucket is for longer waits.
pub const WAIT_BUCKETS_MS: [Millis; 11] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];

/// A ticket that was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was matched, to the beginning of the pass.
    pub completed_at: Timestamp,
}

/// How long matched tickets had waited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Tickets by bucket of [`WAIT_BUCKETS_MS`], not added up.
    pub counts: [u64; WAIT_BUCKETS_MS.len() + 1],
    /// Of all together, in milliseconds.
    pub sum_ms: u64,
}

impl Waits {
    /// Adds another shard's.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_ms = self.sum_ms.saturating_add(other.sum_ms);
    }
}

/// Sums since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchmakerTotals {
    /// Tickets taken in.
    pub added: u64,
    /// Tickets refused because their owner or the server had too many.
    pub refused: u64,
    /// Tickets taken back.
    pub removed: u64,
    /// Tickets matched.
    pub matched: u64,
    /// Players on those.
    pub matched_players: u64,
    /// Tickets that went because their players were matched on another.
    pub dropped: u64,
    /// Tickets of an owner who had died that went on here.
    pub resumed: u64,
    /// Those that did not: somebody on them had left or was matched, or the pool was full.
    pub lost: u64,
    /// Matches made.
    pub matches: u64,
    /// Passes begun.
    pub passes: u64,
    /// Searches of a ticket.
    pub searches: u64,
    /// Searches that met a limit before they had seen everything.
    pub searches_cut: u64,
    /// Tickets that came when there were as many combinations of counts as have a set of their own.
    pub unclassed: u64,
    /// How long matched tickets had waited.
    pub waits: Waits,
    /// The latest, oldest first.
    pub completions: VecDeque<Completion>,
}

impl MatchmakerTotals {
    pub(super) fn complete(&mut self, completion: Completion, players: u32, waited_ms: Millis) {
        self.matched += 1;
        self.matched_players += u64::from(players);
        self.waits.counts[WAIT_BUCKETS_MS.partition_point(|bound| *bound < waited_ms)] += 1;
        self.waits.sum_ms = self.waits.sum_ms.saturating_add(waited_ms);
        if self.completions.len() == COMPLETIONS_KEPT {
            self.completions.pop_front();
        }
        self.completions.push_back(completion);
    }
}
