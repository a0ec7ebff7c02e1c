//! Runs other programs from the top folder of the repository, and prints their names.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::repository;

/// The cargo that started this program, so that a pinned toolchain stays pinned.
///
/// Variables about this program's own package are not passed on: some build scripts run anew when they change, and a
/// build by hand and one by this program would undo each other.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs `command` without input; its output goes to ours.
///
/// # Errors
/// When the command does not start or does not succeed.
pub fn check(command: &mut Command) -> Result<()> {
    announce(command);
    let status = prepared(command).status().with_context(|| format!("{} did not start", line(command)))?;
    ensure!(status.success(), "`{}` failed: {status}", line(command));
    Ok(())
}

/// Runs `command`, shows its output as it comes, and passes each line of standard output to `each_line`. Answers
/// whether the command succeeded.
///
/// # Errors
/// When it does not start.
pub fn watch(command: &mut Command, mut each_line: impl FnMut(&str)) -> Result<bool> {
    announce(command);
    let mut child =
        prepared(command).stdout(Stdio::piped()).spawn().with_context(|| format!("{} did not start", line(command)))?;
    let mut ours = std::io::stdout();
    let mut theirs = BufReader::new(child.stdout.take().context("a piped program has an output")?);
    let mut bytes = Vec::new();
    while theirs.read_until(b'\n', &mut bytes)? > 0 {
        ours.write_all(&bytes)?;
        each_line(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    Ok(child.wait()?.success())
}

/// Runs `command`. Answers its standard output; its errors go to ours.
///
/// # Errors
/// When it does not start or fails.
pub fn output(command: &mut Command) -> Result<String> {
    output_if(command, |code| code == 0)
}

/// Runs `command` like [`output`]. `is_success` tells which exit codes are no failure.
///
/// # Errors
/// When the command does not start or fails.
pub fn output_if(command: &mut Command, is_success: impl Fn(i32) -> bool) -> Result<String> {
    let output = prepared(command)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} did not start", line(command)))?;
    let succeeded = output.status.code().is_some_and(is_success);
    ensure!(succeeded, "`{}` failed: {}", line(command), output.status);
    String::from_utf8(output.stdout).with_context(|| format!("`{}` wrote something that is not text", line(command)))
}

fn prepared(command: &mut Command) -> &mut Command {
    if command.get_current_dir().is_none() {
        command.current_dir(repository::root());
    }
    command.stdin(Stdio::null())
}

fn announce(command: &Command) {
    println!("$ {}", line(command));
}

/// The command as typed in a shell; the program without its folder.
fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}
