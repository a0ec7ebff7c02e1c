//! Options of the scenarios in which players meet. The generator processes get them unchanged.

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use crate::load::stamp::STAMP_LEN;
use crate::plan::Scenario;

/// Length of the stamp with which every message begins: see `load::stamp`.
const MESSAGE_LEN_MIN: usize = STAMP_LEN;
/// Tickets that one session may have, by the protocol's default.
pub const TICKETS_PER_SESSION: usize = 3;
/// Longest message. Servers of the protocol take 4096 bytes; the rest is for the envelope.
const MESSAGE_LEN_MAX: usize = 3_000;
const ROOM_SIZE_MAX: usize = 1_000;

/// The side that puts players into rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The server, by its rooms; players of all generator processes meet.
    #[default]
    Rooms,
    /// The generator, in chat rooms that it names; works with any server of the protocol.
    Chat,
}

/// Players who meet and talk.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct TalkOptions {
    /// Players of a room or match [default: 5; match 10; failover 1; rooms and churn 3 to 8 at random; converge all]
    #[arg(long)]
    pub room_size: Option<usize>,
    /// Messages per second of each player [default: relay 10, match 2, failover 4, rooms and churn 0.25; chat waits for
    /// its answers]
    #[arg(long)]
    pub each: Option<f64>,
    /// Bytes of a message
    #[arg(long, default_value_t = MESSAGE_LEN_MIN)]
    pub message_bytes: usize,
    /// Chat messages are stored
    #[arg(long)]
    pub persistent: bool,
    /// match: the matches are durable: they outlive their process
    #[arg(long)]
    pub durable: bool,
    /// rooms, churn: the side that puts players into rooms
    #[arg(long, value_enum, default_value_t)]
    pub via: Via,
    /// rooms, churn: the template of the server's rooms, which should have 3 to 8 seats
    #[arg(long, default_value = "bench")]
    pub template: String,
    /// rooms, churn: players who leave per second in the end, in total
    #[arg(long, default_value_t = 100.0)]
    pub leave_rate: f64,
}

/// Players who come, go and fall ill.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct ChurnOptions {
    /// churn: percent of the players who are replaced each minute
    #[arg(long, default_value_t = 10.0)]
    pub replaced: f64,
    /// churn: percent of the players who stop reading, but go on sending
    #[arg(long, default_value_t = 1.0)]
    pub stopped: f64,
    /// churn: percent of the players who vanish without closing their connection
    #[arg(long, default_value_t = 1.0)]
    pub half_open: f64,
}

/// Players who look for opponents.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct MatchmakeOptions {
    /// matchmake: tickets that wait all along and fit nobody, three to a socket
    #[arg(long, default_value_t = 0)]
    pub standing: usize,
    /// matchmake: percent of the tickets that look for one opponent; the others look for one to three
    #[arg(long, default_value_t = 50.0)]
    pub duels: f64,
}

impl TalkOptions {
    pub fn check(&self, scenario: Scenario) -> anyhow::Result<()> {
        let lengths = MESSAGE_LEN_MIN..=MESSAGE_LEN_MAX;
        ensure!(!self.durable || scenario == Scenario::Match, "--durable is for match only");
        // Talking needs another player, except in `failover`.
        let size_min = if scenario == Scenario::Failover { 1 } else { 2 };
        ensure!(lengths.contains(&self.message_bytes), "--message-bytes must be between {lengths:?}");
        ensure!(
            self.room_size.is_none_or(|size| (size_min..=ROOM_SIZE_MAX).contains(&size)),
            "--room-size must be {size_min} to {ROOM_SIZE_MAX}"
        );
        ensure!(self.each.is_none_or(|each| each > 0.0 && each.is_finite()), "--each must be above zero");
        ensure!(self.leave_rate > 0.0 && self.leave_rate.is_finite(), "--leave-rate must be above zero");
        Ok(())
    }

    /// Messages per second of each player, in scenarios that fix them beforehand.
    pub fn each(&self, scenario: Scenario) -> Option<f64> {
        let default = match scenario {
            Scenario::Relay => Some(10.0),
            Scenario::Match => Some(2.0),
            Scenario::Rooms | Scenario::Churn => Some(0.25),
            _ => None,
        };
        default.map(|default| self.each.unwrap_or(default))
    }
}

impl ChurnOptions {
    pub fn check(&self) -> anyhow::Result<()> {
        for (name, percent) in
            [("--replaced", self.replaced), ("--stopped", self.stopped), ("--half-open", self.half_open)]
        {
            ensure!((0.0..=100.0).contains(&percent), "{name} must be between 0 and 100 percent");
        }
        ensure!(self.stopped + self.half_open <= 50.0, "no more than half of the players may be ill");
        Ok(())
    }
}

impl MatchmakeOptions {
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!((0.0..=100.0).contains(&self.duels), "--duels must be between 0 and 100 percent");
        Ok(())
    }

    /// Checks that each process has players without standing tickets.
    pub fn check_players(&self, per_process: usize) -> anyhow::Result<()> {
        let standing_players = self.standing.div_ceil(TICKETS_PER_SESSION);
        ensure!(
            standing_players + 1 < per_process,
            "{standing_players} players hold standing tickets: raise --connections"
        );
        Ok(())
    }
}
