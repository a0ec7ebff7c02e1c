//! Tests of a node that dies: its sessions are gone everywhere, and nobody waits for it.

use super::*;

const UNAVAILABLE: Reply = Reply::Joined(Err(JoinRefusal::Unavailable));

fn two_nodes() -> Cluster {
    Cluster::new(&[2, 1], &PlaneConfig::default())
}

#[test]
fn sessions_of_a_dead_node_leave_the_streams_of_the_others_once() {
    let mut cluster = Cluster::new(&[2, 2, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(1);
    let [here, there, elsewhere] = [Place::new(1, 1), first(2), first(3)].map(|place| cluster.open(place));
    let other = cluster.open(Place::new(2, 1));
    for session in [here, there, other, elsewhere] {
        cluster.join(session, &stream);
    }
    cluster.heard.clear();
    cluster.crash(2);
    cluster.tell_all();
    cluster.tell_all();
    for session in [here, elsewhere] {
        assert_eq!(cluster.take_heard(session), ["-2", "-4"].map(str::to_owned));
    }
    cluster.publish(elsewhere, &stream, "on we go");
    cluster.settle();
    assert_eq!(cluster.take_heard(here), ["on we go"]);
    assert!(cluster.queues.keys().all(|(_, to)| to.node() != 2 || cluster.queues[&(first(1), *to)].is_empty()));
}

#[test]
fn questions_to_a_dead_node_are_answered_and_what_they_began_is_undone() {
    let mut cluster = two_nodes();
    let session = cluster.open(first(1));
    let [stream, before] = [cluster.owned_by(2), room("before")];
    cluster.join(session, &before);
    for options in [JoinOptions::default(), JoinOptions { listens: false, ..JoinOptions::default() }] {
        cluster.begin_join(session, &stream, options);
    }
    cluster.step(first(1), |plane, now, out| {
        let request = plane.request();
        plane.listen(now, session.key, stream.clone(), Some(request), out);
        let request = plane.request();
        let ask = Up::Count { request, streams: vec![stream.clone()] };
        plane.ask(now, &stream, ask, out);
    });
    assert!(cluster.is_on(session, &stream));
    cluster.crash(2);
    cluster.replies.clear();
    cluster.tell_all();
    assert_eq!(cluster.replies, [UNAVAILABLE; 4]);
    assert!(!cluster.is_on(session, &stream));
    cluster.replies.clear();
    assert!(matches!(cluster.join(session, &stream), Reply::Joined(Ok(joined)) if joined.is_new));
    assert_eq!(cluster.take_heard(session).last().unwrap(), "+1");
}

#[test]
fn a_change_that_nobody_answers_leaves_a_session_where_it_was() {
    let mut cluster = two_nodes();
    let session = cluster.open(first(1));
    let stream = cluster.owned_by(2);
    cluster.begin_join(session, &stream, JoinOptions { persistence: true, ..JoinOptions::default() });
    cluster.settle();
    cluster.replies.clear();
    let replace = JoinOptions { persistence: false, condition: Condition::Replace, ..JoinOptions::default() };
    cluster.begin_join(session, &stream, replace.clone());
    cluster.begin_join(session, &stream, replace);
    cluster.crash(2);
    cluster.tell(first(1));
    assert_eq!(cluster.replies, [UNAVAILABLE; 2]);
    assert_eq!(cluster.planes[&first(1)].persistence_on(session.key, &stream), Some(true));
}

#[test]
fn a_place_that_has_gone_is_asked_nothing() {
    let mut cluster = two_nodes();
    cluster.crash(2);
    cluster.tell_all();
    cluster.step(first(1), |plane, now, out| {
        let request = plane.request();
        plane.ask_place(now, first(2), Up::Matches { request, limit: 1, sizes: (0, 9) }, out);
    });
    assert_eq!(cluster.replies, [UNAVAILABLE]);
    assert!(cluster.queues.get(&(first(1), first(2))).is_none_or(VecDeque::is_empty));
}

#[test]
fn what_a_dead_node_sent_is_not_taken_in_any_more() {
    let mut cluster = two_nodes();
    let [living, dead] = [1, 2].map(|node| cluster.open(first(node)));
    let stream = cluster.owned_by(1);
    cluster.join(living, &stream);
    cluster.begin_join(dead, &stream, JoinOptions::default());
    cluster.crash(2);
    cluster.tell_all();
    assert_eq!(cluster.take_heard(living), ["+1"]);
}

#[test]
fn what_a_node_sends_that_is_not_known_yet_waits_for_it() {
    let mut cluster = Cluster::new(&[1], &PlaneConfig::default());
    let old = cluster.open(first(1));
    let stream = room("hall");
    cluster.join(old, &stream);
    cluster.nodes.push((2, 1));
    cluster.next_node = 3;
    let plane = Plane::new(first(2), cluster.routes(), PlaneConfig::default(), Rc::new(Words));
    cluster.planes.insert(first(2), plane);
    let new = cluster.open(first(2));
    cluster.begin_join(new, &stream, JoinOptions::default());
    cluster.settle();
    assert_eq!(cluster.take_heard(old), ["+1"]);
    cluster.tell_all();
    assert_eq!(cluster.take_heard(old), ["+2"]);
    assert_eq!(cluster.take_heard(new), ["+2"]);
}

#[test]
fn a_party_and_the_pool_forget_players_of_a_dead_node() {
    let mut cluster = two_nodes();
    // Partitions are shared out among all places; this stream is in one of the first node's.
    let stream = (0..)
        .map(|n| StreamKey::about(mode::PARTY, Uuid::from_u128(n)))
        .find(|stream| cluster.owners[stream.partition().row()].0 == first(1))
        .unwrap();
    let [leader, member] = [2, 1].map(|node| cluster.open(first(node)));
    let settings = party::Settings { open: true, hidden: false, label: party::Label::default() };
    cluster.step(leader.place, |plane, now, out| {
        let request = plane.request();
        let created_at = Timestamp(0);
        let create = |leader| party::PartyRequest::Create { leader, settings, max_size: 4, created_at };
        plane.come_to_party(now, leader.key, stream.clone(), create, request, out);
    });
    cluster.settle();
    cluster.step(member.place, |plane, now, out| {
        let request = plane.request();
        plane.come_to_party(now, member.key, stream.clone(), party::PartyRequest::Join, request, out);
    });
    cluster.settle();
    let pool = cluster.planes[&first(1)].pool_owner();
    let ticket = ticket_of(&cluster.planes[&leader.place], leader.key, "ticket");
    cluster.step(leader.place, |plane, now, out| plane.ask_pool(now, PoolAsk::Add(ticket), None, out));
    cluster.settle();
    assert_eq!((pool.node(), cluster.planes[&pool].stats().tickets), (1, 1));
    cluster.heard.clear();
    cluster.crash(2);
    cluster.tell_all();
    let heard = cluster.take_heard(member);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard.iter().any(|event| event == "-1"), "{heard:?}");
    assert_eq!(cluster.planes[&pool].stats().tickets, 0);
}
