//! Tournaments and their records.

use super::{HostFunction, JavaScriptShape, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    not_yet("tournament_add_attempt"),
    not_yet("tournament_create"),
    not_yet("tournament_delete"),
    not_yet("tournament_join"),
    not_yet("tournament_list"),
    HostFunction {
        javascript: JavaScriptShape::named(&["tournamentRanksDisable", "tournamentsRanksDisable"]),
        ..not_yet("tournament_ranks_disable")
    },
    not_yet("tournament_record_delete"),
    not_yet("tournament_record_write"),
    not_yet("tournament_records_haystack"),
    not_yet("tournament_records_list"),
    not_yet("tournaments_get_id"),
];
