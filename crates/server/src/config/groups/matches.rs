//! Matches that game code runs.

use super::super::key::{Key, at_least};

const FEATURE: &str = "authoritative matches";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet(
        "match.input_queue_size",
        at_least(1),
        "128",
        FEATURE,
        "Most messages that may wait for a match's next tick.",
    ),
    Key::not_yet("match.call_queue_size", at_least(1), "128", FEATURE, "Most calls that may wait for a match."),
    Key::not_yet("match.signal_queue_size", at_least(1), "10", FEATURE, "Most signals that may wait for a match."),
    Key::not_yet(
        "match.join_attempt_queue_size",
        at_least(1),
        "128",
        FEATURE,
        "Most joins that a match may be deciding at a time.",
    ),
    Key::not_yet(
        "match.deferred_queue_size",
        at_least(1),
        "128",
        FEATURE,
        "Most broadcasts that a match may put off to the end of its tick.",
    ),
    Key::not_yet(
        "match.join_marker_deadline_ms",
        at_least(1),
        "15000",
        FEATURE,
        "How long a player's join may wait for the match to notice it, in milliseconds.",
    ),
    Key::not_yet(
        "match.max_empty_sec",
        at_least(0),
        "0",
        FEATURE,
        "How long a match may be empty before it ends, in seconds; 0 for any time.",
    ),
    Key::not_yet(
        "match.label_update_interval_ms",
        at_least(1),
        "1000",
        FEATURE,
        "Time between updates of the list of labels, in milliseconds.",
    ),
];
