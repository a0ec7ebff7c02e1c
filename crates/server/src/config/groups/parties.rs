//! Parties.

use super::super::key::{Key, at_least};

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet(
        "party.label_update_interval_ms",
        at_least(1),
        "1000",
        "parties",
        "Time between updates of the list of labels, in milliseconds.",
    ),
    Key::not_yet(
        "party.idle_check_interval_ms",
        at_least(1),
        "30000",
        "parties",
        "Time between searches for abandoned parties, in milliseconds.",
    ),
];
