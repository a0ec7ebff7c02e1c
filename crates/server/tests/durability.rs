//! Tests that durable means synced: no answer leaves before the sync that covers it, and everything acknowledged
//! outlives the process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashMap;
use std::path::Path;

use muster_testenv::{Postgres, check_strace};
use serde_json::json;
use support::client::Client;
use support::load::{self, Load};
use support::random::Random;
use support::server::{SERVER_KEY, Setup};
use support::{database, http};

const WITNESSED_CLIENTS: usize = 64;
const SIGN_UPS_PER_CLIENT: usize = 6;
/// Prefix of the witnessed devices' names; a number follows.
const DEVICE: &str = "witnessed-device-";
const NUMBER_LEN: usize = 6;

const KILLS: u64 = 4;
const LOAD_CLIENTS: usize = 16;

/// A trace by strace, in order of time.
#[derive(Default)]
struct Trace {
    /// By device: the line at which its row was first written to the log.
    written: HashMap<String, usize>,
    /// Lines at which each sync of the log began and succeeded.
    syncs: Vec<(usize, usize)>,
    /// By token: the line at which the answer with it left.
    answered: HashMap<String, usize>,
}

/// A system call whose end is on a later line, because a line of another thread came first.
struct Begun<'a> {
    line: usize,
    text: &'a str,
}

impl Trace {
    fn read(text: &str) -> Self {
        let mut trace = Self::default();
        let mut begun: HashMap<&str, Begun<'_>> = HashMap::new();
        for (line, text) in text.lines().enumerate() {
            let (thread, call) = text.split_once(' ').unwrap();
            let call = call.trim_start();
            if let Some(call) = call.strip_suffix(" <unfinished ...>") {
                trace.begin(call, line);
                begun.insert(thread, Begun { line, text: call });
            } else if call.starts_with("<... ") {
                // A call that began before the trace is ignored.
                let Some(start) = begun.remove(thread) else { continue };
                trace.end(start.text, call, start.line, line);
            } else {
                trace.begin(call, line);
                trace.end(call, call, line, line);
            }
        }
        trace
    }

    /// An answer counts from the moment it begins to leave.
    fn begin(&mut self, call: &str, line: usize) {
        if is_of_log(call) {
            return;
        }
        for token in pieces(call, "\\\"token\\\":\\\"") {
            let token = token.split('\\').next().unwrap();
            self.answered.insert(token.to_owned(), line);
        }
    }

    /// Writes and syncs count from the moment they are over.
    fn end(&mut self, call: &str, result: &str, begun: usize, ended: usize) {
        if !is_of_log(call) {
            return;
        }
        if call.starts_with("fdatasync(") || call.starts_with("fsync(") {
            assert!(result.ends_with(" = 0"), "a sync failed: {result}");
            self.syncs.push((begun, ended));
        }
        for device in pieces(call, DEVICE) {
            self.written.entry(device[..NUMBER_LEN].to_owned()).or_insert(ended);
        }
    }

    /// Whether the row was synced before the answer left: a sync began after the row was written, and succeeded before
    /// the answer.
    fn is_covered(&self, device: &str, token: &str) -> bool {
        let written = self.written.get(device).unwrap_or_else(|| panic!("{device} was never written to the log"));
        let answered = self.answered.get(token).unwrap_or_else(|| panic!("the answer to {device} was not seen"));
        self.syncs.iter().any(|(began, succeeded)| began > written && succeeded < answered)
    }
}

fn is_of_log(call: &str) -> bool {
    call.split([',', ')']).next().is_some_and(|file| file.ends_with("-wal>"))
}

/// The text after each occurrence of `marker`.
fn pieces<'a>(text: &'a str, marker: &'static str) -> impl Iterator<Item = &'a str> {
    text.match_indices(marker).map(move |(at, _)| &text[at + marker.len()..])
}

#[test]
fn the_witness_tells_early_answers_from_those_after_the_sync() {
    let written = r#"1 pwrite64(9</d/muster.db-wal>, "\0witnessed-device-000007", 25, 0) = 25"#;
    let began = "1 fdatasync(9</d/muster.db-wal> <unfinished ...>";
    let synced = "1 <... fdatasync resumed>) = 0";
    let answered = r#"2 sendto(12<TCP:[1]>, "HTTP/1.1 200 OK\r\n\r\n{\"token\":\"a.b-c.d\",\"x\":1}", 40, 0) = 40"#;
    let database = "1 fdatasync(8</d/muster.db>) = 0";
    let check = |lines: &[&str], expect| {
        assert_eq!(Trace::read(&lines.join("\n")).is_covered("000007", "a.b-c.d"), expect, "{lines:?}");
    };
    check(&[written, began, synced, answered], true);
    check(&[written, answered, began, synced], false);
    check(&[written, began, answered, synced], false);
    check(&[began, written, synced, answered], false);
    check(&[began, synced, written, answered], false);
    check(&[written, database, answered], false);
}

#[test]
fn no_answer_leaves_before_the_sync_that_covers_it() {
    check_strace().unwrap();
    let setup = Setup::dev();
    let file = setup.folder().join("trace");
    let calls = "trace=fdatasync,fsync,sync_file_range,write,writev,sendto,sendmsg,sendmmsg,pwrite64,pwritev";
    // With -D the server is our child, and strace runs beside it.
    let strace =
        ["strace", "-D", "-f", "-y", "-s", "8192", "-e", calls, "-e", "signal=none", "-o", file.to_str().unwrap()];
    let setup = setup.under(&strace);
    let server = setup.start();
    let clients: Vec<_> = (0..WITNESSED_CLIENTS)
        .map(|client| {
            let address = server.address;
            std::thread::spawn(move || {
                let mut connection = Client::new(address);
                let sign_up = |index: usize| {
                    let number = format!("{:06}", client * SIGN_UPS_PER_CLIENT + index);
                    let path = "/v2/account/authenticate/device?create=true";
                    let body = json!({ "id": format!("{DEVICE}{number}") });
                    let answer = connection.call("POST", path, &http::basic(SERVER_KEY), &body).unwrap();
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    (number, answer.json()["token"].as_str().unwrap().to_owned())
                };
                (0..SIGN_UPS_PER_CLIENT).map(sign_up).collect::<Vec<_>>()
            })
        })
        .collect();
    let answers: Vec<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    server.stop();

    let trace = Trace::read(&String::from_utf8_lossy(&std::fs::read(&file).unwrap()));
    for (device, token) in &answers {
        assert!(trace.is_covered(device, token), "{device} was answered before its sync");
    }
    let (syncs, answers) = (trace.syncs.len(), answers.len());
    assert!(syncs * 4 < answers, "{syncs} syncs for {answers} answers: commits do not share them");
}

/// Kills the server at random moments of full load. Everything that it acknowledged must exist after its restart.
fn kill_at_full_rate(setup: &Setup, seed: u64) {
    let mut random = Random::new(seed);
    let mut players = Vec::new();
    for round in 0..KILLS {
        let server = setup.start();
        let load = Load::start(server.address, LOAD_CLIENTS, &format!("round-{round}"));
        load.wait_for_acknowledged(random.between(50, 600) as u64);
        server.kill();
        players.extend(load.finish());
    }
    let server = setup.start();
    load::assert_kept(&server, &players);
    server.stop();
}

#[test]
fn killed_at_full_rate_on_sqlite_nothing_acknowledged_is_lost() {
    let setup = Setup::dev();
    kill_at_full_rate(&setup, 1);
    database::assert_sound(&setup.folder().join("muster.db"));
    assert!(!Path::new(&setup.folder().join("muster.db-wal")).exists(), "a stopped server leaves no log behind");
}

#[test]
fn killed_at_full_rate_on_postgres_nothing_acknowledged_is_lost() {
    let postgres = Postgres::shared().unwrap().create_database().unwrap();
    kill_at_full_rate(&Setup::dev().flag("database.address", postgres.url()), 2);
    let halves = "SELECT id FROM users WHERE username <> '' AND id NOT IN (SELECT user_id FROM user_device)";
    assert_eq!(database::postgres(postgres.url(), halves), Vec::<String>::new(), "a sign-up is whole or not at all");
}
