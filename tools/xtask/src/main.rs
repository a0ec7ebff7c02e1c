//! `cargo xtask`: everything a developer or CI runs, in one program that needs nothing but cargo to build.
//!
//! Each command is a module. A command that checks something fails with sentences that say what to do.
#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]

mod arrows;
mod ci;
mod codegen;
mod compare;
mod deny;
mod docs;
mod metadata;
mod repository;
mod run;
mod suite;
mod summary;
#[cfg(test)]
mod symbols;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use muster_testenv::Postgres;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Muster's developer commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that CI runs: every check, then the tests
    Ci,
    /// All tests, bringing up what they need: PostgreSQL, npm packages, a server
    Test {
        /// Only the Rust tests
        #[arg(long, conflicts_with = "e2e")]
        rust: bool,
        /// Only the end-to-end tests with the official JavaScript client
        #[arg(long)]
        e2e: bool,
        /// Further arguments of `cargo test`; with --e2e, the files to run
        #[arg(last = true)]
        rest: Vec<String>,
    },
    /// Format the code
    Fmt {
        /// Only say whether something is not formatted
        #[arg(long)]
        check: bool,
    },
    /// Clippy over everything, warnings refused
    Lint,
    /// House rules that no other tool checks: module headers, file sizes, banned words, comments
    Tidy,
    /// The rings: the crates that each crate may use, and dependencies that only few crates may name
    Arrows,
    /// Licences, doubled versions and sources of all dependencies; advisories where they can be reached
    Deny,
    /// Every relative link in the documents leads somewhere
    DocsCheck,
    /// Write the code and pages that follow from the schema files
    Codegen {
        /// Only say whether something is stale
        #[arg(long)]
        check: bool,
    },
    /// Compare our schema with the published one (needs go)
    ProtocolCheck,
    /// Does the work tree cost more than an earlier revision? Rounds of `muster-bench` with both builds in turn
    Compare(compare::Options),
    /// Start a throw-away PostgreSQL, print its URL, stop it when standard input closes or on ctrl-c
    Postgres,
}

fn main() -> ExitCode {
    match dispatch(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Ci => ci::run(),
        Command::Test { rust, e2e, rest } => {
            let parts = match (rust, e2e) {
                (true, _) => suite::Parts::Rust,
                (_, true) => suite::Parts::EndToEnd,
                _ => suite::Parts::All,
            };
            suite::run(parts, &rest)
        }
        Command::Fmt { check } => ci::format(check),
        Command::Lint => ci::lint(),
        Command::Tidy => tidy::run(),
        Command::Arrows => arrows::run(),
        Command::Deny => deny::run(),
        Command::DocsCheck => docs::run(),
        Command::Codegen { check } => codegen::run(check),
        Command::ProtocolCheck => codegen::protocol_check::run(),
        Command::Compare(options) => compare::run(&options),
        Command::Postgres => postgres(),
    }
}

fn postgres() -> Result<()> {
    let server = Postgres::start()?;
    println!("{}", server.url());
    println!("close standard input (ctrl-d) or press ctrl-c to stop it and throw its data away");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
