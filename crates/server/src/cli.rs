//! The command line: from arguments to a [`Command`]. This module only parses; the caller runs the command.
//!
//! Flags are written as Go's flag package takes them, because configuration keys are flags too and existing start
//! scripts use that form: `-key value`, `--key=value`, and `--flag` alone for true.

pub mod bench;
mod help;
mod parse;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use uuid::Uuid;

use crate::config::{Key, ServerMode, Setting};

pub use parse::parse;

/// A command with its arguments.
#[derive(Debug)]
pub enum Command {
    /// Start a server: `muster dev` or `muster serve`.
    Start { mode: ServerMode, flags: Vec<Setting> },
    /// Prepare the database, or print its state: `muster migrate`.
    Migrate { action: MigrateAction, flags: Vec<Setting> },
    /// Print the effective configuration, as `muster dev` would read it if `--dev` is given: `muster check`.
    Check { mode: ServerMode, flags: Vec<Setting> },
    /// Copy the database of a running or stopped server into a new folder.
    Backup { file: PathBuf, flags: Vec<Setting> },
    /// Replace the database by a backup.
    Restore { file: PathBuf, force: bool, flags: Vec<Setting> },
    /// Ask a running server for its health.
    Healthcheck { target: HealthTarget },
    /// Make a node of a cluster give away all it owns and stop. The mode is that of the nodes, for their keys.
    Drain { mode: ServerMode, node: String, flags: Vec<Setting> },
    /// Run the bench tool with these arguments.
    Bench { arguments: Vec<std::ffi::OsString> },
    /// Act on one player's account.
    Account { action: AccountAction, user_id: Uuid, flags: Vec<Setting> },
    /// Write files into a folder, with declarations of the functions that game code may call.
    Types { folder: PathBuf },
    /// Replay recordings of matches.
    Match { action: MatchAction, files: Vec<PathBuf>, flags: Vec<Setting> },
    /// List durable matches: `muster match list`. The mode is that of the server.
    ListMatches { mode: ServerMode, flags: Vec<Setting> },
    /// End a durable match: `muster match forget`. The mode is that of the server.
    ForgetMatch { mode: ServerMode, id: Uuid, flags: Vec<Setting> },
    /// Print this text and succeed: help, version, list of keys.
    Print(String),
}

/// An action of `muster migrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrateAction {
    /// Create or complete the schema.
    Up,
    /// Print which steps are done.
    Status,
}

/// An action of `muster account`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountAction {
    /// Print everything that is stored about the player, as JSON.
    Export,
    /// Ban the player: tokens become void, sockets close.
    Ban,
    /// Lift a ban.
    Unban,
    /// Delete the account and everything that the player wrote or owned.
    Delete,
}

/// An action of `muster match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchAction {
    /// Print each call with its effects.
    Replay,
    /// Check that the modules still behave as recorded.
    Verify,
}

/// The server that `muster healthcheck` asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthTarget {
    /// A server on this machine, by its port.
    Port(u16),
    /// A server anywhere, `http://…` or `https://…`.
    Url(String),
}

/// A command line that cannot be understood. The text says what to write instead; the exit status is [`EXIT_USAGE`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Exit status of a wrong command line, as shells use it.
pub const EXIT_USAGE: u8 = 2;

/// The text of `muster help KEY`.
pub fn help_for(key: &Key) -> String {
    crate::config::reference::about(key)
}
