//! The rules of matching, one by one.

use super::*;

const NOBODY: [&str; 0] = [];

#[test]
fn tickets_that_accept_each_other_match() {
    let check = |first: NewTicket<u128>, second: NewTicket<u128>, expect: bool| {
        let found = Pool::with([first.clone(), second.clone()]).pass();
        assert_eq!(found == ["1 2"], expect, "{first:?} {second:?}");
    };
    check(solo(1, (2, 2), "*"), solo(2, (2, 2), "*"), true);
    let ranked =
        |number, query| solo(number, (2, 2), query).text("mode", "ranked").number("rank", number as f64 * 10.0);
    check(ranked(1, "+properties.mode:ranked"), ranked(2, "+properties.mode:ranked"), true);
    check(ranked(1, "+properties.mode:casual"), ranked(2, "+properties.mode:ranked"), false);
    check(ranked(1, "+properties.mode:ranked"), ranked(2, "+properties.mode:casual"), false);
    check(ranked(1, "+properties.rank:>=20"), ranked(2, "+properties.rank:<=10"), true);
    // Acceptance by one side alone is not enough.
    check(ranked(1, "+properties.rank:>=20"), ranked(2, "+properties.rank:>10"), false);
    check(ranked(1, "*"), ranked(2, "-properties.mode:ranked"), false);
    check(ranked(1, "+properties.absent:>1"), ranked(2, "*"), false);
    check(ranked(1, "+min_count:2 +max_count:2 +ticket:2 +created_at:>1"), ranked(2, "+ticket:1"), true);
    check(ranked(1, "+properties.rank:/2./"), ranked(2, "*"), false);
    check(ranked(1, "+properties.mode:r*"), ranked(2, "properties.mode:x properties.mode:/r.*/"), true);
}

#[test]
fn the_longest_waiting_match_first() {
    let tickets = (1..=5).map(|number| solo(number, (2, 2), "*"));
    assert_eq!(Pool::with(tickets).pass(), ["1 2", "3 4"]);
}

#[test]
fn wishes_come_before_waiting() {
    let from = |number, region: &str| solo(number, (2, 2), "*").text("region", region);
    let searcher = NewTicket {
        query: "+properties.region:/.*/ properties.region:eu^2 properties.region:us".into(),
        ..from(1, "eu")
    };
    let tickets = [searcher.clone(), from(2, "asia"), from(3, "us"), from(4, "eu")];
    assert_eq!(Pool::with(tickets).pass(), ["1 4", "2 3"]);
    assert_eq!(Pool::with([searcher.clone(), from(2, "asia"), from(3, "us")]).pass(), ["1 3"]);
    assert_eq!(Pool::with([searcher, from(2, "asia")]).pass(), ["1 2"]);
    let demanding = NewTicket { query: "properties.region:eu^2 properties.region:us".into(), ..from(1, "eu") };
    assert_eq!(Pool::with([demanding.clone(), from(2, "asia")]).pass(), NOBODY);
    assert_eq!(Pool::with([demanding, from(2, "asia"), from(3, "us"), from(4, "eu")]).pass(), ["1 4", "2 3"]);
}

#[test]
fn less_than_the_most_has_to_wait_for_the_last_interval() {
    let mut pool = Pool::with((1..=3).map(|number| solo(number, (2, 4), "*")));
    assert_eq!(pool.pass(), NOBODY);
    assert_eq!(pool.pass(), ["1 2 3"]);
    let mut pool = Pool::with((1..=4).map(|number| solo(number, (2, 4), "*")));
    assert_eq!(pool.pass(), ["1 2 3 4"]);
    let mut pool = Pool::new(1);
    (1..=3).for_each(|number| pool.add(solo(number, (2, 4), "*")));
    assert_eq!(pool.pass(), ["1 2 3"]);
}

#[test]
fn whoever_loses_patience_takes_others_along_unless_they_hope_for_more() {
    let mut pool = Pool::with([solo(1, (2, 4), "*")]);
    pool.pass();
    pool.add(solo(2, (2, 6), "*"));
    pool.add(solo(3, (2, 3), "*"));
    assert_eq!(pool.pass(), ["1 3"]);
    assert_eq!(pool.matchmaker.len(), 1);
}

#[test]
fn passive_tickets_are_found() {
    let mut pool = Pool::with([solo(1, (2, 2), "*")]);
    for _ in 0..5 {
        pool.pass();
    }
    assert_eq!(pool.matchmaker.active_len(), 0);
    pool.add(solo(2, (2, 2), "*"));
    assert_eq!(pool.pass(), ["1 2"]);
}

#[test]
fn multiples_leave_out_the_youngest() {
    let three_pairs = |number| solo(number, (2, 6), "*").multiple(2);
    let mut pool = Pool::with((1..=5).map(three_pairs));
    assert_eq!(pool.pass(), NOBODY);
    assert_eq!(pool.pass(), ["1 2 3 4"]);
    // A party counts with each of its members.
    let mut pool = Pool::with([party("p", &[1, 2, 3], (2, 6), "*").multiple(2), three_pairs(4), three_pairs(5)]);
    pool.pass();
    assert_eq!(pool.pass(), ["p 4"]);
}

#[test]
fn counts_must_suit_everybody() {
    let mut pool = Pool::with([solo(1, (2, 3), "*"), solo(2, (4, 4), "*")]);
    pool.pass();
    assert_eq!(pool.pass(), NOBODY);
    // Neither range contains the other, but three players satisfy both.
    let mut pool = Pool::with([solo(1, (2, 3), "*"), solo(2, (3, 4), "*"), solo(3, (3, 3), "*")]);
    pool.pass();
    assert_eq!(pool.pass(), ["1 2 3"]);
}

#[test]
fn everybody_in_a_group_accepts_everybody() {
    // Tickets 2 and 3 reject each other; ticket 1 accepts both.
    let team = |number, team: &str| {
        let query = format!("-properties.team:{team}");
        solo(number, (3, 3), &query).text("team", team)
    };
    let mut pool = Pool::with([team(1, "a"), team(2, "b"), team(3, "b"), team(4, "c")]);
    assert_eq!(pool.pass(), ["1 2 4"]);
}

#[test]
fn parties_stay_together_and_count_each_member() {
    let mut pool = Pool::with([
        party("p", &[1, 2], (4, 4), "*"),
        party("q", &[3, 4, 5], (4, 4), "*"),
        solo(6, (4, 4), "*"),
        party("r", &[7, 8], (4, 4), "*"),
    ]);
    assert_eq!(pool.pass(), ["p r", "q 6"]);
    // A party that fills a match by itself cannot be matched with others.
    assert_eq!(Pool::with([party("p", &[1, 2], (2, 2), "*"), solo(3, (2, 2), "*")]).pass(), NOBODY);
}

#[test]
fn nobody_is_matched_with_themselves_and_their_other_tickets_go() {
    let mut pool = Pool::with([solo(1, (2, 2), "*"), solo(1, (2, 2), "*").named("again")]);
    assert_eq!(pool.pass(), NOBODY);
    pool.add(party("p", &[1, 9], (3, 3), "*"));
    pool.add(solo(2, (2, 2), "*"));
    let mut matches = Vec::new();
    pool.matchmaker.begin_pass(10_000);
    pool.matchmaker.run_slice(u32::MAX, &mut matches);
    let found: Vec<_> = matches.iter().map(|found| (ids(&found.tickets), ids(&found.dropped))).collect();
    assert_eq!(found, [("1 2".to_owned(), "again p".to_owned())]);
    assert!(pool.matchmaker.is_empty());
    assert_eq!(pool.matchmaker.totals().dropped, 2);
}

#[test]
fn a_party_has_one_match_at_a_time() {
    let mut pool = Pool::with([
        party("p", &[1, 2], (3, 3), "*"),
        NewTicket { id: id("p2"), ..party("p", &[1, 2], (4, 4), "*") },
        solo(3, (3, 3), "*"),
    ]);
    assert_eq!(pool.pass(), ["p 3"]);
    assert!(pool.matchmaker.is_empty());
}

#[test]
fn queries_widen_step_by_step_up_to_a_limit() {
    let near = |number: u128, rank: f64, reach: f64| {
        let query = format!("+properties.rank:>={} +properties.rank:<={}", rank - reach, rank + reach);
        solo(number, (2, 2), &query).number("rank", rank)
    };
    let widening = |step, limit| vec![Widening { field: "properties.rank".into(), step, limit }];
    let passes_until = |limit: f64| {
        let first = NewTicket { widening: widening(10.0, limit), ..near(1, 100.0, 5.0) };
        let mut pool = Pool::with([first, near(2, 130.0, 1_000.0)]);
        (1..20).find(|_| !pool.pass().is_empty())
    };
    // The query reaches 5, 15, 25 and 35 in its passes.
    assert_eq!(passes_until(100.0), Some(4));
    assert_eq!(passes_until(25.0), Some(4));
    assert_eq!(passes_until(24.0), None);
    // A ticket that has reached the limit of its widening stops searching.
    let mut pool = Pool::with([NewTicket { widening: widening(10.0, 15.0), ..near(1, 100.0, 5.0) }]);
    let active: Vec<_> = (0..4).map(|_| (pool.pass(), pool.matchmaker.active_len()).1).collect();
    assert_eq!(active, [1, 1, 0, 0]);
}

#[test]
fn a_ticket_out_of_order_is_refused_in_words() {
    let check = |ticket: NewTicket<u128>, remedy: &str| {
        let error = Matchmaker::new(MatchmakerConfig::default()).add(ticket, 0).expect_err(remedy);
        assert_eq!(error.kind, ErrorKind::InvalidArgument, "{error}");
        assert!(error.message.contains(remedy), "{error}");
    };
    check(solo(1, (1, 2), "*"), "at least 2 players");
    check(solo(1, (3, 2), "*"), "must not be less");
    check(solo(1, (2, 4), "*").multiple(0), "must divide");
    check(solo(1, (2, 4), "*").multiple(3), "must divide");
    check(solo(1, (2, 3), "*").multiple(2), "must divide");
    check(solo(1, (2, 2), "+a:"), "character 4");
    check(solo(1, (2, 2), "*").text("a", "b").number("a", 1.0), "another name");
    check(solo(1, (2, 2), "*").number("a", f64::NAN), "not a number");
    check(party("p", &[1, 1], (2, 4), "*"), "twice");
    check(party("p", &[], (2, 4), "*"), "at least one member");
    let properties =
        |count| (0..count).fold(solo(1, (2, 2), "*"), |ticket, number| ticket.text(&number.to_string(), ""));
    check(properties(super::super::ticket::PROPERTIES_MAX + 1), "properties");
    let widening = Widening { field: "properties.a".into(), step: 2.0, limit: 1.0 };
    check(NewTicket { widening: vec![widening.clone()], ..solo(1, (2, 2), "*") }, "the limit not less");
    let step = Widening { limit: 2.0, ..widening };
    let many = vec![step; super::super::ticket::WIDENINGS_MAX + 1];
    check(NewTicket { widening: many, ..solo(1, (2, 2), "*") }, "widens at most");
}

#[test]
fn owners_have_a_limit_and_so_has_the_pool() {
    let config = MatchmakerConfig { max_tickets: 2, total_tickets_max: 6, ..MatchmakerConfig::default() };
    let mut matchmaker = Matchmaker::new(config);
    let mut add =
        |name: &str, ticket: NewTicket<u128>| matchmaker.add(ticket.named(name), 0).map_err(|error| error.kind);
    assert_eq!(add("a", solo(1, (2, 2), "*")), Ok(()));
    assert_eq!(add("a", solo(1, (2, 2), "*")), Err(ErrorKind::AlreadyExists));
    assert_eq!(add("b", solo(1, (2, 2), "*")), Ok(()));
    assert_eq!(add("c", solo(1, (2, 2), "*")), Err(ErrorKind::ResourceExhausted));
    let server = || NewTicket { owner: TicketOwner::Server("rules".into()), ..solo(2, (2, 2), "*") };
    for name in ["d", "e", "f", "g"] {
        assert_eq!(add(name, server()), Ok(()));
    }
    assert_eq!(add("h", solo(3, (2, 2), "*")), Err(ErrorKind::ResourceExhausted));
    assert_eq!(matchmaker.totals().refused, 2);
}

#[test]
fn tickets_of_servers_match_like_others() {
    let bot = NewTicket {
        id: id("bot"),
        owner: TicketOwner::Server("bots".into()),
        members: vec![TicketMember { key: MemberKey::Server("bot 7".into()), presence: 7 }],
        ..solo(0, (2, 2), "+properties.mode:easy")
    };
    let mut pool = Pool::with([bot, solo(1, (2, 2), "*").text("mode", "easy")]);
    assert_eq!(pool.pass(), ["bot 1"]);
}

#[test]
fn tickets_are_taken_back_by_id_session_and_owner() {
    let mut pool = Pool::with([
        solo(1, (2, 2), "*"),
        solo(1, (2, 2), "*").named("1b"),
        party("p", &[1, 2], (3, 3), "*"),
        solo(3, (3, 3), "*"),
    ]);
    let matchmaker = &mut pool.matchmaker;
    let (one, two) = (TicketOwner::Session(session(1)), TicketOwner::Session(session(2)));
    assert_eq!(matchmaker.remove(&id("1"), &two).map_err(|error| error.kind).err(), Some(ErrorKind::NotFound));
    assert!(matchmaker.remove(&id("1"), &one).is_ok());
    assert!(matchmaker.remove(&id("1"), &one).is_err());
    assert_eq!(ids(&matchmaker.remove_session(session(2))), "p");
    assert_eq!(ids(&matchmaker.remove_owner(&one)), "1b");
    assert!(matchmaker.remove_owner(&one).is_empty());
    assert_eq!(matchmaker.totals().removed, 3);
    assert_eq!(matchmaker.oldest().map(|ticket| ticket.id.clone()), Some(id("3")));
    assert_eq!((matchmaker.by_member.len(), matchmaker.by_owner.len(), matchmaker.by_id.len()), (1, 0, 1));
}

#[test]
fn waits_and_completions_are_counted() {
    let mut pool = Pool::with([solo(1, (2, 2), "*")]);
    pool.pass();
    (2..=14).for_each(|number| pool.add(solo(number, (2, 2), "*")));
    pool.pass();
    let totals = pool.matchmaker.totals();
    assert_eq!((totals.matches, totals.matched, totals.matched_players, totals.passes), (7, 14, 14, 2));
    let bucket = |ms| WAIT_BUCKETS_MS.partition_point(|bound| *bound < ms);
    assert_eq!((totals.waits.counts[bucket(1_000)], totals.waits.counts[bucket(2_000)]), (13, 1));
    assert_eq!(totals.waits.sum_ms, 13 * 1_000 + 2_000);
    assert_eq!(totals.completions.len(), COMPLETIONS_KEPT);
    let started = Timestamp::from_seconds(START);
    let last = Completion { created_at: started, completed_at: started.plus_seconds(1) };
    assert_eq!(totals.completions.back(), Some(&last));
}

#[test]
fn passes_are_due_by_the_interval() {
    let mut matchmaker = Matchmaker::<()>::new(MatchmakerConfig { interval_ms: 1, ..MatchmakerConfig::default() });
    matchmaker.begin_pass(50);
    assert_eq!(matchmaker.next_pass_at(), 50 + INTERVAL_MIN_MS);
    assert_eq!(matchmaker.run_slice(1, &mut Vec::new()), Slice::Done);
    assert_eq!(matchmaker.run_slice(1, &mut Vec::new()), Slice::Done);
}

#[test]
fn slots_start_over_when_they_are_used_up() {
    let mut pool = Pool::with([solo(1, (2, 4), "*"), solo(2, (2, 2), "+properties.a:b")]);
    pool.pass();
    pool.matchmaker.next_slot = u32::MAX;
    pool.add(solo(3, (2, 4), "*"));
    assert_eq!(pool.matchmaker.next_slot, 3);
    assert_eq!(pool.matchmaker.active_len(), 2);
    assert_eq!(pool.matchmaker.oldest().map(|ticket| ticket.id.clone()), Some(id("1")));
    assert_eq!(pool.pass(), ["1 3"]);
    assert_eq!(pool.matchmaker.len(), 1);
}

#[test]
fn patterns_are_tried_on_each_ticket_once() {
    // The index cannot try this pattern on so many different names. The pattern fits one name in ten, and the tickets
    // with these names demand a name that no ticket offers.
    let named =
        |number: u128, query: &str| solo(number, (2, 2), query).text("name", &format!("{}{number}", number % 10));
    let tickets = (1..=2_000).map(|number| {
        let query = if number % 10 == 7 { "+properties.name:x*" } else { "+properties.name:/7\\d+/" };
        named(number, query)
    });
    let mut pool = Pool::with(tickets);
    assert_eq!(pool.pass(), NOBODY);
    pool.add(named(7_000, "+properties.name:/7\\d+/"));
    pool.add(named(7_010, "+properties.name:0701*"));
    assert_eq!(pool.pass(), NOBODY);
    pool.add(solo(3_000, (2, 2), "+properties.name:x*").text("name", "x"));
    pool.add(solo(3_001, (2, 2), "+properties.name:x*").text("name", "x"));
    assert_eq!(pool.pass(), ["3000 3001"]);
    // A demand leaves the index with the last ticket that makes it.
    for number in 1..=2_000 {
        pool.matchmaker.remove_session(session(number));
    }
    pool.add(named(7_777, "+properties.name:0*"));
    assert_eq!(pool.pass(), ["7000 7777"]);
}

#[test]
fn more_combinations_of_counts_than_have_a_set_are_counted_and_match_all_the_same() {
    let most = counts::CLASSES_MAX as u32;
    let combination = |number: u32| (2 + number, 200 + number);
    let mut pool = Pool::with((0..most).map(|number| solo(u128::from(number) + 1, combination(number), "*")));
    assert_eq!(pool.matchmaker.totals().unclassed, 0);
    let alike = |number: u128| solo(number, (2, 2), "*");
    pool.add(alike(1_001));
    pool.add(alike(1_002));
    assert_eq!(pool.matchmaker.totals().unclassed, 2);
    assert_eq!(pool.pass(), ["1001 1002"]);
    // A removed ticket makes room for another combination.
    pool.matchmaker.remove_session(session(1));
    pool.pass();
    pool.add(alike(1_003));
    assert_eq!(pool.matchmaker.totals().unclassed, 2);
}
