//! Everything that CI runs, in an order in which mistakes show soon.

use anyhow::Result;

use crate::summary::Summary;
use crate::{arrows, codegen, deny, docs, run, suite, tidy};

/// Runs every check, then the tests. A failure does not stop the rest.
///
/// # Errors
/// When a part failed.
pub fn run() -> Result<()> {
    let mut summary = Summary::default();
    summary.part("fmt", || format(true));
    summary.part("tidy", tidy::run);
    summary.part("docs-check", docs::run);
    summary.part("arrows", arrows::run);
    summary.part("deny", deny::check);
    summary.part("codegen", || codegen::run(true));
    summary.part("lint", lint);
    suite::run_parts(&mut summary, suite::Parts::All, &[]);
    summary.finish()
}

/// Formats everything, or only checks the format.
///
/// # Errors
/// When something is not formatted and `check` is set.
pub fn format(check: bool) -> Result<()> {
    let mut cargo = run::cargo();
    cargo.args(["fmt", "--all"]);
    if check {
        cargo.args(["--", "--check"]);
    }
    run::check(&mut cargo)
}

/// Runs clippy over every target of every crate.
///
/// # Errors
/// On any warning.
pub fn lint() -> Result<()> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    run::check(run::cargo().args(arguments))
}
