//! A shell that keeps a PostgreSQL server for exactly as long as its standard input stays open, and on the way stops and
//! starts it on demand: a word a line.
//!
//! The other end of that pipe is in the process that wanted the server, so the server and its data folder go when that
//! process drops the [`Supervisor`], ends, panics, or is killed outright: statics are never dropped and a killed
//! process runs no destructor, but the system closes its pipes in every case.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use std::os::unix::process::CommandExt;

use crate::programs::Programs;

/// The shell's part. `pg_ctl` waits by itself until the server answers. The data is thrown away, so is its shutdown.
/// A signal from the terminal must not end the shell before its work is done; the closed pipe tells it all it needs.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
start() {
    "$1/pg_ctl" start --silent --wait --timeout=60 --pgdata="$2/data" --log="$2/log" --options="$3" >>"$2/pg_ctl" 2>&1
}
stop() {
    "$1/pg_ctl" stop --silent --wait --mode=immediate --pgdata="$2/data" >>"$2/pg_ctl" 2>&1
}
start "$@"
echo $?
while read -r word; do
    "$word" "$@"
    echo $?
done
exec >&-
stop "$@"
rm -rf "$2"
"#;

/// Stops the server and removes its folder when dropped.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    answers: BufReader<ChildStdout>,
}

impl Supervisor {
    /// Starts the server whose data is in `folder`/data; returns once it answers. Whether it started is the `bool`.
    pub(crate) fn start(programs: &Programs, folder: &Path, options: &str) -> Result<(Self, bool)> {
        let mut command = Command::new("/bin/sh");
        programs.become_account(&mut command);
        // A group of its own: ctrl-c in a terminal reaches a whole group, and would take the server before its users.
        command.process_group(0);
        command.arg("-c").arg(SCRIPT).arg("muster-testenv").arg(programs.folder()).arg(folder).arg(options);
        let mut shell = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("/bin/sh did not start")?;
        let stdout = shell.stdout.take().context("the supervising shell has no output")?;
        let mut supervisor = Self { shell, answers: BufReader::new(stdout) };
        let started = supervisor.succeeded()?;
        Ok((supervisor, started))
    }

    /// Ends the server at once, as a crash would; returns when it is gone. Its data stays.
    pub(crate) fn stop_server(&mut self) -> Result<()> {
        self.order("stop")
    }

    /// Starts the server again after [`Supervisor::stop_server`]; returns once it answers.
    pub(crate) fn start_server(&mut self) -> Result<()> {
        self.order("start")
    }

    fn order(&mut self, word: &str) -> Result<()> {
        let stdin = self.shell.stdin.as_mut().context("the supervising shell takes no orders")?;
        writeln!(stdin, "{word}").context("the supervising shell is gone")?;
        ensure!(self.succeeded()?, "pg_ctl failed to {word} the server");
        Ok(())
    }

    /// Whether the last order succeeded, which the shell tells when it is done.
    fn succeeded(&mut self) -> Result<bool> {
        let mut status = String::new();
        self.answers.read_line(&mut status).context("the supervising shell said nothing")?;
        Ok(status.trim() == "0")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Nothing is left to do about a shell that cannot be waited for.
        let _ = self.shell.wait();
    }
}
