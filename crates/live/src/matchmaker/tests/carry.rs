//! A pool that moves to another owner.

use super::*;

/// The pool at its next owner, whose clock may differ.
fn carried(pool: &mut Pool, now: Millis) -> Pool {
    let (tickets, passes) = pool.matchmaker.carry_out(pool.now);
    let mut matchmaker = Matchmaker::new(pool.matchmaker.config);
    tickets.into_iter().for_each(|ticket| matchmaker.carry_in(now, ticket));
    matchmaker.carry_in_passes(now, passes);
    assert!(pool.matchmaker.is_empty() && pool.matchmaker.active_len() == 0);
    Pool { matchmaker, now }
}

#[test]
fn a_pass_that_was_under_way_is_done_by_the_next_owner() {
    // Each ticket accepts one other alone, and searches in one pass only.
    let tickets = |count: u128| {
        (0..count).map(|number| {
            let (own, other) = (number.to_string(), (number ^ 1).to_string());
            solo(number, (2, 2), &format!("+properties.name:{other}")).text("name", &own)
        })
    };
    for slices in [0, 1, 7, 40] {
        let mut pool = Pool::with(tickets(200));
        let mut matches = Vec::new();
        pool.matchmaker.begin_pass(pool.now);
        for _ in 0..slices {
            assert_eq!(pool.matchmaker.run_slice(1, &mut matches), Slice::More);
        }
        let (left, before) = (pool.matchmaker.len(), pool.matchmaker.totals().clone());
        let mut next = carried(&mut pool, 5);
        assert_eq!(next.matchmaker.len(), left);
        assert_eq!(*pool.matchmaker.totals(), before, "nobody was taken back");
        assert_eq!(next.matchmaker.next_pass_at(), 5, "at once");
        assert_eq!(matches.len() + next.pass().len(), 100, "after {slices} slices");
    }
}

#[test]
fn tickets_are_as_old_and_as_patient_as_they_were() {
    let mut pool = Pool::new(3);
    // Two tickets match below their maximum when they lose patience, in the third pass.
    [1, 2].into_iter().for_each(|number| pool.add(solo(number, (2, 4), "*")));
    assert_eq!(pool.pass(), [""; 0]);
    let mut next = carried(&mut pool, 1);
    assert_eq!(next.pass(), [""; 0]);
    // This owner's clock began after the tickets were added.
    let mut last = carried(&mut next, 0);
    let waited = last.now.wrapping_sub(last.matchmaker.oldest().unwrap().added_at);
    assert_eq!(waited, 2_000);
    assert_eq!(last.pass(), ["1 2"]);
    assert_eq!(last.matchmaker.totals().waits.sum_ms, 2 * 3_000);
}

#[test]
fn tickets_of_a_dead_owner_go_on_as_patient_and_in_the_order_in_which_they_came() {
    let interval = Pool::new(3).matchmaker.config.interval_ms;
    let mut pool = Pool::new(3);
    // The tickets match when one of them loses its patience, in its third pass.
    for (number, waited_ms) in [(1, 2 * interval + 5), (2, 7), (3, 3)] {
        assert!(pool.matchmaker.resume(pool.now, solo(number, (2, 4), "*"), waited_ms));
    }
    let mut fresh = Pool::new(3);
    [4, 5, 6].into_iter().for_each(|number| fresh.add(solo(number, (2, 4), "*")));
    assert_eq!((pool.pass(), fresh.pass()), (vec!["1 2 3".to_owned()], Vec::new()));
    assert_eq!(pool.matchmaker.totals().resumed, 3);
}

#[test]
fn a_full_pool_takes_no_ticket_of_another() {
    let mut pool = Pool::new(2);
    pool.matchmaker.config.total_tickets_max = 1;
    let taken = [1, 2].map(|number| pool.matchmaker.resume(pool.now, solo(number, (2, 2), "*"), 0));
    assert_eq!((taken, pool.matchmaker.len()), ([true, false], 1));
}

#[test]
fn what_widened_is_as_wide_and_goes_on() {
    let widening = Widening { field: "properties.rank".to_owned(), step: 1.0, limit: 2.0 };
    let ticket = |number: u128, rank: f64| NewTicket {
        widening: vec![widening.clone()],
        ..solo(number, (2, 2), "+properties.rank:>=5 +properties.rank:<=5").number("rank", rank)
    };
    // The two tickets accept each other after two steps.
    let mut pool = Pool::with([ticket(1, 3.0), ticket(2, 7.0)]);
    pool.matchmaker.config.max_intervals = 5;
    assert_eq!((pool.pass(), pool.pass()), (Vec::new(), Vec::new()));
    let (given, stands) = {
        let ticket = pool.matchmaker.ticket(&id("1")).unwrap();
        (ticket.widened, format!("{:?}", ticket.query()))
    };
    assert_eq!(given, 1);
    let mut next = carried(&mut pool, 9);
    assert_eq!(format!("{:?}", next.matchmaker.ticket(&id("1")).unwrap().query()), stands);
    assert_eq!(next.pass(), ["1 2"]);
}
