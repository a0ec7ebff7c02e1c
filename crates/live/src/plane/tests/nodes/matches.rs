//! Tests that matches of game code stay where they were made, whatever nodes come and go.

use muster_domain::ErrorKind;

use super::*;
use crate::matches::{Act, Broadcast, Chain, Creation, MatchAnswer, Outcome, Return};
use crate::plane;

pub(super) fn say(text: &'static str) -> Act {
    let data = Bytes::from_static(text.as_bytes());
    Act::Broadcast(Broadcast { op_code: 1, data, to: None, sender: None, reliable: true })
}

impl Cluster {
    pub(super) fn ask_match(&mut self, from: Place, stream: &StreamKey, ask: MatchAsk) {
        self.step(from, |plane, now, out| {
            let request = plane.request();
            plane.ask_match(now, stream.clone(), ask, Some(request), out);
        });
        self.settle();
    }

    /// Lets the waiting call return. Answers its callback.
    pub(super) fn returns(&mut self, outcome: Outcome, acts: Vec<Act>) -> Callback {
        assert_eq!(self.calls.len(), 1, "{:?}", self.calls);
        let (place, call) = self.calls.remove(0);
        let returned = Return { outcome, acts };
        self.log(&call, &returned);
        self.step(place, |plane, now, out| plane.match_returned(now, call.reference(), returned, out));
        self.settle();
        call.callback
    }

    fn make_match(&mut self, at: Place) -> StreamKey {
        self.make_match_of(MatchId::at(at, Uuid::from_u128(7 << 64)))
    }

    pub(super) fn make_match_of(&mut self, id: MatchId) -> StreamKey {
        let stream = id.stream(self.planes[&first(1)].node());
        let creation = Creation {
            handler: "arena".into(),
            params: Bytes::new(),
            created_at: Timestamp(1),
            chain: Chain::default(),
            is_durable: id.is_durable(),
        };
        self.ask_match(first(1), &stream, MatchAsk::Create(creation));
        self.returns(Outcome::Begun { tick_rate: 10, label: "".into() }, Vec::new());
        assert_eq!(self.replies.pop(), Some(Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Created)))));
        stream
    }

    pub(super) fn begin_to_enter(&mut self, session: SessionRef, stream: &StreamKey) {
        self.step(session.place, |plane, now, out| {
            let request = plane.request();
            plane.come_to_match(now, session.key, stream.clone(), Arc::default(), request, out);
        });
        self.settle();
    }

    pub(super) fn enter(&mut self, session: SessionRef, stream: &StreamKey) {
        self.begin_to_enter(session, stream);
        self.returns(Outcome::Decided(Ok(())), Vec::new());
        assert!(matches!(self.returns(Outcome::GoesOn, Vec::new()), Callback::Join(_)));
        assert!(matches!(self.replies.pop(), Some(Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Entered(_)))))));
    }

    /// Data that the handler hears from this session in the next tick; it answers all.
    pub(super) fn tick(&mut self, session: SessionRef, stream: &StreamKey, text: &'static str) -> Vec<Bytes> {
        let (op_code, data, received_at) = (1, Bytes::from_static(text.as_bytes()), Timestamp(1));
        let ask = MatchAsk::Input { session, op_code, data, reliable: true, received_at };
        self.step(session.place, |plane, now, out| plane.ask_match(now, stream.clone(), ask, None, out));
        self.settle();
        self.pass(100);
        let Callback::Loop(inputs) = self.returns(Outcome::GoesOn, vec![say("tick")]) else { panic!("no loop") };
        inputs.into_iter().map(|input| input.data).collect()
    }
}

/// Three nodes, a match at the second, and players of the first and the third.
fn playing() -> (Cluster, StreamKey, SessionRef, SessionRef) {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let stream = cluster.make_match(first(2));
    let (ann, bob) = (cluster.open(first(1)), cluster.open(first(3)));
    cluster.enter(ann, &stream);
    cluster.enter(bob, &stream);
    cluster.heard.clear();
    (cluster, stream, ann, bob)
}

#[test]
fn a_match_goes_on_while_partitions_move_to_a_new_node() {
    let (mut cluster, stream, ann, bob) = playing();
    let node = cluster.add(1);
    cluster.tell_all();
    for partition in Partition::all() {
        cluster.hand(partition, first(node));
    }
    cluster.tell_all();
    assert_eq!(cluster.tick(ann, &stream, "on the way"), ["on the way"]);
    cluster.settle_moves();
    cluster.tell_all();
    assert_eq!(cluster.tick(bob, &stream, "moved"), ["moved"]);
    assert_eq!((cluster.take_heard(ann), cluster.take_heard(bob)), (vec!["tick".into(); 2], vec!["tick".into(); 2]));
    let dan = cluster.open(first(node));
    cluster.enter(dan, &stream);
    assert_eq!(cluster.tick(dan, &stream, "new"), ["new"]);
}

#[test]
fn when_the_node_of_a_match_dies_its_players_see_themselves_go() {
    let (mut cluster, stream, ann, bob) = playing();
    let cid = cluster.open(first(1));
    cluster.begin_to_enter(cid, &stream);
    cluster.crash(2);
    cluster.tell_all();
    assert_eq!((cluster.take_heard(ann), cluster.take_heard(bob)), (vec!["left 1".into()], vec!["left 2".into()]));
    assert!(
        cluster.take_heard(cid).is_empty()
            && matches!(cluster.replies.pop(), Some(Reply::Answer(plane::Answer::Match(Err(_)))))
    );
    for session in [ann, bob, cid] {
        assert!(!cluster.is_on(session, &stream));
        cluster.begin_to_enter(session, &stream);
        let Some(Reply::Answer(plane::Answer::Match(Err(why)))) = cluster.replies.pop() else { panic!("let in") };
        assert_eq!(why.kind, ErrorKind::NotFound);
    }
}

#[test]
fn who_dies_with_their_node_leaves_the_match_and_who_moves_stays_in_it() {
    let (mut cluster, stream, ann, bob) = playing();
    let moved = cluster.move_to(ann, first(2));
    assert!(cluster.take_heard(bob).is_empty());
    assert_eq!(cluster.tick(moved, &stream, "from elsewhere"), ["from elsewhere"]);
    assert_eq!(cluster.take_heard(moved), ["tick"]);
    cluster.crash(1);
    cluster.tell_all();
    assert!(cluster.calls.is_empty(), "nobody was there any more");
    cluster.crash(3);
    cluster.tell_all();
    let Callback::Leave(left) = cluster.returns(Outcome::GoesOn, Vec::new()) else { panic!("not left") };
    assert_eq!(left.iter().map(|left| left.presence.session).collect::<Vec<_>>(), [bob]);
    let kicked = cluster.planes[&first(2)].presence(moved.key).unwrap().session_id;
    cluster.pass(100);
    cluster.returns(Outcome::GoesOn, vec![Act::Kick(vec![kicked])]);
    assert!(matches!(cluster.returns(Outcome::GoesOn, Vec::new()), Callback::Leave(_)));
    assert!(!cluster.is_on(moved, &stream));
}

#[test]
fn an_id_of_a_node_that_never_was_is_no_match() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let ann = cluster.open(first(1));
    for place in [first(9), Place::NONE] {
        let stream = MatchId::at(place, Uuid::from_u128(7 << 64)).stream(cluster.planes[&first(1)].node());
        cluster.begin_to_enter(ann, &stream);
        let Some(Reply::Answer(plane::Answer::Match(Err(why)))) = cluster.replies.pop() else { panic!("let in") };
        assert_eq!(why.kind, ErrorKind::NotFound);
        cluster.ask_match(first(2), &stream, MatchAsk::Get);
        let Some(Reply::Answer(plane::Answer::Match(Err(why)))) = cluster.replies.pop() else { panic!("let in") };
        assert_eq!(why.kind, ErrorKind::NotFound);
    }
}
