//! Options about servers that are nodes of one cluster. The generator processes get them unchanged.

use anyhow::{Context as _, ensure};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::plan::Scenario;

/// How a node is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Blow {
    /// SIGKILL: the process is gone, and whoever started it may start it again.
    #[default]
    Kill,
    /// SIGSTOP: the process stands still, and goes on once the others have noticed.
    Halt,
}

/// Servers that form a cluster.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct ClusterOptions {
    /// The servers of --addr are nodes of one cluster: players who meet come in through different ones
    #[arg(long)]
    pub cluster: bool,
    /// takeover, failover: the process of the last node of --addr, which is stopped; no other process is touched
    #[arg(long, value_name = "PID")]
    pub victim_pid: Option<u32>,
    /// takeover: how the node is stopped
    #[arg(long, value_enum, default_value_t)]
    pub blow: Blow,
    /// takeover: how often the node is stopped (halt only: a killed node does not come back by itself)
    #[arg(long, default_value_t = 1)]
    pub rounds: usize,
}

impl ClusterOptions {
    /// Whether players of different nodes meet in this scenario.
    pub fn is_cluster(&self, scenario: Scenario) -> bool {
        self.cluster || scenario.needs_cluster()
    }

    pub fn check(&self, scenario: Scenario, nodes: usize, connections: usize, pids: &[u32]) -> anyhow::Result<()> {
        let name = scenario.as_str();
        ensure!(!self.is_cluster(scenario) || nodes > 1, "{name} of a cluster needs all its nodes: --addr A,B,…");
        if scenario == Scenario::Hop {
            ensure!(
                connections.is_multiple_of(4 * nodes),
                "hop needs pairs within and between all nodes: --connections must be a multiple of {} in each process",
                4 * nodes
            );
        }
        if !scenario.strikes() {
            ensure!(self.victim_pid.is_none(), "--victim-pid is for takeover and failover only");
            return Ok(());
        }
        let Some(victim) = self.victim_pid else {
            anyhow::bail!("{name} needs --victim-pid, the process of the last node of --addr");
        };
        if scenario == Scenario::Takeover {
            ensure!(nodes > 2, "takeover needs three nodes, so that two are left to hear each other");
            ensure!(connections.is_multiple_of(nodes), "--connections must be a multiple of the {nodes} nodes");
        } else {
            ensure!(self.blow == Blow::Kill, "failover knows only --blow kill");
        }
        if self.blow == Blow::Kill {
            ensure!(self.rounds == 1, "a killed node does not come back by itself: one round, or --blow halt");
            ensure!(!pids.contains(&victim), "the process of --victim-pid will be gone: leave it out of --pid");
        }
        ensure!(self.rounds > 0, "--rounds must be above zero");
        Ok(())
    }

    /// The process of the node to be stopped.
    pub fn victim(&self) -> anyhow::Result<Pid> {
        let raw = self.victim_pid.and_then(|pid| i32::try_from(pid).ok());
        raw.and_then(Pid::from_raw).context("--victim-pid is no process id")
    }
}
