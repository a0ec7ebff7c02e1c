//! `muster bench`: replaces this process by the bench tool, which is a program of its own so that the server stays
//! small.

use std::{env, ffi::OsString, io, os::unix::process::CommandExt as _, path::Path, process};

use super::UsageError;

/// Name of the bench tool's program, which lies in the same folder as this program.
const PROGRAM: &str = "muster-bench";

/// Runs the bench tool in place of this process. Returns only if that fails, with an error that says what to do.
pub fn replace_process(arguments: &[OsString]) -> UsageError {
    match env::current_exe() {
        Ok(this) => run(&this.with_file_name(PROGRAM), arguments),
        Err(error) => UsageError(format!("cannot tell where this program lies: {error}")),
    }
}

fn run(program: &Path, arguments: &[OsString]) -> UsageError {
    let error = process::Command::new(program).args(arguments).exec();
    let path = program.display();
    UsageError(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "`muster bench` needs the program {PROGRAM} beside this one, and {path} is missing; \
             build it with `cargo build --release -p {PROGRAM}`"
        ),
        _ => format!("cannot start {path}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told() {
        let text = run(Path::new("/nowhere/muster-bench"), &[]).to_string();
        assert!(text.contains("/nowhere/muster-bench is missing; build it with"), "{text}");
    }
}
