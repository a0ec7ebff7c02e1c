//! Timers of matches: when they fire, and how they are replaced and cancelled.

use super::*;

fn set(name: &str, after_ms: u64) -> Act {
    Act::SetTimer { name: name.into(), after_ms, data: format!("{name}!").into() }
}

fn with(acts: Vec<Act>) -> Return {
    Return { outcome: Outcome::GoesOn, acts }
}

/// Lets time pass until a call comes. Answers the tick and name of the call.
fn next(world: &mut World) -> (u64, String) {
    while world.calls.is_empty() {
        world.pass(1);
    }
    let name = match &world.calls[0].callback {
        Callback::Loop(_) => "loop".to_owned(),
        Callback::Timer { name, data } => format!("{name} {data}"),
        other => format!("{other:?}"),
    };
    (world.calls[0].tick, name)
}

/// Plays `count` calls, after each of which the match goes on.
fn play(world: &mut World, count: usize) -> Vec<(u64, String)> {
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(next(world));
        world.returns(goes());
    }
    seen
}

fn expect(calls: &[(u64, &str)]) -> Vec<(u64, String)> {
    calls.iter().map(|&(tick, name)| (tick, name.to_owned())).collect()
}

#[test]
fn timers_fire_before_the_first_loop_at_or_after_their_time() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    assert_eq!(next(&mut world), (0, "loop".to_owned()));
    // At 10 ticks per second 250 ms are three ticks, and 0 ms are one. Of timers that are due together, the timer that
    // was set first fires first.
    world.returns(with(vec![set("c", 300), set("a", 0), set("b", 250), set("d", 100)]));
    let seen = play(&mut world, 6);
    let expected = [(1, "a a!"), (1, "d d!"), (1, "loop"), (2, "loop"), (3, "c c!"), (3, "b b!")];
    assert_eq!(seen, expect(&expected));
    assert_eq!(play(&mut world, 2), expect(&[(3, "loop"), (4, "loop")]));
}

#[test]
fn a_timer_is_set_anew_cancelled_and_set_by_itself() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    next(&mut world);
    world.returns(with(vec![set("late", 100), set("again", 100), set("gone", 100), set("late", 200)]));
    assert_eq!(next(&mut world), (1, "again again!".to_owned()));
    assert!(!world.calls[0].timers.has("nobody") && world.calls[0].timers.has("late"));
    // A timer is removed before the acts of its callback are done, so that the callback may set it again.
    world.returns(with(vec![set("again", 100), Act::CancelTimer("gone".into())]));
    let expected = [(1, "loop"), (2, "late late!"), (2, "again again!"), (2, "loop"), (3, "loop")];
    assert_eq!(play(&mut world, 5), expect(&expected));
}

#[test]
fn a_timer_that_is_set_between_ticks_fires_no_earlier_than_it_may() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    play(&mut world, 1);
    world.pass(50);
    world.attempt(1);
    world.returns(done(Outcome::Decided(Ok(()))));
    // The loop of tick 1 comes 50 ms from now, and that of tick 2 is the first after 100 ms.
    world.returns(with(vec![set("join", 100)]));
    assert_eq!(play(&mut world, 3), expect(&[(1, "loop"), (2, "join join!"), (2, "loop")]));
}

#[test]
fn timers_follow_from_the_calls_and_their_returns() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    let mut outline = Outline::new(ID, "game".into(), Timestamp(0));
    outline.begin(10, "".into());
    let mut step = |world: &mut World, returned: Return| {
        next(world);
        assert!(outline.returned(&world.calls[0].callback.clone(), &returned));
        world.returns(returned);
        let timers = outline.timers.all().to_vec();
        (outline.tick, timers.into_iter().map(|timer| (timer.name.to_string(), timer.due_tick)).collect::<Vec<_>>())
    };
    let named = |name: &str, due: u64| (name.to_owned(), due);
    assert_eq!(step(&mut world, with(vec![set("a", 100), set("b", 300)])), (1, vec![named("a", 1), named("b", 3)]));
    assert_eq!(step(&mut world, with(vec![set("a", 400)])), (1, vec![named("b", 3), named("a", 5)]));
    assert_eq!(step(&mut world, with(vec![Act::CancelTimer("b".into())])), (2, vec![named("a", 5)]));
}

#[test]
fn a_failed_timer_ends_the_match() {
    let mut world = World::with_match(MatchesConfig::default(), 10);
    next(&mut world);
    world.returns(with(vec![set("a", 0)]));
    next(&mut world);
    world.returns(done(Outcome::Failed("boom".into())));
    assert_eq!(world.matches.stats().matches, 0);
}
