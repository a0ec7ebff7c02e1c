//! The matchmaker.

use super::super::key::{Key, Kind, Origin, at_least, honoured, number};

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
    }
}

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[
    Key::no_meaning(
        "matchmaker.rev_precision",
        Kind::Flag,
        "false",
        "two tickets match only if each fits the other's query, always",
        "Whether the found players must accept the player who searches, too.",
    ),
    Key::no_meaning(
        "matchmaker.rev_threshold",
        at_least(0),
        "1",
        "the found players must always accept the player who searches",
        "Number of passes after which the reverse check is left out.",
    ),
];
