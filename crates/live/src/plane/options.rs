//! Limits of the plane, options of joins, and counts.

use std::sync::Arc;

use muster_domain::query::WorkTotals;

use super::message::{Condition, Kind, Recover};
use crate::listings::ListingStats;
use crate::matches::{MatchStats, MatchesConfig};
use crate::matchmaker::{MatchmakerConfig, MatchmakerTotals};
use crate::rooms::{RoomStats, RoomsConfig};
use crate::session::Millis;
use crate::stream::{StreamKey, mode};
use crate::wheel::Lateness;

/// Limit of the published messages that are under way on one lane towards an owner.
pub const UP_CREDITS: u32 = 1_024;
/// Limit of the broadcasts and other paid messages that are under way on one lane from an owner. The limit is high
/// because these messages are most of the traffic, and are worked off at once.
pub const DOWN_CREDITS: u32 = 8_192;

/// Limit of the deliveries of one broadcast that are made at once. A larger broadcast goes in slices of this size;
/// other work of the shard is done between slices.
pub const SLICE_DELIVERIES: usize = 2_048;

/// Limits of the plane, under their configuration names.
#[derive(Clone, Debug)]
pub struct PlaneConfig {
    /// `live.presence_merge_size`: the number of presences above which a stream's joins and leaves are told together.
    pub merge_above: usize,
    /// `live.presence_merge_ms`: the time for which joins and leaves are collected before they are told.
    pub merge_ms: Millis,
    /// `live.presence_snapshot_size`: the largest number of presences in one listing or event.
    pub snapshot_max: usize,
    /// `live.session_streams_max`: the largest number of streams that one session may be on or hear.
    pub session_streams_max: usize,
    /// `session.single_match`: a session that comes to a match leaves the others.
    pub single_match: bool,
    /// `session.single_party`: a session that comes to a party leaves the others.
    pub single_party: bool,
    /// Configuration of the matchmaker.
    pub matchmaker: MatchmakerConfig,
    /// `name`: the part of public ids behind the dot.
    pub node: Arc<str>,
    /// The largest number of deliveries of one broadcast that are made at once, see [`SLICE_DELIVERIES`]. No
    /// configuration key sets it; tests make it small.
    pub slice_deliveries: usize,
    /// The largest number of published messages on their way to one owner, see [`UP_CREDITS`]. No configuration key
    /// sets it; tests make it small.
    pub up_credits: u32,
    /// The largest number of paid messages on their way to one shard, see [`DOWN_CREDITS`]. No configuration key sets
    /// it; tests make it small.
    pub down_credits: u32,
    /// Whether the plane checks itself after each step, as debug builds do. No configuration key sets it; simulations
    /// with planted bugs switch it off, since their own checks are to find the bugs.
    pub checks_itself: bool,
    /// Configuration of rooms.
    pub rooms: Arc<RoomsConfig>,
    /// Configuration of matches of game code.
    pub matches: MatchesConfig,
    /// The kinds of which recovery data are kept; none on a node on its own.
    pub recover: Recover,
    /// Whether messages of chats that the database kept are told again when a node has gone; not on a node on its own.
    pub recalls: bool,
}

impl Default for PlaneConfig {
    fn default() -> Self {
        Self {
            merge_above: 1_000,
            merge_ms: 100,
            snapshot_max: 1_000,
            session_streams_max: 4_096,
            single_match: false,
            single_party: false,
            matchmaker: MatchmakerConfig::default(),
            node: "muster".into(),
            slice_deliveries: SLICE_DELIVERIES,
            up_credits: UP_CREDITS,
            down_credits: DOWN_CREDITS,
            checks_itself: cfg!(debug_assertions),
            rooms: Arc::default(),
            matches: MatchesConfig::default(),
            recover: Recover::default(),
            recalls: false,
        }
    }
}

impl PlaneConfig {
    /// The modes of streams that a session leaves when it comes to one of `mode`.
    pub(crate) fn exclusive(&self, mode: u8) -> &'static [u8] {
        match mode {
            mode::MATCH_RELAYED | mode::MATCH_AUTHORITATIVE if self.single_match => {
                &[mode::MATCH_RELAYED, mode::MATCH_AUTHORITATIVE]
            }
            mode::PARTY if self.single_party => &[mode::PARTY],
            _ => &[],
        }
    }
}

/// An event that becomes due in a plane.
#[derive(Clone, Debug)]
pub(crate) enum Timer {
    /// Joins and leaves that were kept back are told.
    Tell(StreamKey),
    /// Something is due among the things of a kind.
    Thing(Kind),
    /// Recovery data of things that changed are kept.
    Keep,
    /// The plane stops waiting for recovery data and logs that were asked for long ago.
    RecoveryLate,
}

/// The options with which a session comes to a stream.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// Whether the presence is in neither events nor snapshots.
    pub hidden: bool,
    /// Whether messages of the session to the stream are to be stored. Others see this in its presence.
    pub persistence: bool,
    /// The status text, on status streams.
    pub status: Option<Arc<str>>,
    /// Whether the session hears the stream too.
    pub listens: bool,
    /// The condition.
    pub condition: Condition,
}

impl Default for JoinOptions {
    fn default() -> Self {
        Self { hidden: false, persistence: false, status: None, listens: true, condition: Condition::Any }
    }
}

/// Gauges and counts of a plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaneStats {
    /// Sessions of this shard.
    pub sessions: usize,
    /// Streams that this shard owns.
    pub streams: usize,
    /// Presences on these streams.
    pub presences: usize,
    /// Parties that this shard owns.
    pub parties: usize,
    /// Streams that sessions of this shard hear.
    pub heard_streams: usize,
    /// Messages that wait for credit towards owners.
    pub up_waiting: usize,
    /// Messages that wait for credit on the way from here as an owner.
    pub down_waiting: usize,
    /// Messages that wait here: until the way down is free, until a partition is complete, or until this place hears of
    /// a change of owners.
    pub held: usize,
    /// Number of timers that are set.
    pub timers: usize,
    /// Frames handed to sessions.
    pub deliveries: u64,
    /// Messages dropped because their sender was not on the stream.
    pub strangers: u64,
    /// Messages that this place refused because they were for another owner, or for another epoch of this one.
    pub misdirected: u64,
    /// Requests that this place refused because its node was an island.
    pub island_refusals: u64,
    /// Kept messages of chats that were told again, because a node has gone.
    pub recalled: u64,
    /// Kept messages that this place left out because its sessions had them, or may have had them.
    pub left_out: u64,
    /// Partitions taken over from a dead owner whose recovery data did not come in time.
    pub recoveries_late: u64,
    /// Tickets that wait in the matchmaker, where this shard owns it.
    pub tickets: usize,
    /// Tickets among them that still search.
    pub active_tickets: usize,
    /// Matches that wait until game code has said where their players go, where this shard owns the matchmaker.
    pub asked_matches: usize,
    /// Totals of the matchmaker, where this shard owns it.
    pub matchmaker: MatchmakerTotals,
    /// Matches of game code of which this shard is the owner.
    pub matches: MatchStats,
    /// Rooms of which this shard is the owner.
    pub rooms: RoomStats,
    /// Counts of listings of parties and of matches of game code.
    pub listings: ListingStats,
    /// Work of queries: of filters, listings and the matchmaker.
    pub queries: WorkTotals,
    /// Lateness of timers.
    pub lateness: Lateness,
}
