//! Listings of matches.

use muster_domain::query::Query;

use super::*;

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
    let found = |world: &World, asked: &ListQuery| -> Vec<u128> {
        world.matches.list(asked).iter().map(|listed| listed.id.0.as_u128()).collect()
    };
    let query = |text: &str| Some(Arc::new(Query::parse(text).unwrap()));
    assert_eq!(found(&world, &all), [5, 4, 3, 2, 1]);
    let arena = ListQuery { query: query("+label.mode:arena"), ..all.clone() };
    assert_eq!(found(&world, &arena), [5, 3, 1]);
    assert_eq!(found(&world, &ListQuery { query: query("+label.skill:>=2 +label.mode:arena"), ..all.clone() }), [5, 3]);
    assert_eq!(found(&world, &ListQuery { limit: 2, ..all.clone() }), [5, 4]);
    let label = Some(r#"{"mode":"duel","skill":4}"#.into());
    assert_eq!(found(&world, &ListQuery { label, ..all.clone() }), [4]);
    assert_eq!(found(&world, &ListQuery { sizes: (1, 9), ..all.clone() }), []);
    world.pass(100);
    let acts = vec![Act::Label(r#"{"mode":"duel"}"#.into())];
    let first = world.calls[0].id.0.as_u128();
    world.returns(Return { outcome: Outcome::GoesOn, acts });
    assert!(!found(&world, &arena).contains(&first));
    let Ok(MatchAnswer::Listed(one)) = world.matches.get(id(2)) else { panic!("there is one") };
    assert_eq!((one[0].size, one[0].tick_rate, &*one[0].handler), (0, 10, "arena"));
    assert!(world.matches.get(id(9)).is_err());
}
