//! `muster bench`: replaces this process by the bench tool, which is a program of its own so that the server stays small.

use std::{env, ffi::OsString, os::unix::process::CommandExt as _, path::PathBuf, process};

/// Name of the program; it lies in the folder of this one.
const PROGRAM: &str = "muster-bench";

/// Runs the bench tool in place of this process. Returns only when that fails, with what to do.
pub fn replace_process(arguments: &[OsString]) -> super::UsageError {
    let program = match sibling() {
        Ok(program) => program,
        Err(error) => return super::UsageError(format!("cannot tell where this program lies: {error}")),
    };
    let error = process::Command::new(&program).args(arguments).exec();
    let hint = if program.exists() {
        format!("cannot start {}: {error}", program.display())
    } else {
        format!(
            "`muster bench` needs the program {PROGRAM} beside this one ({} is missing); build it with `cargo build --release -p {PROGRAM}`",
            program.display()
        )
    };
    super::UsageError(hint)
}

fn sibling() -> std::io::Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name(PROGRAM))
}
