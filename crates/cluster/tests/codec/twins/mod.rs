//! Two owners get the same questions. One keeps its state; the state of the other is carried, now and then, as bytes to
//! an empty place with another clock. Their answers must not differ.

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use muster_live::matchmaker::MatchmakerConfig;
use muster_live::plane::{Carried, Effect, Effects, Message, PlaneConfig, PlaneStats, Up};
use muster_live::rooms::{self, LobbyDelta, RoomsConfig, Templates};
use muster_live::stream::{Payload, PresenceEvent, SharedPayload};
use muster_live::{Encode, Encoding, Epoch, Millis, Partition, Place, Plane, Presence, Routes, StreamKey};
use muster_live::{matches, party};

use crate::random::Random;
use crate::round_trip::{encode, one, shown};
use scene::{Scene, templates};

const SEEDS: u64 = 20;
const STEPS: u64 = 700;
const ME: Place = Place::new(1, 0);
/// More credits than are ever used, because waiting messages belong to no partition and would not be carried.
const CREDITS: u32 = 1 << 30;

/// An encoding in which frames are words.
struct Words;

#[derive(Debug)]
struct Text(String);

impl Payload for Text {
    fn write(&self, _encoding: Encoding, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

impl Encode for Words {
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes {
        let mut out = Vec::new();
        payload.write(encoding, &mut out);
        out.into()
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, _encoding: Encoding) -> Option<Bytes> {
        Some(shown(event).into())
    }

    fn party_event(&self, _party: &StreamKey, event: party::PartyEvent) -> SharedPayload {
        Arc::new(Text(shown(&event)))
    }

    fn room_event(&self, _room: &StreamKey, event: rooms::RoomEvent) -> SharedPayload {
        Arc::new(Text(shown(&event)))
    }

    fn lobby_event(&self, _view: &StreamKey, delta: LobbyDelta) -> SharedPayload {
        Arc::new(Text(shown(&delta)))
    }

    fn match_data(&self, _stream: &StreamKey, data: matches::Broadcast) -> SharedPayload {
        Arc::new(Text(shown(&data)))
    }

    fn match_left(&self, _stream: &StreamKey, presence: Presence) -> SharedPayload {
        Arc::new(Text(shown(&presence)))
    }

    fn seat_status(&self, seat: Option<u32>) -> Arc<str> {
        shown(&seat).into()
    }
}

/// Output of a step, grouped by place and stream: only within one stream does the order count.
type Outcome = BTreeMap<(Place, Option<StreamKey>), Vec<String>>;

/// An owner with a clock of its own.
struct Owner {
    plane: Plane,
    /// Difference between its clock and the other owner's.
    ahead: i64,
}

impl Owner {
    fn new(ahead: i64) -> Self {
        let routes = Routes::of_cluster(&[(1, 2), (2, 1), (3, 1)], 4, |_| (ME, Epoch(1)));
        Self { plane: Plane::new(ME, routes, config(), Rc::new(Words)), ahead }
    }

    fn clock(&self, now: Millis) -> Millis {
        now.checked_add_signed(self.ahead).unwrap()
    }

    fn step(&mut self, now: Millis, step: impl FnOnce(&mut Plane, Millis, &mut Effects)) -> Outcome {
        let (now, mut out) = (self.clock(now), Effects::default());
        step(&mut self.plane, now, &mut out);
        while self.plane.run_slice(now, &mut out) {}
        outcome(out)
    }

    /// Takes all partitions out of the plane, and passes them through bytes.
    fn carry_out(&mut self, now: Millis) -> Vec<(Partition, Vec<Carried>)> {
        let now = self.clock(now);
        let partitions = BTreeSet::from([scene::partition(), Partition::of_name("matchmaker")]);
        let carried = self.plane.carry_out(now, &partitions).into_iter().map(|(partition, parts)| {
            let carried = Up::Carried { partition, epoch: Epoch(1), parts, ends: true };
            let arrived = one(&encode(&[(0, 0, Message::Up(carried))])).content.unwrap();
            let Message::Up(Up::Carried { partition, parts, .. }) = arrived else { panic!("{arrived:?}") };
            (partition, parts)
        });
        let carried = carried.collect();
        assert_eq!(kept(&self.plane.stats()), [0; 7]);
        carried
    }

    fn carry_in(&mut self, now: Millis, carried: Vec<(Partition, Vec<Carried>)>, random: &mut Random) {
        let now = self.clock(now);
        for (partition, mut parts) in carried {
            while !parts.is_empty() {
                let rest = parts.split_off(random.below(parts.len()) + 1);
                self.plane.carry_in(now, partition, parts);
                parts = rest;
            }
        }
    }
}

fn config() -> PlaneConfig {
    let matchmaker = MatchmakerConfig { interval_ms: 400, max_intervals: 3, ..MatchmakerConfig::default() };
    let rooms = RoomsConfig {
        templates: Templates::new(templates()),
        reservation_ms: 900,
        rooms_per_creator_max: 3,
        ..RoomsConfig::default()
    };
    PlaneConfig {
        merge_above: 4,
        merge_ms: 300,
        snapshot_max: 2,
        matchmaker,
        rooms: Arc::new(rooms),
        up_credits: CREDITS,
        down_credits: CREDITS,
        // The scene's messages are random: some say what no place would say of its sessions.
        checks_itself: false,
        ..PlaneConfig::default()
    }
}

fn outcome(out: Effects) -> Outcome {
    let mut outcome = Outcome::new();
    for effect in out {
        match effect {
            Effect::Send(place, message) => {
                let stream = match &*message {
                    Message::Down(down) => down.stream().cloned(),
                    Message::Credit(..) => continue,
                    Message::Up(_) | Message::Dated(..) => None,
                };
                outcome.entry((place, stream)).or_default().push(shown(&message));
            }
            Effect::Matched(found) => {
                let ids = |tickets: &[_]| tickets.iter().map(|ticket: &Box<_>| ticket_id(ticket)).collect::<Vec<_>>();
                let found = format!("matched {:?}, dropped {:?}", ids(&found.tickets), ids(&found.dropped));
                outcome.entry((ME, None)).or_default().push(found);
            }
            Effect::Deliver(..) | Effect::Reply(..) | Effect::Close(..) => {
                panic!("{effect:?} of a place without sessions")
            }
            _ => {}
        }
    }
    outcome
}

fn ticket_id(ticket: &muster_live::matchmaker::Ticket<muster_live::Presence>) -> String {
    ticket.id.0.to_string()
}

/// Name of a piece's kind. News that are being told and news that are being collected count as two kinds.
fn kind(part: &Carried) -> String {
    let is_telling = matches!(part, Carried::News(news) if news.is_telling);
    let words: Vec<String> = shown(part).split(['(', ' ', '{']).take(2).map(str::to_owned).collect();
    format!("{} {is_telling}", words.join(" "))
}

fn kept(stats: &PlaneStats) -> [usize; 7] {
    let PlaneStats { streams, presences, parties, tickets, active_tickets, rooms, .. } = stats;
    [*streams, *presences, *parties, *tickets, *active_tickets, rooms.rooms, rooms.views]
}

#[test]
fn who_takes_over_does_what_the_former_owner_would_have_done() {
    let scene = Scene::new();
    let mut kinds = BTreeSet::new();
    for seed in 0..SEEDS {
        let random = &mut Random::new(seed);
        let (mut now, mut plain, mut moved) = (1_000_000, Owner::new(0), Owner::new(-999_990));
        for step in 0..STEPS {
            // Timers that are due at the same time run in one millisecond, or in the next if something ran in that
            // already.
            now += random.pick(&[1, 1, 1, 5, 40, 120]);
            assert_same(seed, step, &mut plain, &mut moved, now, |plane, now, out| plane.turn(now, out));
            let asked = random.number();
            let at = now;
            assert_same(seed, step, &mut plain, &mut moved, now, |plane, now, out| {
                let (from, up) = scene.ask(step, at, &mut Random::new(asked));
                plane.receive(now, from, Message::Up(up), out);
            });
            if random.below(12) == 0 {
                let parts = moved.carry_out(now);
                kinds.extend(parts.iter().flat_map(|(_, parts)| parts).map(kind));
                if random.below(3) > 0 {
                    // Timers of the pieces that were taken out have no effect.
                    let after = moved.step(now + 10_000, |plane, now, out| plane.turn(now, out));
                    assert_eq!(after, Outcome::new(), "seed {seed}, step {step}");
                    let ahead = random.pick(&[-999_999, -900_000, 5_000_000]);
                    moved = Owner::new(ahead);
                }
                moved.carry_in(now, parts, random);
            }
            assert_eq!(kept(&moved.plane.stats()), kept(&plain.plane.stats()), "seed {seed}, step {step}");
        }
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}

fn assert_same(
    seed: u64,
    step: u64,
    plain: &mut Owner,
    moved: &mut Owner,
    now: Millis,
    act: impl Fn(&mut Plane, Millis, &mut Effects),
) {
    let expected = plain.step(now, &act);
    let found = moved.step(now, &act);
    assert_eq!(found, expected, "seed {seed}, step {step}");
}
