//! The command `muster-sim`: runs seeds, replays one, and measures a crowd.
#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]

use std::ops::Range;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use muster_live::ShardIndex;
use muster_sim::crowd::{self, Crowd};
use muster_sim::scenario::{Scenario, generate_on};
use muster_sim::shrink::shrink;
use muster_sim::world;
use muster_sim::{freight, links, nodes, takeover};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "The live plane on several shards, simulated from a seed, with checkers")]
struct Arguments {
    /// Number of seeds to run
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of further seeds to run that nobody has run before, numbered by the time of day
    #[arg(long, default_value_t = 0)]
    fresh: u64,
    /// The number of shards; without it, each seed decides
    #[arg(long)]
    shards: Option<ShardIndex>,
    /// Replay this seed and print everything that happens
    #[arg(long, conflicts_with_all = ["seeds", "from", "fresh"])]
    seed: Option<u64>,
    /// Replay the seed without the acts that its failure does not need
    #[arg(long, requires = "seed")]
    short: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure one very large stream: joining, listing, broadcasts, and the longest step
    Crowd(Crowd),
    /// Links between nodes over a bad bus
    Links(Seeds),
    /// Messages between shards of different nodes: packing, unpacking, and nodes that join
    Freight(Seeds),
    /// Membership of a cluster and ownership in it, while everything around fails
    Nodes(Seeds),
    /// The live plane on nodes that die and join
    Takeover(Seeds),
}

/// Seeds of a simulation to run.
#[derive(Args)]
struct Seeds {
    /// Number of seeds to run
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of further seeds to run that nobody has run before, numbered by the time of day
    #[arg(long, default_value_t = 0)]
    fresh: u64,
    /// Replay this seed and print everything that happens
    #[arg(long, conflicts_with_all = ["seeds", "from", "fresh"])]
    seed: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Crowd(crowd)) => return crowd::run(&crowd).map(code),
        Some(Command::Links(seeds)) => return seeds.run("links", run_links).map(code),
        Some(Command::Freight(seeds)) => return seeds.run("freight", run_freight).map(code),
        Some(Command::Nodes(seeds)) => return seeds.run("nodes", run_nodes).map(code),
        Some(Command::Takeover(seeds)) => return seeds.run("takeover", run_takeover).map(code),
        None => {}
    }
    if let Some(seed) = arguments.seed {
        return Ok(replay(seed, arguments.shards, arguments.short));
    }
    let end = arguments.from + arguments.seeds;
    let mut is_clean = run(arguments.from..end, arguments.shards);
    if arguments.fresh > 0 {
        let first = first_fresh()?;
        is_clean &= run(first..first + arguments.fresh, arguments.shards);
    }
    Ok(code(is_clean))
}

/// The first seed of those that nobody has run before: the time in seconds, which is short enough to type in again.
fn first_fresh() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

fn code(is_clean: bool) -> ExitCode {
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Number of steps of a seed's run, and the violation that it found, if any.
type Ran = (u64, Option<String>);

fn run_links(seed: u64, prints: bool) -> Ran {
    let outcome = links::run(seed, None, prints);
    (outcome.steps, outcome.violation.map(|violation| violation.to_string()))
}

fn run_freight(seed: u64, prints: bool) -> Ran {
    let outcome = freight::run(seed, None, prints);
    (outcome.steps, outcome.violation.map(|violation| violation.to_string()))
}

fn run_nodes(seed: u64, prints: bool) -> Ran {
    let outcome = nodes::run(seed, None, prints);
    (outcome.steps, outcome.violation.map(|violation| violation.to_string()))
}

fn run_takeover(seed: u64, prints: bool) -> Ran {
    let outcome = takeover::run(seed, None, prints);
    (outcome.steps, outcome.violation.map(|violation| violation.to_string()))
}

impl Seeds {
    /// Runs the seeds. Returns whether there was no violation.
    fn run(&self, command: &str, run: fn(u64, bool) -> Ran) -> Result<bool> {
        if let Some(seed) = self.seed {
            return Ok(run(seed, true).1.is_none());
        }
        let replay = |seed: u64| format!("{command} --seed {seed}");
        let mut is_clean = run_all(self.from..self.from + self.seeds, |seed| run(seed, false), replay);
        if self.fresh > 0 {
            let first = first_fresh()?;
            is_clean &= run_all(first..first + self.fresh, |seed| run(seed, false), replay);
        }
        Ok(is_clean)
    }
}

/// Runs seeds of the simulation of one node. Returns whether there was no violation.
fn run(seeds: Range<u64>, shards: Option<ShardIndex>) -> bool {
    let run = |seed: u64| {
        let outcome = world::run(&Rc::new(generate_on(seed, shards)), None, false);
        (outcome.steps, outcome.violation.map(|violation| violation.to_string()))
    };
    let on = shards.map(|shards| format!(" --shards {shards}")).unwrap_or_default();
    run_all(seeds, run, |seed| format!("--seed {seed}{on} --short"))
}

/// Runs seeds and prints those that fail, with the arguments that replay them. Returns whether there was no violation.
fn run_all(seeds: Range<u64>, run: impl Fn(u64) -> Ran, replay: impl Fn(u64) -> String) -> bool {
    let (mut steps, mut failed) = (0, 0);
    for seed in seeds.clone() {
        let (its_steps, violation) = run(seed);
        steps += its_steps;
        if let Some(violation) = violation {
            failed += 1;
            println!("seed {seed} violates {violation}");
            println!("  replay: cargo run -p muster-sim -- {}", replay(seed));
        }
    }
    println!("seeds {} to {}: {steps} steps, {failed} seeds failed", seeds.start, seeds.end.saturating_sub(1));
    failed == 0
}

fn replay(seed: u64, shards: Option<ShardIndex>, is_short: bool) -> ExitCode {
    let mut scenario = generate_on(seed, shards);
    if is_short && let Some(violation) = world::run(&Rc::new(scenario.clone()), None, false).violation {
        scenario = shrink(&scenario, violation.check, None);
    }
    let Scenario { shards, config, streams, acts, .. } = &scenario;
    println!("{shards} shards, {} streams, {} acts, {config:?}", streams.len(), acts.len());
    let outcome = world::run(&Rc::new(scenario), None, true);
    println!("{} steps, trace {:016x}", outcome.steps, outcome.hash);
    if outcome.violation.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
