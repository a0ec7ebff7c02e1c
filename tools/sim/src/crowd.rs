//! A measurement of one stream with very many presences and no sockets: the time that joins, listings and broadcasts
//! take, and the length of the longest step of a shard. No step may stall a shard.

mod hall;

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use muster_live::ShardIndex;

use hall::{Hall, Phase, Step};

/// The longest step with which a shard still serves its other sessions in time.
pub const STEP_MAX: Duration = Duration::from_millis(5);

/// The arguments of the measurement.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Crowd {
    /// Presences in the stream
    #[arg(long, default_value_t = 100_000)]
    pub presences: usize,
    /// Messages broadcast to all presences
    #[arg(long, default_value_t = 20)]
    pub broadcasts: usize,
    /// The number of shards; without it, one and then two
    #[arg(long)]
    pub shards: Option<ShardIndex>,
    /// The number of rounds of the same steps. The shortest time of each step counts, so that other work on the machine
    /// matters less
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
}

/// Measures the stream, and returns whether all steps were within [`STEP_MAX`].
///
/// # Errors
/// A session missed a message or received one out of order.
pub fn run(crowd: &Crowd) -> Result<bool> {
    let mut is_within = true;
    for shards in crowd.shards.map_or_else(|| vec![1, 2], |shards| vec![shards]) {
        say(&format!("{} presences in one stream on {shards} shard(s)", crowd.presences));
        let mut phases = Hall::new(shards, crowd.presences).measure(crowd.broadcasts)?;
        for _ in 1..crowd.rounds {
            let again = Hall::new(shards, crowd.presences).measure(crowd.broadcasts)?;
            phases.iter_mut().zip(&again).for_each(|(phase, again)| keep_shortest(phase, again));
        }
        for phase in &phases {
            is_within &= report(phase);
        }
    }
    Ok(is_within)
}

fn keep_shortest(phase: &mut Phase, again: &Phase) {
    for (step, again) in phase.steps.iter_mut().zip(&again.steps) {
        step.took = step.took.min(again.took);
    }
}

/// Prints a phase. Returns whether all its steps were within the bound.
fn report(phase: &Phase) -> bool {
    let Phase { what, count, unit, steps, deliveries } = phase;
    let busy: Duration = steps.iter().map(|step| step.took).sum();
    let longest = steps.iter().max_by_key(|step| step.took).copied();
    let Step { took: longest, what: step } = longest.unwrap_or(Step { took: Duration::ZERO, what: "none" });
    let too_long = steps.iter().filter(|step| step.took > STEP_MAX).count();
    let each_us = busy.as_secs_f64() * 1e6 / (*count).max(1) as f64;
    let (busy_ms, longest_ms) = (busy.as_secs_f64() * 1e3, longest.as_secs_f64() * 1e3);
    say(&format!("  {what:<30} {busy_ms:>8.1} ms CPU, {each_us:.2} us per {unit}"));
    let verdict = if too_long == 0 { String::new() } else { format!(", {too_long} TOO LONG") };
    say(&format!("  {:<30} {} steps, longest {longest_ms:.3} ms ({step}){verdict}", "", steps.len()));
    if *deliveries > 0 {
        let each_ns = busy.as_secs_f64() * 1e9 / *deliveries as f64;
        say(&format!("  {:<30} {deliveries} deliveries, {each_ns:.1} ns each with all that", ""));
    }
    too_long == 0
}

fn say(line: &str) {
    // A closed pipe is no error: the reader, for example `head`, may have seen enough.
    let _ = writeln!(std::io::stdout(), "{line}");
}
