//! The program `muster`.

use std::process::ExitCode;

use muster_server::{cli, commands};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => commands::run(command),
        Err(error) => {
            commands::complain(&error.to_string());
            ExitCode::from(cli::EXIT_USAGE)
        }
    }
}
