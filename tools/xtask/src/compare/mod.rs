//! `cargo xtask compare`: does the work tree cost more than an earlier revision?
//!
//! Both are built as for players, and the scenarios run in rounds: the earlier build, the later one, and the earlier
//! one again, in an order that changes from round to round. The first and the third figure of a round show how far a
//! build differs from itself on this machine; a ratio within that spread says nothing. The figure is the server's CPU
//! time per operation (or its memory), which is steadier than rates and latencies.

mod builds;
mod scenarios;
mod servers;

use anyhow::{Result, ensure};
use clap::Args;

use self::builds::Builds;
use self::scenarios::{SCENARIOS, Scenario};

/// Options of the command.
#[derive(Args)]
pub struct Options {
    /// The earlier revision of git, or the path of a built server program
    before: String,
    /// The path of a built server program instead of the work tree
    #[arg(long)]
    after: Option<String>,
    /// Scenarios to run, with commas: all of them if not given
    #[arg(long, value_delimiter = ',')]
    scenarios: Vec<String>,
    /// Rounds of each scenario
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 6)]
    duration: u32,
}

/// Figures of one round.
struct Round {
    before: f64,
    after: f64,
    before_again: f64,
}

impl Round {
    /// The later build's figure in relation to the mean of the earlier one's two.
    fn ratio(&self) -> f64 {
        self.after / ((self.before + self.before_again) / 2.0)
    }

    /// The relation of the earlier build to itself.
    fn self_ratio(&self) -> f64 {
        self.before_again / self.before
    }
}

/// Compares, and prints a line per scenario.
///
/// # Errors
/// When something does not build or a run has errors. A build that costs more is no error: how much is too much is for
/// the reader.
pub fn run(options: &Options) -> Result<()> {
    let known = || SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
    let unknown = options.scenarios.iter().find(|name| SCENARIOS.iter().all(|scenario| scenario.name != **name));
    ensure!(unknown.is_none(), "there is no scenario `{}`: choose of {}", unknown.map_or("", |name| name), known());
    ensure!(options.rounds > 0, "at least one round is needed");
    let builds = Builds::make(&options.before, options.after.as_deref())?;
    println!(
        "{:<9} {:>12} {:>12} {:>8} {:>17} {:>17}",
        "", "before", "after", "ratio", "quartiles", "before to itself"
    );
    let is_asked = |scenario: &&Scenario| {
        options.scenarios.is_empty() || options.scenarios.iter().any(|name| name == scenario.name)
    };
    for scenario in SCENARIOS.iter().filter(is_asked) {
        compare(scenario, &builds, options)?;
    }
    Ok(())
}

fn compare(scenario: &Scenario, builds: &Builds, options: &Options) -> Result<()> {
    let mut rounds = Vec::new();
    for number in 0..options.rounds {
        let programs = [&builds.before, &builds.after, &builds.before];
        let mut figures = [0.0; 3];
        // Whoever runs first in a round may find another machine than who runs last.
        for turn in (0..3).map(|turn| (number + turn) % 3) {
            figures[turn] = scenario.measure(builds, programs[turn], options.duration)?;
        }
        let [before, after, before_again] = figures;
        rounds.push(Round { before, after, before_again });
    }
    let figures = |figure: fn(&Round) -> f64| sorted(rounds.iter().map(figure).collect());
    let (before, after) = (figures(|round| round.before), figures(|round| round.after));
    let (ratios, itself) = (figures(Round::ratio), figures(Round::self_ratio));
    println!(
        "{:<9} {:>9.2} {:<2} {:>9.2} {:<2} {:>8.3} {:>8.3}..{:<7.3} {:>8.3}..{:<7.3}",
        scenario.name,
        quantile(&before, 0.5),
        scenario.unit,
        quantile(&after, 0.5),
        scenario.unit,
        quantile(&ratios, 0.5),
        quantile(&ratios, 0.25),
        quantile(&ratios, 0.75),
        quantile(&itself, 0.25),
        quantile(&itself, 0.75),
    );
    Ok(())
}

fn sorted(mut figures: Vec<f64>) -> Vec<f64> {
    figures.sort_by(f64::total_cmp);
    figures
}

/// A quantile of sorted figures; between two of them it lies in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_figures() {
        assert_eq!(quantile(&[3.0], 0.25), 3.0);
        assert_eq!(quantile(&sorted(vec![4.0, 1.0, 2.0, 3.0]), 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), 2.0);
    }

    #[test]
    fn a_round_relates_a_build_to_the_mean_of_the_other_and_that_one_to_itself() {
        let round = Round { before: 2.0, after: 5.0, before_again: 3.0 };
        assert_eq!((round.ratio(), round.self_ratio()), (2.0, 1.5));
    }
}
