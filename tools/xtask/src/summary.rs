//! The table at the end of a run: each part with its result and its time. One failed part fails the run.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Result of a part that ran to its end.
pub enum Outcome {
    /// The part succeeded; with a note for the table.
    Passed(String),
    /// Nothing was wrong, but something could not be checked; with the reason.
    Skipped(String),
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Passed(String::new())
    }
}

struct Line {
    name: &'static str,
    outcome: Result<Outcome>,
    took: Duration,
}

/// Collects parts. A failed part does not keep the next from running: one run shows all that needs repair.
#[derive(Default)]
pub struct Summary {
    lines: Vec<Line>,
    tests_passed: u64,
    tests_failed: u64,
    tests_counted: bool,
}

impl Summary {
    /// Runs a part now.
    pub fn part<T: Into<Outcome>>(&mut self, name: &'static str, run: impl FnOnce() -> Result<T>) {
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = run().map(Into::into);
        if let Err(error) = &outcome {
            println!("{name} failed: {error:#}");
        }
        self.lines.push(Line { name, outcome, took: started.elapsed() });
    }

    /// Adds to the numbers of tests in the closing line.
    pub fn count_tests(&mut self, passed: u64, failed: u64) {
        self.tests_counted = true;
        self.tests_passed += passed;
        self.tests_failed += failed;
    }

    /// Prints the table.
    ///
    /// # Errors
    /// When a part failed, or there was none.
    pub fn finish(self) -> Result<()> {
        println!("\n== summary");
        for line in &self.lines {
            let (word, text) = match &line.outcome {
                Ok(Outcome::Passed(text)) => ("passed", text.clone()),
                Ok(Outcome::Skipped(text)) => ("skipped", text.clone()),
                Err(error) => ("FAILED", error.to_string().lines().next().unwrap_or_default().to_owned()),
            };
            println!("{:<12} {word:<8} {:>7.1} s  {text}", line.name, line.took.as_secs_f64());
        }
        if self.tests_counted {
            println!("{} passed, {} failed", self.tests_passed, self.tests_failed);
        }
        let failed: Vec<_> = self.lines.iter().filter(|line| line.outcome.is_err()).map(|line| line.name).collect();
        ensure!(!self.lines.is_empty(), "nothing ran");
        ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
        Ok(())
    }
}
