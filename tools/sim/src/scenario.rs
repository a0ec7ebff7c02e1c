//! From a seed to a world and what happens in it. All of it is data, so that a failing run can be made shorter.

mod actor;
pub mod rooms;

use std::sync::Arc;

use fastrand::Rng;
use muster_domain::ids::Uuid;
use muster_live::matchmaker::MatchmakerConfig;
use muster_live::plane::Condition;
use muster_live::stream::mode;
use muster_live::{Encoding, Millis, PlaneConfig, ShardIndex, StreamKey};

use crate::frames::StreamId;
use actor::{Actor, Theme};
use rooms::RoomAct;

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
}

impl When {
    /// As the plane says it.
    pub fn condition(self) -> Condition {
        match self {
            Self::Always => Condition::Any,
            Self::Occupied => Condition::Occupied,
            Self::Replacing => Condition::Replace,
        }
    }
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
    /// Look for a match of so many players.
    Search(u32),
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
    /// A session does something about rooms.
    Room { who: Who, act: RoomAct },
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
    generate_on(seed, None)
}

/// The scenario of a seed, on so many shards if a number is given.
pub fn generate_on(seed: u64, on: Option<ShardIndex>) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let theme = pick(&mut rng, &Theme::ALL);
    let shards = rng.u16(1..=8);
    let shards = on.unwrap_or(shards);
    let config = config(&mut rng, theme);
    let streams = streams(&mut rng);
    // Parties and rooms are no part of the count of a session's streams in the model.
    let has_all = config.session_streams_max > 100;
    let parties = if has_all { rng.u16(0..=2) } else { 0 };
    let party = |number: u16| {
        StreamKey::about(mode::PARTY, Uuid::from_u128((u128::from(seed) << 64) | u128::from(900 + number)))
    };
    let parties: Vec<StreamKey> = (0..parties).map(party).collect();
    let mut acts = Actor::new(&mut rng, seed, theme, shards, &streams, parties.len(), has_all).acts();
    acts.push(Act { action: Action::Rest, turns: 0, salt: seed });
    let backlog_max = rng.usize(4..200);
    let advance_ms_max = pick(&mut rng, &[1, 5, 50, 300]);
    Scenario { seed, shards, config, streams, parties, backlog_max, advance_ms_max, acts }
}

pub(crate) fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

fn config(rng: &mut Rng, theme: Theme) -> PlaneConfig {
    let few_streams: &[usize] = if theme == Theme::Everything { &[1, 2, 4_096, 4_096] } else { &[4_096] };
    PlaneConfig {
        merge_above: pick(rng, &[0, 1, 3, 6, 1_000, 1_000, 1_000]),
        merge_ms: pick(rng, &[1, 20, 100]),
        snapshot_max: pick(rng, &[1, 2, 4, 1_000, 1_000]),
        session_streams_max: pick(rng, few_streams),
        single_match: theme != Theme::Rooms && rng.u8(0..4) == 0,
        single_party: theme != Theme::Rooms && rng.u8(0..4) == 0,
        slice_deliveries: pick(rng, &[1, 2, 3, 2_048]),
        up_credits: pick(rng, &[1, 3, 8, 64, 1_024]),
        down_credits: pick(rng, &[1, 4, 16, 64, 8_192]),
        matchmaker: MatchmakerConfig { interval_ms: pick(rng, &[100, 1_000]), ..MatchmakerConfig::default() },
        rooms: Arc::new(rooms::config(rng)),
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
