//! Tests of a node that dies while its recovery data are kept elsewhere: its things go on.

use super::*;
use crate::party::PartyAnswer;
use crate::party::{Label, PartyRequest, Person, Settings};

const DONE: Reply = Reply::Answer(Answer::Party(PartyAnswer::One(Ok(party::PartyReply::Done))));

fn three_nodes() -> Cluster {
    Cluster::new(
        &[1, 1, 1],
        &PlaneConfig {
            recover: Recover { parties: true, rooms: true, tickets: true, matches: false },
            ..PlaneConfig::default()
        },
    )
}

impl Cluster {
    /// Gives new owners the recovery data that were kept.
    pub(super) fn recover(&mut self) {
        for (place, partition, epoch) in std::mem::take(&mut self.recovering) {
            let kept = self.kept.iter().filter(|(thing, _)| thing.partition() == partition);
            let parts: Vec<Carried> = kept.flat_map(|(_, parts)| parts.clone()).collect();
            self.step(place, |plane, now, out| plane.recovered(now, partition, epoch, parts, out));
        }
        self.take_over_logs();
        self.settle();
    }

    /// The stream of a party, in a partition that a node owns.
    fn party_of(&self, node: NodeNumber) -> StreamKey {
        let parties = (0..).map(|n| StreamKey::about(mode::PARTY, Uuid::from_u128(n)));
        let owner = |stream: &StreamKey| self.owners[stream.partition().row()].0;
        parties.into_iter().find(|stream| owner(stream) == first(node)).unwrap()
    }

    fn come(
        &mut self,
        session: SessionRef,
        stream: &StreamKey,
        ask: impl FnOnce(party::Member) -> PartyRequest,
    ) -> Reply {
        self.step(session.place, |plane, now, out| {
            let request = plane.request();
            plane.come_to_party(now, session.key, stream.clone(), ask, request, out);
        });
        self.settle();
        self.replies.pop().unwrap()
    }

    fn make(&mut self, session: SessionRef, stream: &StreamKey, open: bool) {
        let settings = Settings { open, hidden: false, label: Label::default() };
        let create = |leader| PartyRequest::Create { leader, settings, max_size: 4, created_at: Timestamp(0) };
        assert_eq!(self.come(session, stream, create), DONE);
    }

    fn ask(&mut self, session: SessionRef, stream: &StreamKey, ask: PartyRequest) -> Reply {
        self.step(session.place, |plane, now, out| {
            let request = plane.request();
            plane.ask_party(now, stream.clone(), ask, Some(request), out);
        });
        self.settle();
        self.replies.pop().unwrap()
    }

    fn person(&self, session: SessionRef) -> Person {
        let presence = self.planes[&session.place].presence(session.key).unwrap();
        Person { session_id: presence.session_id, user_id: presence.user_id, username: presence.username }
    }

    fn forget_heard(&mut self) {
        self.heard.clear();
    }
}

#[test]
fn a_party_goes_on_with_those_who_are_there_led_by_whom_it_was() {
    let mut cluster = three_nodes();
    let stream = cluster.party_of(3);
    let [ann, bob, cid, dan] = [1, 2, 3, 2].map(|node| cluster.open(first(node)));
    cluster.make(cid, &stream, true);
    for session in [ann, bob] {
        assert_eq!(cluster.come(session, &stream, PartyRequest::Join), DONE);
    }
    let target = cluster.person(bob);
    assert_eq!(cluster.ask(cid, &stream, PartyRequest::Promote { by: cid, target }), DONE);
    cluster.pass(RECOVERY_INTERVAL_MS);
    // The change of the last moment was not kept.
    assert_eq!(cluster.come(dan, &stream, PartyRequest::Join), DONE);
    cluster.forget_heard();
    cluster.crash(3);
    cluster.tell_all();
    assert_eq!(cluster.heard.len(), 0, "nothing before it is known what was kept");
    cluster.recover();
    for session in [ann, bob, dan] {
        assert_eq!(cluster.take_heard(session), ["-3"]);
    }
    let target = cluster.person(ann);
    assert_eq!(cluster.ask(bob, &stream, PartyRequest::Remove { by: bob, target }), DONE);
    assert_eq!(cluster.take_heard(ann), ["[closed]"]);
    assert_eq!(cluster.take_heard(dan), ["-1"]);
}

#[test]
fn whoever_leads_from_now_on_is_told_when_the_leader_died_with_the_owner() {
    let mut cluster = three_nodes();
    let stream = cluster.party_of(3);
    let [ann, bob, cid] = [1, 2, 3].map(|node| cluster.open(first(node)));
    cluster.make(cid, &stream, true);
    for session in [bob, ann] {
        assert_eq!(cluster.come(session, &stream, PartyRequest::Join), DONE);
    }
    cluster.pass(RECOVERY_INTERVAL_MS);
    cluster.forget_heard();
    cluster.crash(3);
    cluster.tell_all();
    cluster.recover();
    for session in [ann, bob] {
        assert_eq!(cluster.take_heard(session), ["-3", "[2 leads]"]);
    }
}

#[test]
fn who_asks_to_be_let_in_still_waits() {
    let mut cluster = three_nodes();
    let stream = cluster.party_of(3);
    let [ann, bob, cid] = [1, 2, 3].map(|node| cluster.open(first(node)));
    cluster.make(ann, &stream, false);
    for session in [bob, cid] {
        assert_eq!(
            cluster.come(session, &stream, PartyRequest::Join),
            Reply::Answer(Answer::Party(PartyAnswer::One(Ok(party::PartyReply::Asked))))
        );
    }
    cluster.pass(RECOVERY_INTERVAL_MS);
    cluster.forget_heard();
    cluster.crash(3);
    cluster.tell_all();
    cluster.recover();
    let requests = cluster.ask(ann, &stream, PartyRequest::ListRequests(ann));
    let Reply::Answer(Answer::Party(PartyAnswer::One(Ok(party::PartyReply::Requests(requests))))) = requests else {
        panic!("{requests:?}")
    };
    assert_eq!(requests.iter().map(|presence| presence.session).collect::<Vec<_>>(), [bob]);
    let target = cluster.person(bob);
    assert_eq!(cluster.ask(ann, &stream, PartyRequest::Accept { by: ann, target }), DONE);
    assert_eq!(cluster.take_heard(bob), ["[in 12 under 1]", "+2"]);
}

#[test]
fn what_was_not_kept_ends_and_they_are_told_who_asks_not_waiting_longer_than_two_seconds() {
    let mut cluster = three_nodes();
    let [stream, other] = [cluster.party_of(3), cluster.owned_by(3)];
    let ann = cluster.open(first(1));
    cluster.make(ann, &stream, true);
    cluster.join(ann, &other);
    cluster.forget_heard();
    cluster.crash(3);
    cluster.tell_all();
    cluster.publish(ann, &other, "who hears?");
    cluster.pass(RECOVERY_WAIT_MS - 1);
    assert!(cluster.take_heard(ann).is_empty());
    cluster.pass(1);
    let heard = cluster.take_heard(ann);
    assert!(heard.contains(&"[closed]".to_owned()) && heard.contains(&"who hears?".to_owned()), "{heard:?}");
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(!cluster.is_on(ann, &stream));
    let late: u64 = cluster.planes.values().map(|plane| plane.stats().recoveries_late).sum();
    assert_eq!(late, cluster.recovering.len() as u64);
    // Recovery data that come now come too late.
    cluster.recover();
    assert_eq!(cluster.planes.values().map(|plane| plane.stats().parties).sum::<usize>(), 0);
}

#[test]
fn a_party_that_ended_is_kept_no_longer_and_one_that_moved_is_kept_by_its_next_owner() {
    let mut cluster = three_nodes();
    let stream = cluster.party_of(3);
    let ann = cluster.open(first(1));
    cluster.make(ann, &stream, true);
    cluster.pass(RECOVERY_INTERVAL_MS);
    let thing = RecoveryKey::Party(party::PartyId(stream.subject));
    assert_eq!(cluster.kept[&thing].len(), 1);
    cluster.kept.clear();
    cluster.hand(stream.partition(), first(2));
    cluster.tell_all();
    cluster.settle_moves();
    cluster.tell_all();
    cluster.pass(RECOVERY_INTERVAL_MS);
    assert_eq!(cluster.kept[&thing].len(), 1);
    cluster.step(ann.place, |plane, now, out| plane.leave(now, ann.key, stream.clone(), out));
    cluster.settle();
    cluster.pass(RECOVERY_INTERVAL_MS);
    assert_eq!(cluster.kept[&thing].len(), 0);
}

#[test]
fn what_was_kept_and_lost_is_kept_again_by_its_owner_alone() {
    let mut cluster = three_nodes();
    let stream = cluster.party_of(3);
    let ann = cluster.open(first(1));
    cluster.make(ann, &stream, true);
    cluster.pass(RECOVERY_INTERVAL_MS);
    let thing = RecoveryKey::Party(party::PartyId(stream.subject));
    cluster.kept.clear();
    cluster.step(first(2), |plane, now, _| plane.keep_again(now, &[thing]));
    cluster.pass(RECOVERY_INTERVAL_MS);
    assert_eq!(cluster.kept.len(), 0, "another place owns it");
    cluster.step(first(3), |plane, now, _| plane.keep_again(now, &[thing]));
    cluster.pass(RECOVERY_INTERVAL_MS);
    assert_eq!(cluster.kept[&thing].len(), 1);
}
