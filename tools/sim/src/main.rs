//! `muster-sim`: runs seeds, replays one, and measures a crowd.
#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]

use std::ops::Range;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use muster_live::ShardIndex;
use muster_sim::crowd::{self, Crowd};
use muster_sim::links;
use muster_sim::scenario::{Scenario, generate_on};
use muster_sim::shrink::shrink;
use muster_sim::world;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "The live plane on several shards, simulated from a seed, with checkers")]
struct Arguments {
    /// How many seeds to run
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// So many more that nobody has run before, from the time of day
    #[arg(long, default_value_t = 0)]
    fresh: u64,
    /// Only with so many shards; otherwise a seed decides
    #[arg(long)]
    shards: Option<ShardIndex>,
    /// Replay this seed and print all that happens
    #[arg(long, conflicts_with_all = ["seeds", "from", "fresh"])]
    seed: Option<u64>,
    /// Replay what remains of it when acts without which it fails too are left out
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
}

/// Which seeds of a simulation run.
#[derive(Args)]
struct Seeds {
    /// How many
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Replay this one and print all that happens
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Crowd(crowd)) => return crowd::run(&crowd).map(code),
        Some(Command::Links(seeds)) => return Ok(code(run_links(&seeds))),
        None => {}
    }
    if let Some(seed) = arguments.seed {
        return Ok(replay(seed, arguments.shards, arguments.short));
    }
    let end = arguments.from + arguments.seeds;
    let mut is_clean = run(arguments.from..end, arguments.shards);
    if arguments.fresh > 0 {
        // Seconds: short enough to type in again.
        let first = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        is_clean &= run(first..first + arguments.fresh, arguments.shards);
    }
    Ok(code(is_clean))
}

fn code(is_clean: bool) -> ExitCode {
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs seeds of links. Answers whether nothing was wrong.
fn run_links(seeds: &Seeds) -> bool {
    if let Some(seed) = seeds.seed {
        return links::run(seed, None, true).violation.is_none();
    }
    let (mut steps, mut failed) = (0, 0);
    for seed in seeds.from..seeds.from + seeds.seeds {
        let outcome = links::run(seed, None, false);
        steps += outcome.steps;
        if let Some(violation) = outcome.violation {
            failed += 1;
            println!("seed {seed} violates {violation}");
            println!("  replay: cargo run -p muster-sim -- links --seed {seed}");
        }
    }
    println!("{} seeds from {}: {steps} steps, {failed} seeds failed", seeds.seeds, seeds.from);
    failed == 0
}

/// Runs seeds. Answers whether nothing was wrong.
fn run(seeds: Range<u64>, shards: Option<ShardIndex>) -> bool {
    let (mut steps, mut failed) = (0, 0);
    for seed in seeds.clone() {
        let outcome = world::run(&Rc::new(generate_on(seed, shards)), None, false);
        steps += outcome.steps;
        if let Some(violation) = outcome.violation {
            failed += 1;
            println!("seed {seed} violates {violation}");
            let on = shards.map(|shards| format!(" --shards {shards}")).unwrap_or_default();
            println!("  replay: cargo run -p muster-sim -- --seed {seed}{on} --short");
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
