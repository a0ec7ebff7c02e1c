//! Scenarios: a world and everything that happens in it, made from a seed. A scenario is data, so that a failing one
//! can be shortened.

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

/// Serial number of a session in a world.
pub type Who = usize;

/// A world and everything that happens in it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that the scenario was made from.
    pub seed: u64,
    /// Number of shards.
    pub shards: ShardIndex,
    /// Limits of the planes, mostly so small that they are reached.
    pub config: PlaneConfig,
    /// The streams by number.
    pub streams: Vec<StreamKey>,
    /// The streams of parties, numbered from [`PARTIES_FROM`] on.
    pub parties: Vec<StreamKey>,
    /// Number of frames that may wait for a session that does not read.
    pub backlog_max: usize,
    /// The longest time that the clock moves at once between acts.
    pub advance_ms_max: Millis,
    /// The acts in order.
    pub acts: Vec<Act>,
}

/// An action, and the number of steps that follow it.
#[derive(Clone, Debug)]
pub struct Act {
    /// The action.
    pub action: Action,
    /// Number of steps after the action. A step is, for example, the delivery of a message or the run of a slice.
    pub turns: u32,
    /// Seed of the random choices of this act. Each act has a seed of its own, so that an act stays the same when
    /// others are left out.
    pub salt: u64,
}

/// The condition of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The join has no condition.
    Always,
    /// The join succeeds only if some session is on the stream.
    Occupied,
    /// The join has no condition, and replaces an earlier presence of the session.
    Replacing,
}

impl When {
    /// The plane's condition with the same meaning.
    pub fn condition(self) -> Condition {
        match self {
            Self::Always => Condition::Any,
            Self::Occupied => Condition::Occupied,
            Self::Replacing => Condition::Replace,
        }
    }
}

/// The receivers of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// All sessions.
    All,
    /// All sessions but this one.
    AllBut(Who),
    /// Only the given sessions.
    Only(Vec<Who>),
}

/// An action of a player on a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartyAct {
    /// Make the party.
    Create { open: bool, max_size: u16 },
    /// Ask to join.
    Join,
    /// Leave.
    Leave,
    /// Let a session in.
    Accept(Who),
    /// Remove a session.
    Remove(Who),
    /// Make a session the leader.
    Promote(Who),
    /// End the party.
    Close,
    /// Send data to the other members.
    Say,
    /// Look for a match of this many players.
    Search(u32),
}

/// An action of players, sockets or threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A session opens and gets the number `who`.
    Open { who: Who, shard: ShardIndex, encoding: Encoding },
    /// A session closes, or its socket breaks; the plane sees no difference.
    Close { who: Who },
    /// A session joins a stream.
    Join { who: Who, stream: StreamId, hidden: bool, persistence: bool, listens: bool, when: When },
    /// A session leaves a stream.
    Leave { who: Who, stream: StreamId },
    /// A session leaves a stream and goes on hearing it.
    Vanish { who: Who, stream: StreamId },
    /// A session listens to a stream.
    Listen { who: Who, stream: StreamId },
    /// A session stops listening to a stream.
    Unlisten { who: Who, stream: StreamId },
    /// A session publishes messages on a stream, this many in a row.
    Publish { who: Who, stream: StreamId, to: To, times: u32 },
    /// A session acts on a party.
    Party { who: Who, party: StreamId, act: PartyAct },
    /// A session acts on rooms.
    Room { who: Who, act: RoomAct },
    /// A session looks for a match of this many players.
    Search { who: Who, players: u32 },
    /// A session removes its latest ticket.
    Withdraw { who: Who },
    /// A shard pushes a message to a session.
    Push { shard: ShardIndex, who: Who },
    /// A shard asks for a page of a stream's presences.
    List { shard: ShardIndex, stream: StreamId, with_hidden: bool, skip: usize, limit: usize },
    /// A shard asks for the numbers of presences on all streams.
    Count { shard: ShardIndex },
    /// A client stops reading its socket, or starts again.
    Read { who: Who, reads: bool },
    /// A shard's thread gets no turn for a while.
    Pause { shard: ShardIndex, ms: Millis },
    /// The clock moves.
    Advance { ms: Millis },
    /// Everything comes to rest, and the planes are compared with the model.
    Rest,
}

/// The number of the first stream of a party.
pub const PARTIES_FROM: StreamId = 1_000;

/// The largest number of sessions that are ever opened in a world.
pub const SESSIONS_MAX: usize = 48;

/// The scenario of a seed.
pub fn generate(seed: u64) -> Scenario {
    generate_on(seed, None)
}

/// The scenario of a seed, on this number of shards if one is given.
pub fn generate_on(seed: u64, on: Option<ShardIndex>) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let theme = pick(&mut rng, &Theme::ALL);
    let shards = rng.u16(1..=8);
    let shards = on.unwrap_or(shards);
    let config = config(&mut rng, theme);
    let streams = streams(&mut rng);
    // A low limit of streams per session excludes parties and rooms, because the model does not count their streams.
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
