//! The command line, and how a run is shared out among generator processes.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Parser;

use crate::load::Format;
use crate::machine;
use crate::pacing::Spread;
use crate::plan::{Plan, Scenario};

/// Connections that one generator process takes unless `--processes` says otherwise.
const CONNECTIONS_PER_PROCESS: usize = 8_000;

/// Measure a server that speaks the protocol.
///
/// Exit status: 0 all answers were right, 1 some were not or nothing could be measured, 2 wrong arguments,
/// 3 the run is void because the generator itself was too busy.
#[derive(Debug, Parser)]
#[command(name = "muster-bench", version)]
pub struct Options {
    #[arg(value_enum)]
    pub scenario: Scenario,
    /// Where the server listens; several nodes with commas
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
    /// Open loop: operations per second in total, begun by the clock (passwords: pings)
    #[arg(long, short)]
    pub rate: Option<f64>,
    /// How an open loop spreads its operations
    #[arg(long, value_enum, default_value_t)]
    pub arrivals: Spread,
    /// Measured seconds (ccu: how long sockets are held)
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
    /// New sockets per second in total [default: ccu 500, else 2000]
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
    /// What the server promises of a write, stated beside the figures, such as "synced, group commit"
    #[arg(long)]
    pub durability: Option<String>,
    /// One line of JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Whom a run drives: the server asked for, or the reference.
#[derive(Debug)]
pub struct Target<'a> {
    pub options: &'a Options,
    pub addresses: Vec<SocketAddr>,
    pub pids: Vec<u32>,
    /// False for the reference, which knows no accounts.
    pub signs_in: bool,
}

impl Options {
    /// Refuses what cannot be run, saying what to change.
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
        if self.scenario == Scenario::Passwords {
            ensure!(processes == 1, "passwords runs in one process");
            ensure!(self.registrations > 0, "--registrations must be above zero");
        }
        if self.reference && !matches!(self.scenario, Scenario::Heartbeat | Scenario::Blast) {
            bail!("--reference knows only heartbeat and blast");
        }
        let per_process = connections.div_ceil(processes) as u64;
        let limit = machine::connections_per_process_max();
        ensure!(per_process <= limit, "one process may hold {limit} connections: raise --processes");
        Ok(())
    }

    pub fn connections(&self) -> usize {
        self.connections.unwrap_or(self.scenario.default_connections())
    }

    pub fn processes(&self) -> usize {
        let enough = self.connections().div_ceil(CONNECTIONS_PER_PROCESS).max(1);
        let default = if self.scenario == Scenario::Passwords { 1 } else { enough };
        self.processes.unwrap_or(default)
    }

    fn connect_rate(&self) -> f64 {
        self.connect_rate.unwrap_or(if self.scenario == Scenario::Ccu { 500.0 } else { 2_000.0 })
    }

    /// The server that the command names.
    pub fn target(&self) -> anyhow::Result<Target<'_>> {
        let mut addresses = Vec::new();
        for name in &self.addr {
            let found = name.to_socket_addrs().with_context(|| format!("--addr {name}: expected HOST:PORT"))?;
            let found: Vec<_> = found.collect();
            // IPv4 first: loopback connections can then spread over 127.0.x.y.
            let address = found.iter().find(|address| address.is_ipv4()).or(found.first());
            addresses.push(*address.with_context(|| format!("--addr {name}: no such host"))?);
        }
        ensure!(!addresses.is_empty(), "--addr names no server");
        Ok(Target { options: self, addresses, pids: self.pid.clone(), signs_in: true })
    }
}

impl Target<'_> {
    /// One plan for each generator process; together they are what the command asks for.
    pub fn plans(&self) -> Vec<Plan> {
        let options = self.options;
        let processes = options.processes();
        let share = |total: usize, worker: usize| total / processes + usize::from(worker < total % processes);
        let plan = |worker| Plan {
            scenario: options.scenario,
            addresses: self.addresses.clone(),
            server_key: options.server_key.clone(),
            format: options.format,
            signs_in: self.signs_in,
            worker,
            connections: share(options.connections(), worker),
            rate: options.rate.map(|rate| rate / processes as f64),
            spread: options.arrivals,
            connect_rate: options.connect_rate() / processes as f64,
            messages: options.messages,
            writes_first: options.writes_first,
            users: share(options.users, worker),
            registrations: options.registrations,
            warmup: Duration::from_secs_f64(options.warmup),
            duration: Duration::from_secs_f64(options.duration),
            patience: Duration::from_secs_f64(options.patience),
            pin: (!options.pin.is_empty()).then(|| options.pin[worker % options.pin.len()]),
            seed: fastrand::u64(..),
        };
        (0..processes).map(plan).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Options {
        Options::parse_from(["muster-bench"].into_iter().chain(arguments.split_ascii_whitespace()))
    }

    #[test]
    fn shares_add_up() {
        let options = parse("heartbeat -c 1000 -p 3 --rate 900 --pin 1,2");
        let plans = options.target().unwrap().plans();
        assert_eq!(plans.iter().map(|plan| plan.connections).collect::<Vec<_>>(), [334, 333, 333]);
        assert_eq!(plans.iter().map(|plan| plan.pin).collect::<Vec<_>>(), [Some(1), Some(2), Some(1)]);
        assert!(plans.iter().all(|plan| plan.rate == Some(300.0)));
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
        ] {
            let error = parse(arguments).check().unwrap_err().to_string();
            assert!(error.contains(reason), "{arguments}: {error}");
        }
    }
}
