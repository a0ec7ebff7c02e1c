//! Metrics of game code: its calls and machines, its matches, and its routes.

use muster_script::routes::RouteTotal;

use super::super::metric::{Labelled, Metric, counter, counters, gauge};
use super::super::{Telemetry, read};

pub(in super::super) const CALLS: &[Metric<Telemetry>] = &[
    counter("script_call_count", "Calls of game functions.", |all| read(&all.script.calls)),
    counter("script_failed_count", "Calls that ended in an error.", |all| read(&all.script.failed)),
    counter("script_refused_count", "Calls refused because too many waited.", |all| read(&all.script.refused)),
    gauge("script_waiting", "Calls that wait for a machine.", |all| Telemetry::now(&all.script.waiting)),
    counter("script_over_time_count", "Calls that used up their time.", |all| read(&all.script.over_time)),
    counter("script_over_memory_count", "Calls that failed for want of memory.", |all| read(&all.script.over_memory)),
    counter("script_over_host_calls_count", "Calls that used too many functions of the host.", |all| {
        read(&all.script.over_host_calls)
    }),
    counter(
        "script_log_dropped_count",
        "Log lines of game code dropped because their call had logged too much.",
        |all| read(&all.script.log_lines_dropped),
    ),
    counter("script_given_up_count", "Calls that did not end, and were given up with their machines.", |all| {
        read(&all.script.given_up)
    }),
    counter("script_instance_ended_count", "Instances of Go that ended and were replaced.", |all| {
        read(&all.script.instances_ended)
    }),
    gauge("script_machines", "Machines that game code runs on.", |all| Telemetry::now(&all.script.machines)),
    gauge("script_generation", "Number of the game code that runs.", |all| read(&all.script.generation) as f64),
    counter(
        "script_reload_failed_count",
        "Changes of game code that were not taken because they do not load.",
        |all| read(&all.script.reloads_failed),
    ),
    counter("script_event_count", "Events that game code was told of.", |all| read(&all.script.events)),
    gauge("script_events_waiting", "Events that wait for game code.", |all| Telemetry::now(&all.script.events_waiting)),
    counter("dropped_events", "Events dropped because too many waited.", |all: &Telemetry| {
        read(&all.script.events_dropped)
    })
    .of_the_original(),
    counter("script_schedule_count", "Runs of scheduled functions.", |all| read(&all.script.schedules)),
    counter(
        "script_schedule_skipped_count",
        "Runs of scheduled functions left out because the one before still ran.",
        |all| read(&all.script.schedules_skipped),
    ),
    counter(
        "script_schedule_failed_count",
        "Runs of scheduled functions that failed, or did not begin because the database was away.",
        |all| read(&all.script.schedules_failed),
    ),
    counter("script_background_refused_count", "Work in the background refused because too much waited.", |all| {
        read(&all.script.background_refused)
    }),
    gauge("script_cache_entries", "Entries of the local cache.", |all| Telemetry::now(&all.script.cache_entries)),
    gauge("script_cache_bytes", "Bytes of the local cache.", |all| Telemetry::now(&all.script.cache_bytes)),
    counter("script_cache_evicted_count", "Entries of the local cache that gave way to others.", |all| {
        read(&all.script.cache_evicted)
    }),
    counter("script_cache_refused_count", "Entries that the local cache had no room for.", |all| {
        read(&all.script.cache_refused)
    }),
    counter("script_http_count", "Requests to other servers.", |all| read(&all.script.http_requests)),
    counter("script_http_failed_count", "Requests to other servers without a response.", |all| {
        read(&all.script.http_failed)
    }),
    gauge("script_custom_series", "Metrics that game code made.", |all| all.custom.series() as f64),
    counter("script_custom_dropped_count", "Values dropped because game code made too many metrics.", |all| {
        read(&all.custom.dropped)
    }),
];

pub(in super::super) const SCRIPTED_MATCHES: &[Metric<Telemetry>] = &[
    gauge("script_matches", "Matches that game code runs.", |all| Telemetry::now(&all.script.matches)),
    gauge("script_match_machines", "Machines that matches run on.", |all| Telemetry::now(&all.script.match_machines)),
    counter("script_match_call_count", "Callbacks of matches that were called.", |all| read(&all.script.match_calls)),
    gauge("script_match_parked", "Callbacks of matches that wait or let others through.", |all| {
        Telemetry::now(&all.script.match_calls_parked)
    }),
    counter("script_tick_over_time_count", "Ticks that took too long.", |all| read(&all.script.ticks_over_time)),
    counter("script_match_over_memory_count", "Matches that ended for want of memory.", |all| {
        read(&all.script.matches_over_memory)
    }),
    counter("script_match_migrated_count", "Matches that went over to newer code.", |all| {
        read(&all.script.matches_migrated)
    }),
    counter(
        "script_match_migration_failed_count",
        "Matches that failed to go over to newer code, and stayed with theirs.",
        |all| read(&all.script.matches_not_migrated),
    ),
];

pub(in super::super) const ROUTES: &[Metric<Telemetry>] = &[
    counters("script_route_count", "route", "Requests to routes of game code.", |all| {
        routes(all, |total| total.requests)
    }),
    counters(
        "script_route_error_count",
        "route",
        "Requests to routes of game code that were answered with status 400 or above.",
        |all| routes(all, |total| total.errors),
    ),
    counters("script_route_recv_bytes", "route", "Bytes of the bodies of requests to routes.", |all| {
        routes(all, |total| total.received_bytes)
    }),
    counters("script_route_sent_bytes", "route", "Bytes of the bodies of answers of routes.", |all| {
        routes(all, |total| total.sent_bytes)
    }),
    counters(
        "script_route_latency_us",
        "route",
        "Time from requests to routes until their answers, added up.",
        |all| routes(all, |total| total.latency_us),
    ),
    counter("script_route_failed_count", "Requests to routes that failed in game code.", |all| {
        read(&all.script.routes_failed)
    }),
];

fn routes(all: &Telemetry, pick: fn(&RouteTotal) -> u64) -> Labelled {
    all.script.routes.all().iter().map(|(pattern, total)| (pattern.as_str(), pick(total))).collect()
}
