//! Clients that sign up and write at full rate, and remember everything that the server acknowledged, to check it
//! later.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::DEADLINE;
use super::client::Client;
use super::http::{self, Response};
use super::server::{SERVER_KEY, Server};

/// Number of writes of an object by each player before the next player signs up.
const WRITES_PER_PLAYER: u64 = 4;
const COLLECTION: &str = "saves";
const KEY: &str = "slot";

/// Clients that run until they are told to stop, or their server is gone.
pub struct Load {
    workers: Vec<JoinHandle<Vec<Player>>>,
    progress: Arc<Progress>,
}

/// A player whose account the server acknowledged, with its writes.
pub struct Player {
    pub device: String,
    pub user_id: String,
    /// The last acknowledged write of the object: its number and version.
    pub saved: Option<(u64, String)>,
    /// A later write that got no answer, or an error: it may have happened.
    unsure: Option<u64>,
}

/// Counts of the answers to all clients together.
#[derive(Default)]
struct Progress {
    counts: Mutex<Counts>,
    news: Condvar,
}

/// Counts for [`Load::wait_for`].
#[derive(Clone, Default)]
pub struct Counts {
    pub acknowledged: u64,
    /// Refusals, by client.
    pub refused: Vec<u64>,
    /// Acknowledgements, by client.
    pub acknowledged_each: Vec<u64>,
    stopping: bool,
}

impl Load {
    /// Starts `clients` clients; the names of their devices begin with `name`.
    pub fn start(address: SocketAddr, clients: usize, name: &str) -> Self {
        let counts = Counts { refused: vec![0; clients], acknowledged_each: vec![0; clients], ..Counts::default() };
        let progress = Arc::new(Progress { counts: Mutex::new(counts), news: Condvar::new() });
        let worker = |number: usize| {
            let client = Client::new(address);
            let mut worker = Worker { number, name: name.to_owned(), client, progress: progress.clone() };
            std::thread::spawn(move || worker.run())
        };
        Self { workers: (0..clients).map(worker).collect(), progress }
    }

    /// Waits until `holds` is true of the counts.
    pub fn wait_for(&self, what: &str, holds: impl Fn(&Counts) -> bool) -> Counts {
        let started = Instant::now();
        let mut counts = self.progress.counts.lock().unwrap();
        while !holds(&counts) {
            let left = DEADLINE.checked_sub(started.elapsed()).unwrap_or_else(|| panic!("waited in vain: {what}"));
            counts = self.progress.news.wait_timeout(counts, left).unwrap().0;
        }
        counts.clone()
    }

    pub fn wait_for_acknowledged(&self, count: u64) {
        self.wait_for("acknowledged writes", |counts| counts.acknowledged >= count);
    }

    pub fn counts(&self) -> Counts {
        self.progress.counts.lock().unwrap().clone()
    }

    /// Ends each client after the request under way. Answers everything that was acknowledged.
    pub fn finish(self) -> Vec<Player> {
        self.progress.counts.lock().unwrap().stopping = true;
        self.workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    }
}

struct Worker {
    number: usize,
    name: String,
    client: Client,
    progress: Arc<Progress>,
}

impl Worker {
    fn run(&mut self) -> Vec<Player> {
        let mut players = Vec::new();
        while let Some((player, token)) = self.sign_up(players.len()) {
            players.push(player);
            for number in 0..WRITES_PER_PLAYER {
                let player = players.last_mut().unwrap();
                player.unsure = Some(number);
                let Some(version) = self.write(&token, number) else { return players };
                player.saved = Some((number, version));
                player.unsure = None;
            }
        }
        players
    }

    fn sign_up(&mut self, index: usize) -> Option<(Player, String)> {
        let device = format!("{}-client-{:03}-player-{index:05}", self.name, self.number);
        let path = "/v2/account/authenticate/device?create=true";
        let answer = self.insist("POST", path, &http::basic(SERVER_KEY), &json!({ "id": device }))?;
        let token = answer["token"].as_str().unwrap().to_owned();
        Some((Player { device, user_id: user_of(&token), saved: None, unsure: None }, token))
    }

    fn write(&mut self, token: &str, number: u64) -> Option<String> {
        let object = json!({ "collection": COLLECTION, "key": KEY, "value": value(number) });
        let body = json!({ "objects": [object] });
        let answer = self.insist("PUT", "/v2/storage", &http::bearer(token), &body)?;
        let version = answer["acks"][0]["version"].as_str().unwrap().to_owned();
        assert_eq!(version, version_of(number));
        Some(version)
    }

    /// Repeats a request for as long as the server refuses it for now. Answers `None` when the client has to end.
    fn insist(&mut self, method: &str, path: &str, authorization: &str, body: &Value) -> Option<Value> {
        loop {
            // The server may be gone.
            let answer = self.client.call(method, path, authorization, body).ok()?;
            let mut counts = self.progress.counts.lock().unwrap();
            let is_done = answer.status == 200;
            if is_done {
                counts.acknowledged += 1;
                counts.acknowledged_each[self.number] += 1;
            } else {
                assert_unavailable(&answer);
                counts.refused[self.number] += 1;
            }
            let stopping = counts.stopping;
            drop(counts);
            self.progress.news.notify_all();
            if is_done && !stopping {
                return Some(answer.json());
            } else if stopping {
                // The write is left out of the check, as if no answer had come.
                return None;
            }
        }
    }
}

/// All that clients are told of a database that is away or cannot write.
pub const TRY_AGAIN: &str = "The database is not available right now. Please try again.";

/// Checks the refusal of a server whose database is away: the caller may try again.
#[track_caller]
pub fn assert_unavailable(answer: &Response) {
    assert_eq!((answer.status, answer.code()), (503, Some(14)), "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["message"], TRY_AGAIN);
}

impl Player {
    /// Checks that every acknowledged write is there, or a later one that was requested.
    pub fn assert_kept(&self, client: &mut Client) {
        let path = "/v2/account/authenticate/device?create=false";
        let answer = client.call("POST", path, &http::basic(SERVER_KEY), &json!({ "id": self.device })).unwrap();
        assert_eq!(answer.status, 200, "{} is gone: {}", self.device, answer.text());
        let token = answer.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(user_of(&token), self.user_id);
        let id = json!({ "collection": COLLECTION, "key": KEY, "user_id": self.user_id });
        let body = json!({ "object_ids": [id] });
        let answer = client.call("POST", "/v2/storage", &http::bearer(&token), &body).unwrap().json();
        let object = &answer["objects"][0];
        let version = object["version"].as_str().map(str::to_owned);
        let found = version.map(|version| {
            let value: Value = serde_json::from_str(object["value"].as_str().unwrap()).unwrap();
            (value["number"].as_u64().unwrap(), version)
        });
        if let Some(unsure) = self.unsure
            && found == Some((unsure, version_of(unsure)))
        {
            return;
        }
        assert_eq!(found, self.saved, "{}", self.device);
    }
}

/// Checks that everything acknowledged is on `server`.
pub fn assert_kept(server: &Server, players: &[Player]) {
    assert!(!players.is_empty(), "nothing was acknowledged");
    let mut client = Client::new(server.address);
    for player in players {
        player.assert_kept(&mut client);
    }
}

fn value(number: u64) -> String {
    format!(r#"{{"number": {number}}}"#)
}

/// Version of the object after the write of this number: the MD5 of its text.
fn version_of(number: u64) -> String {
    md5_hex(&value(number))
}

/// MD5 in lower-case hex.
pub fn md5_hex(text: &str) -> String {
    Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The user of a token.
pub fn user_of(token: &str) -> String {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["uid"].as_str().unwrap().to_owned()
}
