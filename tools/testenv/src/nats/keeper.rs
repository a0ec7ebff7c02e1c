//! A shell that keeps a nats-server for as long as the shell's standard input stays open, and stops, halts and starts
//! it on orders of one word per line. As with PostgreSQL, the system closes that pipe however this process ends.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::unique;

/// Script of the shell. The server's output goes to the shell's standard error, which is a pipe to this process.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
start() { "$1" --config "$2/config" & pid=$!; }
signal() { kill "-$1" "$pid" 2>/dev/null; }
start "$@"
while read -r word; do
    case "$word" in
        start) start "$@" ;;
        stop) signal TERM; wait "$pid" ;;
        kill) signal KILL; wait "$pid" ;;
        lose) rm -rf "$2/jetstream" ;;
        pause) signal STOP ;;
        resume) signal CONT ;;
    esac
    echo done
done
exec >/dev/null 2>&1
signal KILL
wait "$pid"
rm -rf "$2"
"#;

/// Line of the server's log that says that it takes connections.
const READY: &str = "Server is ready";

/// A server that takes longer to start hangs.
const START_WAIT: Duration = Duration::from_secs(60);

/// Lines of the log that are kept for errors.
const LINES_KEPT: usize = 200;

/// Ends the server and removes its folder when dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Mutex<Shell>,
    log: Arc<Log>,
}

#[derive(Debug)]
struct Shell {
    process: Child,
    /// Orders to the shell; `None` while it is being ended.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Debug, Default)]
struct Log {
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LogState {
    lines: VecDeque<String>,
    is_ready: bool,
    /// Whether the server has ended by itself, or the shell is gone.
    has_failed: bool,
}

impl Keeper {
    /// Starts a server in a new folder, with the configuration that `configure` makes for it. Returns once the server
    /// is ready.
    pub(super) fn start(program: &Path, configure: impl FnOnce(&Path) -> String) -> Result<Self> {
        let folder = create_folder()?;
        let config = folder.join("config");
        std::fs::write(&config, configure(&folder)).with_context(|| format!("cannot write {}", config.display()))?;
        let mut command = Command::new("/bin/sh");
        // The shell gets a process group of its own: ctrl-c in a terminal reaches a whole group, and would end the
        // server before its users.
        command.process_group(0).current_dir("/");
        command.arg("-c").arg(SCRIPT).arg("muster-testenv").arg(program).arg(&folder);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("/bin/sh did not start")?;
        let log = Arc::new(Log::default());
        log.clone().follow(process.stderr.take().context("the shell has no standard error")?);
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().context("the shell has no output")?);
        let keeper = Self { shell: Mutex::new(Shell { process, orders, answers }), log };
        keeper.log.wait()?;
        Ok(keeper)
    }

    /// Starts the server again. Returns once it is ready.
    pub(super) fn start_server(&self) -> Result<()> {
        self.log.forget();
        self.order("start")?;
        self.log.wait()
    }

    /// Gives the shell an order. Returns when the shell is done.
    pub(super) fn order(&self, word: &str) -> Result<()> {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        let orders = shell.orders.as_mut().context("the shell takes no orders")?;
        writeln!(orders, "{word}").context("the shell is gone")?;
        let mut answer = String::new();
        shell.answers.read_line(&mut answer).context("the shell said nothing")?;
        ensure!(answer.trim() == "done", "the shell is gone");
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let shell = self.shell.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(shell.orders.take());
        // A shell that cannot be waited for is left alone.
        let _ = shell.process.wait();
    }
}

impl Log {
    /// Reads the log for as long as there is one: a full pipe would halt the server.
    fn follow(self: Arc<Self>, lines: ChildStderr) {
        std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                let mut state = self.state();
                state.is_ready |= line.contains(READY);
                state.has_failed |= line.contains("[FTL]") || line.contains("not found");
                state.lines.push_back(line);
                if state.lines.len() > LINES_KEPT {
                    state.lines.pop_front();
                }
                self.changed.notify_all();
            }
            self.state().has_failed = true;
            self.changed.notify_all();
        });
    }

    fn forget(&self) {
        let mut state = self.state();
        state.is_ready = false;
        state.lines.clear();
    }

    fn wait(&self) -> Result<()> {
        let is_undecided = |state: &mut LogState| !state.is_ready && !state.has_failed;
        let waited = self.changed.wait_timeout_while(self.state(), START_WAIT, is_undecided);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !state.is_ready {
            let lines: Vec<&str> = state.lines.iter().map(String::as_str).collect();
            bail!("nats-server did not start:\n{}", lines.join("\n"));
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn create_folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("muster-nats-{}", unique()));
    std::fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
