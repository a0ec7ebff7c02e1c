//! The commands of the program, each from its arguments to its exit status.

mod account;
mod database;
mod drain;
mod durable_matches;
mod health;
mod matches;
mod serve;
mod types;

use std::io::Write as _;
use std::process::ExitCode;

use muster_live::matches::MatchId;
use muster_script::LoadedCode;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

use crate::cli::{self, Command};
use crate::config::{self, Config, KeyFile, ServerMode, Setting};
use crate::wiring;

/// Result of a command: the exit status, or a sentence for the terminal.
type Outcome = Result<ExitCode, String>;

/// Runs a command.
pub fn run(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Start { mode, flags } => serve::start(mode, &flags),
        Command::Print(text) => print(&text),
        Command::Check { mode, flags } => check(mode, &flags),
        Command::Bench { arguments } => Err(cli::bench::replace_process(&arguments).to_string()),
        Command::Migrate { action, flags } => database::migrate(action, &flags),
        Command::Backup { file, flags } => database::backup(&file, &flags),
        Command::Restore { file, force, flags } => database::restore(&file, force, &flags),
        Command::Healthcheck { target } => health::check(&target),
        Command::Drain { mode, node, flags } => drain::drain(mode, &node, &flags),
        Command::Match { action, files, flags } => matches::run(action, &files, &flags),
        Command::ListMatches { mode, flags } => durable_matches::list(mode, &flags),
        Command::ForgetMatch { mode, id, flags } => durable_matches::forget(mode, MatchId(id), &flags),
        Command::Types { folder } => types::write(&folder),
        Command::Account { action, user_id, flags } => account::run(action, user_id, &flags),
    };
    outcome.unwrap_or_else(|text| {
        complain(&text);
        ExitCode::FAILURE
    })
}

/// Writes to standard error. If that fails, there is nowhere to report it.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "muster: {text}");
}

fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    // A reader that has seen enough closes the pipe; that is no error.
    let _ = writeln!(out, "{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Prints the configuration, and whether a server would start with it and with the game code.
fn check(mode: ServerMode, flags: &[Setting]) -> Outcome {
    let report = config::check::check(mode, flags, std::env::vars_os());
    print(&report.text)?;
    let Some(loaded) = report.loaded else { return Ok(ExitCode::FAILURE) };
    match LocalSet::new().block_on(&runtime()?, wiring::rehearse(&loaded.config)) {
        Ok(Some((folder, code))) => {
            print(&game_code(&code))?;
            print(&format!("\nthe configuration is valid, and the game code in {} loads", folder.display()))
        }
        Ok(None) => print("\nthe configuration is valid; there is no game code"),
        Err(error) => {
            print(&format!("\nerror: {error}\n\n1 error: a server would not start"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// A line for each language with game code, and a warning for files that are not loaded.
fn game_code(code: &[LoadedCode]) -> String {
    let mut lines = String::new();
    for loaded in code {
        if !loaded.files.is_empty() {
            lines += &format!("\n{loaded}");
        }
        if let Some(told) = &loaded.left_out {
            lines += &format!("\nwarning: {}: {told}", loaded.language);
        }
        for told in &loaded.mistakes {
            lines += &format!("\nwarning: {}: {told}", loaded.language);
        }
    }
    if code.is_empty() { "\nthere are no files of game code".to_owned() } else { lines }
}

/// The configuration for a command that does not serve and needs no keys.
fn configuration(flags: &[Setting]) -> Result<Config, String> {
    let loaded = config::load(ServerMode::Serve, KeyFile::Ignore, flags, std::env::vars_os());
    loaded.map(|loaded| loaded.config).map_err(|error| error.to_string())
}

/// The configuration for a command that does not serve, with the keys if this machine has them.
fn configuration_with_keys(mode: ServerMode, flags: &[Setting]) -> Result<Config, String> {
    let loaded = config::load(mode, KeyFile::Find, flags, std::env::vars_os());
    loaded.map(|loaded| loaded.config).map_err(|error| error.to_string())
}

fn runtime() -> Result<Runtime, String> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| format!("cannot start a runtime: {error}"))
}
