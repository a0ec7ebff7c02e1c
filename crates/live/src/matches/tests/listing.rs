//! Listings of matches.

use muster_domain::ErrorKind;
use muster_domain::query::{Document, QUERY_BYTES_MAX, Query, STEP_UNITS_MAX, Work};

use super::super::listing::LISTING_SCAN_MAX;
use super::*;
use crate::listings::{LISTING_SLICE_UNITS, LISTINGS_WAITING_MAX};
use crate::nasty::{Random, Search, text};

#[test]
fn matches_are_found_by_their_labels_at_once_newest_first() {
    let mut world = World::new(MatchesConfig::default());
    let id = |number: u32| MatchId(Uuid::from_u128(u128::from(number)));
    for number in 1..=5 {
        world.create(id(number), i64::from(number));
        let mode = if number % 2 == 0 { "duel" } else { "arena" };
        world.returns(begun(10, &format!(r#"{{"mode":"{mode}","skill":{number}}}"#)));
    }
    let all = everything();
    let found = |world: &mut World, asked: &ListQuery| -> Vec<u128> {
        world.list(asked).iter().map(|listed| listed.id.0.as_u128()).collect()
    };
    let query = |text: &str| Some(Arc::new(Query::parse(text).unwrap()));
    assert_eq!(found(&mut world, &all), [5, 4, 3, 2, 1]);
    let arena = ListQuery { query: query("+label.mode:arena"), ..all.clone() };
    assert_eq!(found(&mut world, &arena), [5, 3, 1]);
    assert_eq!(
        found(&mut world, &ListQuery { query: query("+label.skill:>=2 +label.mode:arena"), ..all.clone() }),
        [5, 3]
    );
    assert_eq!(found(&mut world, &ListQuery { limit: 2, ..all.clone() }), [5, 4]);
    let label = Some(r#"{"mode":"duel","skill":4}"#.into());
    assert_eq!(found(&mut world, &ListQuery { label, ..all.clone() }), [4]);
    assert_eq!(found(&mut world, &ListQuery { sizes: (1, 9), ..all.clone() }), []);
    world.pass(100);
    let acts = vec![Act::Label(r#"{"mode":"duel"}"#.into())];
    let first = world.calls[0].id.0.as_u128();
    world.returns(Return { outcome: Outcome::GoesOn, acts });
    assert!(!found(&mut world, &arena).contains(&first));
    let Ok(MatchAnswer::Listed(one)) = world.matches.get(id(2)) else { panic!("there is one") };
    assert_eq!((one[0].size, one[0].tick_rate, &*one[0].handler), (0, 10, "arena"));
    assert!(world.matches.get(id(9)).is_err());
}

#[test]
fn no_listing_does_more_in_a_step_than_its_limit() {
    let mut most = 0;
    for seed in 0..4 {
        let random = &mut Random(seed);
        let mut world = World::new(MatchesConfig::default());
        for number in 1..=random.pick(&[10, 60]) {
            world.create(MatchId(Uuid::from_u128(number)), 1);
            let (one, other) = (text(random, 900), text(random, 900));
            world.returns(begun(10, &format!(r#"{{"one":"{one}","other":["{other}","b"]}}"#)));
        }
        let mut search = Search::new(&["label.one", "label.other", "label_string"], QUERY_BYTES_MAX);
        for _ in 0..10 {
            let query = Query::parse(&search.next(random)).expect("it is in order");
            let before = world.matches.listing_stats().work.units;
            let all_of_it = ListQuery { limit: 1_000, ..everything() };
            let asked = ListQuery { query: Some(Arc::new(query.clone())), ..all_of_it.clone() };
            let listed = world.list(&asked);
            let found = listed.len();
            let stats = world.matches.listing_stats();
            search.note(stats.work.units - before);
            let limit = u64::from(STEP_UNITS_MAX);
            assert!(stats.work.step_units_max <= limit, "seed {seed}: {stats:?} for {}", query.source());
            // The answer is that of a look at each match.
            let document = |listed: &Listed| {
                let mut document = Document::of_object("label", &listed.label).expect("it is an object");
                document.push("label_string", &*listed.label);
                document.push("handler_name", &*listed.handler);
                document.push("tick_rate", f64::from(listed.tick_rate));
                document.push("create_time", listed.created_at.seconds() as f64);
                document
            };
            let all = world.list(&all_of_it);
            let fit = all.iter().filter(|listed| query.matches(&document(listed), &mut Work::endless()).is_some());
            assert_eq!(found, fit.count(), "seed {seed}: {}", query.source());
        }
        most = most.max(search.most());
    }
    assert!(most > 2 * u64::from(LISTING_SLICE_UNITS), "{most}: no listing took several slices");
}

#[test]
fn a_listing_looks_at_so_many_matches() {
    let mut world = World::new(MatchesConfig::default());
    for number in 1..=LISTING_SCAN_MAX as u128 + 10 {
        world.create(MatchId(Uuid::from_u128(number)), 1);
        // The ten oldest are not among those that are looked at.
        let text = if number <= 11 { "needle" } else { &format!("hay-{number}") };
        world.returns(begun(10, &format!(r#"{{"text":"{text}"}}"#)));
    }
    let query = Some(Arc::new(Query::parse("+label.text:/nee.*/").unwrap()));
    let listed = world.list(&ListQuery { query, ..everything() });
    assert_eq!(listed.iter().map(|listed| listed.id.0.as_u128()).collect::<Vec<_>>(), [11]);
    assert_eq!(world.matches.listing_stats().cut, 1);
}

#[test]
fn listings_take_turns_and_too_many_are_refused() {
    let mut world = World::new(MatchesConfig::default());
    for number in 1..=12 {
        world.create(MatchId(Uuid::from_u128(number)), 1);
        world.returns(begun(10, &format!(r#"{{"text":"{}"}}"#, "a".repeat(80))));
    }
    let asked = |text: &str| ListQuery { query: Some(Arc::new(Query::parse(text).unwrap())), ..everything() };
    let (costly, plain) = (asked("-label.text:/(?:.*){80}b/"), asked("+tick_rate:10"));
    for number in 1..LISTINGS_WAITING_MAX as u32 {
        assert!(world.matches.begin_listing(Some(request(number)), costly.clone()).is_none());
    }
    assert!(world.matches.begin_listing(Some(request(901)), plain.clone()).is_none());
    let refused = world.matches.begin_listing(Some(request(900)), plain.clone());
    assert!(matches!(refused, Some(Err(ref why)) if why.kind == ErrorKind::Unavailable), "{refused:?}");
    assert_eq!(world.matches.listing_stats().refused, 1);
    // Behind many costly ones, the plain listing is over after its first turn.
    let mut order: Vec<u64> = Vec::new();
    while world.matches.is_listing() {
        order.extend(world.matches.run_slice().iter().filter_map(|(request, _)| Some(request.as_ref()?.id)));
    }
    assert_eq!((order[0], order.len()), (request(901).id, LISTINGS_WAITING_MAX));
}
