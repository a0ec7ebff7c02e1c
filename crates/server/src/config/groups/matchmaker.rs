//! The matchmaker.

use super::super::key::{Kind, Origin, at_least, honoured, number};

honoured! {
    /// Matching of tickets.
    pub struct Matchmaker in "matchmaker." {
        /// Largest number of tickets that one session or party has at a time.
        max_tickets: usize = "3", at_least(1);
        /// Time between two passes, in seconds. `matchmaker.interval_ms` overrides it. 1 under `muster dev`.
        interval_sec: u64 = "15", at_least(1);
        /// Time between two passes, in milliseconds; 0 leaves it to `matchmaker.interval_sec`. Not below 100.
        interval_ms: u64 = "0", number(0, 3_600_000), Origin::Ours;
        /// Number of passes in which a ticket waits for its largest number of players before fewer are accepted.
        max_intervals: u32 = "2", at_least(1);
        /// Largest number of tickets that wait at a time, of all players together.
        total_tickets_max: usize = "250000", at_least(1), Origin::Ours;
        /// Accepted without effect: two tickets match only if each fits the other's query, always.
        rev_precision: bool = "false", Kind::Flag;
        /// Accepted without effect: the reverse check is never left out.
        rev_threshold: u32 = "1", at_least(0);
    }
}
