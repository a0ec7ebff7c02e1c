//! Tests of partitions that move between living owners, with all that is in them.

use super::*;

/// A cluster of two nodes, a channel of the first, and sessions of both on it.
fn talking() -> (Cluster, StreamKey, [SessionRef; 2]) {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(1);
    let sessions = [1, 2].map(|node| cluster.open(first(node)));
    for session in sessions {
        cluster.join(session, &stream);
        cluster.take_heard(session);
    }
    cluster.take_heard(sessions[0]);
    (cluster, stream, sessions)
}

#[test]
fn everything_goes_on_at_the_next_owner_and_nobody_hears_of_it() {
    let (mut cluster, stream, [ann, bob]) = talking();
    cluster.hand(stream.partition(), first(2));
    cluster.tell_all();
    assert_eq!(cluster.handed_over, [(stream.partition(), cluster.epoch)]);
    assert_eq!(cluster.planes[&first(1)].owned_presences(&stream).count(), 0);
    assert_eq!(cluster.planes[&first(2)].owned_presences(&stream).count(), 2);
    cluster.settle_moves();
    cluster.tell_all();
    cluster.publish(ann, &stream, "still here");
    cluster.publish(bob, &stream, "me too");
    cluster.settle();
    for session in [ann, bob] {
        let heard = cluster.take_heard(session);
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(heard.contains(&"still here".to_owned()) && heard.contains(&"me too".to_owned()), "{heard:?}");
    }
}

#[test]
fn what_is_said_on_the_way_arrives_once_and_in_order() {
    // Each place learns of the move at another time, between any two messages.
    for first_told in [1, 2] {
        let (mut cluster, stream, [ann, bob]) = talking();
        cluster.publish(ann, &stream, "a1");
        cluster.publish(bob, &stream, "b1");
        cluster.hand(stream.partition(), first(2));
        cluster.tell(first(first_told));
        cluster.publish(ann, &stream, "a2");
        cluster.publish(bob, &stream, "b2");
        cluster.settle();
        cluster.publish(ann, &stream, "a3");
        cluster.tell(first(3 - first_told));
        cluster.publish(bob, &stream, "b3");
        cluster.settle();
        cluster.settle_moves();
        cluster.tell_all();
        let [heard, other] = [ann, bob].map(|session| cluster.take_heard(session));
        assert_eq!(heard, other, "one order for all");
        for sender in ["a", "b"] {
            let its: Vec<&str> = heard.iter().map(|text| &**text).filter(|text| text.starts_with(sender)).collect();
            assert_eq!(its, ["1", "2", "3"].map(|number| format!("{sender}{number}")), "{heard:?}");
        }
    }
}

#[test]
fn a_question_on_the_way_is_answered_and_not_refused() {
    let (mut cluster, stream, _) = talking();
    let [early, late] = [2, 2].map(|node| cluster.open(first(node)));
    cluster.begin_join(early, &stream, JoinOptions::default());
    cluster.hand(stream.partition(), first(2));
    cluster.tell(first(2));
    cluster.begin_join(late, &stream, JoinOptions::default());
    cluster.settle();
    assert_eq!(cluster.replies.len(), 1, "the other one waits for the move");
    cluster.tell_all();
    assert!(matches!(&cluster.replies[..], [Reply::Joined(Ok(_)), Reply::Joined(Ok(_))]), "{:?}", cluster.replies);
    assert_eq!(cluster.planes[&first(2)].owned_presences(&stream).count(), 4);
}

#[test]
fn an_owner_keeps_no_roster_of_a_stream_that_just_came_to_it() {
    let (mut cluster, stream, _) = talking();
    cluster.hand(stream.partition(), first(2));
    cluster.tell_all();
    // The last view still has the former owner, which is on another node.
    let late = cluster.open(first(2));
    cluster.join(late, &stream);
    cluster.planes[&first(2)].assert_settled();
}

#[test]
fn a_place_that_missed_the_view_before_tells_both_owners_what_each_is_to_know() {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(3);
    let [ann, bob] = [1, 2].map(|node| cluster.open(first(node)));
    for session in [ann, bob] {
        cluster.join(session, &stream);
    }
    cluster.crash(3);
    cluster.give(stream.partition(), first(1));
    cluster.tell(first(1));
    cluster.settle();
    // The second place learns of the crash at once with the move that came after it.
    cluster.hand(stream.partition(), first(2));
    cluster.tell_all();
    assert_eq!(cluster.handed_over.len(), 1);
    assert_eq!(cluster.planes[&first(2)].owned_presences(&stream).count(), 2);
}

#[test]
fn if_one_of_the_two_dies_on_the_way_the_other_goes_on_with_what_places_know() {
    for dead in [1, 2] {
        let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
        let stream = cluster.owned_by(1);
        let sessions = [1, 2, 3].map(|node| cluster.open(first(node)));
        for session in sessions {
            cluster.join(session, &stream);
        }
        cluster.hand(stream.partition(), first(2));
        cluster.tell(first(3));
        cluster.tell(first(3 - dead));
        cluster.settle();
        cluster.crash(dead);
        cluster.unhand(stream.partition(), first(3 - dead));
        cluster.tell_all();
        let (heir, gone) = (first(3 - dead), sessions[usize::from(dead == 2)]);
        let there: Vec<SessionRef> =
            cluster.planes[&heir].owned_presences(&stream).map(|presence| presence.session).collect();
        assert!(there.len() == 2 && !there.contains(&gone), "{there:?}");
        for session in sessions.into_iter().filter(|session| *session != gone) {
            cluster.take_heard(session);
        }
        cluster.publish(sessions[2], &stream, "on we go");
        cluster.settle();
        for session in sessions.into_iter().filter(|session| *session != gone) {
            assert_eq!(cluster.take_heard(session), ["on we go"]);
        }
    }
}

#[test]
fn a_node_that_comes_in_the_middle_hears_all() {
    let (mut cluster, stream, [ann, _]) = talking();
    cluster.hand(stream.partition(), first(2));
    cluster.tell(first(1));
    cluster.settle();
    cluster.add(1);
    cluster.tell_all();
    cluster.settle_moves();
    cluster.tell_all();
    let cem = cluster.open(first(3));
    cluster.join(cem, &stream);
    cluster.take_heard(cem);
    cluster.publish(ann, &stream, "welcome");
    cluster.settle();
    assert_eq!(cluster.take_heard(cem), ["welcome"]);
    let stats = cluster.planes.values().map(|plane| plane.stats().held).sum::<usize>();
    assert_eq!(stats, 0);
}

#[test]
fn a_roster_ends_where_the_next_owner_is_the_first_to_let_a_session_hear() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(1);
    let session = cluster.open(first(2));
    // The former owner shows the stream to a session that does not hear the stream. The session asks the next owner to
    // hear the stream before it has that answer.
    cluster.begin_join(session, &stream, JoinOptions { listens: false, ..JoinOptions::default() });
    cluster.hand(stream.partition(), first(2));
    cluster.tell(first(2));
    cluster.step(session.place, |plane, now, out| plane.listen(now, session.key, stream.clone(), None, out));
    cluster.tell_all();
    assert!(cluster.planes[&first(2)].hears(session.key, &stream));
    cluster.planes[&first(2)].assert_settled();
}
