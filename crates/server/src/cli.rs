//! The command line: from arguments to a [`Command`]. Parsing only; whoever calls runs the command.
//!
//! Flags are written as Go's flag package takes them, because the keys are flags too and existing start scripts use them:
//! `-key value`, `--key=value`, `--flag` alone for true.

pub mod bench;
mod help;
mod parse;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use uuid::Uuid;

use crate::config::{Key, Mode, Setting};

pub use parse::parse;

/// What the user asks for.
#[derive(Debug)]
pub enum Command {
    /// Start a server: `muster dev` or `muster serve`.
    Start { mode: Mode, flags: Vec<Setting> },
    /// Prepare the database, or tell how it stands.
    Migrate { action: MigrateAction, flags: Vec<Setting> },
    /// Tell what the configuration amounts to; as `muster dev` would read it with `--dev`.
    Check { mode: Mode, flags: Vec<Setting> },
    /// Copy the database of a running or stopped server into a new folder.
    Backup { file: PathBuf, flags: Vec<Setting> },
    /// Replace the database by a backup.
    Restore { file: PathBuf, force: bool, flags: Vec<Setting> },
    /// Ask a running server whether it is well.
    Healthcheck { target: HealthTarget },
    /// Have a node of a cluster give everything to others and stop.
    Drain { node: String, flags: Vec<Setting> },
    /// Hand over to the bench tool with these arguments.
    Bench { arguments: Vec<std::ffi::OsString> },
    /// Do something to one player's account.
    Account { action: AccountAction, user_id: Uuid, flags: Vec<Setting> },
    /// Write declarations of what game code may call into a folder.
    Types { folder: PathBuf },
    /// Play recordings of matches again.
    Match { action: MatchAction, files: Vec<PathBuf>, flags: Vec<Setting> },
    /// Print this text and succeed: help, version, list of keys.
    Print(String),
}

/// What to do with the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrateAction {
    /// Create or complete our tables.
    Up,
    /// Tell which steps are done.
    Status,
}

/// What to do to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountAction {
    /// Print all that is stored of the player, as JSON.
    Export,
    /// Let the player in no more: tokens are void, sockets close.
    Ban,
    /// Take a ban back.
    Unban,
    /// Remove the account and all that names the player.
    Delete,
}

/// What to do with recordings of matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchAction {
    /// Print each call and what comes of it.
    Replay,
    /// Tell whether the modules still do what they did.
    Verify,
}

/// The server whose health is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthTarget {
    /// On this machine, by port.
    Port(u16),
    /// Anywhere, `http://…` or `https://…`.
    Url(String),
}

/// A command line that means nothing. The text says what to write instead; the exit status is [`EXIT_USAGE`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Exit status of a wrong command line, as shells use it.
pub const EXIT_USAGE: u8 = 2;

/// The text of `muster help KEY`.
pub fn help_for(key: &Key) -> String {
    crate::config::reference::about(key)
}
