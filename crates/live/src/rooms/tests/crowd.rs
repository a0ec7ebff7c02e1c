//! Ten thousand players who ask for any seat at once, on one, two and four shards. A fifth of them close their sockets
//! on the way, and messages arrive in an order that a seed decides.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Entry, RoomAnswer, RoomId, RoomsConfig, Template, Templates};
use super::world::World;

const PLAYERS: u32 = 10_000;
const TEMPLATES: [&str; 2] = ["duel", "bench"];

fn config() -> RoomsConfig {
    let templates = [
        Template { sizes: (2, 2), ..Template::new("duel") },
        Template { sizes: (3, 8), empty_ms: 60_000, ..Template::new("bench") },
    ];
    RoomsConfig { templates: Templates::new(templates), ..RoomsConfig::default() }
}

/// The end of a player's visit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlayerEnd {
    /// The player joins and stays.
    Stays,
    /// The socket closes before the player learns of its seat.
    DiesPlaced,
    /// The socket closes while the player joins.
    DiesJoining,
}

struct Crowd {
    world: World,
    /// Players who wait for an answer, by the number of their request; with the room once they are joining one.
    waiting: BTreeMap<u64, (u32, Option<RoomId>)>,
    ends: Vec<PlayerEnd>,
    here: BTreeMap<u32, RoomId>,
    sent: BTreeMap<u32, RoomId>,
}

impl Crowd {
    fn new(shards: usize, seed: u64) -> Self {
        let mut world = World::new(shards, seed, config());
        let end = |n| match n {
            0 => PlayerEnd::DiesPlaced,
            1 => PlayerEnd::DiesJoining,
            _ => PlayerEnd::Stays,
        };
        let ends = (0..PLAYERS).map(|_| end(world.random.below(10))).collect();
        Self { world, waiting: BTreeMap::new(), ends, here: BTreeMap::new(), sent: BTreeMap::new() }
    }

    fn place(&mut self, player: u32) {
        let template = TEMPLATES[self.world.random.below(4).min(1)];
        let size =
            (template == "bench" && self.world.random.below(3) == 0).then(|| 3 + self.world.random.below(6) as u32);
        let request = self.world.send_place(player, template, size);
        self.waiting.insert(request, (player, None));
    }

    /// Lets a player act on an answer.
    fn answered(&mut self, request: u64) {
        let Some((player, joining)) = self.waiting.remove(&request) else { return };
        let answer = self.world.replies.remove(&request).unwrap();
        match (answer.unwrap(), self.ends[player as usize]) {
            (RoomAnswer::Reserved(_), PlayerEnd::DiesPlaced) => {}
            (RoomAnswer::Reserved(reserved), end) => {
                let room = reserved.room.id;
                let request = self.world.send_join(player, room, Entry::default());
                self.sent.insert(player, room);
                if end == PlayerEnd::DiesJoining {
                    self.world.send_gone(player, room);
                } else {
                    self.waiting.insert(request, (player, Some(room)));
                }
            }
            (RoomAnswer::Joined(joined), _) => {
                assert_eq!(joining, Some(joined.state.summary.id));
                self.here.insert(player, joined.state.summary.id);
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    /// Delivers all messages. While players only join, checks the desks after each message.
    fn run(&mut self, arriving: std::ops::Range<u32>, only_joins: bool) {
        let mut arriving = arriving.peekable();
        loop {
            // Players arrive in bursts, so that answers and requests mix.
            while arriving.peek().is_some() && self.world.random.below(3) > 0 {
                let player = arriving.next().unwrap();
                self.place(player);
            }
            match self.world.deliver() {
                Some(Some(request)) => self.answered(request),
                Some(None) => {}
                None if arriving.peek().is_none() => break,
                None => {}
            }
            if only_joins {
                self.check_desks();
            }
        }
        self.check_capacity();
    }

    /// Checks that every desk knows at most one part-filled room of each size.
    fn check_desks(&self) {
        for desk in self.world.shards.iter().flat_map(|rooms| rooms.desks()) {
            for (size, rooms) in desk.part_filled() {
                assert!(rooms <= 1, "{rooms} part-filled rooms of size {size}");
            }
        }
    }

    fn check_capacity(&self) {
        for (room, (taken, capacity)) in self.world.occupancies() {
            assert!(taken <= capacity, "{room} has {taken} of {capacity}");
        }
    }

    /// Number of part-filled rooms as the rooms themselves count, after all messages arrived.
    fn part_filled(&self) -> usize {
        self.world.occupancies().values().filter(|(taken, capacity)| taken < capacity).count()
    }

    /// Checks that exactly the players in a room take its seats, and that desks count the same.
    fn check_no_phantoms(&self) {
        let mut players: BTreeMap<RoomId, u32> = BTreeMap::new();
        for room in self.here.values() {
            *players.entry(*room).or_default() += 1;
        }
        let occupancies = self.world.occupancies();
        for (room, (taken, _)) in &occupancies {
            assert_eq!(*taken, players.get(room).copied().unwrap_or(0), "{room}");
        }
        assert_eq!(occupancies.values().map(|(taken, _)| *taken).sum::<u32>(), self.here.len() as u32);
        for (room, believed) in
            self.world.shards.iter().flat_map(|rooms| rooms.desks()).flat_map(|desk| desk.believed())
        {
            assert_eq!(believed, i64::from(occupancies[&room].0), "{room}");
        }
        let on_streams: BTreeSet<u32> = self.world.streams.values().flatten().copied().collect();
        assert_eq!(on_streams, self.here.keys().copied().collect());
    }
}

fn crowd(shards: usize, seed: u64) {
    println!("shards {shards}, seed {seed}");
    let mut crowd = Crowd::new(shards, seed);
    // Desks keep one part-filled room of each size only while players only join. So in the first half, players who
    // would close their sockets while joining close them before that.
    let dying_joining: Vec<_> = (0..PLAYERS).filter(|p| crowd.ends[*p as usize] == PlayerEnd::DiesJoining).collect();
    for player in &dying_joining {
        crowd.ends[*player as usize] = PlayerEnd::DiesPlaced;
    }
    crowd.run(0..PLAYERS / 2, true);
    // "duel" has one size and "bench" six, and one room of each size may be part-filled.
    assert!(crowd.part_filled() <= 7, "{} part-filled rooms", crowd.part_filled());
    for player in dying_joining {
        crowd.ends[player as usize] = PlayerEnd::DiesJoining;
    }
    crowd.run(PLAYERS / 2..PLAYERS, false);

    crowd.world.wait(9_999);
    assert!(crowd.world.occupancies().values().map(|(taken, _)| *taken).sum::<u32>() > crowd.here.len() as u32);
    crowd.world.wait(10_000);
    crowd.check_no_phantoms();
    let stayed = crowd.ends.iter().filter(|end| **end == PlayerEnd::Stays).count();
    assert_eq!(crowd.here.len(), stayed);

    fill_the_gaps(&mut crowd);
    everybody_leaves(&mut crowd);
}

/// Checks that seats that were given back are used again before any room is opened.
fn fill_the_gaps(crowd: &mut Crowd) {
    let before = crowd.world.occupancies();
    let bench = before.values().filter(|(_, capacity)| *capacity > 2);
    let gaps: u32 = bench.map(|(taken, capacity)| capacity - taken).sum();
    assert!(gaps > 100, "{gaps}");
    for player in PLAYERS..PLAYERS + gaps {
        crowd.ends.push(PlayerEnd::Stays);
        let request = crowd.world.send_place(player, "bench", None);
        crowd.waiting.insert(request, (player, None));
    }
    crowd.run(0..0, false);
    let after = crowd.world.occupancies();
    assert!(before.keys().eq(after.keys()));
    assert!(after.values().all(|(taken, capacity)| *capacity == 2 || taken == capacity));
    crowd.check_no_phantoms();
}

/// Lets all players leave, and checks that no room is left.
fn everybody_leaves(crowd: &mut Crowd) {
    for (player, room) in std::mem::take(&mut crowd.here) {
        crowd.world.send_gone(player, room);
    }
    crowd.run(0..0, false);
    crowd.world.wait(200_000);
    assert!(crowd.world.occupancies().is_empty());
    for rooms in &crowd.world.shards {
        assert_eq!((rooms.desks().count(), rooms.next_due(), rooms.stats().rooms), (0, None, 0));
    }
}

#[test]
fn a_crowd_on_one_shard() {
    (0..2).for_each(|seed| crowd(1, seed));
}

#[test]
fn a_crowd_on_two_shards() {
    (0..2).for_each(|seed| crowd(2, seed));
}

#[test]
fn a_crowd_on_four_shards() {
    (0..2).for_each(|seed| crowd(4, seed));
}
