//! A bounded queue of log lines and the one thread that writes them.
//!
//! Lock note: one mutex around the queue, held to append or take lines, never while writing. When the queue is full,
//! lines are dropped and counted, and the next written line tells their number: a log that nobody reads must not stop a
//! game.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    mem,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// Limit of the bytes of lines that wait.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// Time that the end of the process waits for the last lines.
const LAST_LINES_WAIT: Duration = Duration::from_secs(2);
/// Mode of a new log file: it names players and addresses, so only its owner and group read it.
const FILE_MODE: u32 = 0o640;

/// The file that lines are appended to.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(&path)?;
        Ok(Self { path, file })
    }
}

#[derive(Default)]
struct Queue {
    stdout: Vec<u8>,
    file: Vec<u8>,
    /// Whether the file has to be opened anew by its name, because the file of before was moved away.
    reopen: bool,
    /// Whether further lines are refused.
    closed: bool,
    /// Whether the thread has written everything and ended.
    done: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    lost_lines: Arc<AtomicU64>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic while the lock is held leaves only whole lines behind.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Output of a line.
#[derive(Clone, Copy, Debug)]
enum Output {
    Stdout,
    File,
}

/// Takes lines for one output.
#[derive(Clone)]
pub(super) struct LineSink {
    shared: Arc<Shared>,
    output: Output,
}

impl Write for LineSink {
    /// Takes the whole line or drops it; never fails and never waits for an output.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut queue = self.shared.lock();
        if queue.closed || queue.stdout.len() + queue.file.len() + line.len() > MAX_WAITING_BYTES {
            self.shared.lost_lines.fetch_add(1, Ordering::Relaxed);
            return Ok(line.len());
        }
        match self.output {
            Output::Stdout => queue.stdout.extend_from_slice(line),
            Output::File => queue.file.extend_from_slice(line),
        }
        drop(queue);
        self.shared.changed.notify_all();
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LineSink {
    type Writer = LineSink;

    fn make_writer(&'a self) -> LineSink {
        self.clone()
    }
}

/// Keeps the logs running. Dropping it writes the lines that wait, within a bounded time, and ends the logs.
pub struct LogGuard {
    shared: Arc<Shared>,
}

impl LogGuard {
    /// Counts the lines dropped because too many were waiting, for a metric.
    pub fn lost_lines(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.shared.lost_lines)
    }

    /// Has the file opened anew by its name, behind the lines that wait, so that tools may move it away and keep it.
    pub fn reopen(&self) {
        self.shared.lock().reopen = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        self.shared.changed.notify_all();
        // The wait ends early when everything is written. Lines that a stuck pipe does not take in time are lost.
        let _ = self.shared.changed.wait_timeout_while(queue, LAST_LINES_WAIT, |queue| !queue.done);
    }
}

/// The ends of a log whose thread runs.
pub(super) struct RunningLog {
    pub(super) to_stdout: LineSink,
    pub(super) to_file: LineSink,
    pub(super) guard: LogGuard,
}

/// Starts the thread of the log.
pub(super) fn start(stdout: Box<dyn Write + Send>, file: Option<LogFile>) -> io::Result<RunningLog> {
    let shared = Arc::new(Shared::default());
    let for_thread = Arc::clone(&shared);
    thread::Builder::new().name("log".to_owned()).spawn(move || write_all(&for_thread, stdout, file))?;
    let sink = |output| LineSink { shared: Arc::clone(&shared), output };
    let guard = LogGuard { shared: Arc::clone(&shared) };
    Ok(RunningLog { to_stdout: sink(Output::Stdout), to_file: sink(Output::File), guard })
}

/// The thread: writes all waiting lines in one piece, again and again until the end.
fn write_all(shared: &Shared, mut stdout: Box<dyn Write + Send>, mut file: Option<LogFile>) {
    let mut reported = 0;
    loop {
        let mut queue = shared.lock();
        while queue.stdout.is_empty() && queue.file.is_empty() && !queue.closed && !queue.reopen {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let (for_stdout, for_file) = (mem::take(&mut queue.stdout), mem::take(&mut queue.file));
        let reopen = mem::take(&mut queue.reopen);
        let finished = queue.closed && for_stdout.is_empty() && for_file.is_empty() && !reopen;
        queue.done = finished;
        drop(queue);
        if finished {
            shared.changed.notify_all();
            return;
        }
        // An output that fails cannot be reported on that output; the other one still gets its lines.
        let _ = stdout.write_all(&for_stdout).and_then(|()| stdout.flush());
        if let Some(LogFile { path, file }) = &mut file {
            let _ = file.write_all(&for_file);
            if reopen {
                match LogFile::open(path.clone()) {
                    Ok(anew) => *file = anew.file,
                    Err(error) => report_unopened(path, &error, &mut stdout),
                }
            }
        }
        report_lost(shared, &mut reported, &mut stdout);
    }
}

/// Reports that the file could not be opened anew; lines go on into the file of before.
fn report_unopened(path: &Path, error: &io::Error, stdout: &mut impl Write) {
    let line = serde_json::json!({
        "level": "WARN",
        "message": "the log file cannot be opened anew: lines go on into the file of before",
        "path": path.display().to_string(),
        "error": error.to_string(),
    });
    let _ = writeln!(stdout, "{line}");
}

/// Reports dropped lines, once for each time that lines were dropped.
fn report_lost(shared: &Shared, reported: &mut u64, stdout: &mut impl Write) {
    let lost = shared.lost_lines.load(Ordering::Relaxed);
    if lost > *reported {
        let _ = writeln!(stdout, r#"{{"level":"WARN","message":"log lines dropped","count":{}}}"#, lost - *reported);
        *reported = lost;
    }
}
