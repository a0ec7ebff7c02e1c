//! Limits of the process: the number of open files, and so of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::{Config, DatabaseAddress};

/// Number of open files that are not connections of players: database, logs, listeners, runtimes of the shards, and a
/// margin.
const FILES_RESERVED: u64 = 128;
/// Number of open files that is assumed if the system has no limit.
const FILES_MAX_UNLIMITED: u64 = 1 << 20;

/// Raises the limit of open files as far as the system allows, and answers how many connections fit below it.
pub fn connections_max(config: &Config) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let files_max = limit.maximum.unwrap_or(FILES_MAX_UNLIMITED);
    let raised = Rlimit { current: Some(files_max), maximum: limit.maximum };
    let files_max = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => files_max,
        Err(_) => limit.current.unwrap_or(FILES_MAX_UNLIMITED),
    };
    let fit = files_max.saturating_sub(FILES_RESERVED + database_files(config)).max(1);
    let fit = usize::try_from(fit).unwrap_or(usize::MAX);
    match config.socket.max_connections {
        0 => fit,
        configured => configured.min(fit),
    }
}

fn database_files(config: &Config) -> u64 {
    let is_remote = config.database.address.iter().any(|address| matches!(address, DatabaseAddress::Postgres(_)));
    if is_remote { config.database.max_open_conns as u64 } else { 0 }
}
