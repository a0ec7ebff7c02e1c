//! Functions by which Lua registers functions and indexes. JavaScript and Go register them by methods of the
//! initializer.

use super::{HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    not_yet("register_leaderboard_reset"),
    not_yet("register_storage_index"),
    not_yet("register_storage_index_filter"),
    not_yet("register_tournament_end"),
    not_yet("register_tournament_reset"),
];
