//! The rules of matches, one test for each.

use muster_domain::ErrorKind;

use super::*;

fn loops(world: &mut World) -> Option<Vec<Input>> {
    match world.called() {
        Some(Callback::Loop(_)) => match world.returns(goes()) {
            Callback::Loop(inputs) => Some(inputs),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn a_match_begins_as_its_handler_says_or_not_at_all() {
    for (returned, kind) in [
        (begun(0, ""), ErrorKind::InvalidArgument),
        (begun(129, ""), ErrorKind::InvalidArgument),
        (begun(10, &"x".repeat(LABEL_BYTES_MAX + 1)), ErrorKind::InvalidArgument),
        (done(Outcome::Over), ErrorKind::FailedPrecondition),
        (done(Outcome::Failed("boom".into())), ErrorKind::FailedPrecondition),
        (goes(), ErrorKind::FailedPrecondition),
    ] {
        let mut world = World::new(MatchesConfig::default());
        world.create(ID, 1);
        assert!(matches!(world.called(), Some(Callback::Init { params, .. }) if params == "{}"));
        world.attempt(5);
        assert!(
            matches!(world.answers()[..], [(5, Err(why))] if why.kind == ErrorKind::NotFound),
            "the match has not begun yet"
        );
        world.effects.clear();
        world.returns(returned);
        assert!(matches!(world.answers()[..], [(0, Err(why))] if why.kind == kind), "{:?}", world.effects);
        assert!(matches!(world.effects.last(), Some(MatchEffect::DropState(ID))));
        world.pass(10_000);
        assert_eq!((world.matches.stats().matches, world.called()), (0, None));
    }
    let mut world = World::new(MatchesConfig::default());
    world.create(ID, 1);
    world.returns(begun(128, &"x".repeat(LABEL_BYTES_MAX)));
    assert!(matches!(world.answers()[..], [(0, Ok(MatchAnswer::Created))]));
}

#[test]
fn ticks_come_at_their_rate_and_missed_ones_are_not_made_up() {
    let mut world = World::with_match(MatchesConfig::default(), 60);
    let (mut ticks, end) = (Vec::new(), world.now + 1_000);
    while world.now < end {
        world.pass(1);
        if !world.calls.is_empty() {
            ticks.push((world.now, world.calls[0].tick));
            world.returns(goes());
        }
    }
    assert_eq!(ticks.len(), 60);
    assert_eq!((ticks[0], ticks[1], ticks[59]), ((1_017, 0), (1_034, 1), (2_000, 59)));
    world.pass(17);
    assert!(matches!(world.called(), Some(Callback::Loop(_))));
    // The loop takes as long as ten ticks.
    world.pass(170);
    assert!(loops(&mut world).is_some());
    assert!(loops(&mut world).is_some(), "the tick that is due comes at once");
    assert_eq!(world.called(), None);
    world.pass(17);
    assert!(loops(&mut world).is_some());
}

#[test]
fn an_accepted_player_enters_before_the_answer_and_the_join() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.attempt(1);
    assert!(matches!(world.called(), Some(Callback::JoinAttempt { presence: it, .. }) if **it == presence(1)));
    // A second request of the same session is refused.
    world.attempt(1);
    assert!(matches!(world.answers()[..], [(1, Err(why))] if why.kind == ErrorKind::ResourceExhausted));
    world.effects.clear();
    world.returns(done(Outcome::Decided(Ok(()))));
    assert!(matches!(
        &world.effects[..],
        [MatchEffect::Enter(ID, member), MatchEffect::Reply(_, Ok(MatchAnswer::Entered(entered)))]
            if member.presence == presence(1) && entered.is_new
    ));
    assert!(matches!(world.returns(goes()), Callback::Join(came) if *came[0] == presence(1)));
    world.effects.clear();
    world.attempt(1);
    assert_eq!(world.called(), None, "the handler is not asked again about a player who is there");
    assert!(matches!(world.answers()[..], [(1, Ok(MatchAnswer::Entered(entered)))] if !entered.is_new));
}

#[test]
fn a_refused_player_is_told_the_reason() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.attempt(1);
    world.returns(done(Outcome::Decided(Err("full".into()))));
    assert!(matches!(world.effects[0], MatchEffect::Refuse(ID, _)));
    assert!(matches!(world.answers()[..], [(1, Err(why))] if why.message == "full"));
    assert_eq!(world.called(), None);
}

#[test]
fn leaves_that_queue_up_are_one_call() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    (1..=3).for_each(|number| world.come(number));
    world.pass(100);
    (1..=3).for_each(|number| world.gone(number));
    world.returns(goes());
    assert!(matches!(world.returns(goes()), Callback::Leave(left) if left.len() == 3));
}

#[test]
fn a_player_who_goes_before_the_answer_joins_and_leaves_for_the_handler_alone() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.attempt(1);
    world.attempt(2);
    world.gone(1);
    world.gone(2);
    world.effects.clear();
    world.returns(done(Outcome::Decided(Ok(()))));
    assert!(matches!(world.returns(goes()), Callback::Join(came) if *came[0] == presence(1)));
    assert!(matches!(world.returns(goes()), Callback::Leave(left) if left[0].presence.session == session(1)));
    assert!(world.effects.is_empty() && world.calls.is_empty(), "{:?} {:?}", world.effects, world.calls);
}

#[test]
fn ticks_are_counted_by_how_late_they_are_done_and_those_left_out_too() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.pass(103);
    world.returns(goes());
    let stats = world.matches.stats();
    assert_eq!((stats.lateness.sum_ms, stats.lateness.buckets[3], stats.ticks_skipped), (3, 1, 0));
    // The second loop takes 250 ms, so that the third is late and the fourth is left out.
    world.pass(347);
    world.returns(goes());
    assert_eq!(world.matches.stats().lateness.sum_ms, 3 + 250);
    world.returns(goes());
    let stats = world.matches.stats();
    assert_eq!((stats.lateness.sum_ms, stats.ticks_skipped), (3 + 250 + 150, 1));
}

#[test]
fn inputs_come_with_the_next_tick_in_order_and_no_more_than_there_may_be() {
    let config = MatchesConfig { inputs_max: 3, ..MatchesConfig::default() };
    let mut world = World::with_match(config, 10);
    world.come(1);
    world.come(2);
    world.input(1, "a");
    world.input(2, "b");
    world.input(3, "of a stranger");
    world.input(1, "c");
    world.input(1, "too many");
    world.pass(100);
    let texts = |inputs: Vec<Input>| inputs.into_iter().map(|input| input.data).collect::<Vec<_>>();
    assert_eq!(loops(&mut world).map(texts), Some(vec!["a".into(), "b".into(), "c".into()]));
    assert_eq!(world.matches.stats().inputs_dropped, 1);
    world.pass(100);
    assert_eq!(loops(&mut world).map(texts), Some(Vec::new()));
}

#[test]
fn broadcasts_go_to_whom_they_are_for_and_deferred_ones_behind_the_others() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.come(1);
    world.come(2);
    world.signal(9);
    let some = Broadcast { to: Some(vec![session_id(2), session_id(3)]), ..say("some") };
    let none = Broadcast { to: Some(vec![session_id(3)]), ..say("none") };
    let many = Broadcast { to: Some((2..100).chain([1]).map(session_id).collect()), ..say("many") };
    let acts = vec![
        Act::Defer(say("later")),
        Act::Broadcast(some),
        Act::Broadcast(many),
        Act::Broadcast(none),
        Act::Broadcast(say("all")),
    ];
    world.returns(Return { outcome: Outcome::Signalled("!".into()), acts });
    assert!(matches!(world.answers()[..], [(9, Ok(MatchAnswer::Signalled(answer)))] if &**answer == "!"));
    assert_eq!(
        world.told(),
        [
            (Some(vec![session_id(2)]), "some".into()),
            (Some(vec![session_id(2), session_id(1)]), "many".into()),
            (None, "all".into()),
            (None, "later".into())
        ]
    );
    world.effects.clear();
    world.pass(100);
    let acts = vec![Act::Defer(say("over"))];
    world.returns(Return { outcome: Outcome::Over, acts });
    assert_eq!(world.told(), [(None, "over".into())], "broadcasts of the last callback are sent");
}

#[test]
fn kicked_players_leave_and_the_handler_hears_of_it() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.come(1);
    world.come(2);
    world.pass(100);
    let acts = vec![Act::Kick(vec![session_id(2), session_id(3)])];
    world.returns(Return { outcome: Outcome::GoesOn, acts });
    assert_eq!(world.expelled(), [session(2)]);
    let heard = world.returns(goes());
    assert!(matches!(heard, Callback::Leave(left) if left[0].reason == LeaveReason::Kicked && left.len() == 1));
    world.gone(2);
    assert_eq!(world.called(), None, "the handler hears of a leave once");
}

#[test]
fn a_match_that_fails_does_nothing_of_what_it_wanted_and_leaves_nobody_waiting() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.come(1);
    world.pass(100);
    world.attempt(2);
    world.signal(3);
    let outcome = Outcome::Failed("attempt to index nil".into());
    world.returns(Return { outcome, acts: vec![Act::Broadcast(say("unsaid"))] });
    assert_eq!((world.told(), world.expelled()), (Vec::new(), vec![session(1)]));
    let answers: Vec<_> = world.answers().iter().map(|(id, answer)| (*id, answer.is_ok())).collect();
    assert_eq!(answers, [(2, false), (3, false)]);
    assert!(matches!(world.effects.last(), Some(MatchEffect::DropState(ID))));
    assert_eq!((world.matches.stats().failed, world.matches.stats().matches), (1, 0));
}

#[test]
fn a_match_that_is_over_has_said_its_last() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.come(1);
    world.pass(100);
    world.returns(Return { outcome: Outcome::Over, acts: vec![Act::Broadcast(say("bye"))] });
    assert!(matches!(
        &world.effects[..],
        [MatchEffect::Tell { .. }, MatchEffect::Expel(..), MatchEffect::DropState(ID)]
    ));
    assert_eq!(world.matches.stats().failed, 0);
    world.signal(3);
    assert!(matches!(world.answers()[..], [(3, Err(why))] if why.kind == ErrorKind::NotFound));
}

#[test]
fn an_empty_match_ends_if_it_is_to() {
    let config = MatchesConfig { empty_sec_max: 2, ..MatchesConfig::default() };
    let mut world = World::with_match(config, 10);
    world.come(1);
    for _ in 0..50 {
        world.pass(100);
        assert!(loops(&mut world).is_some(), "somebody is there");
    }
    world.gone(1);
    world.returns(goes());
    let mut ticks = 0;
    while world.matches.stats().matches > 0 {
        world.pass(100);
        ticks += usize::from(loops(&mut world).is_some());
        assert!(ticks < 100);
    }
    assert_eq!(ticks, 20);
}

#[test]
fn a_server_that_stops_says_so_and_matches_end_by_themselves_or_when_time_is_up() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.come(1);
    world.step(|world, out| world.matches.terminate(world.now, 5, out));
    assert!(matches!(world.returns(goes()), Callback::Terminate { grace_sec: 5 }));
    world.step(|world, out| world.matches.terminate(world.now, 5, out));
    for _ in 0..49 {
        world.pass(100);
        assert!(loops(&mut world).is_some());
    }
    world.pass(200);
    assert_eq!((world.expelled(), world.called()), (vec![session(1)], None));
}

#[test]
fn signals_that_would_wait_for_themselves_are_refused() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    let (other, long) = (MatchId(Uuid::from_u128(2)), (2..=u128::from(CHAIN_MAX as u32) + 2));
    for (chain, expect) in [
        (vec![other, ID], Some(ErrorKind::FailedPrecondition)),
        (long.map(|number| MatchId(Uuid::from_u128(number))).collect(), Some(ErrorKind::ResourceExhausted)),
        (vec![other], None),
    ] {
        world.effects.clear();
        world.signal_of(3, chain.clone());
        assert_eq!(world.answers().first().map(|(_, why)| why.as_ref().unwrap_err().kind), expect, "{chain:?}");
    }
    assert_eq!(*world.calls[0].chain, [other]);
    world.returns(done(Outcome::Refused("not now".into())));
    assert!(matches!(world.answers()[..], [(3, Err(why))] if why.kind == ErrorKind::FailedPrecondition));
}

#[test]
fn callers_of_signals_are_refused_when_they_wait_too_long() {
    let mut world = World::with_match(MatchesConfig { answer_wait_max_ms: 1_000, ..MatchesConfig::default() }, 10);
    world.signal(3);
    world.pass(500);
    world.signal(4);
    world.pass(400);
    assert!(world.answers().is_empty());
    world.pass(100);
    assert!(matches!(world.answers()[..], [(3, Err(why))] if why.kind == ErrorKind::ResourceExhausted));
    world.effects.clear();
    world.pass(500);
    assert!(matches!(world.answers()[..], [(4, Err(_))]), "a queued caller is refused too");
    world.effects.clear();
    world.returns(done(Outcome::Signalled("late".into())));
    assert!(world.answers().is_empty());
    loops(&mut world);
}

#[test]
fn join_attempts_are_refused_when_they_wait_too_long() {
    let mut world = World::with_match(MatchesConfig { answer_wait_max_ms: 1_000, ..MatchesConfig::default() }, 10);
    world.attempt(3);
    world.pass(500);
    world.attempt(4);
    world.pass(500);
    assert!(matches!(world.answers()[..], [(3, Err(why))] if why.kind == ErrorKind::ResourceExhausted));
    world.effects.clear();
    world.pass(500);
    assert!(matches!(world.answers()[..], [(4, Err(_))]), "a queued caller is refused too");
    world.effects.clear();
    world.returns(done(Outcome::Decided(Ok(()))));
    assert!(world.answers().is_empty());
    assert_eq!(world.list(&everything())[0].size, 0, "an attempt that was refused lets nobody in");
    world.attempt(3);
    let heard: Vec<_> = (0..3).map(|_| world.returns(goes())).collect();
    assert!(matches!(&heard[..], [Callback::Join(_), Callback::Leave(_), Callback::Loop(_)]), "{heard:?}");
    world.returns(done(Outcome::Decided(Ok(()))));
    assert!(matches!(world.answers()[..], [(3, Ok(MatchAnswer::Entered(_)))]));
}

#[test]
fn callers_are_refused_as_busy_when_too_many_wait_or_for_too_long() {
    let config = MatchesConfig { signals_max: 2, join_attempts_max: 1, ..MatchesConfig::default() };
    let mut world = World::with_match(config, 10);
    world.pass(100);
    (1..=3).for_each(|number| world.signal(number));
    world.attempt(4);
    world.attempt(5);
    let busy: Vec<u64> = world.answers().iter().filter(|(_, answer)| answer.is_err()).map(|(id, _)| *id).collect();
    assert_eq!(busy, [3, 5]);
    world.effects.clear();
    // The handler takes longer than callers wait.
    world.pass(10_000);
    world.returns(goes());
    let mut late: Vec<u64> = world.answers().iter().map(|(id, _)| *id).collect();
    late.sort_unstable();
    assert_eq!(late, [1, 2, 4]);
    assert!(matches!(world.called(), Some(Callback::Loop(_))), "no call of a refused caller begins");
}

#[test]
fn a_tick_that_takes_long_is_waited_for_and_the_next_one_comes_with_its_return() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    world.pass(100);
    assert_eq!(world.called(), Some(&Callback::Loop(Vec::new())));
    world.now += 250;
    world.step(|world, out| world.matches.turn(world.now, out));
    assert_eq!(world.matches.next_due(), None, "no step is due before the loop returns");
    world.returns(goes());
    assert_eq!(world.called(), Some(&Callback::Loop(Vec::new())), "the late tick comes with the return");
    world.returns(goes());
    assert_eq!(
        (world.called(), world.matches.next_due()),
        (None, Some(world.now + 50)),
        "further missed ticks are left out"
    );
    world.pass(50);
    assert_eq!(world.called(), Some(&Callback::Loop(Vec::new())));
}
