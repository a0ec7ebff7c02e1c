//! Tests of sessions that go on at another node.

use super::*;

impl Cluster {
    /// Has a place expect a session.
    pub(super) fn expect(&mut self, session: SessionRef, at: Place) -> SessionRef {
        let (info, name) = self.identity(session);
        let key = self.step(at, |plane, _, _| plane.expect(info, name, Encoding::Json));
        SessionRef { place: at, key }
    }

    pub(super) fn identity(&self, session: SessionRef) -> (SessionInfo, Arc<str>) {
        let presence = self.planes[&session.place].presence(session.key).unwrap();
        player(presence.session_id.0.as_u128())
    }

    /// Asks all owners to bind a session to its next place, and lets them answer.
    pub(super) fn bind(&mut self, from: SessionRef, to: SessionRef) {
        let streams = self.step(from.place, |plane, _, _| plane.depart(from.key, to));
        for stream in &streams {
            self.step(from.place, |plane, now, out| {
                let request = plane.request();
                plane.rebind(now, from.key, stream, request, out);
            });
        }
        self.settle();
        let answers = self.replies.split_off(self.replies.len() - streams.len());
        assert_eq!(answers, vec![Reply::Rebound; streams.len()]);
    }

    /// Brings a session to another place.
    pub(super) fn move_to(&mut self, from: SessionRef, at: Place) -> SessionRef {
        let (info, _) = self.identity(from);
        let to = self.expect(from, at);
        self.bind(from, to);
        let departed = self.step(from.place, |plane, now, _| plane.take_departed(now, from.key)).unwrap();
        assert!(self.step(at, |plane, now, out| plane.settle(now, to.key, info, departed, out)));
        self.settle();
        to
    }
}

/// Three nodes, a stream of the second with a session of the third, and a session of the first on it.
fn travelling() -> (Cluster, StreamKey, SessionRef, SessionRef) {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let stream = cluster.owned_by(2);
    let (stays, goes) = (cluster.open(first(3)), cluster.open(first(1)));
    cluster.join(stays, &stream);
    cluster.join(goes, &stream);
    cluster.heard.clear();
    (cluster, stream, stays, goes)
}

#[test]
fn a_session_goes_on_where_it_is_claimed_and_nobody_notices() {
    let (mut cluster, stream, stays, goes) = travelling();
    let to = cluster.expect(goes, first(3));
    cluster.publish(stays, &stream, "one");
    cluster.settle();
    cluster.bind(goes, to);
    cluster.publish(stays, &stream, "two");
    cluster.settle();
    assert_eq!(cluster.take_heard(goes), ["one"]);
    assert_eq!(cluster.take_heard(to), ["two"], "from now on it hears at its new place");
    let departed = cluster.step(goes.place, |plane, now, _| plane.take_departed(now, goes.key)).unwrap();
    let (info, _) = player(2);
    assert!(cluster.step(to.place, |plane, now, out| plane.settle(now, to.key, info, departed, out)));
    cluster.publish(to, &stream, "three");
    cluster.settle();
    assert_eq!(cluster.take_heard(to), ["three"]);
    assert_eq!(cluster.take_heard(stays), ["one", "two", "three"], "nobody left, nobody came");
    cluster.step(to.place, |plane, now, out| plane.close(now, to.key, out));
    cluster.settle();
    assert_eq!(cluster.take_heard(stays), ["-2"]);
    assert_eq!(cluster.planes[&first(1)].stats().sessions, 0);
}

#[test]
fn a_session_that_ends_on_its_way_leaves_once() {
    for is_bound in [false, true] {
        let (mut cluster, stream, stays, goes) = travelling();
        let to = cluster.expect(goes, first(3));
        if is_bound {
            cluster.bind(goes, to);
        }
        for session in [goes, to] {
            cluster.step(session.place, |plane, now, out| plane.close(now, session.key, out));
        }
        cluster.settle();
        assert_eq!(cluster.take_heard(stays), ["-2"]);
        assert!(!cluster.is_on(to, &stream));
    }
}

#[test]
fn an_owner_that_binds_a_session_to_a_place_that_has_given_it_up_hears_so() {
    let (mut cluster, _, stays, goes) = travelling();
    let to = cluster.expect(goes, first(1));
    cluster.step(to.place, |plane, now, out| plane.close(now, to.key, out));
    cluster.bind(goes, to);
    assert_eq!(cluster.take_heard(stays), ["-2"]);
    assert!(cluster.step(goes.place, |plane, now, _| plane.take_departed(now, goes.key)).is_some());
    cluster.step(stays.place, |plane, now, out| plane.close(now, stays.key, out));
    cluster.settle();
    let left: usize = cluster.planes.values().map(|plane| plane.stats().streams + plane.stats().heard_streams).sum();
    assert_eq!(left, 0);
}

#[test]
fn a_session_whose_streams_owner_dies_on_its_way_does_not_go_on() {
    let (mut cluster, _, stays, goes) = travelling();
    let to = cluster.expect(goes, first(3));
    cluster.bind(goes, to);
    cluster.crash(2);
    cluster.tell_all();
    assert!(cluster.step(goes.place, |plane, now, _| plane.take_departed(now, goes.key)).is_none());
    for session in [goes, to] {
        cluster.step(session.place, |plane, now, out| plane.close(now, session.key, out));
    }
    cluster.settle();
    assert_eq!(cluster.take_heard(stays), ["-2"]);
}

#[test]
fn tickets_and_parties_go_along() {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let goes = cluster.open(first(1));
    let ticket = ticket_of(&cluster.planes[&first(1)], goes.key, "ticket");
    cluster.step(first(1), |plane, now, out| plane.ask_pool(now, PoolAsk::Add(ticket), None, out));
    cluster.settle();
    let to = cluster.move_to(goes, first(2));
    assert_eq!(cluster.planes.values().map(|plane| plane.stats().tickets).sum::<usize>(), 1);
    // The ticket belongs to the session at its new place.
    cluster.step(to.place, |plane, now, out| plane.close(now, to.key, out));
    cluster.settle();
    assert_eq!(cluster.planes.values().map(|plane| plane.stats().tickets).sum::<usize>(), 0);
}
