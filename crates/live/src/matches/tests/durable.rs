//! Durable matches: their outlines follow from the calls of their handlers and the returns.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::*;
use crate::place::Partition;
use crate::session::Millis;

fn durable_id() -> MatchId {
    MatchId::of_partition(Partition::new(77).unwrap(), Uuid::from_u128(9 << 64))
}

fn call_of(world: &mut World) -> Option<Call> {
    world.calls.first().cloned()
}

/// A random answer of a handler.
fn answer(rng: &mut Rng, callback: &Callback) -> Return {
    let outcome = match callback {
        Callback::JoinAttempt { .. } if rng.u32(0..4) == 0 => Outcome::Decided(Err("no".into())),
        Callback::JoinAttempt { .. } => Outcome::Decided(Ok(())),
        Callback::Signal(_) if rng.bool() => Outcome::Refused("no".into()),
        Callback::Signal(_) => Outcome::Signalled("!".into()),
        _ => Outcome::GoesOn,
    };
    let mut acts = Vec::new();
    for _ in 0..rng.u32(0..3) {
        acts.push(match rng.u32(0..8) {
            0 => Act::Kick(vec![session_id(rng.u32(1..=6)), session_id(rng.u32(1..=6))]),
            1 | 2 => Act::Defer(say("later")),
            3 => Act::Label(format!("{{\"n\":{}}}", rng.u32(0..5)).into()),
            _ => Act::Broadcast(say("now")),
        });
    }
    Return { outcome, acts }
}

/// Takes a random step: an event reaches the match, time passes, or a call returns. `folded` is the outline that takes
/// in only calls and returns.
fn step(rng: &mut Rng, world: &mut World, folded: &mut Outline) {
    let number = rng.u32(1..=6);
    match rng.u32(0..12) {
        0..=2 => world.attempt(number),
        3 => world.gone(number),
        4 => world.input(number, "x"),
        5 => world.signal(100),
        6 => world.pass(rng.u64(0..80)),
        _ => {
            if let Some(call) = call_of(world) {
                let returned = answer(rng, &call.callback);
                assert!(folded.returned(&call.callback, &returned));
                world.returns(returned);
            }
        }
    }
}

/// Takes in a callback that tells the handler who came or went. `here` are the players of whom the handler knows.
fn hear(here: &mut BTreeSet<SessionId>, callback: &Callback) {
    match callback {
        Callback::Join(came) => came.iter().for_each(|it| assert!(here.insert(it.session_id), "came twice: {it:?}")),
        Callback::Leave(left) => {
            left.iter().for_each(|it| assert!(here.remove(&it.presence.session_id), "was not there: {it:?}"));
        }
        _ => {}
    }
}

fn begun_world() -> (World, Outline) {
    let world = World::with_match_of(durable_id(), MatchesConfig::default(), 20);
    let mut folded = Outline::new(durable_id(), "arena".into(), Timestamp::from_seconds(1));
    let init = Callback::Init { params: Bytes::new(), created_at: Timestamp::from_seconds(1) };
    assert!(folded.returned(&init, &begun(20, "{}")));
    (world, folded)
}

#[test]
fn the_fold_of_calls_and_returns_is_what_the_match_is() {
    let mut seen = 0;
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let (mut world, mut folded) = begun_world();
        for _ in 0..300 {
            step(&mut rng, &mut world, &mut folded);
            assert_eq!(world.matches.outline(durable_id()), Some(&folded), "seed {seed}");
            seen += folded.players.iter().filter(|seated| seated.is_kicked || !seated.has_joined).count();
        }
    }
    assert!(seen > 1_000, "{seen}");
}

#[test]
fn a_match_that_goes_on_tells_its_handler_of_all_and_takes_in_who_is_there() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let (mut world, mut folded) = begun_world();
        let mut here = BTreeSet::new();
        for _ in 0..rng.u32(0..200) {
            let before = world.calls.first().cloned();
            step(&mut rng, &mut world, &mut folded);
            if let Some(returned) = before.filter(|before| world.calls.first() != Some(before)) {
                hear(&mut here, &returned.callback);
            }
        }
        // Some players are still there, some of them at another place. Session 7, which is not a player, is there too.
        let mut inside: BTreeMap<u32, Member> = BTreeMap::new();
        for number in 1..=7 {
            if number < 7 && rng.bool() {
                continue;
            }
            let Attempt { member, .. } = attempt(durable_id(), number);
            let session = SessionRef { place: Place::new(rng.u32(0..2), 0), ..member.presence.session };
            let listener = Listener { session, ..member.listener };
            inside.insert(number, Member { presence: Presence { session, ..member.presence }, listener });
        }
        let mut next = World { id: durable_id(), ..World::new(MatchesConfig::default()) };
        let members: Vec<Member> = inside.values().cloned().collect();
        let outline = folded.clone();
        next.step(|world, out| world.matches.resume(world.now, outline, members, out));
        let stays = |seated: &&Seated| {
            !seated.is_kicked && inside.values().any(|it| it.presence.session_id == seated.presence.session_id)
        };
        let players: BTreeSet<SessionId> =
            folded.players.iter().filter(stays).map(|seated| seated.presence.session_id).collect();
        assert_eq!(next.expelled().len(), inside.len() - players.len(), "seed {seed}");
        let is_for_somebody = |said: &&Broadcast| match &said.to {
            Some(to) => to.iter().any(|session| players.contains(session)),
            None => !players.is_empty(),
        };
        let again: Vec<_> = folded.sent.iter().filter(is_for_somebody).map(|said| said.data.clone()).collect();
        assert_eq!(next.told().into_iter().map(|(_, data)| data).collect::<Vec<_>>(), again, "seed {seed}");
        let numbers = next.effects.iter().filter_map(|effect| match effect {
            MatchEffect::Tell { number, .. } => Some(number.unwrap()),
            _ => None,
        });
        assert!(numbers.is_sorted_by(|one, next| one < next && *next <= folded.sent_count), "seed {seed}");
        next.effects.clear();
        let started = next.now;
        while !matches!(next.called(), Some(Callback::Loop(_))) {
            if next.calls.is_empty() {
                next.pass(1);
            } else {
                hear(&mut here, &next.returns(goes()));
            }
        }
        let period: Millis = 50;
        assert_eq!(next.now - started, period, "the next tick is due one period later");
        assert_eq!(next.calls[0].tick, folded.tick);
        assert_eq!(here, players, "seed {seed}");
        next.returns(goes());
        assert_eq!(next.matches.outline(durable_id()).map(|outline| outline.players.len()), Some(players.len()));
    }
}

#[test]
fn a_player_who_goes_during_the_attempt_joins_and_leaves() {
    let (mut world, _) = begun_world();
    world.attempt(1);
    world.gone(1);
    // The player asks again before the handler has answered.
    world.attempt(1);
    world.returns(done(Outcome::Decided(Ok(()))));
    assert!(matches!(world.returns(goes()), Callback::Join(came) if came.len() == 1));
    assert!(matches!(world.returns(goes()), Callback::Leave(left) if left[0].reason == LeaveReason::Disconnected));
    assert!(matches!(world.returns(done(Outcome::Decided(Ok(())))), Callback::JoinAttempt { .. }));
    assert!(matches!(world.returns(goes()), Callback::Join(came) if came.len() == 1));
}

#[test]
fn returns_of_calls_from_an_earlier_stay_are_dropped() {
    let (mut world, folded) = begun_world();
    world.pass(50);
    let former = world.calls.remove(0);
    assert_eq!(world.matches.forget(|partition| partition == durable_id().partition()).len(), 1);
    world.step(|world, out| world.matches.resume(world.now, folded.clone(), Vec::new(), out));
    world.pass(50);
    let present = world.calls[0].clone();
    assert_eq!((present.tick, former.tick), (0, 0));
    world.effects.clear();
    let late = Return { outcome: Outcome::Over, acts: vec![Act::Broadcast(say("late"))] };
    world.step(|world, out| world.matches.returned(world.now, former.reference(), late, out));
    assert!(world.effects.is_empty(), "{:?}", world.effects);
    world.returns(goes());
    assert_eq!(world.matches.outline(durable_id()).map(|outline| outline.tick), Some(1));
}

#[test]
fn a_repeated_request_to_create_a_match_is_answered_as_the_first() {
    let replies = |world: &mut World| {
        let reply = |effect| if let MatchEffect::Reply(_, answer) = effect { Some(answer) } else { None };
        std::mem::take(&mut world.effects).into_iter().filter_map(reply).collect::<Vec<_>>()
    };
    let mut world = World::new(MatchesConfig::default());
    world.create(ID, 1);
    // A match that has asked for this one dies before the answer and is resumed, so it sends the same request again.
    world.create(ID, 1);
    assert!(world.effects.is_empty());
    world.returns(begun(10, ""));
    assert_eq!(replies(&mut world), [Ok(MatchAnswer::Created)]);
    world.create(ID, 1);
    assert_eq!(replies(&mut world), [Ok(MatchAnswer::Created)]);
    world.create(ID, 2);
    assert!(matches!(&replies(&mut world)[..], [Err(why)] if why.kind == muster_domain::ErrorKind::AlreadyExists));
}

#[test]
fn the_fold_ends_at_answers_that_do_not_fit() {
    let init = Callback::Init { params: Bytes::new(), created_at: Timestamp(1) };
    let folded = || Outline::new(durable_id(), "arena".into(), Timestamp(1));
    for (callback, outcome) in [
        (init.clone(), Outcome::Begun { tick_rate: 0, label: "".into() }),
        (init, Outcome::Over),
        (Callback::Loop(Vec::new()), Outcome::Over),
        (Callback::Loop(Vec::new()), Outcome::Failed("?".into())),
        (Callback::Loop(Vec::new()), Outcome::Decided(Ok(()))),
    ] {
        assert!(!folded().returned(&callback, &done(outcome)));
    }
}
