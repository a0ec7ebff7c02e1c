//! Queries that cost as much as they can: no step of the matchmaker does more than its limit.

use muster_domain::query::{QUERY_BYTES_MAX, STEP_UNITS_MAX};

use super::*;
use crate::nasty::{self, Search, text};

#[test]
fn no_slice_and_no_explanation_does_more_than_its_limit() {
    let (mut most, mut cut) = (0, 0);
    for seed in 0..5 {
        let random = &mut nasty::Random(seed);
        let mut pool = Pool::new(3);
        let mut search = Search::new(&["properties.p0", "properties.p1"], QUERY_BYTES_MAX);
        let mut queries = Vec::new();
        for number in 1..=random.pick(&[12, 40]) {
            let query =
                if number % 5 == 1 { search.next(random) } else { random.pick(&["*", "+properties.p0:a*"]).into() };
            // Many tickets have the dearest queries.
            queries.push(query);
            let query = queries[random.below(queries.len())].clone();
            let mut ticket = solo(number, (2, random.pick(&[2, 5])), &query);
            for place in 0..random.pick(&[1, 2, 20]) {
                ticket = ticket.text(&format!("p{place}"), &text(random, 1_024));
            }
            pool.add(ticket);
            if number % 40 == 0 {
                pool.pass();
            }
        }
        for _ in 0..2 {
            pool.pass();
            let waiting: Vec<TicketId> = pool.matchmaker.tickets().map(|ticket| ticket.id.clone()).take(5).collect();
            for id in waiting {
                let before = pool.matchmaker.totals().work.units;
                pool.matchmaker.explain(&id).expect("it waits");
                search.note(pool.matchmaker.totals().work.units - before);
            }
        }
        let totals = pool.matchmaker.totals();
        let units = totals.work.step_units_max;
        assert!(units <= u64::from(STEP_UNITS_MAX), "seed {seed}: {units}");
        most = most.max(units);
        cut += totals.explanations_cut;
    }
    assert!(most > u64::from(SLICE_UNITS), "{most}");
    assert!(cut > 0, "no explanation came to its limit");
}
