//! Tests of a node that dies and owned something: the others know who is there, and go on.

use super::*;

/// Three nodes, a stream of the third, and a session of each on it.
fn on_a_stream(config: &PlaneConfig) -> (Cluster, StreamKey, [SessionRef; 3]) {
    let mut cluster = Cluster::new(&[2, 1, 1], config);
    let stream = cluster.owned_by(3);
    let sessions = [1, 2, 3].map(|node| cluster.open(first(node)));
    for session in sessions {
        cluster.join(session, &stream);
    }
    cluster.heard.clear();
    (cluster, stream, sessions)
}

impl Cluster {
    fn names_on(&self, stream: &StreamKey) -> Vec<String> {
        let presences = self.planes.values().flat_map(|plane| plane.owned_presences(stream));
        presences.map(|presence| presence.username.to_string()).collect()
    }

    fn assert_settled(&self) {
        for plane in self.planes.values() {
            let stats = plane.stats();
            assert_eq!((stats.held, stats.up_waiting, stats.down_waiting), (0, 0, 0));
        }
    }
}

#[test]
fn who_was_on_the_dead_node_leaves_once_and_the_others_stay_unnoticed() {
    for first_told in [1, 2] {
        let (mut cluster, stream, [one, two, _]) = on_a_stream(&PlaneConfig::default());
        let hidden = cluster.open(Place::new(1, 1));
        cluster.begin_join(hidden, &stream, JoinOptions { hidden: true, ..JoinOptions::default() });
        cluster.settle();
        cluster.crash(3);
        cluster.tell(first(first_told));
        cluster.settle();
        cluster.publish(if first_told == 1 { one } else { two }, &stream, "early");
        cluster.settle();
        assert_eq!(cluster.take_heard(one), [""; 0], "not before all know");
        cluster.tell_all();
        for session in [one, two, hidden] {
            assert_eq!(cluster.take_heard(session), ["-3", "early"]);
        }
        cluster.tell_all();
        let late = cluster.open(first(2));
        cluster.join(late, &stream);
        assert_eq!(cluster.take_heard(one), ["+5"]);
        let mut names = cluster.names_on(&stream);
        names.sort();
        assert_eq!(names, ["1", "2", "4", "5"]);
        cluster.assert_settled();
    }
}

#[test]
fn who_goes_while_nobody_owns_the_stream_is_told_to_have_gone() {
    let (mut cluster, stream, [one, two, _]) = on_a_stream(&PlaneConfig::default());
    cluster.crash(3);
    cluster.step(two.place, |plane, now, out| plane.close(now, two.key, out));
    cluster.tell_all();
    assert_eq!(cluster.take_heard(one).len(), 1, "both in one event");
    assert_eq!(cluster.names_on(&stream), ["1"]);
}

#[test]
fn who_was_coming_without_asking_comes_to_the_new_owner() {
    let (mut cluster, stream, [one, ..]) = on_a_stream(&PlaneConfig::default());
    let late = cluster.open(first(2));
    cluster.crash(3);
    cluster.step(late.place, |plane, now, out| {
        plane.join(now, late.key, stream.clone(), JoinOptions::default(), None, out);
    });
    cluster.tell_all();
    assert_eq!(cluster.take_heard(one), ["-3 +4"]);
    cluster.publish(one, &stream, "to all");
    cluster.settle();
    assert_eq!(cluster.take_heard(late).last().unwrap(), "to all");
    cluster.step(late.place, |plane, now, out| plane.leave(now, late.key, stream.clone(), out));
    cluster.settle();
    assert_eq!(cluster.take_heard(one).last().unwrap(), "-4");
}

#[test]
fn followers_keep_whom_they_follow_and_the_status_is_kept() {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let stream = (0..)
        .map(|n| StreamKey::status(UserId(Uuid::from_u128(n))))
        .find(|stream| cluster.owners[stream.partition().row()].0.node() == 3)
        .unwrap();
    let [follower, player] = [1, 2].map(|node| cluster.open(first(node)));
    let shows = |text: &str| JoinOptions {
        status: Some(text.into()),
        listens: false,
        condition: Condition::Replace,
        ..JoinOptions::default()
    };
    cluster.step(follower.place, |plane, now, out| plane.listen(now, follower.key, stream.clone(), None, out));
    for text in ["busy", "free"] {
        cluster.begin_join(player, &stream, shows(text));
    }
    cluster.settle();
    assert_eq!(cluster.take_heard(follower), ["+2", "-2 +2"]);
    cluster.crash(3);
    cluster.tell_all();
    assert_eq!(cluster.take_heard(follower), [""; 0], "nothing has changed");
    let statuses: Vec<_> = cluster.planes.values().flat_map(|plane| plane.owned_presences(&stream)).collect();
    assert_eq!(statuses.iter().map(|presence| presence.status.as_deref()).collect::<Vec<_>>(), [Some("free")]);
    cluster.step(player.place, |plane, now, out| plane.close(now, player.key, out));
    cluster.settle();
    assert_eq!(cluster.take_heard(follower), ["-2"]);
    cluster.step(follower.place, |plane, now, out| plane.unlisten(now, follower.key, stream.clone(), out));
    cluster.settle();
    assert_eq!(cluster.planes.values().map(|plane| plane.stats().streams).sum::<usize>(), 0);
}

#[test]
fn two_deaths_in_a_row_are_one_change_for_who_hears_late() {
    for told_between in [false, true] {
        let (mut cluster, stream, [one, two, _]) = on_a_stream(&PlaneConfig::default());
        cluster.crash(3);
        if told_between {
            cluster.tell(first(1));
            cluster.settle();
        }
        cluster.crash(2);
        cluster.tell_all();
        let heard = cluster.take_heard(one).join(" ");
        assert_eq!((heard.matches("-2").count(), heard.matches("-3").count()), (1, 1), "{heard}");
        assert_eq!(cluster.names_on(&stream), ["1"]);
        assert!(!cluster.planes.contains_key(&two.place));
        cluster.assert_settled();
    }
}

#[test]
fn what_was_shown_before_it_was_told_is_told_to_have_gone() {
    let config = PlaneConfig { merge_above: 0, ..PlaneConfig::default() };
    let mut cluster = Cluster::new(&[1, 1, 1], &config);
    let stream = cluster.owned_by(3);
    let [early, late, passing] = [1, 1, 3].map(|node| cluster.open(first(node)));
    cluster.join(early, &stream);
    cluster.join(passing, &stream);
    cluster.join(late, &stream);
    cluster.heard.clear();
    cluster.crash(3);
    cluster.tell_all();
    assert!(cluster.take_heard(late)[0].contains("-3"));
}

#[test]
fn a_party_ends_with_its_owner_and_its_members_are_told() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let stream = (0..)
        .map(|n| StreamKey::about(mode::PARTY, Uuid::from_u128(n)))
        .find(|stream| cluster.owners[stream.partition().row()].0 == first(2))
        .unwrap();
    let leader = cluster.open(first(1));
    cluster.step(leader.place, |plane, now, out| {
        let request = plane.request();
        let settings = party::Settings { open: true, hidden: false, label: party::Label::default() };
        let create = |leader| party::PartyRequest::Create { leader, settings, max_size: 4, created_at: Timestamp(0) };
        plane.come_to_party(now, leader.key, stream.clone(), create, request, out);
    });
    cluster.settle();
    cluster.heard.clear();
    cluster.crash(2);
    cluster.tell_all();
    assert_eq!(cluster.take_heard(leader), ["[closed]"]);
    assert!(!cluster.is_on(leader, &stream));
    assert_eq!(cluster.planes[&first(1)].stats().streams, 0);
}

#[test]
fn a_node_that_joins_may_own_what_a_dead_one_did_at_once() {
    for told_first in [1, 3] {
        let (mut cluster, stream, [one, two, _]) = on_a_stream(&PlaneConfig::default());
        cluster.crash(3);
        let node = cluster.add(2);
        let new = Place::new(node, 1);
        cluster.give(stream.partition(), new);
        cluster.tell(if told_first == 1 { first(1) } else { new });
        cluster.settle();
        cluster.tell_all();
        for session in [one, two] {
            assert_eq!(cluster.take_heard(session), ["-3"]);
        }
        let late = cluster.open(Place::new(node, 0));
        cluster.join(late, &stream);
        assert_eq!(cluster.take_heard(one), ["+4"]);
        let mut names = cluster.names_on(&stream);
        names.sort();
        assert_eq!(names, ["1", "2", "4"]);
        cluster.assert_settled();
    }
}

#[test]
fn of_sessions_that_are_to_be_the_only_one_the_last_opened_goes_on_though_the_owner_died() {
    for newer in [0, 1] {
        let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
        let user = |number: u128| StreamKey::notifications(UserId(Uuid::from_u128(number)));
        let stream = (0..).map(user).find(|stream| cluster.owners[stream.partition().row()].0 == first(3)).unwrap();
        let sessions =
            [0, 1].map(|index| cluster.open_at(first(1 + index as NodeNumber), Some(i64::from(index == newer))));
        cluster.crash(3);
        // Nobody waits for these joins, so neither is refused: the new owner is told of both.
        for session in sessions {
            let hidden = JoinOptions { hidden: true, ..JoinOptions::default() };
            cluster.step(session.place, |plane, now, out| {
                plane.join(now, session.key, stream.clone(), hidden, None, out);
            });
        }
        cluster.tell_all();
        assert_eq!(cluster.take_heard(sessions[1 - newer]), ["bye"]);
        assert_eq!(cluster.take_heard(sessions[newer]), [""; 0]);
    }
}
