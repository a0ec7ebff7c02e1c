//! Tests that an owner takes no message of another epoch than its own.

use super::*;

/// Two nodes, and a stream of the second node, which owns it since a new epoch of which nobody has been told yet.
fn owned_anew() -> (Cluster, StreamKey, SessionRef) {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(2);
    let session = cluster.open(first(1));
    cluster.give(stream.partition(), first(2));
    (cluster, stream, session)
}

#[test]
fn what_is_of_an_earlier_epoch_is_refused_and_may_be_asked_again() {
    let (mut cluster, stream, session) = owned_anew();
    cluster.tell(first(2));
    cluster.publish(session, &stream, "lost");
    assert_eq!(cluster.join(session, &stream), Reply::Joined(Err(JoinRefusal::Unavailable)));
    assert!(!cluster.is_on(session, &stream));
    assert_eq!(cluster.planes[&first(2)].stats().misdirected, 2);
    cluster.tell_all();
    assert!(matches!(cluster.join(session, &stream), Reply::Joined(Ok(joined)) if joined.is_new));
    assert_eq!(cluster.take_heard(session), ["+1"]);
}

#[test]
fn what_is_of_a_later_epoch_waits_until_the_owner_has_heard_of_it() {
    let (mut cluster, stream, session) = owned_anew();
    cluster.tell(first(1));
    cluster.begin_join(session, &stream, JoinOptions::default());
    cluster.settle();
    assert_eq!((cluster.replies.len(), cluster.planes[&first(2)].stats().held), (0, 2), "a fence and a join");
    cluster.tell(first(2));
    cluster.settle();
    assert!(matches!(&cluster.replies[..], [Reply::Joined(Ok(joined))] if joined.is_new));
    assert_eq!(cluster.planes[&first(2)].stats().misdirected, 0);
    assert_eq!(cluster.take_heard(session), ["+1"]);
}

#[test]
fn what_waits_for_credit_keeps_its_epoch() {
    let config = PlaneConfig { up_credits: 1, ..PlaneConfig::default() };
    let mut cluster = Cluster::new(&[1, 1], &config);
    let stream = cluster.owned_by(2);
    let session = cluster.open(first(1));
    cluster.join(session, &stream);
    for text in ["one", "two", "three"] {
        cluster.publish(session, &stream, text);
    }
    cluster.give(stream.partition(), first(2));
    cluster.tell_all();
    assert_eq!(cluster.take_heard(session), ["+1"], "none of the three is of the new epoch");
    cluster.publish(session, &stream, "four");
    cluster.settle();
    assert_eq!(cluster.take_heard(session), ["four"]);
    assert_eq!(cluster.planes[&first(2)].stats().misdirected, 3);
}

#[test]
fn what_waits_at_an_owner_goes_back_when_another_owns_it_before_it_could_begin() {
    let config = PlaneConfig { up_credits: 1, ..PlaneConfig::default() };
    let mut cluster = Cluster::new(&[1, 1, 1, 1], &config);
    let [stream, other] = [4, 2].map(|node| cluster.owned_by(node));
    let session = cluster.open(first(1));
    cluster.join(session, &stream);
    cluster.join(session, &other);
    cluster.crash(4);
    cluster.give(stream.partition(), first(2));
    [1, 2].into_iter().for_each(|node| cluster.tell(first(node)));
    cluster.heard.clear();
    cluster.publish(session, &stream, "lost");
    cluster.begin_join(session, &stream, JoinOptions::default());
    cluster.settle();
    assert_eq!(cluster.planes[&first(2)].stats().held, 2, "a node has not told yet");
    cluster.give(stream.partition(), first(3));
    cluster.tell_all();
    assert_eq!(cluster.replies, [Reply::Joined(Err(JoinRefusal::Unavailable))]);
    let stats = cluster.planes[&first(2)].stats();
    assert_eq!((stats.held, stats.misdirected), (0, 2));
    for text in ["one", "two"] {
        cluster.publish(session, &other, text);
    }
    cluster.publish(session, &stream, "three");
    cluster.settle();
    let mut heard = cluster.take_heard(session);
    heard.sort();
    assert_eq!(heard, ["one", "three", "two"], "credit has come back");
}
