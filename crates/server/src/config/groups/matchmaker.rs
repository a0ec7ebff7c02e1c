//! The matchmaker.

use super::super::key::{Key, Kind, at_least};

const FEATURE: &str = "matchmaker";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet(
        "matchmaker.max_tickets",
        at_least(1),
        "3",
        FEATURE,
        "Most tickets of one session or party at a time.",
    ),
    Key::not_yet("matchmaker.interval_sec", at_least(1), "15", FEATURE, "Time between two passes, in seconds."),
    Key::not_yet(
        "matchmaker.max_intervals",
        at_least(1),
        "2",
        FEATURE,
        "Passes in which a ticket waits for its largest number of players, before fewer will do.",
    ),
    Key::not_yet(
        "matchmaker.rev_precision",
        Kind::Flag,
        "false",
        FEATURE,
        "Two tickets match only when each fits the other's query.",
    ),
    Key::not_yet(
        "matchmaker.rev_threshold",
        at_least(0),
        "1",
        FEATURE,
        "Passes after which a ticket no longer needs to fit the other's query.",
    ),
];
