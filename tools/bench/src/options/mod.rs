//! The command line: its options, and the combinations that are refused.

mod attack;
mod cluster;
mod live;
mod rpc;
mod target;
mod ticks;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Parser;

pub use attack::{AttackOptions, Kind};
pub use cluster::{Blow, ClusterOptions};
pub use live::{ChurnOptions, MatchmakeOptions, TICKETS_PER_SESSION, TalkOptions, Via};
pub use rpc::{Over, RpcOptions};
pub use target::Target;
pub use ticks::TicksOptions;

use crate::load::Format;
use crate::machine;
use crate::pacing::Spread;
use crate::plan::Scenario;

/// Connections that one generator process takes unless `--processes` says otherwise.
const CONNECTIONS_PER_PROCESS: usize = 8_000;

/// Tickets of `matchmake` per second unless the command gives a rate.
const TICKETS_PER_SECOND: f64 = 50.0;

/// Messages of `hop` per second unless the command gives a rate.
const HOPS_PER_SECOND: f64 = 2_000.0;

/// Presences of `converge` per second unless the command gives a rate.
const PRESENCES_PER_SECOND: f64 = 10_000.0;

/// Measure a server that speaks the protocol.
///
/// Exit status: 0 all answers were right, 1 some were not or nothing could be measured, 2 wrong arguments,
/// 3 the run is void because the generator itself was too busy.
#[derive(Debug, Parser)]
#[command(name = "muster-bench", version)]
pub struct Options {
    #[arg(value_enum)]
    pub scenario: Scenario,
    /// Addresses of the server; several nodes with commas
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', default_value = "127.0.0.1:7350")]
    pub addr: Vec<String>,
    /// The server key that signs players in
    #[arg(long, default_value = "defaultkey")]
    pub server_key: String,
    /// Process ids of the server on this machine, for its CPU time and memory
    #[arg(long, value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// Connections in total
    #[arg(long, short)]
    pub connections: Option<usize>,
    /// Open loop: operations per second in total, begun by the clock (passwords: pings; matchmake: tickets, 50)
    #[arg(long, short)]
    pub rate: Option<f64>,
    /// How an open loop spreads its operations
    #[arg(long, value_enum, default_value_t)]
    pub arrivals: Spread,
    /// Measured seconds (ccu: how long sockets are held; rooms and churn: the soak once all are there; attack: of the
    /// quiet part and of each attack)
    #[arg(long, short, default_value_t = 10.0)]
    pub duration: f64,
    /// Seconds before the measured ones
    #[arg(long, default_value_t = 2.0)]
    pub warmup: f64,
    /// Generator processes
    #[arg(long, short)]
    pub processes: Option<usize>,
    /// Encoding of the sockets
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// New sockets per second in total [default: ccu 500, rooms and churn 50, else 2000]
    #[arg(long)]
    pub connect_rate: Option<f64>,
    /// blast: pings of each connection
    #[arg(long, default_value_t = 2_000)]
    pub messages: u32,
    /// blast: read nothing until all pings are written
    #[arg(long)]
    pub writes_first: bool,
    /// authenticate: accounts made beforehand
    #[arg(long, default_value_t = 1_000)]
    pub users: usize,
    /// passwords: players that register at once
    #[arg(long, default_value_t = 100)]
    pub registrations: usize,
    #[command(flatten)]
    pub rpc: RpcOptions,
    #[command(flatten)]
    pub ticks: TicksOptions,
    #[command(flatten)]
    pub talk: TalkOptions,
    #[command(flatten)]
    pub churn: ChurnOptions,
    #[command(flatten)]
    pub matchmake: MatchmakeOptions,
    #[command(flatten)]
    pub attack: AttackOptions,
    #[command(flatten)]
    pub cluster: ClusterOptions,
    /// churn, ticks: addresses of the servers' metrics. churn: whatever players left behind in the gauges is an error
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Seconds to wait for an answer after the last operation began
    #[arg(long, default_value_t = 10.0)]
    pub patience: f64,
    /// Cores that the generator processes are pinned to, in turn
    #[arg(long, value_delimiter = ',')]
    pub pin: Vec<usize>,
    /// Runs to take the median of
    #[arg(long, default_value_t = 1)]
    pub repeat: usize,
    /// First measure a bare echo server in the same way (heartbeat and blast)
    #[arg(long)]
    pub reference: bool,
    /// Core that the bare echo server is pinned to
    #[arg(long, default_value_t = 0)]
    pub reference_core: usize,
    /// The server's promise about writes, stated beside the figures, such as "synced, group commit"
    #[arg(long)]
    pub durability: Option<String>,
    /// One line of JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// A page with the figures and plots of the run over time, in one file
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

impl Options {
    /// Refuses combinations that cannot be run, saying what to change.
    pub fn check(&self) -> anyhow::Result<()> {
        let connections = self.connections();
        let processes = self.processes();
        ensure!(connections > 0 && processes > 0 && self.repeat > 0, "there must be at least one of everything");
        ensure!(processes <= connections, "{processes} processes need at least as many --connections");
        ensure!(self.rate.is_none_or(|rate| rate > 0.0 && rate.is_finite()), "--rate must be above zero");
        ensure!(self.connect_rate() > 0.0, "--connect-rate must be above zero");
        for (name, seconds) in [("--duration", self.duration), ("--warmup", self.warmup), ("--patience", self.patience)]
        {
            ensure!((0.0..=86_400.0).contains(&seconds), "{name} must be between 0 and 86400 seconds");
        }
        ensure!(self.duration > 0.0, "--duration must be above zero");
        ensure!(self.messages > 0, "--messages must be above zero");
        if self.scenario == Scenario::Authenticate {
            ensure!(self.users >= processes, "{processes} processes need at least as many --users");
        }
        if self.scenario.runs_in_one_process() {
            ensure!(processes == 1, "{} runs in one process", self.scenario.as_str());
        }
        if self.scenario == Scenario::Passwords {
            ensure!(self.registrations > 0, "--registrations must be above zero");
        }
        if self.rate.is_some() && self.scenario.is_rpc() && self.holds_sockets() {
            bail!("calls over sockets wait for their answers: leave --rate out");
        }
        if self.rpc.waits_for.is_some() && !self.scenario.is_rpc() {
            bail!("--waits-for is for rpc-lua, rpc-js and rpc-go only");
        }
        if self.rpc.one_by_one && self.scenario == Scenario::RpcGo {
            bail!("--one-by-one is for rpc-lua and rpc-js only: in Go calls always wait beside each other");
        }
        self.talk.check(self.scenario)?;
        if self.scenario == Scenario::Failover {
            let size = self.talk.room_size.unwrap_or(1);
            ensure!(
                connections.is_multiple_of(size),
                "--connections must be a multiple of the {size} players of a match"
            );
        }
        self.churn.check()?;
        self.attack.check()?;
        self.matchmake.check()?;
        self.cluster.check(self.scenario, self.addr.len(), connections / processes, &self.pid)?;
        if self.rate.is_some() && matches!(self.scenario, Scenario::Rooms | Scenario::Churn) {
            bail!("{} paces each player by itself: give --each instead of --rate", self.scenario.as_str());
        }
        if self.scenario == Scenario::Matchmake {
            self.matchmake.check_players(connections / processes)?;
        }
        if !self.metrics.is_empty() && !matches!(self.scenario, Scenario::Churn | Scenario::Ticks) {
            bail!("--metrics is read by churn and ticks only");
        }
        if self.scenario == Scenario::Ticks {
            ensure!(!self.metrics.is_empty(), "ticks are counted by the server: say where by --metrics HOST:PORT");
            ensure!(processes == 1, "ticks runs in one process");
            self.ticks.check()?;
        }
        if self.reference && !matches!(self.scenario, Scenario::Heartbeat | Scenario::Blast) {
            bail!("--reference knows only heartbeat and blast");
        }
        let per_process = connections.div_ceil(processes) as u64;
        let limit = machine::connections_per_process_max();
        ensure!(per_process <= limit, "one process may hold {limit} connections: raise --processes");
        Ok(())
    }

    /// Whether each connection is a socket that stays.
    pub fn holds_sockets(&self) -> bool {
        match self.scenario {
            Scenario::Register | Scenario::Authenticate | Scenario::Ticks => false,
            scenario => !scenario.is_rpc() || self.rpc.over == Over::Socket,
        }
    }

    pub fn connections(&self) -> usize {
        self.connections.unwrap_or(self.scenario.default_connections())
    }

    pub fn processes(&self) -> usize {
        let enough = self.connections().div_ceil(CONNECTIONS_PER_PROCESS).max(1);
        let runs_in_one = self.scenario.runs_in_one_process();
        let default = if runs_in_one { 1 } else { enough };
        self.processes.unwrap_or(default)
    }

    fn connect_rate(&self) -> f64 {
        self.connect_rate.unwrap_or(match self.scenario {
            Scenario::Ccu => 500.0,
            Scenario::Rooms | Scenario::Churn => 50.0,
            _ => 2_000.0,
        })
    }

    /// Operations per second in total, if operations are begun by the clock.
    pub fn rate(&self) -> Option<f64> {
        let each = self.talk.each(self.scenario).map(|each| each * self.connections() as f64);
        let default = match self.scenario {
            Scenario::Matchmake => Some(TICKETS_PER_SECOND),
            Scenario::Hop => Some(HOPS_PER_SECOND),
            Scenario::Converge => Some(PRESENCES_PER_SECOND),
            _ => None,
        };
        self.rate.or(each).or(default)
    }

    /// Time in which players come before the warm-up begins.
    pub fn ramp(&self) -> Duration {
        let ramps = matches!(self.scenario, Scenario::Rooms | Scenario::Churn);
        let seconds = if ramps { self.connections() as f64 / self.connect_rate() } else { 0.0 };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Options {
        Options::parse_from(["muster-bench"].into_iter().chain(arguments.split_ascii_whitespace()))
    }

    #[test]
    fn many_connections_take_several_processes() {
        assert_eq!(parse("ccu -c 19800").processes(), 3);
        assert_eq!(parse("heartbeat").processes(), 1);
    }

    #[test]
    fn nonsense_is_refused_with_a_way_out() {
        for (arguments, reason) in [
            ("heartbeat -c 0 ", "at least one"),
            ("heartbeat --rate 0", "--rate must be above zero"),
            ("register --reference", "--reference knows only"),
            ("passwords -p 2", "passwords runs in one process"),
            ("ccu -c 5000000 -p 1", "raise --processes"),
            ("chat --message-bytes 31", "--message-bytes must be between"),
            ("chat --room-size 1", "--room-size must be"),
            ("rooms --rate 10", "give --each instead"),
            ("churn --stopped 40 --half-open 20", "no more than half"),
            ("matchmake -c 10 --standing 27", "raise --connections"),
            ("rooms --metrics localhost:1", "--metrics is read by churn and ticks only"),
            ("ticks", "say where by --metrics"),
            ("ticks --metrics localhost:1 --tick-rate 500", "--tick-rate must be"),
            ("rpc-lua --over socket --rate 10", "leave --rate out"),
            ("heartbeat --waits-for http://localhost", "for rpc-lua, rpc-js and rpc-go only"),
            ("rpc-go --waits-for http://localhost --one-by-one", "for rpc-lua and rpc-js only"),
            ("rooms --cluster", "--addr A,B"),
            ("hop", "--addr A,B"),
            ("hop --addr a:1,b:1,c:1 -c 100", "a multiple of 12"),
            ("heartbeat --victim-pid 1", "for takeover and failover only"),
            ("takeover --addr a:1,b:1", "needs --victim-pid"),
            ("takeover --addr a:1,b:1 --victim-pid 7", "needs three nodes"),
            ("takeover --addr a:1,b:1,c:1 --victim-pid 7 -c 10", "a multiple of the 3 nodes"),
            ("takeover --addr a:1,b:1,c:1 --victim-pid 7 --rounds 2", "--blow halt"),
            ("takeover --addr a:1,b:1,c:1 --victim-pid 7 --pid 6,7", "leave it out of --pid"),
            ("takeover --addr a:1,b:1,c:1 --victim-pid 7 -p 2", "runs in one process"),
            ("chat --durable", "for match only"),
            ("attack --attackers 1", "--attackers must be"),
            ("attack --attack-address 127.0.1.7", "honest players'"),
            ("attack -p 2", "attack runs in one process"),
            ("failover --addr a:1,b:1", "needs --victim-pid"),
            ("failover --addr a:1,b:1 --victim-pid 7 --blow halt", "--blow kill"),
            ("failover --addr a:1,b:1 --victim-pid 7 -c 10 --room-size 3", "a multiple of the 3 players"),
        ] {
            let error = parse(arguments).check().unwrap_err().to_string();
            assert!(error.contains(reason), "{arguments}: {error}");
        }
    }
}
