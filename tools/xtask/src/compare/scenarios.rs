//! The scenarios of a comparison: each is a run of `muster-bench`, and the figure of its report that is compared.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::builds::Builds;
use super::servers::Servers;
use crate::run;

/// The core of the servers; the generator has the other.
pub const SERVER_CORE: &str = "0";

/// Core of the generator.
const GENERATOR_CORE: &str = "1";

/// A scenario of `muster-bench`.
pub struct Scenario {
    pub name: &'static str,
    /// Arguments of `muster-bench`; `--duration` comes from the command line.
    arguments: &'static [&'static str],
    /// Further flags of the server.
    flags: &'static [&'static str],
    /// Nodes of a cluster; 1 is a server on its own.
    nodes: usize,
    needs_modules: bool,
    /// Figure of the report.
    figure: &'static str,
    pub unit: &'static str,
}

const CPU: &str = "server_cpu_us_per_op";

/// Exit code of `muster-bench` when the generator was the limit. Its rates and latencies are void then; the server's
/// CPU time per operation is not.
const VOID: i32 = 3;

/// A server on its own, whose CPU time per operation counts.
const ALONE: Scenario =
    Scenario { name: "", arguments: &[], flags: &[], nodes: 1, needs_modules: false, figure: CPU, unit: "us" };

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "heartbeat", arguments: &["heartbeat"], ..ALONE },
    Scenario { name: "chat", arguments: &["chat", "--connections", "100"], ..ALONE },
    Scenario { name: "rpc-lua", arguments: &["rpc-lua"], needs_modules: true, ..ALONE },
    Scenario {
        name: "rooms",
        arguments: &[
            "rooms",
            "--connections",
            "3000",
            "--processes",
            "1",
            "--connect-rate",
            "1000",
            "--leave-rate",
            "3000",
            "--warmup",
            "4",
        ],
        flags: &["--rooms.templates", "bench=size=3-8"],
        ..ALONE
    },
    Scenario {
        name: "match",
        arguments: &["match", "--connections", "1000", "--connect-rate", "1000"],
        needs_modules: true,
        ..ALONE
    },
    Scenario {
        name: "ticks",
        arguments: &["ticks", "--matches", "2000", "--tick-rate", "10"],
        needs_modules: true,
        ..ALONE
    },
    Scenario {
        name: "hop",
        arguments: &["hop", "--rate", "2000"],
        nodes: 3,
        figure: "remote_server_cpu_us_per_delivery",
        ..ALONE
    },
    Scenario {
        name: "memory",
        arguments: &["ccu", "--connections", "5000", "--connect-rate", "1000"],
        figure: "rss_kb_per_connection",
        unit: "KB",
        ..ALONE
    },
];

impl Scenario {
    /// Runs the scenario once on fresh servers of a program. Answers the figure.
    pub fn measure(&self, builds: &Builds, program: &std::path::Path, duration_sec: u32) -> Result<f64> {
        let modules = self.needs_modules.then_some(&*builds.modules);
        let servers = Servers::start(program, self.nodes, modules, self.flags)?;
        let mut bench = Command::new(&builds.bench);
        bench.args(self.arguments).args(["--json", "--pin", GENERATOR_CORE, "--duration", &duration_sec.to_string()]);
        bench.arg("--addr").arg(servers.addresses()).arg("--pid").arg(servers.process_ids());
        if self.name == "ticks" {
            bench.arg("--metrics").arg(servers.metrics());
        }
        let report = run::output_if(&mut bench, |code| code == 0 || code == VOID)?;
        let report: Value = serde_json::from_str(report.trim()).context("the report of muster-bench is not JSON")?;
        ensure!(report["errors"] == 0, "{} has errors: {}", self.name, report["errors_by_reason"]);
        report[self.figure].as_f64().with_context(|| format!("the report of {} has no {}", self.name, self.figure))
    }
}
