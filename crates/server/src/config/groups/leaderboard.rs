//! Leaderboards and tournaments.

use super::super::key::{Key, Kind, at_least, number};

const FEATURE: &str = "leaderboards and tournaments";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet(
        "leaderboard.blacklist_rank_cache",
        Kind::List,
        "",
        FEATURE,
        "Leaderboards whose ranks are not kept in memory; `*` for all.",
    ),
    Key::not_yet(
        "leaderboard.callback_queue_size",
        at_least(1),
        "65536",
        FEATURE,
        "Largest number of resets and ends that wait for game code.",
    ),
    Key::not_yet(
        "leaderboard.callback_queue_workers",
        number(1, 1024),
        "8",
        FEATURE,
        "Number of resets and ends that game code handles at a time.",
    ),
    Key::not_yet(
        "leaderboard.rank_cache_workers",
        number(1, 1024),
        "1",
        FEATURE,
        "Number of leaderboards whose ranks are loaded at a time when the server starts.",
    ),
];
