//! Tests of matches of game code whose players are on several shards.

use super::*;
use crate::matches::{
    Act, Broadcast, Callback, Chain, Creation, Joiner, LeaveReason, Left, ListQuery, MatchAnswer, MatchAsk, MatchId,
    MatchesAsk, Outcome, Return,
};
use crate::plane;

const RATE: u32 = 10;

pub(super) fn goes(acts: Vec<Act>) -> Return {
    Return { outcome: Outcome::GoesOn, acts }
}

fn say(text: &'static str) -> Act {
    let data = Bytes::from_static(text.as_bytes());
    Act::Broadcast(Broadcast { op_code: 1, data, to: None, sender: None, reliable: true })
}

impl World {
    /// A match owned by shard 1 that lets everybody in.
    fn with_match() -> (Self, MatchId) {
        let mut world = Self::new(2, &PlaneConfig::default());
        let routes = world.planes[0].routes().clone();
        let ids = (1..).map(|number: u128| MatchId(Uuid::from_u128(number)));
        let id = ids.into_iter().find(|id| routes.owner(stream(*id).partition()).shard() == 1).unwrap();
        world.make_match_of(id);
        (world, id)
    }

    pub(super) fn make_match_of(&mut self, id: MatchId) {
        self.begin_match_of(id);
        let begun = Outcome::Begun { tick_rate: RATE, label: r#"{"mode":"duel"}"#.into() };
        assert!(matches!(self.returns(Return { outcome: begun, acts: Vec::new() }), Callback::Init { .. }));
        assert_eq!(self.replies.pop(), Some(Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Created)))));
    }

    pub(super) fn begin_match_of(&mut self, id: MatchId) {
        self.step(0, |plane, now, out| {
            let creation = Creation {
                handler: "arena".into(),
                params: Bytes::new(),
                created_at: Timestamp(1),
                chain: Chain::default(),
                is_durable: id.is_durable(),
            };
            let request = plane.request();
            plane.ask_match(now, stream(id), MatchAsk::Create(creation), Some(request), out);
        });
        self.settle();
    }

    /// Lets the waiting call return.
    pub(super) fn returns(&mut self, returned: Return) -> Callback {
        assert_eq!(self.calls.len(), 1, "{:?}", self.calls);
        let call = self.calls.remove(0);
        self.step(1, |plane, now, out| plane.match_returned(now, call.reference(), returned, out));
        self.settle();
        call.callback
    }

    fn begin_to_enter_match(&mut self, session: SessionRef, id: MatchId) {
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            let metadata = vec![("team".to_owned(), "red".to_owned())];
            let joiner = Arc::new(Joiner { metadata, ..Joiner::default() });
            plane.come_to_match(now, session.key, stream(id), joiner, request, out);
        });
        self.settle();
    }

    pub(super) fn enter_match(&mut self, session: SessionRef, id: MatchId) -> usize {
        self.begin_to_enter_match(session, id);
        let asked = self.returns(Return { outcome: Outcome::Decided(Ok(())), acts: Vec::new() });
        assert!(matches!(asked, Callback::JoinAttempt { joiner, .. } if joiner.metadata[0].1 == "red"));
        assert!(matches!(self.returns(goes(Vec::new())), Callback::Join(came) if came[0].session == session));
        let Some(Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Entered(entered))))) = self.replies.pop() else {
            panic!("not let in")
        };
        assert_eq!(entered.presences.len(), entered.total);
        entered.total
    }

    pub(super) fn send_to_match(&mut self, session: SessionRef, id: MatchId, text: &'static str) {
        self.step(session.place.shard(), |plane, now, out| {
            let (op_code, data, reliable, received_at) = (1, Bytes::from_static(text.as_bytes()), true, Timestamp(1));
            let ask = MatchAsk::Input { session, op_code, data, reliable, received_at };
            plane.ask_match(now, stream(id), ask, None, out);
        });
        self.settle();
    }
}

pub(super) fn stream(id: MatchId) -> StreamKey {
    id.stream(&PlaneConfig::default().node)
}

#[test]
fn players_of_two_shards_meet_in_a_match() {
    let (mut world, id) = World::with_match();
    let (ann, bob) = (world.open(0), world.open(1));
    assert_eq!(world.enter_match(ann, id), 0);
    assert_eq!(world.enter_match(bob, id), 1, "who was there before");
    assert_eq!((world.take_heard(ann), world.take_heard(bob)), (vec!["+1".into(), "+2".into()], vec!["+2".into()]));
    world.send_to_match(ann, id, "a");
    world.send_to_match(bob, id, "b");
    world.pass(100);
    let Callback::Loop(inputs) = world.returns(goes(vec![say("state")])) else { panic!("no loop") };
    let inputs: Vec<_> = inputs.iter().map(|input| (input.sender.session, input.data.clone())).collect();
    assert_eq!(inputs, [(ann, "a".into()), (bob, "b".into())]);
    assert_eq!((world.take_heard(ann), world.take_heard(bob)), (vec!["state".into()], vec!["state".into()]));
    let all = ListQuery { query: None, label: None, sizes: (2, 2), limit: 10 };
    world.step(0, |plane, now, out| {
        let request = plane.request();
        let ask = Ask::Match(MatchesAsk::Find(all));
        plane.ask_place(now, Place::new(0, 1), Up::Ask { request: Some(request), ask }, out);
    });
    world.settle();
    let Some(Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Listed(listed))))) = world.replies.pop() else {
        panic!("no listing")
    };
    assert_eq!((listed[0].id, listed[0].size, listed[0].tick_rate), (id, 2, RATE));
}

#[test]
fn who_leaves_or_vanishes_is_gone_for_handler_and_players_alike() {
    let (mut world, id) = World::with_match();
    let (ann, bob, cid) = (world.open(0), world.open(1), world.open(0));
    [ann, bob, cid].into_iter().for_each(|player| {
        world.enter_match(player, id);
    });
    world.take_heard(ann);
    world.close(cid);
    let left = |callback: Callback| match callback {
        Callback::Leave(left) => left.into_iter().map(|Left { presence, reason }| (presence.session, reason)).collect(),
        other => panic!("{other:?}"),
    };
    let gone: Vec<(SessionRef, LeaveReason)> = left(world.returns(goes(Vec::new())));
    assert_eq!((gone, world.take_heard(ann)), (vec![(cid, LeaveReason::Disconnected)], vec!["-3".into()]));
    world.step(1, |plane, now, out| plane.leave(now, bob.key, stream(id), out));
    world.settle();
    let gone = left(world.returns(goes(Vec::new())));
    assert_eq!((gone, world.take_heard(ann)), (vec![(bob, LeaveReason::Left)], vec!["-2".into()]));
    // The session closes while the handler decides about it.
    let dan = world.open(0);
    world.begin_to_enter_match(dan, id);
    world.close(dan);
    world.returns(Return { outcome: Outcome::Decided(Ok(())), acts: Vec::new() });
    assert!(matches!(world.returns(goes(Vec::new())), Callback::Join(came) if came[0].session == dan));
    assert_eq!(left(world.returns(goes(Vec::new()))), [(dan, LeaveReason::Disconnected)]);
    assert!(world.calls.is_empty() && world.take_heard(ann).is_empty());
}

#[test]
fn the_refused_and_the_kicked_hear_nothing_more() {
    let (mut world, id) = World::with_match();
    let (ann, bob) = (world.open(0), world.open(0));
    world.begin_to_enter_match(bob, id);
    world.returns(Return { outcome: Outcome::Decided(Err("not you".into())), acts: Vec::new() });
    assert!(
        matches!(world.replies.pop(), Some(Reply::Answer(plane::Answer::Match(Err(why)))) if why.message == "not you")
    );
    world.enter_match(ann, id);
    world.enter_match(bob, id);
    world.take_heard(bob);
    world.pass(100);
    let kicked = world.planes[0].presence(bob.key).unwrap().session_id;
    world.returns(goes(vec![Act::Kick(vec![kicked]), say("without bob")]));
    assert!(matches!(world.returns(goes(Vec::new())), Callback::Leave(left) if left[0].reason == LeaveReason::Kicked));
    assert_eq!(world.take_heard(bob), ["left 2"]);
    assert!(!world.planes[0].is_on(bob.key, &stream(id)));
}

#[test]
fn when_a_match_ends_its_players_see_themselves_go_and_nothing_is_left() {
    let (mut world, id) = World::with_match();
    let (ann, bob) = (world.open(0), world.open(1));
    world.enter_match(ann, id);
    world.enter_match(bob, id);
    world.pass(100);
    [ann, bob].into_iter().for_each(|player| drop(world.take_heard(player)));
    world.returns(Return { outcome: Outcome::Over, acts: vec![say("over")] });
    assert_eq!(world.take_heard(ann), ["over", "left 1"]);
    assert_eq!(world.take_heard(bob).first().map(String::as_str), Some("over"));
    assert_eq!(world.dropped, [id]);
    world.begin_to_enter_match(ann, id);
    assert!(matches!(world.replies.pop(), Some(Reply::Answer(plane::Answer::Match(Err(_))))));
    world.pass(1_000);
    [ann, bob].into_iter().for_each(|player| world.close(player));
    world.assert_empty();
}

/// Streams of game code may name a match that never was here.
#[test]
fn nobody_comes_to_a_stream_whose_place_there_is_not_and_who_asks_of_it_is_answered() {
    let mut world = World::new(2, &PlaneConfig::default());
    let ann = world.open(0);
    let nowhere = stream(MatchId::at(Place::new(9, 3), Uuid::from_u128(7 << 64)));
    world.step(0, |plane, now, out| {
        let request = plane.request();
        plane.join(now, ann.key, nowhere.clone(), JoinOptions::default(), Some(request), out);
        let request = plane.request();
        plane.listen(now, ann.key, nowhere.clone(), Some(request), out);
        let request = plane.request();
        let list = Up::List { request, stream: nowhere.clone(), with_hidden: true, skip: 0, limit: 10 };
        plane.ask(now, &nowhere, list, out);
    });
    world.settle();
    assert_eq!(world.replies, vec![Reply::Joined(Err(JoinRefusal::Unavailable)); 3]);
    assert!(!world.planes[0].is_on(ann.key, &nowhere), "nothing was noted");
}
