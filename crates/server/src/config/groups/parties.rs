//! Parties.

use super::super::key::{Key, at_least};

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::no_meaning(
        "party.label_update_interval_ms",
        at_least(1),
        "1000",
        "a label is found as soon as it changes",
        "Time between updates of the list of labels, in milliseconds.",
    ),
    Key::no_meaning(
        "party.idle_check_interval_ms",
        at_least(1),
        "30000",
        "a party ends with its last member",
        "Time between searches for abandoned parties, in milliseconds.",
    ),
];
