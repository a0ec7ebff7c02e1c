//! Tests of the assertions about a plane of a cluster: each finds the impossible state that is planted for it.

use super::*;
use crate::matchmaker::POOL;

/// Runs a step of the first of two nodes, which has a session on a channel of `owner`, after something was planted
/// there.
fn with_planted(owner: NodeNumber, plant: impl FnOnce(&mut Plane, SessionRef, &StreamKey)) {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig { checks_itself: true, ..PlaneConfig::default() });
    let (session, stream) = (cluster.open(Place::new(1, 0)), cluster.owned_by(owner));
    cluster.join(session, &stream);
    plant(cluster.planes.get_mut(&session.place).unwrap(), session, &stream);
    cluster.pass(1);
}

#[test]
fn nothing_is_found_where_nothing_is_planted() {
    with_planted(1, |_, _, _| {});
    with_planted(2, |_, _, _| {});
}

#[test]
#[should_panic(expected = "things of other owners are kept")]
fn a_thing_of_another_owner_is_found() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig { checks_itself: true, ..PlaneConfig::default() });
    let owner = cluster.owners[POOL.partition().row()].0;
    let place = Place::new(3 - owner.node(), 0);
    let session = cluster.open(place);
    let plane = cluster.planes.get_mut(&place).unwrap();
    let ticket = ticket_of(plane, session.key, "planted");
    plane.owners.things.pool.matchmaker.add(*ticket, 1).unwrap();
    cluster.pass(1);
}

#[test]
#[should_panic(expected = "sessions here that hear")]
fn a_hearer_too_many_is_found() {
    with_planted(2, |plane, _, stream| plane.sessions.count_hearer(stream));
}

#[test]
#[should_panic(expected = "sessions hear streams and are not counted")]
fn a_hearer_that_is_not_counted_is_found() {
    with_planted(2, |plane, _, stream| plane.sessions.discount_hearer(stream));
}

#[test]
#[should_panic(expected = "has a wrong presence")]
fn a_hidden_presence_on_a_roster_is_found() {
    with_planted(2, |plane, session, stream| {
        let hidden = Presence { hidden: true, ..plane.presence(session.key).unwrap() };
        plane.sessions.rosters.change(stream, &[hidden], &[]);
    });
}

#[test]
#[should_panic(expected = "comes with a session twice")]
fn a_roster_that_comes_with_a_session_twice_is_found() {
    with_planted(2, |plane, session, stream| {
        let twins = [(), ()].map(|()| plane.presence(session.key).unwrap());
        plane.sessions.take_roster(stream, twins.into(), true, false);
    });
}

#[test]
#[should_panic(expected = "whose owner is here")]
fn a_roster_of_an_own_stream_is_found() {
    with_planted(1, |plane, _, stream| {
        plane.sessions.take_roster(stream, Vec::new(), true, true);
    });
}
