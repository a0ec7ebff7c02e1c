//! Slices end when their units are spent, at whatever step of the pass, so the number of slices follows the amount of
//! work.

use super::*;

/// Runs a pass in slices of this many units. Returns the number of slices and of matched tickets.
fn slices(pool: &mut Pool, units: u32) -> (u32, usize) {
    let (mut slices, mut matches) = (1, Vec::new());
    pool.now += 1_000;
    pool.matchmaker.begin_pass(pool.now);
    while pool.matchmaker.run_slice(units, &mut matches) == Slice::More {
        slices += 1;
    }
    (slices, matches.iter().map(|found| found.tickets.len()).sum())
}

fn near(number: u128, reach: f64) -> String {
    let rank = number as f64;
    format!("+properties.rank:>={} +properties.rank:<={}", rank - reach, rank + reach).replace(":>=-", ":>= -")
}

#[test]
fn a_large_group_is_made_in_many_slices() {
    let ticket = |number: u128| solo(number, (200, 200), &near(number, 1_000.0)).number("rank", number as f64);
    let mut pool = Pool::with((1..=200).map(ticket));
    let pairs = 200 * 199 / 2;
    let (slices, matched) = slices(&mut pool, 500);
    assert_eq!(matched, 200);
    assert!(slices > pairs * 2 / 500, "{slices}");
}

#[test]
fn tickets_that_widen_do_so_in_many_slices() {
    let widening = || vec![Widening { field: "properties.rank".into(), step: 1.0, limit: 2.0 }];
    let ticket = |number: u128| solo(number, (2, 2), &near(number * 10, 1.0)).number("rank", number as f64 * 10.0);
    let mut pool = Pool::with((1..=500).map(|number| NewTicket { widening: widening(), ..ticket(number) }));
    slices(&mut pool, SLICE_UNITS);
    let (slices, matched) = slices(&mut pool, 1_000);
    assert_eq!(matched, 0);
    assert!(slices >= 100, "{slices}");
}

#[test]
fn tickets_that_only_wait_are_passed_over_in_many_slices() {
    let mut pool = Pool::new(5);
    (1..=5_000).for_each(|number| pool.add(solo(number, (2, 4), "+properties.mode:nobody's")));
    slices(&mut pool, SLICE_UNITS);
    assert_eq!(pool.matchmaker.active_len(), 5_000);
    assert!(slices(&mut pool, 100).0 >= 500);
}

#[test]
fn a_pass_does_not_repeat_what_the_one_before_rejected() {
    const TICKETS: u32 = 300;
    let mut pool = Pool::new(5);
    // Each ticket accepts those of a higher rank alone, so that no two accept each other.
    for number in 1..=u128::from(TICKETS) {
        pool.add(solo(number, (2, 2), &format!("+properties.rank:>{number}")).number("rank", number as f64));
    }
    let [first, second, third] = [0; 3].map(|_| slices(&mut pool, TICKETS));
    assert_eq!([first.1, second.1, third.1], [0; 3]);
    assert!(first.0 > 3 * second.0, "{first:?} {second:?}");
    assert_eq!(second, third, "only a look at each ticket is left");
    pool.add(solo(1_000, (2, 2), "*").number("rank", 1_000.0));
    assert_eq!(slices(&mut pool, TICKETS).1, 2, "a new ticket is tried with those that wait");
}

#[test]
fn what_has_gone_leaves_the_indexes_in_many_slices() {
    let mut pool = Pool::with((1..=400).map(|number| solo(number, (200, 200), "+properties.mode:x").text("mode", "x")));
    let mut matches = Vec::new();
    pool.matchmaker.begin_pass(1_000);
    while matches.is_empty() {
        pool.matchmaker.run_slice(1_000, &mut matches);
    }
    // Tickets that were matched and are still in the indexes can neither be found nor removed by their owners.
    assert_eq!((pool.matchmaker.len(), pool.matchmaker.leaving.len()), (200, 200));
    assert_eq!(pool.matchmaker.oldest().map(|ticket| ticket.id.clone()), Some(id("201")));
    assert!(pool.matchmaker.remove_session(session(1)).is_empty());
    while pool.matchmaker.run_slice(1_000, &mut matches) == Slice::More {}
    assert_eq!((pool.matchmaker.len(), pool.matchmaker.leaving.len(), matches.len()), (0, 0, 2));
}

#[test]
fn a_group_is_tried_anew_when_somebody_goes_meanwhile() {
    let mut pool = Pool::with((1..=40).map(|number| solo(number, (20, 20), "+properties.mode:x").text("mode", "x")));
    let mut matches = Vec::new();
    pool.matchmaker.begin_pass(1_000);
    // Slices run until a group is being tried. The ticket that leaves then is in that group already.
    while pool.matchmaker.pass.as_ref().is_none_or(|pass| pass.search.as_ref().is_none_or(|search| !search.is_trying()))
    {
        pool.matchmaker.run_slice(1, &mut matches);
    }
    pool.matchmaker.run_slice(50, &mut matches);
    assert!(matches.is_empty());
    assert_eq!(pool.matchmaker.remove_session(session(3)).len(), 1);
    while pool.matchmaker.run_slice(1, &mut matches) == Slice::More {}
    let found: Vec<_> = matches.iter().map(|found| found.tickets.len()).collect();
    assert_eq!(found, [20]);
    assert!(matches[0].tickets.iter().all(|ticket| ticket.id != id("3")));
}
