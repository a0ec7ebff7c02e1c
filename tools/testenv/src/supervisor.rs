//! A shell that keeps a PostgreSQL server for as long as the shell's standard input stays open, and stops and starts it
//! on orders of one word per line.
//!
//! The other end of that pipe is in the process that wanted the server. So the server and its data folder go when that
//! process drops the [`Supervisor`], ends, panics or is killed: a killed process runs no destructor, and statics are
//! never dropped, but the system closes the pipe in every case.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use std::os::unix::process::CommandExt;

use crate::programs::Programs;

/// Script of the shell. `pg_ctl` waits by itself until the server answers. The data are thrown away, so the shutdown
/// may be immediate. A signal from the terminal must not end the shell before its work is done; the closed pipe is
/// enough.
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
    /// Starts the server whose data are in `folder`/data, and waits until it answers. The `bool` tells whether it
    /// started.
    pub(crate) fn start(programs: &Programs, folder: &Path, options: &str) -> Result<(Self, bool)> {
        let mut command = Command::new("/bin/sh");
        programs.become_account(&mut command);
        // The shell gets a process group of its own: ctrl-c in a terminal reaches a whole group, and would end the
        // server before its users.
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

    /// Ends the server at once, as in a crash. Returns when it is gone. Its data stay.
    pub(crate) fn stop_server(&mut self) -> Result<()> {
        self.order("stop")
    }

    /// Starts the server again after [`Supervisor::stop_server`]. Returns once it answers.
    pub(crate) fn start_server(&mut self) -> Result<()> {
        self.order("start")
    }

    fn order(&mut self, word: &str) -> Result<()> {
        let stdin = self.shell.stdin.as_mut().context("the supervising shell takes no orders")?;
        writeln!(stdin, "{word}").context("the supervising shell is gone")?;
        ensure!(self.succeeded()?, "pg_ctl failed to {word} the server");
        Ok(())
    }

    /// Whether the last order succeeded; the shell tells it when it is done.
    fn succeeded(&mut self) -> Result<bool> {
        let mut status = String::new();
        self.answers.read_line(&mut status).context("the supervising shell said nothing")?;
        Ok(status.trim() == "0")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // A shell that cannot be waited for is left alone.
        let _ = self.shell.wait();
    }
}
