//! Matches that game code runs.

use std::path::PathBuf;

use super::super::key::{Key, Kind, Origin, at_least, honoured};

honoured! {
    /// Limits of matches.
    pub struct Matches in "match." {
        /// Largest number of messages that wait for a match's next tick; further ones are dropped and counted.
        input_queue_size: usize = "128", at_least(1);
        /// Largest number of players who wait to be let into a match; further ones are refused.
        join_attempt_queue_size: usize = "128", at_least(1);
        /// Largest number of signals that wait for a match; further ones are refused.
        signal_queue_size: usize = "10", at_least(1);
        /// Largest number of broadcasts that a callback of a match may put off to its end; further ones are errors to
        /// its code.
        deferred_queue_size: usize = "128", at_least(1);
        /// Time for which a match may be empty before it ends, in seconds; 0 for any time.
        max_empty_sec: u32 = "0", at_least(0);
        /// Folder into which durable matches are recorded, to be replayed by `muster match`; empty for none. Recordings
        /// hold the whole state of a match, including its secret seed.
        record_dir: Option<PathBuf> = "", Kind::Path, Origin::Ours;
    }
}

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[
    Key::no_meaning(
        "match.call_queue_size",
        at_least(1),
        "128",
        "a tick that is late is not called twice, and nothing else piles up",
        "Largest number of calls that wait for a match.",
    ),
    Key::no_meaning(
        "match.join_marker_deadline_ms",
        at_least(1),
        "15000",
        "a player who is let in is in the match at that moment",
        "Time for which a player's join may wait until the match notices it, in milliseconds.",
    ),
    Key::no_meaning(
        "match.label_update_interval_ms",
        at_least(1),
        "1000",
        "a label is found as soon as it changes",
        "Time between updates of the list of labels, in milliseconds.",
    ),
];
