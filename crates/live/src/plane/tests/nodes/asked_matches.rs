//! Tests of matches about which game code is asked, while their players move and nodes come and go.

use super::*;
use crate::matchmaker::POOL;

/// A cluster whose game code is asked about matches, the node that owns the pool, and two others.
fn cluster() -> (Cluster, [NodeNumber; 3]) {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    cluster.planes.values_mut().for_each(|plane| plane.ask_of_matches(true));
    let owner = cluster.planes[&first(1)].pool_owner().node();
    let others: Vec<NodeNumber> = (1..=3).filter(|node| *node != owner).collect();
    (cluster, [owner, others[0], others[1]])
}

impl Cluster {
    fn answer(&mut self, (place, asked): (Place, AskedMatch), match_id: Option<&str>) {
        let match_id = match_id.map(Arc::from);
        self.step(place, |plane, now, out| plane.match_answered(now, asked, match_id, out));
        self.settle();
    }

    /// Lets two sessions be matched, and game code be asked.
    fn matched(&mut self, sessions: [SessionRef; 2]) -> (Place, AskedMatch) {
        self.add_ticket(sessions[0], "a");
        self.add_ticket(sessions[1], "b");
        self.pass_through();
        self.asked_matches.pop().unwrap()
    }
}

#[test]
fn until_game_code_has_answered_players_keep_their_tickets() {
    let (mut cluster, [_, one, two]) = cluster();
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    let asked = cluster.matched([ann, bob]);
    assert_eq!([ann, bob].map(|session| cluster.tickets_of(session).len()), [1, 1]);
    cluster.answer(asked, Some("a match"));
    for session in [ann, bob] {
        assert_eq!(cluster.take_heard(session), ["to a match"]);
        assert_eq!(cluster.tickets_of(session), [""; 0]);
    }
}

#[test]
fn who_leaves_meanwhile_is_missed_by_nobody_else() {
    let (mut cluster, [_, one, two]) = cluster();
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    let asked = cluster.matched([ann, bob]);
    cluster.step(ann.place, |plane, now, out| plane.close(now, ann.key, out));
    cluster.crash(one);
    cluster.tell_all();
    cluster.answer(asked, None);
    assert_eq!(cluster.take_heard(bob), ["matched"]);
}

#[test]
fn if_the_owner_dies_meanwhile_the_next_one_matches_and_asks_again() {
    let (mut cluster, [owner, one, two]) = cluster();
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    cluster.matched([ann, bob]);
    cluster.crash(owner);
    cluster.tell_all();
    assert_eq!(cluster.waiting(), ["a", "b"]);
    cluster.pass_through();
    let asked = cluster.asked_matches.pop().unwrap();
    assert_ne!(asked.0.node(), owner);
    cluster.answer(asked, Some("a match"));
    assert_eq!([ann, bob].map(|session| cluster.take_heard(session)), [["to a match"]; 2].map(Vec::from));
}

#[test]
fn an_owner_that_has_lost_the_pool_tells_nobody() {
    let (mut cluster, [owner, one, two]) = cluster();
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    let asked = cluster.matched([ann, bob]);
    // The other nodes took the owner for dead.
    cluster.give(POOL.partition(), first(one));
    cluster.tell_all();
    assert!(cluster.planes[&first(owner)].asked_match(asked.1).is_none());
    cluster.answer(asked, Some("a match"));
    assert_eq!([ann, bob].map(|session| cluster.take_heard(session).len()), [0, 0]);
    assert_eq!(cluster.waiting(), ["a", "b"]);
}

#[test]
fn a_pool_that_moves_on_waits_for_the_answers() {
    let (mut cluster, [_, one, two]) = cluster();
    let [ann, bob, cid] = [one, two, two].map(|node| cluster.open(first(node)));
    let asked = cluster.matched([ann, bob]);
    cluster.hand(POOL.partition(), first(one));
    cluster.tell_all();
    assert_eq!(cluster.handed_over, []);
    let ticket = ticket_of(&cluster.planes[&cid.place], cid.key, "c");
    cluster.begin_add(cid, ticket);
    cluster.settle();
    assert!(cluster.replies.is_empty(), "the next owner waits for what there is");
    cluster.answer(asked, Some("a match"));
    assert_eq!([ann, bob].map(|session| cluster.take_heard(session)), [["to a match"]; 2].map(Vec::from));
    assert_eq!(cluster.handed_over, [(POOL.partition(), cluster.epoch)]);
    assert_eq!(cluster.waiting(), ["c"]);
}

#[test]
fn a_session_that_goes_on_elsewhere_meanwhile_is_told_there() {
    let (mut cluster, [_, one, two]) = cluster();
    let [goes, stays] = [one, one].map(|node| cluster.open(first(node)));
    let asked = cluster.matched([goes, stays]);
    let there = cluster.expect(goes, first(two));
    cluster.bind(goes, there);
    cluster.step(goes.place, |plane, now, out| {
        let request = plane.request();
        plane.rebind_tickets(now, goes.key, request, out);
    });
    cluster.settle();
    let departed = cluster.step(goes.place, |plane, now, _| plane.take_departed(now, goes.key)).unwrap();
    let (info, _) = cluster.identity(there);
    assert!(cluster.step(there.place, |plane, now, out| plane.settle(now, there.key, info, departed, out)));
    assert_eq!(cluster.tickets_of(there), ["a"]);
    cluster.answer(asked, Some("a match"));
    assert_eq!([there, stays].map(|session| cluster.take_heard(session)), [["to a match"]; 2].map(Vec::from));
    assert_eq!(cluster.tickets_of(there), [""; 0]);
}
