//! One server process with a data folder and ports of its own.

use std::io::{BufRead as _, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::DEADLINE;
use super::http::{self, Response};
use super::metrics::Page;
use super::resident_bytes;

/// The server key of `muster dev`.
pub const SERVER_KEY: &str = "defaultkey";
/// The session token key of `muster dev`.
pub const SESSION_KEY: &str = "defaultencryptionkey";

/// Number of attempts to start with a free port, since another process may take the port first.
const PORT_ATTEMPTS_MAX: usize = 5;

/// Settings of a server to be started.
#[derive(Clone)]
pub struct Setup {
    command: &'static str,
    /// A program with arguments that starts the server, if it is not started directly.
    under: Vec<String>,
    folder: Arc<TempDir>,
    flags: Vec<(String, String)>,
}

/// A running server; it is killed when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub metrics_address: SocketAddr,
    child: Child,
    log: Arc<Log>,
    _folder: Arc<TempDir>,
}

/// A player's tokens.
pub struct Tokens {
    pub session: String,
    pub refresh: String,
}

/// Output of a process.
#[derive(Default)]
struct Log {
    state: Mutex<LogState>,
    news: Condvar,
}

#[derive(Default)]
struct LogState {
    lines: Vec<String>,
    streams_ended: usize,
}

impl Setup {
    /// `muster dev` on a new data folder.
    pub fn dev() -> Self {
        let folder = Arc::new(tempfile::Builder::new().prefix("muster-test-").tempdir().unwrap());
        Self { command: "dev", under: Vec::new(), folder, flags: Vec::new() }
            .flag("live.shards", 1)
            .flag("socket.port", 0)
    }

    /// `muster serve` on a new data folder.
    pub fn serve() -> Self {
        Self { command: "serve", ..Self::dev() }.flag("socket.address", "127.0.0.1")
    }

    /// Sets a configuration key; of several values the last counts.
    pub fn flag(mut self, key: &str, value: impl ToString) -> Self {
        self.flags.retain(|(known, _)| known != key);
        self.flags.push((key.to_owned(), value.to_string()));
        self
    }

    /// Makes another program start the server, in a process that becomes the server's.
    pub fn under(mut self, program: &[&str]) -> Self {
        self.under = program.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// The data folder.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Starts the server and waits until it serves.
    pub fn start(&self) -> Server {
        for _ in 0..PORT_ATTEMPTS_MAX {
            let (mut child, log) = self.clone().flag("metrics.prometheus_port", free_port()).spawn();
            if let Some(line) = log.wait_for("\"message\":\"muster serves\"") {
                return Server::new(&line, child, log, self.folder.clone());
            }
            child.wait().unwrap();
            // Nothing reserves the port between its choice and its use, and the key's value 0 would turn the page off.
            assert!(log.text().contains("for metrics (metrics.prometheus_port)"), "it did not start:\n{}", log.text());
        }
        panic!("no port stayed free in {PORT_ATTEMPTS_MAX} attempts");
    }

    /// Starts a server that waits for something: calls `then` when the log has these words, and waits until it serves.
    pub fn start_after(&self, words: &str, then: impl FnOnce()) -> Server {
        let (child, log) = self.clone().flag("metrics.prometheus_port", free_port()).spawn();
        assert!(log.wait_for(words).is_some(), "it does not wait:\n{}", log.text());
        then();
        let line = log.wait_for("\"message\":\"muster serves\"").unwrap_or_else(|| panic!("{}", log.text()));
        Server::new(&line, child, log, self.folder.clone())
    }

    /// Starts a server that must end by itself. Answers its exit code and its output.
    pub fn fail_to_start(&self) -> (Option<i32>, String) {
        let (mut child, log) = self.spawn();
        let has_ended = log.wait_for_end();
        if !has_ended {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(has_ended, "it started after all:\n{}", log.text());
        (status.code(), log.text())
    }

    /// Starts the server with a database that never answers, and tells it to stop once it has connected. Answers the
    /// exit code.
    pub fn stop_while_starting(&self) -> Option<i32> {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://user@{}/database", silent.local_addr().unwrap());
        let (mut child, log) = self.clone().flag("database.address", url).spawn();
        let asked = silent.accept().unwrap();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let has_ended = log.wait_for_end();
        if !has_ended {
            child.kill().unwrap();
        }
        drop(asked);
        let status = child.wait().unwrap();
        assert!(has_ended, "it waits for its database:\n{}", log.text());
        status.code()
    }

    fn spawn(&self) -> (Child, Arc<Log>) {
        let words: Vec<&str> = self.under.iter().map(String::as_str).chain([env!("CARGO_BIN_EXE_muster")]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(self.command).arg("--data_dir").arg(self.folder.path());
        for (key, value) in &self.flags {
            command.arg(format!("--{key}")).arg(value);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Log::default());
        log.follow(child.stdout.take().unwrap());
        log.follow(child.stderr.take().unwrap());
        (child, log)
    }
}

impl Server {
    /// A server, by the log line with its address; the next line has the address of its metrics.
    fn new(line: &str, child: Child, log: Arc<Log>, folder: Arc<TempDir>) -> Self {
        let address = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["address"].as_str().unwrap().parse().unwrap()
        };
        let metrics_line = log.wait_for("\"message\":\"metrics\"").unwrap();
        Self { address: address(line), metrics_address: address(&metrics_line), child, log, _folder: folder }
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(self.process())
    }

    pub fn metrics(&self) -> Page {
        let page = http::exchange(self.metrics_address, &http::request("GET", "/", &[], b""));
        Page::parse(&Response::only(&page).text())
    }

    /// Waits for a line of the log that holds `text`, whenever it was written.
    pub fn wait_for_log(&self, text: &str) -> String {
        self.log.wait_for(text).unwrap_or_else(|| panic!("never logged: {text}"))
    }

    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Whether the log has these words, now or soon: output takes a moment to be read.
    pub fn says(&self, words: &str) -> bool {
        self.log.wait_for(words).is_some()
    }

    /// A call with an `Authorization` header and a JSON body.
    pub fn call(&self, method: &str, path: &str, authorization: &str, body: &Value) -> Response {
        let header = format!("Authorization: {authorization}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = http::request(method, path, &[&header], body.as_bytes());
        Response::only(&http::exchange(self.address, &request))
    }

    /// A call without credentials or body.
    pub fn get(&self, path: &str) -> Response {
        Response::only(&http::exchange(self.address, &http::request("GET", path, &[], b"")))
    }

    /// Signs in by device, making the account if need be.
    pub fn sign_in(&self, device: &str) -> Tokens {
        self.sign_in_with(SERVER_KEY, device)
    }

    pub fn sign_in_with(&self, server_key: &str, device: &str) -> Tokens {
        let path = "/v2/account/authenticate/device?create=true";
        let response =
            self.call("POST", path, &http::basic(server_key), &json!({ "id": format!("device-of-{device}") }));
        assert_eq!(response.status, 200, "{}", response.text());
        let body = response.json();
        let field = |name: &str| body[name].as_str().unwrap().to_owned();
        Tokens { session: field("token"), refresh: field("refresh_token") }
    }

    /// The status of reading the player's own account: 200 with a valid token, 401 with any other.
    pub fn account_status(&self, token: &str) -> u16 {
        self.call("GET", "/v2/account", &http::bearer(token), &Value::Null).status
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> ExitStatus {
        assert!(self.log.wait_for_end(), "it goes on running");
        self.child.wait().unwrap()
    }

    /// Kills the process (SIGKILL).
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Stops the process (SIGTERM), and checks that it ends with exit code 0.
    pub fn stop(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.wait().code(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the server's log:\n{}", self.log.text());
        }
        // Killing a process that has ended fails, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Log {
    fn follow(self: &Arc<Self>, stream: impl Read + Send + 'static) {
        let log = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                log.state.lock().unwrap().lines.push(line);
                log.news.notify_all();
            }
            log.state.lock().unwrap().streams_ended += 1;
            log.news.notify_all();
        });
    }

    /// The first line that holds `text`; `None` if the process ended without one.
    fn wait_for(&self, text: &str) -> Option<String> {
        let find = |state: &LogState| state.lines.iter().find(|line| line.contains(text)).cloned();
        self.wait(|state| find(state).map(Some).or((state.streams_ended == 2).then_some(None)))?
    }

    fn wait_for_end(&self) -> bool {
        self.wait(|state| (state.streams_ended == 2).then_some(())).is_some()
    }

    fn wait<T>(&self, found: impl Fn(&LogState) -> Option<T>) -> Option<T> {
        let started = Instant::now();
        let mut state = self.state.lock().unwrap();
        loop {
            if let Some(value) = found(&state) {
                return Some(value);
            }
            let left = DEADLINE.checked_sub(started.elapsed())?;
            state = self.news.wait_timeout(state, left).unwrap().0;
        }
    }

    fn text(&self) -> String {
        self.state.lock().unwrap().lines.join("\n")
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
