//! The program `muster`.

use std::process::ExitCode;

use muster_server::{cli, commands};

/// Frames are made by one shard and freed by another: with the system's allocator that costs a third of a chat message on
/// two shards (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => commands::run(command),
        Err(error) => {
            commands::complain(&error.to_string());
            ExitCode::from(cli::EXIT_USAGE)
        }
    }
}
