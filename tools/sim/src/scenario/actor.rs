//! The actor makes up the acts of a scenario. It does not know the state of the world.

use fastrand::Rng;
use muster_live::{Encoding, ShardIndex, StreamKey};

use super::rooms::{self, RoomAct, SeatPlan};
use super::{Act, Action, PARTIES_FROM, PartyAct, SESSIONS_MAX, To, When, Who, pick};
use crate::frames::StreamId;

/// The main subject of a scenario. Situations that take many steps of one kind are seldom reached in a mixture of
/// everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// All kinds of actions.
    Everything,
    /// Rooms and the lobby.
    Rooms,
    /// Parties and tickets.
    Parties,
}

impl Theme {
    /// The themes to pick from. A theme that is named more often is picked more often.
    pub const ALL: [Self; 5] = [Self::Everything, Self::Everything, Self::Rooms, Self::Rooms, Self::Parties];

    /// The relative frequency of each kind of action, by the number that `Actor::action` gives the kind.
    fn usual(self) -> [u32; 19] {
        match self {
            Self::Everything => [8, 3, 18, 8, 3, 5, 3, 16, 2, 2, 1, 1, 1, 4, 1, 24, 4, 24, 2],
            Self::Parties => [8, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 6, 1, 60, 8, 0, 2],
            Self::Rooms => [8, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 4, 1, 0, 0, 90, 2],
        }
    }
}

/// Makes up acts. Every seed has its own mixture, because rare sequences need some actions to be rare.
pub struct Actor<'a> {
    rng: &'a mut Rng,
    shards: ShardIndex,
    streams: &'a [StreamKey],
    parties: usize,
    has_rooms: bool,
    salt: u64,
    weights: Vec<u32>,
    opened: Who,
    sessions_max: usize,
    /// The probability, from 0 to 1, that an action is about the first stream.
    focus: f32,
    turns_max: u32,
}

impl<'a> Actor<'a> {
    pub fn new(
        rng: &'a mut Rng,
        salt: u64,
        theme: Theme,
        shards: ShardIndex,
        streams: &'a [StreamKey],
        parties: usize,
        has_rooms: bool,
    ) -> Self {
        let weights = theme.usual().map(|usual| usual * pick(rng, &[0, 1, 1, 2, 4])).to_vec();
        let fewest = if theme == Theme::Rooms { SESSIONS_MAX } else { 3 };
        let sessions_max = rng.usize(fewest..=SESSIONS_MAX);
        let (focus, turns_max) = (rng.f32(), pick(rng, &[0, 1, 4, 12]));
        Self { rng, shards, streams, parties, has_rooms, salt, weights, opened: 0, sessions_max, focus, turns_max }
    }

    /// All acts but the final rest.
    pub fn acts(mut self) -> Vec<Act> {
        let count = self.rng.usize(40..300);
        let first = self.rng.usize(2..=6);
        let mut acts: Vec<Act> = Vec::with_capacity(count);
        while acts.len() < count {
            let action = if acts.len() < first { self.open() } else { self.action() };
            let may_follow = self.has_rooms && matches!(action, Action::Room { .. });
            self.add(&mut acts, action);
            if may_follow && self.rng.u8(0..14) == 0 {
                self.rush(&mut acts);
            }
        }
        acts
    }

    fn add(&mut self, acts: &mut Vec<Act>, action: Action) {
        let turns = self.rng.u32(0..=self.turns_max);
        let salt = self.salt.wrapping_mul(0x9e37_79b9).wrapping_add(acts.len() as u64);
        acts.push(Act { action, turns, salt });
    }

    /// Lets several new players ask for a seat at once, with nothing in between. In some rushes, some of them close
    /// before they have the seat.
    fn rush(&mut self, acts: &mut Vec<Act>) {
        let (template, deaths) = (pick(self.rng, &[0, 1, 1, 3]), pick(self.rng, &[0, 0, 3]));
        self.add(acts, Action::Rest);
        for _ in 0..self.rng.usize(2..=6).min(self.sessions_max.saturating_sub(self.opened)) {
            let open = self.open();
            self.add(acts, open);
            let then = if self.chance(deaths) { SeatPlan::Die } else { SeatPlan::Join };
            let (who, act) = (self.opened - 1, RoomAct::Place(template, then));
            self.add(acts, Action::Room { who, act });
        }
        self.add(acts, Action::Rest);
    }

    fn open(&mut self) -> Action {
        self.opened += 1;
        let encoding = pick(self.rng, &Encoding::ALL);
        Action::Open { who: self.opened - 1, shard: self.shard(), encoding }
    }

    fn shard(&mut self) -> ShardIndex {
        self.rng.u16(0..self.shards)
    }

    fn who(&mut self) -> Who {
        // The session is mostly one of the latest, because earlier ones have often closed.
        let latest = self.opened.saturating_sub(12);
        if self.rng.bool() { self.rng.usize(latest..self.opened) } else { self.rng.usize(0..self.opened) }
    }

    fn stream(&mut self) -> StreamId {
        if self.rng.f32() < self.focus { 0 } else { self.rng.usize(0..self.streams.len()) as StreamId }
    }

    fn chance(&mut self, of_ten: u8) -> bool {
        self.rng.u8(0..10) < of_ten
    }

    fn action(&mut self) -> Action {
        let all: u32 = self.weights.iter().sum();
        let mut place = self.rng.u32(0..all.max(1));
        let chosen = self.weights.iter().position(|weight| {
            let is_here = place < *weight;
            place = place.saturating_sub(*weight);
            is_here
        });
        let (who, stream, shard) = (self.who(), self.stream(), self.shard());
        match chosen {
            Some(0) if self.opened < self.sessions_max => self.open(),
            Some(0 | 2) => self.join(who, stream),
            Some(1) => Action::Close { who },
            Some(3) => Action::Leave { who, stream },
            Some(4) => Action::Vanish { who, stream },
            Some(5) => Action::Listen { who, stream },
            Some(6) => Action::Unlisten { who, stream },
            Some(7) => self.publish(who, stream),
            Some(8) => Action::Push { shard, who },
            Some(9) => {
                let (with_hidden, skip, limit) = (self.chance(5), self.rng.usize(0..4), self.rng.usize(0..8));
                Action::List { shard, stream, with_hidden, skip, limit }
            }
            Some(10) => Action::Count { shard },
            Some(11) => Action::Read { who, reads: self.chance(6) },
            Some(12) => Action::Pause { shard, ms: self.rng.u64(1..400) },
            Some(13) => Action::Advance { ms: pick(self.rng, &[1, 3, 20, 101, 5_000]) },
            Some(15) => self.party(who, stream),
            Some(16) if self.chance(2) => Action::Withdraw { who },
            Some(16) => Action::Search { who, players: self.rng.u32(2..=4) },
            Some(17) if self.has_rooms => Action::Room { who, act: rooms::act(self.rng) },
            Some(17) => self.join(who, stream),
            _ => Action::Rest,
        }
    }

    fn join(&mut self, who: Who, stream: StreamId) -> Action {
        let when = match self.rng.u8(0..10) {
            0..=4 => When::Always,
            5..=7 => When::Occupied,
            _ => When::Replacing,
        };
        let (hidden, persistence, listens) = (self.chance(2), self.chance(5), self.chance(8));
        Action::Join { who, stream, hidden, persistence, listens, when }
    }

    fn party(&mut self, who: Who, stream: StreamId) -> Action {
        if self.parties == 0 {
            return self.join(who, stream);
        }
        let party = PARTIES_FROM + self.rng.usize(0..self.parties) as StreamId;
        let whom = self.who();
        let act = match self.rng.u8(0..18) {
            0 | 1 => PartyAct::Create { open: self.chance(6), max_size: self.rng.u16(0..8) },
            2..=6 => PartyAct::Join,
            7 | 8 => PartyAct::Leave,
            9 | 10 => PartyAct::Accept(whom),
            11 => PartyAct::Remove(whom),
            12 => PartyAct::Promote(whom),
            13 if self.chance(3) => PartyAct::Close,
            14..=16 => PartyAct::Search(self.rng.u32(2..=4)),
            _ => PartyAct::Say,
        };
        Action::Party { who, party, act }
    }

    fn publish(&mut self, who: Who, stream: StreamId) -> Action {
        let to = match self.rng.u8(0..6) {
            0..=2 => To::All,
            3 | 4 => To::AllBut(who),
            // Some receivers were never on the stream or never existed.
            _ => To::Only((0..self.rng.usize(1..4)).map(|_| self.who() + 1_000 * self.rng.usize(0..8) / 7).collect()),
        };
        let times = pick(self.rng, &[1, 1, 1, 2, 5, 40]);
        Action::Publish { who, stream, to, times }
    }
}
