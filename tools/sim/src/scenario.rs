//! From a seed to a world and what happens in it. All of it is data, so that a failing run can be made shorter.

use fastrand::Rng;
use muster_domain::ids::Uuid;
use muster_live::matchmaker::MatchmakerConfig;
use muster_live::stream::mode;
use muster_live::{Encoding, Millis, PlaneConfig, ShardIndex, StreamKey};

use crate::frames::StreamId;

/// A session's number in a world: the how manieth was to open.
pub type Who = usize;

/// A world and what happens in it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it all comes from.
    pub seed: u64,
    /// How many shards there are.
    pub shards: ShardIndex,
    /// Their limits, mostly so small that they are reached.
    pub config: PlaneConfig,
    /// The streams, by number.
    pub streams: Vec<StreamKey>,
    /// The streams of parties, numbered behind the others from [`PARTIES_FROM`] on.
    pub parties: Vec<StreamKey>,
    /// How many frames may wait for a session that does not read.
    pub backlog_max: usize,
    /// The longest that time moves at once.
    pub advance_ms_max: Millis,
    /// What happens, in order.
    pub acts: Vec<Act>,
}

/// Something that happens, and how far messages travel after it.
#[derive(Clone, Debug)]
pub struct Act {
    /// What.
    pub action: Action,
    /// So many messages are delivered, or slices run, after it.
    pub turns: u32,
    /// Decides which: an act's own, so that leaving out another changes nothing here.
    pub salt: u64,
}

/// What must hold for a join; the plane's own conditions with what they need besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whatever.
    Always,
    /// Somebody is there.
    Occupied,
    /// What was there of the session is replaced.
    Replacing,
    /// All others there are closed.
    Alone,
}

/// Who is to receive a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// Everybody.
    All,
    /// Everybody but one.
    AllBut(Who),
    /// These.
    Only(Vec<Who>),
}

/// What players do about a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartyAct {
    /// Make it.
    Create { open: bool, max_size: u16 },
    /// Ask to be in it.
    Join,
    /// Go.
    Leave,
    /// Let somebody in.
    Accept(Who),
    /// Put somebody out.
    Remove(Who),
    /// Let somebody lead.
    Promote(Who),
    /// End it.
    Close,
    /// Send data to the others.
    Say,
}

/// What players, sockets and threads do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A session opens; its number is `who`.
    Open { who: Who, shard: ShardIndex, encoding: Encoding },
    /// A session closes, or its socket breaks: the plane sees no difference.
    Close { who: Who },
    /// A session comes to a stream.
    Join { who: Who, stream: StreamId, hidden: bool, persistence: bool, listens: bool, when: When },
    /// A session goes from a stream.
    Leave { who: Who, stream: StreamId },
    /// A session goes from a stream, and goes on hearing it.
    Vanish { who: Who, stream: StreamId },
    /// A session hears a stream.
    Listen { who: Who, stream: StreamId },
    /// A session hears a stream no longer.
    Unlisten { who: Who, stream: StreamId },
    /// A session sends something to a stream, so many times in a row.
    Publish { who: Who, stream: StreamId, to: To, times: u32 },
    /// A session does something about a party.
    Party { who: Who, party: StreamId, act: PartyAct },
    /// A session looks for a match of so many players.
    Search { who: Who, players: u32 },
    /// A session looks no more.
    Withdraw { who: Who },
    /// A shard sends something to a session.
    Push { shard: ShardIndex, who: Who },
    /// A shard asks for a page of a stream.
    List { shard: ShardIndex, stream: StreamId, with_hidden: bool, skip: usize, limit: usize },
    /// A shard asks how many are on all streams.
    Count { shard: ShardIndex },
    /// A session's socket is read no more, or again.
    Read { who: Who, reads: bool },
    /// A shard's thread gets no turn for so long.
    Pause { shard: ShardIndex, ms: Millis },
    /// Time passes.
    Advance { ms: Millis },
    /// Everything comes to rest, and everything is compared.
    Rest,
}

/// Numbers of parties' streams begin here.
pub const PARTIES_FROM: StreamId = 1_000;

/// Sessions that may ever be opened in a world.
pub const SESSIONS_MAX: usize = 48;

/// The scenario of a seed.
pub fn generate(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let shards = rng.u16(1..=8);
    let config = config(&mut rng);
    let streams = streams(&mut rng);
    // Parties are no part of the count of a session's streams in the model.
    let parties = if config.session_streams_max > 100 { rng.u16(0..=2) } else { 0 };
    let party = |number: u16| {
        StreamKey::about(mode::PARTY, Uuid::from_u128((u128::from(seed) << 64) | u128::from(900 + number)))
    };
    let parties: Vec<StreamKey> = (0..parties).map(party).collect();
    let mut acts = Actor::new(&mut rng, shards, &streams, parties.len(), seed).acts();
    acts.push(Act { action: Action::Rest, turns: 0, salt: seed });
    let backlog_max = rng.usize(4..200);
    let advance_ms_max = pick(&mut rng, &[1, 5, 50, 300]);
    Scenario { seed, shards, config, streams, parties, backlog_max, advance_ms_max, acts }
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

fn config(rng: &mut Rng) -> PlaneConfig {
    PlaneConfig {
        merge_above: pick(rng, &[0, 1, 3, 6, 1_000, 1_000, 1_000]),
        merge_ms: pick(rng, &[1, 20, 100]),
        snapshot_max: pick(rng, &[1, 2, 4, 1_000, 1_000]),
        session_streams_max: pick(rng, &[1, 2, 4_096, 4_096]),
        slice_deliveries: pick(rng, &[1, 2, 3, 2_048]),
        up_credits: pick(rng, &[1, 3, 8, 64, 1_024]),
        down_credits: pick(rng, &[1, 4, 16, 64, 8_192]),
        matchmaker: MatchmakerConfig { interval_ms: pick(rng, &[100, 1_000]), ..MatchmakerConfig::default() },
        ..PlaneConfig::default()
    }
}

fn streams(rng: &mut Rng) -> Vec<StreamKey> {
    let count = rng.usize(1..=6);
    let stream = |number: usize| {
        let subject = Uuid::from_u128((u128::from(rng.u64(..)) << 64) | number as u128);
        match rng.u8(0..5) {
            0 => StreamKey::about(mode::NOTIFICATIONS, subject),
            1 => StreamKey::about(mode::STATUS, subject),
            2 => StreamKey::about(mode::MATCH_RELAYED, subject),
            3 => StreamKey::about(mode::PARTY, subject),
            _ => StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), &format!("room-{number}")),
        }
    };
    (0..count).map(stream).collect()
}

/// Makes up what happens. Every seed has a mixture of its own: rare sequences need some actions to be rare.
struct Actor<'a> {
    rng: &'a mut Rng,
    shards: ShardIndex,
    streams: &'a [StreamKey],
    parties: usize,
    salt: u64,
    weights: Vec<u32>,
    opened: Who,
    sessions_max: usize,
    /// Sessions act mostly on one stream.
    focus: f32,
    turns_max: u32,
}

impl<'a> Actor<'a> {
    fn new(rng: &'a mut Rng, shards: ShardIndex, streams: &'a [StreamKey], parties: usize, salt: u64) -> Self {
        const USUAL: [u32; 17] = [8, 3, 18, 8, 3, 5, 3, 16, 2, 2, 1, 1, 1, 4, 1, 24, 4];
        let weights = USUAL.map(|usual| usual * pick(rng, &[0, 1, 1, 2, 4])).to_vec();
        let sessions_max = rng.usize(3..=SESSIONS_MAX);
        let (focus, turns_max) = (rng.f32(), pick(rng, &[0, 1, 4, 12]));
        Self { rng, shards, streams, parties, salt, weights, opened: 0, sessions_max, focus, turns_max }
    }

    fn acts(mut self) -> Vec<Act> {
        let count = self.rng.usize(40..300);
        let first = self.rng.usize(2..=6);
        (0..count)
            .map(|number| {
                let action = if number < first { self.open() } else { self.action() };
                let turns = self.rng.u32(0..=self.turns_max);
                Act { action, turns, salt: self.salt.wrapping_mul(0x9e37_79b9).wrapping_add(number as u64) }
            })
            .collect()
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
        // Mostly the latest: those before have often closed.
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
            _ => Action::Rest,
        }
    }

    fn join(&mut self, who: Who, stream: StreamId) -> Action {
        let when = match self.rng.u8(0..10) {
            _ if self.streams[usize::from(stream)].mode == mode::NOTIFICATIONS => When::Alone,
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
        let act = match self.rng.u8(0..16) {
            0 | 1 => PartyAct::Create { open: self.chance(6), max_size: self.rng.u16(0..8) },
            2..=6 => PartyAct::Join,
            7 | 8 => PartyAct::Leave,
            9 | 10 => PartyAct::Accept(whom),
            11 => PartyAct::Remove(whom),
            12 => PartyAct::Promote(whom),
            13 if self.chance(3) => PartyAct::Close,
            _ => PartyAct::Say,
        };
        Action::Party { who, party, act }
    }

    fn publish(&mut self, who: Who, stream: StreamId) -> Action {
        let to = match self.rng.u8(0..6) {
            0..=2 => To::All,
            3 | 4 => To::AllBut(who),
            // Sometimes for one who was never there.
            _ => To::Only((0..self.rng.usize(1..4)).map(|_| self.who() + 1_000 * self.rng.usize(0..8) / 7).collect()),
        };
        let times = pick(self.rng, &[1, 1, 1, 2, 5, 40]);
        Action::Publish { who, stream, to, times }
    }
}
