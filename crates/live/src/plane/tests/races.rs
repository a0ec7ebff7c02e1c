//! Tests of messages that cross on their way between a session's shard and an owner, found by the simulation.

use super::*;

const OTHER: ShardIndex = 1;

/// A stream that shard 1 of 2 owns.
fn owned_elsewhere() -> StreamKey {
    (0..)
        .map(|n| room(&n.to_string()))
        .find(|stream| Routes::alone(2).owner(stream.partition()).shard() == OTHER)
        .unwrap()
}

fn occupied() -> JoinOptions {
    JoinOptions { condition: Condition::Occupied, ..JoinOptions::default() }
}

impl World {
    /// Begins a join; no message arrives yet.
    fn begin_join(&mut self, session: SessionRef, stream: &StreamKey, options: JoinOptions) {
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.join(now, session.key, stream.clone(), options, Some(request), out);
        });
    }

    fn begin_leave(&mut self, session: SessionRef, stream: &StreamKey) {
        self.step(session.place.shard(), |plane, now, out| plane.leave(now, session.key, stream.clone(), out));
    }
}

#[test]
fn who_was_refused_and_left_takes_nobody_elses_hearing_along() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [refused, member, sender] = [0, 0, 1].map(|shard| world.open(shard));
    let stream = owned_elsewhere();
    world.begin_join(refused, &stream, occupied());
    world.begin_join(member, &stream, JoinOptions::default());
    world.begin_leave(refused, &stream);
    world.settle();
    world.join(sender, &stream, JoinOptions::default());
    assert_eq!(world.take_heard(member), ["+2", "+3"]);
}

#[test]
fn a_late_refusal_does_not_undo_a_later_join() {
    let mut world = World::new(2, &PlaneConfig::default());
    let session = world.open(0);
    let stream = owned_elsewhere();
    world.begin_join(session, &stream, occupied());
    world.begin_join(session, &stream, JoinOptions::default());
    world.settle();
    assert_eq!(world.take_heard(session), ["+1"]);
    assert!(world.planes[0].is_on(session.key, &stream));
    world.close(session);
    world.assert_empty();
}

#[test]
fn a_refusal_that_finds_the_session_gone_and_back_means_neither() {
    let mut world = World::new(2, &PlaneConfig::default());
    let session = world.open(0);
    let stream = owned_elsewhere();
    world.begin_join(session, &stream, occupied());
    world.begin_leave(session, &stream);
    world.begin_join(session, &stream, JoinOptions::default());
    world.settle();
    assert_eq!(world.take_heard(session), ["+1"]);
    world.close(session);
    world.assert_empty();
}

#[test]
fn hearing_by_joining_and_by_listening_end_apart() {
    let mut world = World::new(2, &PlaneConfig::default());
    let [session, other] = [0, 1].map(|shard| world.open(shard));
    let stream = owned_elsewhere();
    // The session is refused as a member and hears all the same: it listened while the refusal was under way.
    world.begin_join(session, &stream, occupied());
    world.step(0, |plane, now, out| plane.listen(now, session.key, stream.clone(), None, out));
    world.settle();
    world.join(other, &stream, JoinOptions::default());
    assert_eq!(world.take_heard(session), ["+2"]);
    // A member that vanishes goes on hearing.
    world.join(session, &stream, JoinOptions::default());
    world.step(0, |plane, now, out| plane.vanish(now, session.key, stream.clone(), out));
    world.settle();
    world.close(other);
    assert_eq!(world.take_heard(session), ["+1", "-1", "-2"]);
    world.step(0, |plane, now, out| plane.unlisten(now, session.key, stream.clone(), out));
    world.settle();
    world.assert_empty();
}

#[test]
fn who_left_and_came_back_during_a_long_broadcast_does_not_receive_its_rest() {
    let config = PlaneConfig { slice_deliveries: 1, merge_above: 1_000, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let [one, two] = [0; 2].map(|shard| world.open(shard));
    let stream = room("hall");
    for session in [one, two] {
        world.join(session, &stream, JoinOptions::default());
    }
    world.heard.clear();
    world.publish(one, &stream, "before", Audience::All);
    world.begin_leave(two, &stream);
    world.begin_join(two, &stream, JoinOptions::default());
    world.settle();
    assert_eq!(world.take_heard(one), ["before", "-2", "+2"]);
    assert_eq!(world.take_heard(two), ["+2"]);
}

#[test]
fn who_was_shown_before_its_coming_was_told_is_told_to_have_gone() {
    let config = PlaneConfig { merge_above: 0, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let [early, passing, late] = [0; 3].map(|shard| world.open(shard));
    let stream = room("hall");
    world.join(early, &stream, JoinOptions::default());
    world.join(passing, &stream, JoinOptions::default());
    assert_eq!(names(&world.join(late, &stream, JoinOptions::default())), ["1", "2"]);
    world.close(passing);
    world.pass(config.merge_ms);
    assert_eq!(world.take_heard(late), ["-2 +1 +3"]);
}

#[test]
fn of_many_who_left_and_came_back_the_leaves_are_told_first() {
    let config = PlaneConfig { merge_above: 0, snapshot_max: 2, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let sessions: Vec<SessionRef> = (0..4).map(|_| world.open(0)).collect();
    let stream = room("hall");
    for session in &sessions {
        world.join(*session, &stream, JoinOptions::default());
    }
    world.pass(config.merge_ms);
    world.pass(1);
    world.heard.clear();
    for session in &sessions[1..] {
        world.begin_leave(*session, &stream);
        world.begin_join(*session, &stream, JoinOptions::default());
    }
    world.pass(config.merge_ms);
    world.pass(1);
    world.pass(1);
    assert_eq!(world.take_heard(sessions[0]), ["-2 -3", "-4 +2 +3", "+4"]);
}

#[test]
fn what_was_kept_back_for_listeners_that_are_gone_is_not_told_to_new_ones() {
    let config = PlaneConfig { merge_above: 0, ..PlaneConfig::default() };
    let mut world = World::new(1, &config);
    let [first, player, second] = [0; 3].map(|shard| world.open(shard));
    let stream = room("hall");
    let unheard = JoinOptions { listens: false, ..JoinOptions::default() };
    world.step(0, |plane, now, out| plane.listen(now, first.key, stream.clone(), None, out));
    world.join(player, &stream, unheard);
    world.close(first);
    world.close(player);
    world.step(0, |plane, now, out| plane.listen(now, second.key, stream.clone(), None, out));
    world.pass(config.merge_ms);
    assert_eq!(world.take_heard(second), [""; 0], "who came and went before was never there for it");
}

#[test]
fn somebody_named_twice_receives_once() {
    let mut world = World::new(1, &PlaneConfig::default());
    let [one, two] = [0; 2].map(|shard| world.open(shard));
    for session in [one, two] {
        world.join(session, &room("hall"), JoinOptions::default());
    }
    world.heard.clear();
    let id = SessionId(Uuid::from_u128(2));
    world.publish(one, &room("hall"), "for two", Audience::Only(vec![id, id]));
    world.settle();
    assert_eq!(world.take_heard(two), ["for two"]);
}
