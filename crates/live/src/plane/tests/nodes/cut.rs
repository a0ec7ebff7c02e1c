//! Tests of a node that dies while it tells something: places have heard the first part and not the rest.

use super::*;

/// Lets the first message of one place to another arrive, and none behind it.
fn cut_behind_first(cluster: &mut Cluster, from: Place, to: Place) {
    cluster.queues.entry((from, to)).or_default().truncate(1);
    cluster.settle();
}

/// Lets all messages on their way from one place to another arrive, and none that they cause.
fn arrive(cluster: &mut Cluster, from: Place, to: Place) {
    while let Some(message) = cluster.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
        cluster.step(to, |plane, now, out| plane.receive(now, from, message, out));
    }
}

#[test]
fn who_was_shown_to_a_session_is_known_though_the_roster_never_came() {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(3);
    let [there, late] = [2, 1].map(|node| cluster.open(first(node)));
    cluster.join(there, &stream);
    cluster.begin_join(late, &stream, JoinOptions::default());
    arrive(&mut cluster, first(1), first(3));
    cut_behind_first(&mut cluster, first(3), first(1));
    assert!(matches!(&cluster.replies[..], [Reply::Joined(Ok(joined))] if joined.total == 1));
    cluster.step(there.place, |plane, now, out| plane.close(now, there.key, out));
    cluster.crash(3);
    cluster.tell_all();
    assert_eq!(cluster.take_heard(late), ["-1 +2"]);
}

#[test]
fn whose_coming_was_not_told_yet_is_told_by_the_new_owner() {
    let config = PlaneConfig { merge_above: 0, ..PlaneConfig::default() };
    let mut cluster = Cluster::new(&[1, 1], &config);
    let stream = cluster.owned_by(2);
    let [first_here, next] = [1, 1].map(|node| cluster.open(first(node)));
    cluster.join(first_here, &stream);
    // The second session is shown the first one, which is not told of the second one before the crash.
    cluster.join(next, &stream);
    assert_eq!((cluster.take_heard(first_here).len(), cluster.take_heard(next).len()), (0, 0));
    cluster.crash(2);
    cluster.tell_all();
    for session in [first_here, next] {
        assert_eq!(cluster.take_heard(session), ["+1 +2"]);
    }
}

/// Begins a join that is refused, because nobody is there, and another one behind it.
fn join_twice(cluster: &mut Cluster, stream: &StreamKey) -> SessionRef {
    let session = cluster.open(first(1));
    let occupied = JoinOptions { condition: Condition::Occupied, ..JoinOptions::default() };
    let silent = JoinOptions { status: Some("second".into()), persistence: true, ..JoinOptions::default() };
    cluster.begin_join(session, stream, occupied);
    cluster.begin_join(session, stream, silent);
    arrive(cluster, first(1), first(2));
    session
}

#[test]
fn a_refused_join_does_not_come_back_with_the_undoing_of_the_next() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(2);
    let session = join_twice(&mut cluster, &stream);
    cut_behind_first(&mut cluster, first(2), first(1));
    cluster.crash(2);
    cluster.tell_all();
    assert_eq!(cluster.replies.last(), Some(&Reply::Joined(Err(JoinRefusal::Unavailable))));
    assert!(!cluster.is_on(session, &stream));
    assert_eq!(cluster.planes[&first(1)].stats().streams, 0);
}

#[test]
fn who_was_refused_first_is_there_as_the_next_join_says() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(2);
    let session = join_twice(&mut cluster, &stream);
    cluster.settle();
    assert_eq!(cluster.planes[&first(1)].persistence_on(session.key, &stream), Some(true));
    cluster.crash(2);
    cluster.tell_all();
    let there: Vec<_> = cluster.planes[&first(1)].owned_presences(&stream).collect();
    assert_eq!(there[0].status.as_deref(), Some("second"));
}

#[test]
fn who_dies_while_a_new_owner_still_hears_of_it_leaves_once() {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(3);
    let [one, two, three] = [1, 2, 3].map(|node| cluster.open(first(node)));
    for session in [one, two, three] {
        cluster.join(session, &stream);
    }
    cluster.heard.clear();
    cluster.crash(3);
    cluster.give(stream.partition(), first(1));
    cluster.tell(first(1));
    cluster.tell(first(2));
    cut_behind_first(&mut cluster, first(2), first(1));
    assert_eq!(cluster.planes[&first(1)].owned_presences(&stream).count(), 2, "told of, and not complete");
    cluster.crash(2);
    cluster.tell_all();
    assert_eq!(cluster.take_heard(one), ["-2 -3"]);
}
