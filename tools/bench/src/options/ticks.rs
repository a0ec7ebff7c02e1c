//! Options of `ticks`. The generator process gets them unchanged.

use anyhow::ensure;
use serde::{Deserialize, Serialize};

/// Valid numbers of ticks per second of a match.
const TICK_RATES: std::ops::RangeInclusive<u32> = 1..=128;

/// Matches without players.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct TicksOptions {
    /// ticks: matches in total
    #[arg(long, default_value_t = 1_000)]
    pub matches: usize,
    /// ticks: ticks per second of each match
    #[arg(long, default_value_t = 10)]
    pub tick_rate: u32,
    /// ticks: microseconds that each tick computes
    #[arg(long, default_value_t = 0)]
    pub busy_us: u32,
    /// ticks: connections that meanwhile call functions which end only because the server ends them
    #[arg(long, default_value_t = 0)]
    pub bombs: usize,
}

impl TicksOptions {
    /// Refuses options that cannot be run.
    pub fn check(&self) -> anyhow::Result<()> {
        let (least, most) = (TICK_RATES.start(), TICK_RATES.end());
        ensure!(TICK_RATES.contains(&self.tick_rate), "--tick-rate must be between {least} and {most}");
        ensure!(self.matches > 0, "--matches must be above zero");
        Ok(())
    }
}
