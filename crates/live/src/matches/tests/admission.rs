//! Join attempts that come together: the handler hears of each join before it is asked about the next attempt.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::*;
use crate::place::Partition;

/// Limit on the players whom the model handler lets in.
const SEATS: usize = 4;

/// Number of attempts that come at once.
const CROWD: u32 = 300;

/// Model of a usual handler, which counts players in its join and leave, and refuses attempts when all seats are taken.
#[derive(Default)]
struct Counting {
    here: BTreeSet<SessionId>,
    /// The largest number of players at a time so far.
    most: usize,
    /// Names of all calls so far.
    names: Vec<&'static str>,
}

impl Counting {
    fn answer(&mut self, callback: &Callback) -> Return {
        self.names.push(name(callback));
        match callback {
            Callback::JoinAttempt { .. } if self.here.len() >= SEATS => {
                return done(Outcome::Decided(Err("full".into())));
            }
            Callback::JoinAttempt { .. } => return done(Outcome::Decided(Ok(()))),
            Callback::Join(came) => came.iter().for_each(|it| assert!(self.here.insert(it.session_id), "{it:?}")),
            Callback::Leave(left) => {
                left.iter().for_each(|it| assert!(self.here.remove(&it.presence.session_id), "{it:?}"))
            }
            _ => {}
        }
        self.most = self.most.max(self.here.len());
        goes()
    }

    /// Answers the call that is under way.
    fn play(&mut self, world: &mut World) {
        if let Some(call) = world.calls.first().cloned() {
            let returned = self.answer(&call.callback);
            world.returns(returned);
        }
    }

    fn play_all(&mut self, world: &mut World) {
        while !world.calls.is_empty() {
            self.play(world);
        }
    }
}

fn name(callback: &Callback) -> &'static str {
    match callback {
        Callback::JoinAttempt { .. } => "attempt",
        Callback::Join(_) => "join",
        Callback::Leave(_) => "leave",
        Callback::Loop(_) => "loop",
        Callback::Timer { .. } => "timer",
        Callback::Signal(_) => "signal",
        Callback::Init { .. } | Callback::Terminate { .. } => "other",
    }
}

fn durable_id() -> MatchId {
    MatchId::of_partition(Partition::new(77).unwrap(), Uuid::from_u128(9 << 64))
}

fn roomy() -> MatchesConfig {
    MatchesConfig { join_attempts_max: CROWD as usize, answer_wait_max_ms: 1_000_000, ..MatchesConfig::default() }
}

/// Number of players who were let in, and number of players who were refused for this reason.
fn counts(world: &World, reason: &str) -> (usize, usize) {
    let answers = world.answers();
    let entered = answers.iter().filter(|(_, answer)| matches!(answer, Ok(MatchAnswer::Entered(_)))).count();
    let refused = answers.iter().filter(|(_, answer)| answer.is_err_and(|why| why.message.contains(reason))).count();
    (entered, refused)
}

/// Sessions on the match's stream, by the effects of the match so far.
fn inside(world: &World) -> BTreeSet<SessionRef> {
    let mut inside = BTreeSet::new();
    for effect in &world.effects {
        match effect {
            MatchEffect::Enter(_, member) => assert!(inside.insert(member.session())),
            MatchEffect::Expel(_, listener) => assert!(inside.remove(&listener.session)),
            _ => {}
        }
    }
    inside
}

#[test]
fn of_a_crowd_that_comes_at_once_as_many_are_let_in_as_there_are_seats() {
    for id in [ID, durable_id()] {
        for seed in 0..50 {
            let mut rng = Rng::with_seed(seed);
            let mut world = World::with_match_of(id, roomy(), rng.u32(1..=128));
            let mut handler = Counting::default();
            for number in 1..=CROWD {
                world.attempt(number);
                if rng.u32(0..10) == 0 {
                    handler.play(&mut world);
                }
            }
            while !world.calls.is_empty() {
                world.pass(rng.u64(0..20));
                handler.play(&mut world);
            }
            assert_eq!(counts(&world, "full"), (SEATS, CROWD as usize - SEATS), "seed {seed}");
            assert_eq!((handler.most, inside(&world).len()), (SEATS, SEATS), "seed {seed}");
        }
    }
}

#[test]
fn of_a_crowd_that_is_larger_than_the_queue_the_rest_is_refused_as_busy() {
    for id in [ID, durable_id()] {
        let mut world = World::with_match_of(id, MatchesConfig::default(), 10);
        let mut handler = Counting::default();
        (1..=CROWD).for_each(|number| world.attempt(number));
        handler.play_all(&mut world);
        // The handler is asked about one attempt; the others are queued.
        let asked = MatchesConfig::default().join_attempts_max + 1;
        assert_eq!(counts(&world, "too much to do"), (SEATS, CROWD as usize - asked));
        assert_eq!(counts(&world, "full"), (SEATS, asked - SEATS));
    }
}

/// Lets a crowd join while players leave at random times, and while a durable match is handed over or goes on after a
/// crash. Answers the number of handovers and crashes.
fn play_in_adversity(id: MatchId, seed: u64) -> usize {
    let mut rng = Rng::with_seed(seed);
    let mut world = World::with_match_of(id, roomy(), rng.u32(1..=128));
    let (mut handler, mut gone, mut adversities) = (Counting::default(), BTreeSet::new(), 0);
    (1..=CROWD).for_each(|number| world.attempt(number));
    while !world.calls.is_empty() {
        match rng.u32(0..200) {
            0..=9 => {
                let number = rng.u32(1..=CROWD);
                if gone.insert(session(number)) {
                    world.gone(number);
                }
            }
            10..=29 => {
                let left: Vec<SessionRef> = inside(&world).difference(&gone).copied().collect();
                if let Some(session) = rng.choice(left) {
                    gone.insert(session);
                    world.step(|world, out| world.matches.gone(world.now, id, session, LeaveReason::Left, out));
                }
            }
            30 if id.is_durable() => {
                adversities += 1;
                hand_over(&mut world, &mut handler);
            }
            31 if id.is_durable() => {
                adversities += 1;
                crash(&mut world, &gone);
                // Players who had no answer ask again.
                let waits =
                    |number: &u32| !inside(&world).contains(&session(*number)) && !gone.contains(&session(*number));
                let again: Vec<u32> = (1..=CROWD).filter(waits).collect();
                again.into_iter().for_each(|number| world.attempt(number));
            }
            32..=79 => world.pass(rng.u64(0..10)),
            _ => handler.play(&mut world),
        }
        let here = inside(&world).difference(&gone).count();
        assert!(handler.most <= SEATS && here <= SEATS, "seed {seed}: {} heard of, {here} there", handler.most);
    }
    let seated = inside(&world);
    let seated = (1..=CROWD).filter(|number| seated.contains(&session(*number)) && !gone.contains(&session(*number)));
    assert_eq!(handler.here, seated.map(session_id).collect(), "seed {seed}");
    adversities
}

/// Hands the match over to another owner, once no call is under way.
fn hand_over(world: &mut World, handler: &mut Counting) {
    let partition = world.id.partition();
    while !world.matches.rest(partition) {
        handler.play(world);
    }
    assert_ne!(handler.names.last(), None);
    let carried = world.matches.carry_out(world.now, |_| true).remove(0);
    assert!(
        carried.outline.players.iter().all(|seated| seated.has_joined),
        "no player is carried between attempt and join"
    );
    world.matches = Matches::new(roomy());
    world.matches.carry_in(world.now, carried);
    let here = [world.id].into();
    world.step(|world, out| world.matches.wake(world.now, partition, &here, out));
}

/// Goes on with the match from its log after a crash. The log has all calls that have returned.
fn crash(world: &mut World, gone: &BTreeSet<SessionRef>) {
    let outline = world.matches.outline(world.id).unwrap().clone();
    let there: Vec<Member> = (1..=CROWD)
        .map(|number| attempt(world.id, number).member)
        .filter(|member| inside(world).contains(&member.session()) && !gone.contains(&member.session()))
        .collect();
    world.calls.clear();
    world.matches = Matches::new(roomy());
    world.step(|world, out| world.matches.resume(world.now, outline, there, out));
}

#[test]
fn seats_are_kept_whoever_goes_and_wherever_the_match_goes_on() {
    let mut adversities = 0;
    for seed in 0..100 {
        play_in_adversity(ID, seed);
        adversities += play_in_adversity(durable_id(), seed);
    }
    assert!(adversities > 100, "{adversities}");
}

#[test]
fn a_tick_that_is_due_goes_before_the_next_attempt_and_an_attempt_before_the_tick_behind_that() {
    for id in [ID, durable_id()] {
        let mut world = World::with_match_of(id, roomy(), 10);
        let mut handler = Counting::default();
        (1..=7).for_each(|number| world.attempt(number));
        // Each call takes as long as the time between two ticks.
        for _ in 0..20 {
            world.pass(100);
            handler.play(&mut world);
        }
        let admitted = ["attempt", "join", "loop"].repeat(SEATS);
        let expected = [admitted, ["attempt", "loop"].repeat(3), vec!["loop"; 2]].concat();
        assert_eq!(handler.names, expected);
    }
}

#[test]
fn a_player_who_goes_before_the_join_has_returned_leaves_before_the_next_attempt() {
    for id in [ID, durable_id()] {
        let mut world = World::with_match_of(id, roomy(), 10);
        (1..=2).for_each(|number| world.attempt(number));
        world.returns(done(Outcome::Decided(Ok(()))));
        world.gone(1);
        assert!(matches!(world.returns(goes()), Callback::Join(came) if *came[0] == presence(1)));
        assert!(matches!(world.returns(goes()), Callback::Leave(left) if *left[0].presence == presence(1)));
        assert!(matches!(world.called(), Some(Callback::JoinAttempt { presence: it, .. }) if **it == presence(2)));
        let entered = counts(&world, "").0;
        assert_eq!(
            entered,
            usize::from(!id.is_durable()),
            "only a durable match holds the answer back until the join has returned"
        );
    }
}

#[test]
fn nothing_of_an_accepted_attempt_of_a_durable_match_leaves_before_its_join_has_returned() {
    let mut world = World::with_match_of(durable_id(), roomy(), 10);
    world.come(1);
    world.attempt(2);
    let label = |world: &mut World| world.list(&everything())[0].label.clone();
    let sizes = |world: &mut World| world.list(&everything())[0].size;
    let acts = vec![Act::Broadcast(say("attempt")), Act::Label("new".into()), Act::Kick(vec![session_id(1)])];
    world.returns(Return { outcome: Outcome::Decided(Ok(())), acts });
    assert!(world.effects.is_empty(), "{:?}", world.effects);
    assert_eq!((&*label(&mut world), sizes(&mut world)), ("{}", 1));
    assert_eq!(&*world.calls[0].label, "new", "the handler sees the label that it has set");
    // A second request of the same session is refused. The session may move to another place meanwhile.
    world.attempt(2);
    assert!(matches!(world.answers()[..], [(2, Err(_))]));
    world.effects.clear();
    let moved = SessionRef { place: Place::new(1, 0), ..session(2) };
    assert!(world.matches.rebind(durable_id(), session(2), moved));
    world.returns(Return { outcome: Outcome::GoesOn, acts: vec![Act::Broadcast(say("join"))] });
    assert!(
        matches!(
            &world.effects[..],
            [
                MatchEffect::Enter(_, member),
                MatchEffect::Reply(_, Ok(MatchAnswer::Entered(_))),
                MatchEffect::Tell { number: Some(1), .. },
                MatchEffect::Expel(_, expelled),
                MatchEffect::Tell { number: Some(2), .. },
            ] if member.session() == moved && expelled.session == session(1)
        ),
        "{:?}",
        world.effects
    );
    assert_eq!((&*label(&mut world), sizes(&mut world)), ("new", 1));
    assert!(matches!(world.called(), Some(Callback::Leave(left)) if left[0].reason == LeaveReason::Kicked));
    let outline = world.matches.outline(durable_id()).unwrap();
    assert_eq!(outline.players.last().map(|seated| seated.presence.session), Some(moved));
}

#[test]
fn an_accepted_player_is_told_when_the_match_ends_in_the_join() {
    for (outcome, is_let_in) in [(Outcome::Failed("boom".into()), false), (Outcome::Over, true)] {
        let mut world = World::with_match_of(durable_id(), roomy(), 10);
        world.attempt(1);
        world.returns(done(Outcome::Decided(Ok(()))));
        world.returns(done(outcome));
        let answers = world.answers();
        assert!(matches!(answers[..], [(1, answer)] if answer.is_ok() == is_let_in), "{answers:?}");
        assert_eq!(world.expelled().len(), usize::from(is_let_in));
        assert!(matches!(world.effects.last(), Some(MatchEffect::DropState(_))));
    }
}

#[test]
fn a_player_who_waits_too_long_for_the_join_joins_and_leaves() {
    let mut world = World::with_match_of(durable_id(), MatchesConfig { answer_wait_max_ms: 1_000, ..roomy() }, 10);
    world.attempt(1);
    world.pass(500);
    world.returns(done(Outcome::Decided(Ok(()))));
    world.pass(500);
    assert!(matches!(world.answers()[..], [(1, Err(why))] if why.kind == muster_domain::ErrorKind::ResourceExhausted));
    assert!(matches!(world.returns(goes()), Callback::Join(_)));
    assert!(matches!(world.returns(goes()), Callback::Leave(left) if *left[0].presence == presence(1)));
    assert_eq!((counts(&world, ""), inside(&world).len()), ((0, 1), 0));
}

#[test]
fn a_join_that_an_earlier_build_has_queued_behind_attempts_comes_first() {
    let mut world = World::with_match_of(durable_id(), roomy(), 10);
    let mut handler = Counting::default();
    world.matches.rest(durable_id().partition());
    (1..=10).for_each(|number| world.attempt(number));
    let mut carried = world.matches.carry_out(world.now, |_| true).remove(0);
    // Owners of earlier builds asked about all attempts first, and queued the joins behind them.
    for number in 1..=SEATS as u32 {
        let CarriedWaiting::Attempt { member, .. } = carried.waiting.remove(0) else { panic!("an attempt") };
        carried.outline.seat(member.presence.clone().into());
        carried.listeners.push(member.listener);
        carried.waiting.push(CarriedWaiting::Join(member.presence.into()));
        if number == 1 {
            let left = Left { presence: presence(1).into(), reason: LeaveReason::Left };
            carried.waiting.push(CarriedWaiting::Leave(left));
            carried.listeners.clear();
        }
    }
    world.matches = Matches::new(roomy());
    world.matches.carry_in(world.now, carried);
    let here = [durable_id()].into();
    world.step(|world, out| world.matches.wake(world.now, durable_id().partition(), &here, out));
    handler.play_all(&mut world);
    assert_eq!(handler.names, [vec!["join", "leave", "join"], vec!["attempt", "join"], vec!["attempt"; 5]].concat());
    assert_eq!(handler.most, SEATS);
}
