//! Tests of the assertions about a plane: each finds the impossible state that is planted for it.

use super::*;
use crate::plane::owners::streams::Stream;
use crate::plane::sessions::session::OnStream;

/// Runs a step of a plane that has one session on a channel, after something was planted there.
fn with_planted(plant: impl FnOnce(&mut Plane, SessionRef, &StreamKey)) {
    let mut world = World::new(1, &PlaneConfig { checks_itself: true, ..PlaneConfig::default() });
    let (session, stream) = (world.open(0), room("planted"));
    world.join(session, &stream, JoinOptions::default());
    plant(&mut world.planes[0], session, &stream);
    world.pass(1);
}

fn planted<'p>(plane: &'p mut Plane, stream: &StreamKey) -> &'p mut Stream {
    plane.owners.streams.map.get_mut(stream).unwrap()
}

#[test]
fn nothing_is_found_where_nothing_is_planted() {
    with_planted(|_, _, _| {});
}

#[test]
#[should_panic(expected = "presences of all streams")]
fn a_wrong_count_of_presences_is_found() {
    with_planted(|plane, _, _| plane.owners.streams.presences += 1);
}

#[test]
#[should_panic(expected = "[1, 0] sessions hear")]
fn a_listener_too_many_is_found() {
    with_planted(|plane, session, stream| {
        planted(plane, stream).count_listener(session.place, Encoding::Json);
    });
}

#[test]
#[should_panic(expected = "[0, 0] sessions hear")]
fn a_listener_that_does_not_hear_is_found() {
    with_planted(|plane, session, stream| plane.sessions.deafen(session.key, stream));
}

#[test]
#[should_panic(expected = "sessions hear by their joins")]
fn a_listener_too_few_is_found() {
    with_planted(|plane, session, stream| {
        planted(plane, stream).discount_listener(session.place, Encoding::Json, true)
    });
}

#[test]
#[should_panic(expected = "by a join or listen that it has not made")]
fn a_session_that_hears_without_having_asked_is_found() {
    with_planted(|plane, session, _| plane.sessions.hear(room("other"), session.key, Encoding::Json, 7));
}

#[test]
#[should_panic(expected = "two relations to a stream")]
fn a_session_with_two_relations_to_a_stream_is_found() {
    with_planted(|plane, session, stream| {
        let session = plane.sessions.registry.get_mut(session.key).unwrap();
        session.streams.push(OnStream::new(stream.clone()));
    });
}

#[test]
#[should_panic(expected = "a session is on a stream twice")]
fn a_session_that_is_on_a_stream_twice_is_found() {
    with_planted(|plane, session, stream| {
        let elsewhere = SessionRef { place: Place::from(1), ..session };
        let twin = Presence { session: elsewhere, ..plane.presence(session.key).unwrap() };
        planted(plane, stream).presences.insert(Arc::new(twin), None);
        plane.owners.streams.presences += 1;
    });
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a session that just came is not on the stream")]
fn a_snapshot_for_a_session_that_has_not_come_is_found() {
    with_planted(|plane, session, stream| {
        let other = SessionRef { place: Place::from(1), ..session };
        planted(plane, stream).snapshot_but(Some(other), 10);
    });
}

#[test]
fn a_snapshot_for_a_session_lacks_that_session() {
    with_planted(|plane, session, stream| {
        let stream = planted(plane, stream);
        assert_eq!(stream.snapshot_but(Some(session), 10).1, 0);
        assert_eq!(stream.snapshot_but(None, 10).1, 1);
    });
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "there are fewer sessions of a place that hear a stream than go")]
fn a_listener_that_goes_and_was_not_counted_is_found() {
    with_planted(|plane, session, stream| {
        planted(plane, stream).discount_listener(session.place, Encoding::Protobuf, true)
    });
}
