//! Tests that durable matches go on whichever nodes die.

use muster_domain::ErrorKind;

use super::matches::say;
use super::*;
use crate::matches::{Act, LeaveReason, Outcome, Return};

impl Cluster {
    /// Keeps the call of a durable match and its return, as an engine does.
    pub(super) fn log(&mut self, call: &Call, returned: &Return) {
        if call.is_durable() {
            let of_first = Outline::of_first(call);
            let outline = self.logs.entry(call.id).or_insert_with(|| of_first.expect("a first call"));
            assert!(outline.returned(&call.callback, returned) || matches!(returned.outcome, Outcome::Over));
        }
    }

    /// Gives new owners the matches that the logs have.
    pub(super) fn take_over_logs(&mut self) {
        for (place, partition, epoch) in std::mem::take(&mut self.taking) {
            let outlines: Vec<Outline> =
                self.logs.values().filter(|outline| outline.id.partition() == partition).cloned().collect();
            self.step(place, |plane, now, out| plane.matches_taken_over(now, partition, epoch, outlines, out));
        }
        self.settle();
    }

    /// Lets a node die, tells all, and has logs taken over.
    fn survive(&mut self, node: NodeNumber) {
        self.crash(node);
        self.tell_all();
        self.recover();
    }

    /// Returns from all calls up to the next loop. Answers their callbacks.
    fn returns_until_loop(&mut self, acts: Vec<Act>) -> Vec<Callback> {
        let mut called = Vec::new();
        for _ in 0..20 {
            if self.calls.is_empty() {
                self.pass(100);
            }
            let is_loop = matches!(self.calls[0].1.callback, Callback::Loop(_));
            called.push(self.returns(Outcome::GoesOn, if is_loop { acts.clone() } else { Vec::new() }));
            if is_loop {
                return called;
            }
        }
        panic!("no loop: {called:?}");
    }

    fn owner(&self, stream: &StreamKey) -> Place {
        self.owners[stream.partition().row()].0
    }

    fn match_stats(&self, stream: &StreamKey) -> crate::matches::MatchStats {
        self.planes[&self.owner(stream)].stats().matches
    }
}

fn left(callback: &Callback) -> Vec<(SessionRef, LeaveReason)> {
    let Callback::Leave(left) = callback else { panic!("{callback:?}") };
    left.iter().map(|left| (left.presence.session, left.reason)).collect()
}

/// Three nodes, a durable match of the second, and a player of each of the others.
fn playing() -> (Cluster, StreamKey, SessionRef, SessionRef) {
    let recover = Recover { matches: true, ..Recover::default() };
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig { recover, ..PlaneConfig::default() });
    let id = cluster.planes[&first(2)].match_id(Uuid::from_u128(7 << 64), true);
    let stream = cluster.make_match_of(id);
    assert_eq!(cluster.owner(&stream), first(2));
    let (ann, bob) = (cluster.open(first(1)), cluster.open(first(3)));
    cluster.enter(ann, &stream);
    cluster.enter(bob, &stream);
    cluster.heard.clear();
    (cluster, stream, ann, bob)
}

#[test]
fn ids_are_of_few_partitions_of_the_place_that_makes_the_match() {
    let cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let ids = (0..500).map(|n| cluster.planes[&first(2)].match_id(Uuid::from_u128(n << 64), true));
    let partitions: BTreeSet<Partition> = ids.map(MatchId::partition).collect();
    assert_eq!(partitions.len(), DURABLE_PARTITIONS);
    assert!(partitions.iter().all(|partition| cluster.owners[partition.row()].0 == first(2)));
    let id = cluster.planes[&first(2)].match_id(Uuid::from_u128(1), false);
    assert!(!id.is_durable() && cluster.planes.contains_key(&id.partition().anchor().unwrap()));
    // A place that owns no partition makes a match in any.
    let newcomer = Plane::new(first(9), cluster.routes(), PlaneConfig::default(), Rc::new(Words));
    assert!(newcomer.match_id(Uuid::from_u128(1), true).is_durable());
}

#[test]
fn a_match_goes_on_with_its_players_when_its_node_dies_and_nobody_is_told() {
    let (mut cluster, stream, ann, bob) = playing();
    assert_eq!(cluster.tick(ann, &stream, "before"), ["before"]);
    cluster.returns_until_loop(vec![Act::Label("{\"round\":2}".into())]);
    cluster.heard.clear();
    cluster.survive(2);
    assert_eq!(cluster.heard.len(), 0, "{:?}", cluster.heard);
    let stats = cluster.match_stats(&stream);
    assert_eq!((stats.matches, stats.durable, stats.resumed, stats.lost), (1, 1, 1, 0));
    assert!(cluster.calls.is_empty(), "{:?}", cluster.calls);
    assert_eq!(cluster.tick(bob, &stream, "after"), ["after"]);
    assert_eq!(cluster.logs.values().next().unwrap().tick, 3);
    for session in [ann, bob] {
        assert_eq!(cluster.take_heard(session), ["tick"]);
    }
    cluster.ask_match(ann.place, &stream, MatchAsk::Get);
    let Some(Reply::Answer(Answer::Match(Ok(crate::matches::MatchAnswer::Listed(listed))))) = cluster.replies.pop()
    else {
        panic!()
    };
    assert_eq!((&*listed[0].label, listed[0].size, listed[0].tick_rate), ("{\"round\":2}", 2, 10));
    // The match ends as others do.
    cluster.pass(100);
    cluster.returns(Outcome::Over, Vec::new());
    for session in [ann, bob] {
        assert!(!cluster.is_on(session, &stream));
    }
    assert_eq!((cluster.logs.len(), cluster.match_stats(&stream).durable), (0, 0));
}

#[test]
fn players_who_die_with_the_owner_have_left_for_handler_and_players() {
    let (mut cluster, stream, ann, bob) = playing();
    let cid = cluster.open(first(2));
    cluster.enter(cid, &stream);
    cluster.heard.clear();
    cluster.survive(2);
    assert_eq!((cluster.take_heard(ann), cluster.take_heard(bob)), (vec!["-3".into()], vec!["-3".into()]));
    assert_eq!(left(&cluster.returns(Outcome::GoesOn, Vec::new())), [(cid, LeaveReason::Disconnected)]);
    assert_eq!(cluster.tick(ann, &stream, "we two"), ["we two"]);
}

#[test]
fn an_attempt_whose_answer_is_lost_is_made_again() {
    // Either the handler decided to let the session in and nobody was told, or the handler was not asked yet.
    for is_decided in [true, false] {
        let (mut cluster, stream, ann, _) = playing();
        let cid = cluster.open(first(3));
        cluster.begin_to_enter(cid, &stream);
        if is_decided {
            let (_, call) = cluster.calls.remove(0);
            cluster.log(&call, &Return { outcome: Outcome::Decided(Ok(())), acts: Vec::new() });
        }
        cluster.crash(2);
        cluster.tell_all();
        assert!(matches!(cluster.replies.pop(), Some(Reply::Answer(Answer::Match(Err(_))) | Reply::Joined(Err(_)))));
        cluster.recover();
        assert!(!cluster.is_on(cid, &stream));
        if is_decided {
            assert!(matches!(cluster.returns(Outcome::GoesOn, Vec::new()), Callback::Join(came) if came.len() == 1));
            let left = left(&cluster.returns(Outcome::GoesOn, Vec::new()));
            assert_eq!(left, [(cid, LeaveReason::Disconnected)]);
        }
        assert!(cluster.take_heard(ann).is_empty());
        cluster.enter(cid, &stream);
        assert_eq!(cluster.tick(cid, &stream, "again"), ["again"]);
    }
}

#[test]
fn who_was_put_out_in_the_last_moment_is_out() {
    let (mut cluster, stream, ann, bob) = playing();
    cluster.pass(100);
    let kicked = cluster.planes[&ann.place].presence(ann.key).unwrap().session_id;
    let (_, call) = cluster.calls.remove(0);
    cluster.log(&call, &Return { outcome: Outcome::GoesOn, acts: vec![Act::Kick(vec![kicked])] });
    cluster.survive(2);
    assert_eq!((cluster.take_heard(ann), cluster.take_heard(bob)), (vec!["left 1".into()], vec!["-1".into()]));
    assert!(!cluster.is_on(ann, &stream));
    assert_eq!(left(&cluster.returns(Outcome::GoesOn, Vec::new())), [(ann, LeaveReason::Kicked)]);
}

#[test]
fn a_session_that_moved_keeps_its_seat() {
    let (mut cluster, stream, ann, bob) = playing();
    let moved = cluster.move_to(ann, first(3));
    cluster.survive(2);
    assert!(cluster.calls.is_empty(), "{:?}", cluster.calls);
    assert_eq!(cluster.tick(moved, &stream, "from elsewhere"), ["from elsewhere"]);
    assert_eq!((cluster.take_heard(moved), cluster.take_heard(bob)), (vec!["tick".into()], vec!["tick".into()]));
    // A kick at its new place removes the session.
    let kicked = cluster.planes[&moved.place].presence(moved.key).unwrap().session_id;
    cluster.pass(100);
    cluster.returns(Outcome::GoesOn, vec![Act::Kick(vec![kicked])]);
    cluster.returns(Outcome::GoesOn, Vec::new());
    assert!(!cluster.is_on(moved, &stream));
}

#[test]
fn a_match_that_nobody_is_in_goes_on() {
    let (mut cluster, stream, ann, bob) = playing();
    for session in [ann, bob] {
        cluster.step(session.place, |plane, now, out| plane.leave(now, session.key, stream.clone(), out));
        cluster.settle();
        cluster.returns(Outcome::GoesOn, Vec::new());
    }
    cluster.survive(2);
    assert_eq!(cluster.match_stats(&stream).resumed, 1);
    cluster.enter(ann, &stream);
    assert_eq!(cluster.tick(ann, &stream, "hello again"), ["hello again"]);
}

#[test]
fn a_match_of_which_nothing_was_kept_ends_for_its_players() {
    let (mut cluster, stream, ann, bob) = playing();
    cluster.logs.clear();
    cluster.survive(2);
    assert_eq!((cluster.take_heard(ann), cluster.take_heard(bob)), (vec!["left 1".into()], vec!["left 2".into()]));
    assert_eq!((cluster.match_stats(&stream).matches, cluster.match_stats(&stream).lost), (0, 1));
    cluster.begin_to_enter(ann, &stream);
    assert!(
        matches!(cluster.replies.pop(), Some(Reply::Answer(Answer::Match(Err(why)))) if why.kind == ErrorKind::NotFound)
    );
}

#[test]
fn a_log_that_comes_late_brings_the_match_back_without_players() {
    let (mut cluster, stream, ann, _) = playing();
    cluster.crash(2);
    cluster.tell_all();
    cluster.pass(RECOVERY_WAIT_MS);
    assert!(cluster.take_heard(ann).is_empty(), "matches take longer than the rest");
    cluster.pass(MATCH_RECOVERY_WAIT_MS);
    assert_eq!(cluster.take_heard(ann), ["left 1"]);
    assert_eq!((cluster.match_stats(&stream).matches, cluster.match_stats(&stream).lost), (0, 1));
    assert!(cluster.planes[&cluster.owner(&stream)].stats().recoveries_late > 0);
    cluster.take_over_logs();
    assert_eq!(left(&cluster.returns(Outcome::GoesOn, Vec::new())).len(), 2);
    cluster.enter(ann, &stream);
    assert_eq!(cluster.tick(ann, &stream, "found"), ["found"]);
}

#[test]
fn an_owner_that_was_taken_for_dead_puts_its_matches_away() {
    let (mut cluster, stream, ann, bob) = playing();
    cluster.pass(100);
    let (former, called) = (cluster.owner(&stream), cluster.calls.clone());
    cluster.give(stream.partition(), first(3));
    cluster.tell_all();
    assert!(cluster.calls.is_empty(), "the engine was told to forget");
    cluster.recover();
    assert_eq!(cluster.planes[&former].stats().matches.matches, 0);
    // The return of a call of the former owner is dropped.
    let returned = Return { outcome: Outcome::GoesOn, acts: vec![say("from the dead")] };
    cluster.step(former, |plane, now, out| plane.match_returned(now, called[0].1.reference(), returned, out));
    cluster.settle();
    assert_eq!(cluster.tick(ann, &stream, "at the next"), ["at the next"]);
    assert_eq!((cluster.take_heard(ann), cluster.take_heard(bob)), (vec!["tick".into()], vec!["tick".into()]));
}

impl Cluster {
    /// Lets engines give up logs that rest, and take over those of matches that arrive, until nothing more follows.
    fn release_logs(&mut self) {
        for (place, partition) in std::mem::take(&mut self.releases) {
            assert!(self.calls.iter().all(|(_, call)| call.id.partition() != partition), "a call is under way");
            self.step(place, |plane, now, out| plane.matches_released(now, partition, out));
        }
        self.settle();
    }

    /// Sends a match on its way, and tells all.
    fn hand_match(&mut self, stream: &StreamKey, to: Place) {
        self.hand(stream.partition(), to);
        self.tell_all();
    }

    fn arrive(&mut self) {
        self.release_logs();
        self.take_over_logs();
        self.settle_moves();
        self.tell_all();
    }

    fn send(&mut self, session: SessionRef, stream: &StreamKey, text: &'static str) {
        let (op_code, data, received_at) = (1, Bytes::from_static(text.as_bytes()), Timestamp(1));
        let ask = MatchAsk::Input { session, op_code, data, reliable: true, received_at };
        self.step(session.place, |plane, now, out| plane.ask_match(now, stream.clone(), ask, None, out));
        self.settle();
    }
}

fn texts(callback: &Callback) -> Vec<&str> {
    let Callback::Loop(inputs) = callback else { panic!("{callback:?}") };
    inputs.iter().map(|input| std::str::from_utf8(&input.data).unwrap()).collect()
}

#[test]
fn a_match_moves_between_living_nodes_with_all_that_waits_for_it() {
    let (mut cluster, stream, ann, bob) = playing();
    let cid = cluster.open(first(3));
    cluster.pass(100);
    // A tick is under way: it ends at the place where it began.
    cluster.send(ann, &stream, "a1");
    cluster.begin_to_enter(cid, &stream);
    cluster.hand_match(&stream, first(3));
    cluster.send(ann, &stream, "a2");
    cluster.send(bob, &stream, "b1");
    assert!(cluster.releases.is_empty(), "not while a call is under way");
    assert!(texts(&cluster.returns(Outcome::GoesOn, vec![say("the last here")])).is_empty());
    for session in [ann, bob] {
        assert_eq!(cluster.take_heard(session), ["the last here"]);
    }
    cluster.pass(1_000);
    assert!(cluster.calls.is_empty(), "it rests: {:?}", cluster.calls);
    cluster.arrive();
    assert_eq!(cluster.planes[&first(2)].stats().matches.matches, 0);
    let (place, call) = &cluster.calls[0];
    assert!(*place == first(3) && matches!(call.callback, Callback::JoinAttempt { .. }), "{call:?}");
    cluster.returns(Outcome::Decided(Ok(())), Vec::new());
    cluster.returns(Outcome::GoesOn, Vec::new());
    assert!(matches!(cluster.replies.pop(), Some(Reply::Answer(Answer::Match(Ok(_))))), "whoever asked is answered");
    assert_eq!(texts(&cluster.returns(Outcome::GoesOn, Vec::new())), ["a1", "a2", "b1"]);
    assert_eq!(cluster.tick(cid, &stream, "c1"), ["c1"]);
    let stats = cluster.match_stats(&stream);
    assert_eq!((stats.durable, stats.resumed, stats.lost), (1, 0, 0));
    // The match goes back while it is at rest.
    cluster.heard.clear();
    cluster.hand_match(&stream, first(2));
    cluster.arrive();
    assert_eq!(cluster.tick(ann, &stream, "a3"), ["a3"]);
    assert_eq!(cluster.take_heard(cid), ["tick"]);
}

#[test]
fn a_match_whose_way_ends_with_one_of_the_owners_goes_on_from_its_log() {
    for (dies, released) in [(2, false), (2, true), (3, false), (3, true)] {
        let (mut cluster, stream, ann, bob) = playing();
        let [gone, stays] = if dies == 3 { [bob, ann] } else { [ann, bob] };
        let cid = cluster.open(first(1));
        cluster.enter(cid, &stream);
        cluster.hand_match(&stream, first(3));
        if released {
            cluster.release_logs();
        }
        // The next owner does not have the log yet.
        let partition = stream.partition();
        cluster.moves.remove(&partition);
        cluster.crash(dies);
        if cluster.owners[partition.row()].0.node() != 1 {
            cluster.give(partition, first(1));
        }
        cluster.handed_over.clear();
        cluster.tell_all();
        cluster.taking.retain(|(place, ..)| cluster.planes.contains_key(place));
        cluster.recover();
        if dies == 3 {
            assert_eq!(left(&cluster.returns(Outcome::GoesOn, Vec::new())), [(gone, LeaveReason::Disconnected)]);
        }
        cluster.heard.clear();
        assert_eq!(cluster.tick(stays, &stream, "on we go"), ["on we go"], "{dies} {released}");
        assert_eq!(cluster.take_heard(cid), ["tick"]);
        assert_eq!(cluster.match_stats(&stream).lost, 0);
    }
}

#[test]
fn players_who_die_while_their_match_is_on_its_way_have_left_it() {
    let (mut cluster, stream, ann, bob) = playing();
    let cid = cluster.open(first(3));
    cluster.begin_to_enter(cid, &stream);
    cluster.hand_match(&stream, first(1));
    cluster.crash(3);
    cluster.tell_all();
    // The former owner asks the handler whether to let in a session that has gone meanwhile.
    cluster.returns(Outcome::Decided(Ok(())), Vec::new());
    assert!(cluster.releases.is_empty(), "not between an attempt and its join");
    assert!(matches!(cluster.returns(Outcome::GoesOn, Vec::new()), Callback::Join(_)));
    cluster.arrive();
    cluster.recover();
    let mut gone = BTreeSet::new();
    while !cluster.calls.is_empty() {
        if let Callback::Leave(left) = cluster.returns(Outcome::GoesOn, Vec::new()) {
            gone.extend(left.iter().map(|left| left.presence.session));
        }
    }
    assert_eq!(gone, BTreeSet::from([bob, cid]));
    cluster.heard.clear();
    assert_eq!(cluster.tick(ann, &stream, "alone"), ["alone"]);
    assert_eq!(cluster.planes[&first(1)].owned_presences(&stream).count(), 1);
}

#[test]
fn a_match_whose_log_does_not_arrive_with_it_ends_for_its_players_and_comes_back_with_it() {
    let (mut cluster, stream, ann, _) = playing();
    cluster.hand_match(&stream, first(3));
    cluster.release_logs();
    cluster.pass(MATCH_RECOVERY_WAIT_MS);
    assert_eq!(cluster.take_heard(ann), ["left 1"]);
    assert_eq!(cluster.logs.len(), 1, "what is kept is left alone");
    cluster.settle_moves();
    cluster.tell_all();
    assert_eq!(cluster.match_stats(&stream).lost, 1);
    cluster.take_over_logs();
    assert_eq!(left(&cluster.returns(Outcome::GoesOn, Vec::new())).len(), 2);
    cluster.enter(ann, &stream);
    assert_eq!(cluster.tick(ann, &stream, "found"), ["found"]);
}

#[test]
fn who_waits_to_be_let_in_and_dies_is_not_let_in() {
    let (mut cluster, stream, ann, _) = playing();
    let cid = cluster.open(first(3));
    cluster.begin_to_enter(cid, &stream);
    cluster.crash(3);
    cluster.tell_all();
    cluster.recover();
    cluster.returns(Outcome::Decided(Ok(())), Vec::new());
    while !cluster.calls.is_empty() {
        cluster.returns(Outcome::GoesOn, Vec::new());
    }
    assert_eq!(cluster.planes[&first(2)].owned_presences(&stream).count(), 1);
    assert_eq!(cluster.tick(ann, &stream, "alone"), ["alone"]);
}
