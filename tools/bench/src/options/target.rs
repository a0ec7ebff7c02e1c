//! The servers that a run drives, and the shares of the generator processes.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::Options;
use crate::plan::Plan;

/// The servers of the command line, or the reference server.
#[derive(Debug)]
pub struct Target<'a> {
    pub options: &'a Options,
    pub addresses: Vec<SocketAddr>,
    pub pids: Vec<u32>,
    /// Addresses of the servers' metrics.
    pub metrics: Vec<SocketAddr>,
    /// False for the reference server, which has no accounts.
    pub signs_in: bool,
}

impl Options {
    /// The servers that the command line names.
    pub fn target(&self) -> anyhow::Result<Target<'_>> {
        let addresses = resolve_all("--addr", &self.addr)?;
        let metrics = resolve_all("--metrics", &self.metrics)?;
        ensure!(!addresses.is_empty(), "--addr names no server");
        Ok(Target { options: self, addresses, pids: self.pid.clone(), metrics, signs_in: true })
    }
}

fn resolve_all(flag: &str, names: &[String]) -> anyhow::Result<Vec<SocketAddr>> {
    names.iter().map(|name| resolve(flag, name)).collect()
}

fn resolve(flag: &str, name: &str) -> anyhow::Result<SocketAddr> {
    let found = name.to_socket_addrs().with_context(|| format!("{flag} {name}: expected HOST:PORT"))?;
    let found: Vec<_> = found.collect();
    // IPv4 comes first, since loopback connections can then spread over 127.0.x.y.
    let address = found.iter().find(|address| address.is_ipv4()).or(found.first());
    address.copied().with_context(|| format!("{flag} {name}: no such host"))
}

impl Target<'_> {
    /// One plan for each generator process; together they are the run that the command line asks for.
    pub fn plans(&self) -> Vec<Plan> {
        (0..self.options.processes()).map(|worker| self.plan(worker)).collect()
    }

    fn plan(&self, worker: usize) -> Plan {
        let options = self.options;
        let processes = options.processes();
        let share = |total: usize| total / processes + usize::from(worker < total % processes);
        Plan {
            scenario: options.scenario,
            addresses: self.addresses_of(worker),
            server_key: options.server_key.clone(),
            format: options.format,
            signs_in: self.signs_in,
            worker,
            connections: share(options.connections()),
            rate: options.rate().map(|rate| rate / processes as f64),
            spread: options.arrivals,
            connect_rate: options.connect_rate() / processes as f64,
            messages: options.messages,
            writes_first: options.writes_first,
            users: share(options.users),
            registrations: options.registrations,
            rpc: options.rpc.clone(),
            ticks: options.ticks.clone(),
            metrics: self.metrics.clone(),
            talk: options.talk.clone(),
            leave_rate: options.talk.leave_rate / processes as f64,
            churn: options.churn.clone(),
            attack: options.attack.clone(),
            attacker: None,
            town: fastrand::u64(..),
            matchmake: options.matchmake.clone(),
            cluster: options.cluster.clone(),
            standing: share(options.matchmake.standing),
            ramp: options.ramp(),
            warmup: Duration::from_secs_f64(options.warmup),
            duration: Duration::from_secs_f64(options.duration),
            patience: Duration::from_secs_f64(options.patience),
            pin: (!options.pin.is_empty()).then(|| options.pin[worker % options.pin.len()]),
            seed: fastrand::u64(..),
        }
    }

    /// The servers of a generator process. If there are enough processes, each drives one server only, so that one
    /// process knows all players who meet there. Otherwise, and for a cluster, every process uses all servers in turn.
    fn addresses_of(&self, worker: usize) -> Vec<SocketAddr> {
        let (servers, options) = (self.addresses.len(), self.options);
        let is_cluster = options.cluster.is_cluster(options.scenario);
        if !is_cluster && options.processes().is_multiple_of(servers) {
            return vec![self.addresses[worker % servers]];
        }
        let (before, after) = self.addresses.split_at(worker % servers);
        [after, before].concat()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn plans(arguments: &str) -> Vec<Plan> {
        let arguments = ["muster-bench"].into_iter().chain(arguments.split_ascii_whitespace());
        Options::parse_from(arguments).target().unwrap().plans()
    }

    #[test]
    fn shares_add_up() {
        let plans = plans("heartbeat -c 1000 -p 3 --rate 900 --pin 1,2");
        assert_eq!(plans.iter().map(|plan| plan.connections).collect::<Vec<_>>(), [334, 333, 333]);
        assert_eq!(plans.iter().map(|plan| plan.pin).collect::<Vec<_>>(), [Some(1), Some(2), Some(1)]);
        assert!(plans.iter().all(|plan| plan.rate == Some(300.0)));
    }

    #[test]
    fn each_server_has_generators_of_its_own_if_they_suffice() {
        let ports = |arguments: &str| -> Vec<Vec<u16>> {
            let ports = |plan: &Plan| plan.addresses.iter().map(SocketAddr::port).collect();
            plans(arguments).iter().map(ports).collect()
        };
        let servers = "heartbeat --addr 127.0.0.1:1,127.0.0.1:2";
        assert_eq!(ports(&format!("{servers} -p 4")), [[1], [2], [1], [2]]);
        assert_eq!(ports(&format!("{servers} -p 3")), [[1, 2], [2, 1], [1, 2]]);
        assert_eq!(ports(&format!("{servers} -p 2 --cluster")), [[1, 2], [2, 1]]);
    }

    #[test]
    fn a_ramp_lasts_as_long_as_players_come() {
        let plan = &plans("rooms -c 1000 --connect-rate 50 -p 2")[0];
        assert_eq!((plan.connections, plan.ramp), (500, Duration::from_secs(20)));
        assert_eq!(plans("heartbeat -c 1000")[0].ramp, Duration::ZERO);
    }
}
