//! The messages between the coordinator and its workers, and the clock that they share.
//!
//! A worker gets its [`Plan`] and later a [`Go`] as lines of JSON on its input, and writes [`Event`]s as lines of JSON.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::load::Format;
use crate::options::{
    AttackOptions, ChurnOptions, ClusterOptions, Kind, MatchmakeOptions, RpcOptions, TalkOptions, TicksOptions,
};
use crate::pacing::Spread;
use crate::tally::Tally;
use crate::timeline::Second;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scenario {
    /// Sign in by a new device id, open a socket, hold it for `--duration`; players come at `--connect-rate`.
    Ccu,
    /// Sign in by new device ids: each writes an account.
    Register,
    /// Sign in by device ids that have accounts.
    Authenticate,
    /// Ping and pong over open sockets.
    Heartbeat,
    /// Each connection sends `--messages` pings without waiting and counts the pongs.
    Blast,
    /// Ping once a second on each of `--connections` sockets, quietly and while `--registrations` players register
    /// with passwords at once.
    Passwords,
    /// Rooms of `--room-size` players; each says something once all have heard what it said before.
    Chat,
    /// Relayed matches of `--room-size` players; each sends `--each` messages per second to the others.
    Relay,
    /// Matches of game code, which puts players into them: each sends `--each` messages per second, of which every
    /// second one goes to all and the others come back to their sender. See `tools/bench/modules`.
    Match,
    /// SmartFoxServer's public chat: players come at `--connect-rate`, are put into rooms, say something every four
    /// seconds for `--duration`, and leave at `--leave-rate`.
    Rooms,
    /// Tickets arrive at `--rate`, look for opponents, and are matched.
    Matchmake,
    /// The same as `rooms`, while players are replaced, stop reading and vanish.
    Churn,
    /// Pairs of players talk: first those of one node of a cluster, then those of two.
    Hop,
    /// A node of a cluster is killed or halted: how soon are the others' players told of it, and when do they receive
    /// each other's messages again?
    Takeover,
    /// The node that runs durable matches is killed: how soon do their players get answers again, and is the state of
    /// the matches right?
    Failover,
    /// Players join streams over all nodes of a cluster: how soon does every node show it?
    Converge,
    /// Calls a function in Lua that parses its payload and serialises it again: see `tools/bench/modules`.
    #[value(name = "rpc-lua")]
    #[serde(rename = "rpc-lua")]
    RpcLua,
    /// The same in JavaScript.
    #[value(name = "rpc-js")]
    #[serde(rename = "rpc-js")]
    RpcJs,
    /// The same in Go.
    #[value(name = "rpc-go")]
    #[serde(rename = "rpc-go")]
    RpcGo,
    /// Matches of game code without players, `--matches` of them at `--tick-rate`: how late are their ticks? Needs
    /// `--metrics`, and `tools/bench/modules`.
    Ticks,
    /// Honest players, first alone and then beside an attacker of each `--kind`. See `tools/bench/attack.yml`.
    Attack,
}

impl Scenario {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ccu => "ccu",
            Self::Register => "register",
            Self::Authenticate => "authenticate",
            Self::Heartbeat => "heartbeat",
            Self::Blast => "blast",
            Self::Passwords => "passwords",
            Self::Chat => "chat",
            Self::Relay => "relay",
            Self::Match => "match",
            Self::Rooms => "rooms",
            Self::Matchmake => "matchmake",
            Self::Churn => "churn",
            Self::Hop => "hop",
            Self::Takeover => "takeover",
            Self::Failover => "failover",
            Self::Converge => "converge",
            Self::RpcLua => "rpc-lua",
            Self::RpcJs => "rpc-js",
            Self::RpcGo => "rpc-go",
            Self::Ticks => "ticks",
            Self::Attack => "attack",
        }
    }

    /// Whether the measured part lies between two moments fixed beforehand; otherwise it ends when the work is done.
    pub fn is_timed(self) -> bool {
        !matches!(self, Self::Blast | Self::Ccu | Self::Passwords | Self::Takeover | Self::Failover | Self::Attack)
    }

    /// Whether the scenario needs a cluster.
    pub fn needs_cluster(self) -> bool {
        matches!(self, Self::Hop | Self::Takeover | Self::Failover | Self::Converge)
    }

    /// Whether one process must see all players, or stops a node.
    pub fn runs_in_one_process(self) -> bool {
        matches!(self, Self::Passwords | Self::Takeover | Self::Failover | Self::Attack)
    }

    /// Whether a node is stopped.
    pub fn strikes(self) -> bool {
        matches!(self, Self::Takeover | Self::Failover)
    }

    /// Whether accounts are written in the measured part.
    pub fn writes_accounts(self) -> bool {
        matches!(
            self,
            Self::Register | Self::Passwords | Self::Ccu | Self::Churn | Self::Takeover | Self::Failover | Self::Attack
        )
    }

    /// Whether players talk to each other: an operation is then a message in or out.
    pub fn counts_messages(self) -> bool {
        matches!(self, Self::Chat | Self::Relay | Self::Match | Self::Rooms | Self::Churn | Self::Hop)
    }

    /// Whether the scenario calls game code.
    pub fn is_rpc(self) -> bool {
        matches!(self, Self::RpcLua | Self::RpcJs | Self::RpcGo)
    }

    /// Number of connections unless the command line gives one.
    pub fn default_connections(self) -> usize {
        match self {
            Self::Register | Self::Authenticate | Self::RpcLua | Self::RpcJs | Self::RpcGo => 64,
            Self::Ticks => 8,
            Self::Takeover => 60,
            Self::Heartbeat => 100,
            Self::Converge => 200,
            // Divisible by every likely number of nodes.
            Self::Hop => 480,
            Self::Chat | Self::Relay | Self::Matchmake => 500,
            Self::Ccu | Self::Passwords | Self::Match | Self::Failover | Self::Rooms | Self::Churn | Self::Attack => {
                1_000
            }
            Self::Blast => 3_500,
        }
    }
}

/// One worker's share of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    pub scenario: Scenario,
    pub addresses: Vec<SocketAddr>,
    pub server_key: String,
    pub format: Format,
    /// False for the reference server, which has no accounts.
    pub signs_in: bool,
    /// Number of this worker, from 0.
    pub worker: usize,
    pub connections: usize,
    /// Operations per second of an open loop; a closed loop has none.
    pub rate: Option<f64>,
    pub spread: Spread,
    /// New connections per second while sockets are opened.
    pub connect_rate: f64,
    /// `blast`: pings per connection.
    pub messages: u32,
    /// `blast`: read only after all pings are written.
    pub writes_first: bool,
    /// `authenticate`: accounts made beforehand.
    pub users: usize,
    /// `passwords`: players that register at once.
    pub registrations: usize,
    pub rpc: RpcOptions,
    pub ticks: TicksOptions,
    /// `ticks`: addresses of the servers' metrics.
    pub metrics: Vec<SocketAddr>,
    pub talk: TalkOptions,
    /// `rooms`, `churn`: players who leave per second in the end.
    pub leave_rate: f64,
    pub churn: ChurnOptions,
    pub matchmake: MatchmakeOptions,
    pub attack: AttackOptions,
    /// `attack`: the attack that this process makes; none in the process of the honest players.
    pub attacker: Option<Kind>,
    /// `attack`: part of the names of places that both sides know.
    pub town: u64,
    pub cluster: ClusterOptions,
    /// `matchmake`: tickets that wait throughout the run.
    pub standing: usize,
    /// `rooms`, `churn`: time in which players come.
    pub ramp: Duration,
    pub warmup: Duration,
    pub duration: Duration,
    /// Longest wait for answers after the last operation began.
    pub patience: Duration,
    pub pin: Option<usize>,
    pub seed: u64,
}

impl Plan {
    /// Time from the order to begin until the measured part.
    pub fn lead(&self) -> Duration {
        self.ramp + self.warmup
    }
}

/// The order to begin, at this time of the machine's monotonic clock.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Go {
    pub begin: Duration,
}

/// A part of `attack`: the quiet one, or one beside an attacker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    /// Whether operations that begin now count in the part's latencies.
    pub is_measured: bool,
    /// Whether the run, or the attack, is over.
    pub is_over: bool,
}

/// Begin of a run, and its measured part.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub begin: Instant,
    pub measure_from: Instant,
    pub measure_to: Instant,
}

impl Window {
    pub fn new(go: Go, plan: &Plan) -> Self {
        let begin = instant_at(go.begin);
        let measure_from = begin + plan.lead();
        Self { begin, measure_from, measure_to: measure_from + plan.duration }
    }

    /// The moment at which `hop` changes to its other pairs.
    pub fn middle(&self) -> Instant {
        self.measure_from + (self.measure_to - self.measure_from) / 2
    }

    pub fn covers(&self, moment: Instant) -> bool {
        (self.measure_from..self.measure_to).contains(&moment)
    }
}

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The worker is set up and waits for [`Go`].
    Ready,
    /// Number of operations done so far.
    Progress(u64),
    /// Figures of a second that is over.
    Second(Box<Second>),
    /// The measured part of an untimed scenario is over.
    Measured,
    /// The result. Connections stay open until the worker's input ends.
    Report(Box<WorkerReport>),
    /// Nothing could be measured.
    Failed(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Number of the worker.
    pub worker: usize,
    pub tally: Tally,
    /// Length of the measured part.
    pub elapsed: Duration,
    /// Share of one core that this worker used in the measured part.
    pub cpu_share: f64,
    /// Share of the measured part in which this worker was ready to run while others had its core.
    pub wait_share: f64,
}

/// Converts moments to microseconds of the machine's clock, which mean the same in every process, and back.
#[derive(Debug, Clone, Copy)]
pub struct MachineClock {
    base: Instant,
    base_us: u64,
}

impl MachineClock {
    pub fn new() -> Self {
        let (base, machine_time) = same_moment();
        Self { base, base_us: micros(machine_time) }
    }

    pub fn time_us(&self, moment: Instant) -> u64 {
        match moment.checked_duration_since(self.base) {
            Some(after) => self.base_us + micros(after),
            None => self.base_us.saturating_sub(micros(self.base - moment)),
        }
    }

    pub fn moment(&self, time_us: u64) -> Instant {
        match time_us.checked_sub(self.base_us) {
            Some(after) => self.base + Duration::from_micros(after),
            None => self.base.checked_sub(Duration::from_micros(self.base_us - time_us)).unwrap_or(self.base),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The machine's monotonic clock, the same in every process.
pub fn machine_clock() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec.try_into().unwrap_or_default())
}

fn instant_at(machine_time: Duration) -> Instant {
    let (now, machine_now) = same_moment();
    now + machine_time.saturating_sub(machine_now)
}

/// Readings of the two clocks, of which the closest pair is used: this process may lose its core between two readings.
const READINGS: usize = 16;

/// One moment on both clocks, read as closely together as possible.
fn same_moment() -> (Instant, Duration) {
    let read = || {
        let before = Instant::now();
        let machine_time = machine_clock();
        (before.elapsed(), before, machine_time)
    };
    let closest = (1..READINGS).fold(read(), |closest, _| closest.min(read()));
    (closest.1, closest.2)
}
