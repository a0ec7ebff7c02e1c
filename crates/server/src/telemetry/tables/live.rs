//! Metrics of the live plane: streams, parties, rooms, matches, queries.

use super::super::metric::{Labelled, Metric, counter, counters, gauge, histogram};
use super::super::{Telemetry, lateness, read};

pub(in super::super) const PLANE: &[Metric<Telemetry>] = &[
    gauge("presences", "Sessions on streams, once for each stream.", |all: &Telemetry| {
        all.present(|plane| plane.presences)
    })
    .of_the_original(),
    gauge("streams", "Streams that somebody is on or hears.", |all| all.present(|plane| plane.streams)),
    gauge("parties", "Parties.", |all: &Telemetry| all.present(|plane| plane.parties)).of_the_original(),
    gauge("live_timers", "Timers of the live plane.", |all| all.present(|plane| plane.timers)),
    histogram("live_lateness_ms", "Time by which timers of the live plane ran late.", |all| {
        lateness(all, |plane| &plane.lateness)
    }),
    counter("delivery_count", "Frames handed to sessions.", |all| all.total(|plane| plane.deliveries)),
    gauge("lane_up_waiting", "Messages that wait for credit towards owners.", |all| {
        all.present(|plane| plane.up_waiting)
    }),
    gauge("lane_down_waiting", "Messages of owners that wait for credit.", |all| {
        all.present(|plane| plane.down_waiting)
    }),
    gauge("lane_held", "Messages that owners hold back for now.", |all| all.present(|plane| plane.held)),
    counter("stranger_count", "Messages dropped because their sender was not there any more.", |all| {
        all.total(|plane| plane.strangers)
    }),
    counter("misdirected_count", "Messages that reached another owner than the one they were for.", |all| {
        all.total(|plane| plane.misdirected)
    }),
    counter(
        "recoveries_late_count",
        "Partitions of dead nodes whose recovery data did not come in time: what was in them has ended.",
        |all| all.total(|plane| plane.recoveries_late),
    ),
    counter("island_refused_count", "Requests refused because the node was an island.", |all| {
        all.total(|plane| plane.island_refusals)
    }),
    counter(
        "chat_recalled_count",
        "Messages of chats told again because a node was lost: the database had kept them.",
        |all| all.total(|plane| plane.recalled),
    ),
    counter(
        "chat_recalled_left_out_count",
        "Messages of chats told again that a shard left out because its sessions had them.",
        |all| all.total(|plane| plane.left_out),
    ),
];

pub(in super::super) const QUERIES: &[Metric<Telemetry>] = &[
    counter("query_units_count", "Work of queries, in units of about 50 nanoseconds.", |all| {
        all.total(|plane| plane.queries.units)
    }),
    gauge("query_step_units_max", "Work of queries in the step of a shard that had most.", |all| {
        all.gateway.planes().values().map(|plane| plane.queries.step_units_max).max().unwrap_or(0) as f64
    }),
    counter(
        "query_check_limited_count",
        "Documents that matched no query because a check would have taken too much work.",
        |all| all.total(|plane| plane.queries.checks_limited),
    ),
    counter(
        "listing_cut_count",
        "Listings of parties and matches that ended before they had looked at everything.",
        |all| all.total(|plane| plane.listings.cut),
    ),
    counter(
        "listing_refused_count",
        "Listings of parties and matches that were refused because too many were unfinished.",
        |all| all.total(|plane| plane.listings.refused),
    ),
];

pub(in super::super) const ROOMS: &[Metric<Telemetry>] = &[
    gauge("rooms", "Rooms open.", |all| all.present(|plane| plane.rooms.rooms)),
    counter("room_opened_count", "Rooms opened.", |all| all.total(|plane| plane.rooms.opened)),
    counter("room_placed_count", "Seats held for players.", |all| all.total(|plane| plane.rooms.placed)),
    counter("room_turned_away_count", "Players sent on to another room.", |all| {
        all.total(|plane| plane.rooms.turned_away)
    }),
    counter("room_limited_count", "Rooms that were not opened because of a limit.", |all| {
        all.total(|plane| plane.rooms.limited)
    }),
    counter("room_seat_limited_count", "Seats not held for users who had as many held as may be.", |all| {
        all.total(|plane| plane.rooms.seats_refused)
    }),
    counter("room_search_cut_count", "Searches for rooms that ended before they had looked at all rooms.", |all| {
        all.total(|plane| plane.rooms.searches_cut)
    }),
    counter("room_search_refused_count", "Searches for rooms that were refused because too many waited.", |all| {
        all.total(|plane| plane.rooms.searches_refused)
    }),
    gauge("lobby_views", "Different views of the lobby that somebody watches.", |all| {
        all.present(|plane| plane.rooms.views)
    }),
    counter("lobby_view_refused_count", "Views of the lobby that were refused at a limit.", |all| {
        all.total(|plane| plane.rooms.views_refused)
    }),
    counter("lobby_view_restarted_count", "Views of the lobby that were too far behind and began anew.", |all| {
        all.total(|plane| plane.rooms.views_restarted)
    }),
];

pub(in super::super) const MATCHES: &[Metric<Telemetry>] = &[
    gauge("authoritative_matches", "Matches of game code.", |all: &Telemetry| {
        all.present(|plane| plane.matches.matches)
    })
    .of_the_original(),
    histogram(
        "match_tick_lateness_ms",
        "Time from when a tick of a match was due until its loop had returned.",
        |all| lateness(all, |plane| &plane.matches.lateness),
    ),
    counter("match_tick_skipped_count", "Ticks left out because the one before took too long.", |all| {
        all.total(|plane| plane.matches.ticks_skipped)
    }),
    counter(
        "match_input_dropped_count",
        "Messages of players to matches that were dropped because too many waited.",
        |all| all.total(|plane| plane.matches.inputs_dropped),
    ),
    gauge("match_durable", "Durable matches now.", |all| all.present(|plane| plane.matches.durable)),
    counters(
        "match_durable_count",
        "kind",
        "Durable matches that went on after a crash or a restart (`resumed`); that were not found for their players \
         (`lost`); that went back to before payments that the database lacks (`set_back`); whose log and database do \
         not fit together (`unfit`).",
        durable,
    ),
];

fn durable(all: &Telemetry) -> Labelled {
    let (resumed, lost) = (all.total(|plane| plane.matches.resumed), all.total(|plane| plane.matches.lost));
    let (set_back, unfit) = (read(&all.script.matches_set_back), read(&all.script.matches_unfit));
    [("resumed", resumed), ("lost", lost), ("set_back", set_back), ("unfit", unfit)].into_iter().collect()
}
