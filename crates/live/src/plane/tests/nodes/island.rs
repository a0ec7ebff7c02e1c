//! Tests of a node that has lost its cluster for now: its own players go on, and nobody waits for the others.

use super::*;

fn isolate(cluster: &mut Cluster, node: NodeNumber, is_island: bool) {
    let places: Vec<Place> = cluster.planes.keys().copied().filter(|place| place.node() == node).collect();
    places.into_iter().for_each(|place| cluster.step(place, |plane, now, _| plane.set_island(now, is_island)));
}

#[test]
fn an_islands_players_go_on_where_it_owns_and_are_refused_where_it_does_not() {
    let mut cluster = Cluster::new(&[2, 1], &PlaneConfig::default());
    let [own, others] = [cluster.owned_by(1), cluster.owned_by(2)];
    let [one, two] = [Place::new(1, 0), Place::new(1, 1)].map(|place| cluster.open(place));
    isolate(&mut cluster, 1, true);
    for session in [one, two] {
        assert!(matches!(cluster.join(session, &own), Reply::Joined(Ok(_))));
        cluster.begin_join(session, &others, JoinOptions::default());
        assert_eq!(cluster.replies.pop(), Some(Reply::Joined(Err(JoinRefusal::Unavailable))), "at once");
        assert!(!cluster.is_on(session, &others));
    }
    cluster.heard.clear();
    cluster.publish(one, &own, "still here");
    cluster.settle();
    assert_eq!(cluster.take_heard(two), ["still here"]);

    isolate(&mut cluster, 1, false);
    assert!(matches!(cluster.join(one, &others), Reply::Joined(Ok(_))));
}

#[test]
fn an_island_matches_nobody_until_it_is_back() {
    let mut cluster = Cluster::new(&[1], &PlaneConfig::default());
    let place = first(1);
    for number in 0..2_u128 {
        let session = cluster.open(place);
        let ticket = ticket_of(&cluster.planes[&place], session.key, &number.to_string());
        cluster.step(place, |plane, now, out| plane.ask_pool(now, PoolAsk::Add(ticket), None, out));
    }
    isolate(&mut cluster, 1, true);
    let interval = PlaneConfig::default().matchmaker.interval_ms;
    for _ in 0..3 {
        cluster.pass(interval);
        assert_eq!(cluster.planes[&place].stats().active_tickets, 2);
    }
    isolate(&mut cluster, 1, false);
    cluster.pass(interval);
    assert_eq!(cluster.planes[&place].stats().tickets, 0);
}
