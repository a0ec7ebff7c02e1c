//! "Place me" under a herd: ten thousand at once on one, two and four shards, a fifth of them dying on the way, with
//! messages arriving in an order that a seed decides.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Answer, Entry, RoomId, RoomsConfig, Template, Templates};
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

/// How a player ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Joins and stays.
    Stays,
    /// Its socket closes before it learns of its seat.
    DiesPlaced,
    /// Its socket closes while it is joining.
    DiesJoining,
}

struct Herd {
    world: World,
    /// By the number of the request that a player waits for.
    waiting: BTreeMap<u64, (u32, Option<RoomId>)>,
    fates: Vec<Fate>,
    here: BTreeMap<u32, RoomId>,
    sent: BTreeMap<u32, RoomId>,
}

impl Herd {
    fn new(shards: usize, seed: u64) -> Self {
        let mut world = World::new(shards, seed, config());
        let fate = |n| match n {
            0 => Fate::DiesPlaced,
            1 => Fate::DiesJoining,
            _ => Fate::Stays,
        };
        let fates = (0..PLAYERS).map(|_| fate(world.random.below(10))).collect();
        Self { world, waiting: BTreeMap::new(), fates, here: BTreeMap::new(), sent: BTreeMap::new() }
    }

    fn place(&mut self, player: u32) {
        let template = TEMPLATES[self.world.random.below(4).min(1)];
        let size =
            (template == "bench" && self.world.random.below(3) == 0).then(|| 3 + self.world.random.below(6) as u32);
        let request = self.world.send_place(player, template, size);
        self.waiting.insert(request, (player, None));
    }

    /// What a player does at an answer.
    fn answered(&mut self, request: u64) {
        let Some((player, joining)) = self.waiting.remove(&request) else { return };
        let answer = self.world.replies.remove(&request).unwrap();
        match (answer.unwrap(), self.fates[player as usize]) {
            (Answer::Reserved(_), Fate::DiesPlaced) => {}
            (Answer::Reserved(reserved), fate) => {
                let room = reserved.room.id;
                let request = self.world.send_join(player, room, Entry::default());
                self.sent.insert(player, room);
                if fate == Fate::DiesJoining {
                    self.world.send_gone(player, room);
                } else {
                    self.waiting.insert(request, (player, Some(room)));
                }
            }
            (Answer::Joined(joined), _) => {
                assert_eq!(joining, Some(joined.state.summary.id));
                self.here.insert(player, joined.state.summary.id);
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    /// Delivers everything; after each message, whatever must always hold holds.
    fn run(&mut self, arriving: std::ops::Range<u32>, only_joins: bool) {
        let mut arriving = arriving.peekable();
        loop {
            // They come in bursts of their own, so that answers mix with questions.
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

    /// As the desks see it, at every moment: one part-filled room of a size.
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

    /// As the rooms themselves see it, once everything arrived.
    fn part_filled(&self) -> usize {
        self.world.occupancies().values().filter(|(taken, capacity)| taken < capacity).count()
    }

    /// Seats taken are players who are there, nobody else, and the desks know.
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

fn herd(shards: usize, seed: u64) {
    println!("shards {shards}, seed {seed}");
    let mut herd = Herd::new(shards, seed);
    // Those who die give their seats back one way or the other; until then there are only joins.
    let dying_joining: Vec<_> = (0..PLAYERS).filter(|p| herd.fates[*p as usize] == Fate::DiesJoining).collect();
    for player in &dying_joining {
        herd.fates[*player as usize] = Fate::DiesPlaced;
    }
    herd.run(0..PLAYERS / 2, true);
    // "duel" has one size and "bench" six.
    assert!(herd.part_filled() <= 7, "{} part-filled rooms", herd.part_filled());
    for player in dying_joining {
        herd.fates[player as usize] = Fate::DiesJoining;
    }
    herd.run(PLAYERS / 2..PLAYERS, false);

    herd.world.wait(9_999);
    assert!(herd.world.occupancies().values().map(|(taken, _)| *taken).sum::<u32>() > herd.here.len() as u32);
    herd.world.wait(10_000);
    herd.check_no_phantoms();
    let stayed = herd.fates.iter().filter(|fate| **fate == Fate::Stays).count();
    assert_eq!(herd.here.len(), stayed);

    fill_the_gaps(&mut herd);
    everybody_leaves(&mut herd);
}

/// Seats that were given back are used again before any room is opened.
fn fill_the_gaps(herd: &mut Herd) {
    let before = herd.world.occupancies();
    let bench = before.values().filter(|(_, capacity)| *capacity > 2);
    let gaps: u32 = bench.map(|(taken, capacity)| capacity - taken).sum();
    assert!(gaps > 100, "{gaps}");
    for player in PLAYERS..PLAYERS + gaps {
        herd.fates.push(Fate::Stays);
        let request = herd.world.send_place(player, "bench", None);
        herd.waiting.insert(request, (player, None));
    }
    herd.run(0..0, false);
    let after = herd.world.occupancies();
    assert!(before.keys().eq(after.keys()));
    assert!(after.values().all(|(taken, capacity)| *capacity == 2 || taken == capacity));
    herd.check_no_phantoms();
}

/// And in the end nothing is left.
fn everybody_leaves(herd: &mut Herd) {
    for (player, room) in std::mem::take(&mut herd.here) {
        herd.world.send_gone(player, room);
    }
    herd.run(0..0, false);
    herd.world.wait(200_000);
    assert!(herd.world.occupancies().is_empty());
    for rooms in &herd.world.shards {
        assert_eq!((rooms.desks().count(), rooms.next_due(), rooms.stats().rooms), (0, None, 0));
    }
}

#[test]
fn a_herd_on_one_shard() {
    (0..2).for_each(|seed| herd(1, seed));
}

#[test]
fn a_herd_on_two_shards() {
    (0..2).for_each(|seed| herd(2, seed));
}

#[test]
fn a_herd_on_four_shards() {
    (0..2).for_each(|seed| herd(4, seed));
}
