//! Counts of the matchmaker's work, for metrics. No decision of the matchmaker depends on them.

use std::collections::VecDeque;

use muster_domain::Timestamp;
use muster_domain::query::WorkTotals;

use crate::session::Millis;

/// Number of completions kept for `GET /v2/matchmaker/stats`.
pub const COMPLETIONS_KEPT: usize = 10;

/// Upper bounds of the buckets of [`Waits`], in milliseconds; one more bucket is for longer waits.
pub const WAIT_BUCKETS_MS: [Millis; 11] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];

/// A ticket that was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Moment at which the ticket was made.
    pub created_at: Timestamp,
    /// Moment at which the pass that matched the ticket began.
    pub completed_at: Timestamp,
}

/// Histogram of the times that matched tickets had waited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Number of tickets in each bucket of [`WAIT_BUCKETS_MS`], not cumulative.
    pub counts: [u64; WAIT_BUCKETS_MS.len() + 1],
    /// Sum of all waits, in milliseconds.
    pub sum_ms: u64,
}

impl Waits {
    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_ms = self.sum_ms.saturating_add(other.sum_ms);
    }
}

/// Counts since the pool was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchmakerTotals {
    /// Tickets that were added.
    pub added: u64,
    /// Tickets that were refused because their owner or the server had too many.
    pub refused: u64,
    /// Tickets that their owners removed, or that went with a session.
    pub removed: u64,
    /// Tickets that were matched.
    pub matched: u64,
    /// Players on matched tickets.
    pub matched_players: u64,
    /// Tickets that left because their players were matched on other tickets.
    pub dropped: u64,
    /// Tickets that went on here after the pool's former owner had died.
    pub resumed: u64,
    /// Tickets in the pool of a former owner that had died, which did not go on, because a player on them had left or
    /// was matched, or because the pool here was full.
    pub lost: u64,
    /// Matches that were made.
    pub matches: u64,
    /// Passes that were begun.
    pub passes: u64,
    /// Searches of tickets.
    pub searches: u64,
    /// Searches that met a limit before they had seen all tickets.
    pub searches_cut: u64,
    /// Tickets whose combination of counts got no set of its own, because as many other combinations had sets as may
    /// have one.
    pub unclassed: u64,
    /// Explanations that ended before they had examined as many tickets as they may.
    pub explanations_cut: u64,
    /// Work of passes and explanations.
    pub work: WorkTotals,
    /// Times that matched tickets had waited.
    pub waits: Waits,
    /// The latest completions, oldest first.
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
