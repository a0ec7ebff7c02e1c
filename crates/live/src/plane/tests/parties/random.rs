//! Tests of parties under requests in random order, whose messages between shards arrive arbitrarily late: in the end
//! both sides agree on who is where, whatever crossed on its way.

use super::*;

const SEEDS: u64 = 150;
const STEPS: usize = 250;
const SESSIONS: usize = 6;
const PARTIES: u128 = 3;
const MAX_SIZE: u16 = 3;

/// A generator of numbers that look random, the same everywhere for a seed.
struct Dice(u64);

impl Dice {
    /// A number below `end`.
    fn roll(&mut self, end: usize) -> usize {
        // The constants of Knuth's MMIX; the low bits are weak.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }
}

fn stream_of(party: u128) -> StreamKey {
    StreamKey::about(mode::PARTY, Uuid::from_u128(party << 64 | party))
}

fn streams() -> Vec<StreamKey> {
    (1..=PARTIES).map(stream_of).collect()
}

fn settings(dice: &mut Dice) -> Settings {
    Settings { open: dice.roll(2) == 0, hidden: dice.roll(2) == 0, label: Label::default() }
}

/// Lets a session do something, or one message arrive.
fn act(world: &mut World, sessions: &mut [SessionRef], dice: &mut Dice) {
    let by = dice.pick(sessions);
    let stream = stream_of(dice.roll(PARTIES as usize) as u128 + 1);
    let other = dice.pick(sessions);
    match dice.roll(16) {
        0..=1 => {
            let settings = settings(dice);
            let create =
                move |leader| PartyRequest::Create { leader, settings, max_size: MAX_SIZE, created_at: Timestamp(0) };
            come(world, by, stream, create);
        }
        2..=4 => come(world, by, stream, PartyRequest::Join),
        5 => {
            world.step(by.place.shard(), |plane, now, out| plane.leave(now, by.key, stream, out));
        }
        6..=7 => ask(world, by, stream, PartyRequest::Accept { by, target: world.person(other) }),
        8 => ask(world, by, stream, PartyRequest::Remove { by, target: world.person(other) }),
        9 => ask(world, by, stream, PartyRequest::Promote { by, target: world.person(other) }),
        10 => ask(world, by, stream, PartyRequest::Update { by, settings: settings(dice) }),
        11 if dice.roll(4) == 0 => ask(world, by, stream, PartyRequest::Close(by)),
        11 => ask(world, by, stream, PartyRequest::SendData { by, op_code: 1, data: Bytes::new() }),
        12 => {
            let place = dice.roll(sessions.len());
            let gone = sessions[place];
            world.step(gone.place.shard(), |plane, now, out| plane.close(now, gone.key, out));
            sessions[place] = world.open(gone.place.shard());
        }
        _ => arrive(world, dice),
    }
}

fn come(world: &mut World, by: SessionRef, stream: StreamKey, ask: impl FnOnce(Member) -> PartyRequest) {
    world.step(by.place.shard(), |plane, now, out| {
        let request = plane.request();
        plane.come_to_party(now, by.key, stream, ask, request, out);
    });
}

fn ask(world: &mut World, by: SessionRef, stream: StreamKey, ask: PartyRequest) {
    world.step(by.place.shard(), |plane, now, out| plane.ask_party(now, stream, ask, None, out));
}

/// Lets the next message between two shards arrive; any two are chosen.
fn arrive(world: &mut World, dice: &mut Dice) {
    let ways: Vec<_> = world.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(way, _)| *way).collect();
    if ways.is_empty() {
        return;
    }
    let (from, to) = dice.pick(&ways);
    if let Some(message) = world.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
        world.step(to, |plane, now, out| plane.receive(now, from.into(), message, out));
    }
}

/// Checks the conditions that hold once everything has arrived.
fn check(world: &mut World, sessions: &[SessionRef], single: bool) {
    let shards = world.planes.len() as ShardIndex;
    for stream in streams() {
        let owner = usize::from(Routes::alone(shards).owner(stream.partition()).shard());
        let members: Vec<SessionRef> =
            world.planes[owner].owned_presences(&stream).map(|presence| presence.session).collect();
        assert!(members.len() <= usize::from(MAX_SIZE), "{members:?}");
        for session in sessions {
            let plane = &world.planes[usize::from(session.place.shard())];
            assert_eq!(plane.hears(session.key, &stream), members.contains(session), "who hears is a member");
            let is_known =
                world.planes[owner].owners.things.parties.parties.knows(party::PartyId(stream.subject), *session);
            assert_eq!(plane.is_on(session.key, &stream), is_known, "who is noted is a member, or waits");
        }
        world.replies.clear();
        let mut leads = |session: &SessionRef| {
            world.begin_to_ask_in(*session, &stream, PartyRequest::CheckLeader(*session));
            world.settle();
            world.answer() == DONE
        };
        let leaders = members.iter().filter(|member| leads(member)).count();
        assert_eq!(leaders, usize::from(!members.is_empty()), "one of the members leads");
    }
    for session in sessions.iter().filter(|_| single) {
        let plane = &world.planes[usize::from(session.place.shard())];
        let parties = streams().into_iter().filter(|stream| plane.hears(session.key, stream)).count();
        assert!(parties <= 1, "one party at a time");
    }
}

#[test]
fn whatever_crosses_both_sides_agree_in_the_end() {
    for seed in 0..SEEDS {
        let mut dice = Dice(seed);
        let shards = dice.pick(&[1, 2, 3, 4]);
        let single = dice.roll(2) == 0;
        let config = PlaneConfig { single_party: single, ..PlaneConfig::default() };
        let mut world = World::new(shards, &config);
        let mut sessions: Vec<SessionRef> = (0..SESSIONS).map(|n| world.open(n as ShardIndex % shards)).collect();
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..3 {
                (0..STEPS).for_each(|_| act(&mut world, &mut sessions, &mut dice));
                world.settle();
                check(&mut world, &sessions, single);
            }
            sessions.iter().for_each(|session| world.close(*session));
            world.assert_empty();
            assert_eq!(world.planes.iter().map(|plane| plane.stats().parties).sum::<usize>(), 0);
        }));
        assert!(run.is_ok(), "seed {seed}");
    }
}
