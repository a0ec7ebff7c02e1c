//! Explanations name exactly the terms that keep tickets apart: without those terms the tickets match.

use muster_domain::query::{Query, Value};

use super::*;

#[test]
fn an_explanation_names_the_closest_and_the_terms() {
    let ranked = |number, rank, query: &str| solo(number, (2, 2), query).text("mode", "ranked").number("rank", rank);
    let mut pool = Pool::with([
        ranked(1, 10.0, "+properties.mode:ranked +properties.rank:>=10 +properties.rank:<=20"),
        ranked(2, 30.0, "*").text("mode", "casual"),
        ranked(3, 30.0, "+properties.mode:ranked"),
        ranked(1, 15.0, "*").named("own"),
        solo(4, (3, 3), "*"),
    ]);
    let explanation = pool.matchmaker.explain(&id("1")).expect("it waits");
    assert!(explanation.is_searching);
    assert_eq!((explanation.players, explanation.players_needed, explanation.players_found), (1, 2, 0));
    assert_eq!(explanation.examined, 4);
    let closest: Vec<_> = explanation.closest.iter().map(|near| (&*near.ticket.0, near.obstacles.len())).collect();
    assert_eq!(closest, [("3", 1), ("2", 2), ("own", 1), ("4", 4)]);
    let term = &explanation.closest[0].obstacles[0];
    let expect = Obstacle::Term {
        of: id("1"),
        place: 2,
        term: "+properties.rank:<=20".into(),
        found: vec![Value::Number(30.0)],
    };
    assert_eq!(*term, expect);
    assert_eq!(term.to_string(), "ticket 1 asks for +properties.rank:<=20, and the other has 30");
    assert_eq!(explanation.closest[2].obstacles, [Obstacle::Overlap]);
    assert_eq!(explanation.closest[3].obstacles[0], Obstacle::Counts);
    assert_eq!(pool.matchmaker.explain(&id("absent")), None);
}

/// The query of a ticket without the terms at these positions.
fn without(query: &str, places: &[usize]) -> String {
    let query = Query::parse(query).expect("it is in order");
    let kept = query.clauses().iter().enumerate().filter(|(place, _)| !places.contains(place));
    kept.map(|(_, clause)| query.clause_source(clause)).collect::<Vec<_>>().join(" ")
}

#[test]
fn without_the_terms_named_tickets_match() {
    let mut explained = 0;
    for seed in 0..4_000 {
        let random = &mut Random(seed);
        let mut tickets = [1, 2].map(|number| properties::random_solo(random, number, (2, 2)));
        let mut pool = Pool::with(tickets.clone());
        if !pool.pass().is_empty() {
            continue;
        }
        explained += 1;
        let explanation = pool.matchmaker.explain(&id("1")).expect("it waits");
        assert_eq!((explanation.players_found, explanation.examined), (0, 1), "seed {seed}");
        let [near] = &explanation.closest[..] else { panic!("seed {seed}: {explanation:?}") };
        for ticket in &mut tickets {
            let of_ticket = near.obstacles.iter().map(|obstacle| match obstacle {
                Obstacle::Term { of, place, .. } => (*of == ticket.id).then_some(*place),
                other => panic!("seed {seed}: {other}"),
            });
            let places: Vec<_> = of_ticket.flatten().collect();
            ticket.query = without(&ticket.query, &places);
        }
        assert_eq!(Pool::with(tickets.clone()).pass(), ["1 2"], "seed {seed}: {explanation:?}");
    }
    assert!(explained > 1_000, "{explained}");
}
