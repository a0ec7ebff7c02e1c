//! `muster-bench`: puts load on a server of the protocol, checks every answer, and reports what happened.
//!
//! The program has three roles: the command that a person runs, the generator processes that it starts, and the bare
//! reference server for comparison.

mod coordinator;
mod gauges;
mod load;
mod machine;
mod options;
mod pacing;
mod plan;
mod progress;
mod reference;
mod report;
mod sampler;
mod scenario;
mod siege;
mod tally;
mod timeline;
mod worker;

use std::process::ExitCode;

use clap::Parser as _;

use options::Options;
use report::Report;

/// First argument of a generator process.
const WORKER_ROLE: &str = "worker";
/// First argument of the reference server's process.
const REFERENCE_ROLE: &str = "reference-server";

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some(WORKER_ROLE) => worker::main().map(|()| ExitCode::SUCCESS),
        Some(REFERENCE_ROLE) => reference::main().map(|()| ExitCode::SUCCESS),
        _ => measure(&Options::parse()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("muster-bench: {error:#}");
        ExitCode::FAILURE
    })
}

fn measure(options: &Options) -> anyhow::Result<ExitCode> {
    options.check()?;
    let reference = options.reference.then(|| reference::measure(options)).transpose()?;
    let mut runs = Vec::new();
    for _ in 0..options.repeat {
        runs.push(coordinator::run(&options.target()?)?);
    }
    let mut report = Report::median(runs);
    if let Some(reference) = reference {
        report.compare_with(&reference);
    }
    report.print(options.json)?;
    if let Some(path) = &options.report {
        report.write_page(path, options)?;
    }
    Ok(report.exit_code())
}
