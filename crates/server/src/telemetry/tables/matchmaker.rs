//! Metrics of the matchmaker.

use muster_live::matchmaker::{WAIT_BUCKETS_MS, Waits};

use super::super::metric::{Distribution, Metric, counter, gauge, histogram};
use super::super::{Telemetry, read};

pub(in super::super) const MATCHMAKER: &[Metric<Telemetry>] = &[
    gauge("matchmaker_tickets", "Tickets that wait in the matchmaker.", |all: &Telemetry| {
        all.present(|plane| plane.tickets)
    })
    .of_the_original(),
    gauge("matchmaker_active_tickets", "Tickets that still search.", |all: &Telemetry| {
        all.present(|plane| plane.active_tickets)
    })
    .of_the_original(),
    counter("matchmaker_added_count", "Tickets taken in.", |all| all.total(|plane| plane.matchmaker.added)),
    counter("matchmaker_refused_count", "Tickets refused at a limit.", |all| {
        all.total(|plane| plane.matchmaker.refused)
    }),
    counter("matchmaker_removed_count", "Tickets taken back.", |all| all.total(|plane| plane.matchmaker.removed)),
    counter("matchmaker_matched_count", "Tickets matched.", |all| all.total(|plane| plane.matchmaker.matched)),
    counter("matchmaker_match_count", "Matches made.", |all| all.total(|plane| plane.matchmaker.matches)),
    histogram("matchmaker_wait_ms", "Time that matched tickets had waited.", waits),
    gauge("matchmaker_asked_matches", "Matches of which game code is asked where their players go.", |all| {
        all.present(|plane| plane.asked_matches)
    }),
    counter(
        "matchmaker_asked_late_count",
        "Matches whose players were told without game code, which took too long to say where they go.",
        |all| read(&all.gateway.asked_matches_late),
    ),
    counter("matchmaker_resumed_count", "Tickets that went on after the node that kept them had died.", |all| {
        all.total(|plane| plane.matchmaker.resumed)
    }),
    counter("matchmaker_lost_count", "Tickets that ended because the node that kept them had died.", |all| {
        all.total(|plane| plane.matchmaker.lost)
    }),
    counter("matchmaker_pass_count", "Passes over the tickets.", |all| all.total(|plane| plane.matchmaker.passes)),
    counter("matchmaker_search_count", "Searches of a ticket.", |all| all.total(|plane| plane.matchmaker.searches)),
    counter("matchmaker_search_cut_count", "Searches that met a limit before they had seen everything.", |all| {
        all.total(|plane| plane.matchmaker.searches_cut)
    }),
    counter(
        "matchmaker_explanation_cut_count",
        "Explanations that ended before they had examined as many tickets as they may.",
        |all| all.total(|plane| plane.matchmaker.explanations_cut),
    ),
    counter(
        "matchmaker_unclassed_count",
        "Tickets found by their counts one by one, there being too many combinations of counts.",
        |all| all.total(|plane| plane.matchmaker.unclassed),
    ),
];

fn waits(all: &Telemetry) -> Distribution {
    let mut waits = Waits::default();
    all.gateway.planes().values().for_each(|plane| waits.merge(&plane.matchmaker.waits));
    Distribution {
        bounds: WAIT_BUCKETS_MS.map(|bound| bound as f64).to_vec(),
        buckets: waits.counts.to_vec(),
        sum: waits.sum_ms as f64,
    }
}
