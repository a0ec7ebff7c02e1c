//! Leaderboards and their records.

use super::{HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    not_yet("leaderboard_create"),
    not_yet("leaderboard_delete"),
    not_yet("leaderboard_list"),
    not_yet("leaderboard_ranks_disable"),
    not_yet("leaderboard_record_delete"),
    not_yet("leaderboard_record_write"),
    not_yet("leaderboard_records_haystack"),
    not_yet("leaderboard_records_list"),
    not_yet("leaderboard_records_list_cursor_from_rank"),
    not_yet("leaderboards_get_id"),
];
