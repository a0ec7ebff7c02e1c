//! Tests of a database that goes away under load and comes back: callers are told to try again, nobody is disconnected,
//! everything recovers by itself, and nothing acknowledged is lost. A database that is unusable from the start is
//! refused and left untouched.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use muster_testenv::Postgres;
use muster_wire::envelope::Format;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{self, ChannelJoin, ChannelMessageSend, Envelope};
use rustix::process::{Pid, Resource, Rlimit, getuid, prlimit};
use serde_json::{Value, json};
use support::load::{self, Load, Player, TRY_AGAIN};
use support::program::muster;
use support::server::{Server, Setup};
use support::socket::Socket;
use support::{http, wait_until};

const CLIENTS: usize = 8;
/// Number of writes that are acknowledged to each client before the database goes away, and again after it is back.
const ACKNOWLEDGED_EACH: u64 = 20;
/// Number of refusals that each client gets while the database is away.
const REFUSED_EACH: u64 = 5;

/// The kind of outage, which decides which reads still work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Away {
    Wholly,
    ForWrites,
}

/// A player in a channel whose messages stay, who remembers what was acknowledged.
struct Talker {
    socket: Socket,
    channel: String,
    kept: Vec<String>,
}

impl Talker {
    fn join(server: &Server, token: &str, format: Format, room: &str) -> Self {
        let socket = Socket::open(server.address, token, format);
        let mut talker = Self { socket, channel: String::new(), kept: Vec::new() };
        let join = ChannelJoin { target: room.to_owned(), r#type: 1, persistence: Some(true), hidden: None };
        talker.channel = match talker.ask(Message::ChannelJoin(join)) {
            Message::Channel(channel) => channel.id,
            other => panic!("{other:?}"),
        };
        talker
    }

    fn ask(&mut self, message: Message) -> Message {
        self.socket.send_envelope(&Envelope { cid: "asked".to_owned(), message: Some(message) });
        loop {
            let envelope = self.socket.read_envelope();
            if envelope.cid == "asked" {
                return envelope.message.unwrap();
            }
        }
    }

    /// Says something that is to stay in the history. Answers the refusal, if it is refused.
    fn say(&mut self, text: &str) -> Option<realtime::Error> {
        let content = json!({ "text": text }).to_string();
        let said = ChannelMessageSend { channel_id: self.channel.clone(), content: content.clone() };
        match self.ask(Message::ChannelMessageSend(said)) {
            Message::ChannelMessageAck(_) => self.kept.push(content),
            Message::Error(error) => return Some(error),
            other => panic!("{other:?}"),
        }
        None
    }

    /// Says something until it is refused. The refusal asks to try again, and tells nothing of the server's inside.
    fn say_until_refused(&mut self) {
        // A full disk may have room for a last page or two.
        let refusal = (0..).find_map(|number| self.say(&format!("meanwhile {number}"))).unwrap();
        assert_eq!((refusal.code, refusal.message.as_str()), (0, TRY_AGAIN));
        assert_eq!(refusal.context["code"], "14");
    }

    /// Checks that the history has what was acknowledged, and nothing that was refused.
    fn assert_kept(&self, server: &Server, token: &str) {
        let path = format!("/v2/channel/{}?limit=100&forward=true", self.channel);
        let page = server.call("GET", &path, &http::bearer(token), &Value::Null).json();
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let messages = page["messages"].as_array().unwrap().iter();
        let kept: Vec<_> = messages.map(|message| parsed(message["content"].as_str().unwrap())).collect();
        assert_eq!(kept, self.kept.iter().map(|text| parsed(text)).collect::<Vec<_>>());
    }
}

/// Takes the database away and gives it back while clients write at full rate. Answers what was acknowledged.
fn live_through(server: &Server, away: Away, take: impl FnOnce(), give_back: impl FnOnce()) -> Vec<Player> {
    let witness = server.sign_in("witness");
    let account = || server.call("GET", "/v2/account", &http::bearer(&witness.session), &Value::Null);
    let mut talkers = [(Format::Json, "json"), (Format::Protobuf, "protobuf")]
        .map(|(format, room)| Talker::join(server, &witness.session, format, room));
    talkers.iter_mut().for_each(|talker| assert!(talker.say("before").is_none()));
    let load = Load::start(server.address, CLIENTS, "outage");
    load.wait_for("each client writes", |counts| {
        counts.acknowledged_each.iter().all(|each| *each >= ACKNOWLEDGED_EACH)
    });

    take();
    let counts =
        load.wait_for("each client is refused", |counts| counts.refused.iter().all(|each| *each >= REFUSED_EACH));
    assert_eq!(server.get("/healthcheck").status, 200, "the process is well");
    // A full disk may have room for a last page or two.
    wait_until("the server is not ready", || server.get("/readycheck").status == 503);
    let port = server.address.port().to_string();
    wait_until("its process manager is told", || muster(&["healthcheck", &port]).code == Some(1));
    let ready = server.get("/readycheck");
    assert_eq!((ready.status, ready.code()), (503, Some(14)), "{}", ready.text());
    match away {
        Away::Wholly => load::assert_unavailable(&account()),
        Away::ForWrites => assert_eq!(account().status, 200),
    }
    for talker in &mut talkers {
        talker.say_until_refused();
        talker.socket.ping_pong("meanwhile");
    }

    give_back();
    let recovered = counts.acknowledged_each.iter().map(|each| each + ACKNOWLEDGED_EACH).collect::<Vec<_>>();
    load.wait_for("each client writes again", |counts| {
        counts.acknowledged_each.iter().zip(&recovered).all(|(each, recovered)| each >= recovered)
    });
    wait_until("the server is ready again", || server.get("/readycheck").status == 200);
    muster(&["healthcheck", &port]).succeeded();
    for talker in &mut talkers {
        assert!(talker.say("after").is_none());
        talker.assert_kept(server, &witness.session);
    }
    assert_eq!(account().status, 200);
    let players = load.finish();
    load::assert_kept(server, &players);
    assert_eq!(server.metrics().value("panic_count"), 0.0);
    players
}

/// A server whose clients ask again and again while the database is away, as often as they can.
fn hammered(setup: Setup) -> Setup {
    setup.flag("limits.user_requests_per_sec", 0)
}

#[test]
fn postgres_crashes_and_returns() {
    let mut postgres = Postgres::start().unwrap();
    let setup = hammered(Setup::dev()).flag("database.address", postgres.url()).flag("live.shards", 2);
    let server = setup.start();
    let players = {
        let postgres = std::cell::RefCell::new(&mut postgres);
        let take = || postgres.borrow_mut().crash().unwrap();
        let give_back = || {
            server.wait_for_log("no database connection");
            server.wait_for_log("cannot read revocations");
            postgres.borrow_mut().start_again().unwrap();
        };
        live_through(&server, Away::Wholly, take, give_back)
    };
    server.wait_for_log("reading revocations again");
    server.stop();

    postgres.crash().unwrap();
    let (code, log) = setup.clone().flag("start_wait_sec", 0).fail_to_start();
    assert_eq!(code, Some(1));
    assert!(log.contains("muster: cannot connect to the database: "), "{log}");
    postgres.start_again().unwrap();
    let server = setup.start();
    load::assert_kept(&server, &players);
    server.stop();
}

/// A disk of a server that can be filled.
enum Disk {
    /// A disk of its own, in a namespace that only the server sees.
    Own { folder: String },
    /// The machine's disk; files of the server may not grow beyond a limit.
    Limited,
}

impl Disk {
    const BYTES: &'static str = "size=32m";

    /// A disk for the folder of `setup`; `None` if the system does not permit one.
    fn own(setup: Setup) -> Option<(Setup, Self)> {
        let folder = setup.folder().to_str()?.to_owned();
        let script = format!("mount -t tmpfs -o {} none \"$0\" && exec \"$@\"", Self::BYTES);
        let namespaces: &[&str] = if getuid().is_root() { &["--mount"] } else { &["--map-root-user", "--mount"] };
        let words = [&["unshare"], namespaces, &["sh", "-c", &script, &folder]].concat();
        let mut trial = Command::new(words[0]);
        trial.args(&words[1..]).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        let is_permitted = trial.status().is_ok_and(|status| status.success());
        let setup = setup.under(&words);
        is_permitted.then_some((setup, Self::Own { folder }))
    }

    /// Makes the system refuse writes beyond a limit, instead of ending the server by a signal.
    fn limited(setup: Setup) -> (Setup, Self) {
        (setup.under(&["sh", "-c", "trap '' XFSZ && exec \"$@\"", "sh"]), Self::Limited)
    }

    fn filler(&self, server: &Server) -> PathBuf {
        let Self::Own { folder } = self else { unreachable!("a limited disk needs no filler") };
        Path::new(&format!("/proc/{}/root", server.process())).join(folder.trim_start_matches('/')).join("filler")
    }

    fn fill(&self, server: &Server) {
        match self {
            Self::Own { .. } => {
                let mut filler = std::fs::File::create(self.filler(server)).unwrap();
                for length in [1 << 16, 1 << 12, 1] {
                    let full = loop {
                        if let Err(error) = filler.write_all(&vec![0; length]) {
                            break error;
                        }
                    };
                    assert_eq!(full.kind(), ErrorKind::StorageFull);
                }
            }
            Self::Limited => limit_files(server, Some(0)),
        }
    }

    fn free(&self, server: &Server) {
        match self {
            Self::Own { .. } => std::fs::remove_file(self.filler(server)).unwrap(),
            Self::Limited => limit_files(server, None),
        }
    }
}

fn limit_files(server: &Server, bytes_max: Option<u64>) {
    let process = Pid::from_raw(server.process().cast_signed());
    prlimit(process, Resource::Fsize, Rlimit { current: bytes_max, maximum: None }).unwrap();
}

fn live_through_a_full_disk((setup, disk): (Setup, Disk)) {
    let server = setup.start();
    live_through(&server, Away::ForWrites, || disk.fill(&server), || disk.free(&server));
    assert!(server.says("the database refuses writes"), "the operator is told");
    if matches!(disk, Disk::Own { .. }) {
        assert!(server.says("KiB are free: free some, and writes go on by themselves"), "and what to do");
    }
    assert!(server.says("the database takes writes again"), "and told when it is over");
    server.stop();
}

#[test]
fn sqlite_on_a_full_disk_reads_on_and_writes_again_when_there_is_space() {
    // If no disk of its own is permitted, the other test has to do.
    if let Some(disk) = Disk::own(hammered(Setup::dev())) {
        live_through_a_full_disk(disk);
    }
}

#[test]
fn sqlite_whose_files_may_not_grow_reads_on_and_writes_again_when_they_may() {
    live_through_a_full_disk(Disk::limited(hammered(Setup::dev())));
}

/// A durable match that writes down what is said in it.
const TABLE: &str = "return {
        durable = true,
        match_init = function() return { said = '' }, 10, '' end,
        match_join_attempt = function(context, dispatcher, tick, state) return state, true end,
        match_join = function(context, dispatcher, tick, state) return state end,
        match_leave = function(context, dispatcher, tick, state) return state end,
        match_loop = function(context, dispatcher, tick, state) return state end,
        match_terminate = function(context, dispatcher, tick, state) return state end,
        match_signal = function(context, dispatcher, tick, state, data)
            state.said = state.said .. data
            return state, state.said
        end,
    }";
const TABLES: &str = "local nk = require('nakama')
    nk.register_rpc(function() return nk.match_create('table', {}) end, 'make')
    nk.register_rpc(function(_, asked)
        local ask = nk.json_decode(asked)
        return nk.match_signal(ask.id, ask.said)
    end, 'say')
    nk.register_rpc(function(_, id) return nk.match_get(id) and 'there' or 'gone' end, 'look')";

/// Durable matches end when their log cannot be written; the server goes on, and writes the log again for new matches
/// when it can. What such a match answered is there after a restart.
fn durable_matches_on_a_full_disk((setup, disk): (Setup, Disk)) {
    let modules = tempfile::tempdir().unwrap();
    std::fs::write(modules.path().join("main.lua"), TABLES).unwrap();
    std::fs::write(modules.path().join("table.lua"), TABLE).unwrap();
    let setup = setup.flag("runtime.path", modules.path().display());
    let server = setup.start();
    let token = server.sign_in("a-player-of-tables").session;
    let ask = |server: &Server, id: &str, payload: &str| {
        server.call("POST", &format!("/v2/rpc/{id}"), &http::bearer(&token), &json!(payload))
    };
    let answer = |server: &Server, id: &str, payload: &str| {
        let answer = ask(server, id, payload);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["payload"].as_str().unwrap().to_owned()
    };
    let say = |id: &str, said: &str| json!({ "id": id, "said": said }).to_string();
    let ends = answer(&server, "make", "");
    assert_eq!(answer(&server, "say", &say(&ends, "a")), "a");

    disk.fill(&server);
    wait_until("the match ends", || {
        ask(&server, "say", &say(&ends, &"b".repeat(10_000)));
        answer(&server, "look", &ends) == "gone"
    });
    let told = server.wait_for_log("the log of matches cannot be written");
    assert!(told.contains(setup.folder().join("matches").to_str().unwrap()), "the operator is told where: {told}");
    assert_eq!(ask(&server, "make", "").status, 500, "no durable match begins meanwhile");
    assert_eq!(server.get("/healthcheck").status, 200);

    disk.free(&server);
    let mut goes_on = String::new();
    wait_until("durable matches begin again", || {
        let made = ask(&server, "make", "");
        goes_on = made.json()["payload"].as_str().unwrap_or_default().to_owned();
        made.status == 200
    });
    assert_eq!(answer(&server, "say", &say(&goes_on, "c")), "c");
    assert_eq!(answer(&server, "say", &say(&goes_on, "d")), "cd");
    assert_eq!(server.metrics().value("panic_count"), 0.0);
    assert!(server.metrics().value("match_log_failure_count") > 0.0);
    if let Disk::Limited = disk {
        server.kill();
        let server = setup.start();
        assert_eq!(answer(&server, "say", &say(&goes_on, "e")), "cde");
        assert_eq!(answer(&server, "look", &ends), "gone");
        server.stop();
    } else {
        // The disk goes with its server.
        server.stop();
    }
}

#[test]
fn durable_matches_end_on_a_full_disk_and_new_ones_are_kept_when_there_is_space() {
    if let Some(disk) = Disk::own(hammered(Setup::dev())) {
        durable_matches_on_a_full_disk(disk);
    }
}

#[test]
fn durable_matches_end_where_the_log_may_not_grow_and_new_ones_outlive_the_server() {
    durable_matches_on_a_full_disk(Disk::limited(hammered(Setup::dev())));
}

#[test]
fn a_database_that_is_no_database_is_refused_and_left_as_it_is() {
    let setup = Setup::dev();
    let server = setup.start();
    server.sign_in("before");
    server.stop();
    let file = setup.folder().join("muster.db");
    let sound = std::fs::read(&file).unwrap();
    let mut damaged_head = sound.clone();
    damaged_head[..64].fill(0xA5);
    let mut damaged_schema = sound.clone();
    damaged_schema[100..4096].fill(0xA5);
    for (what, bytes) in [
        ("head", damaged_head),
        ("schema", damaged_schema),
        ("cut", sound[..sound.len() / 2].to_vec()),
        ("text", b"a letter to a friend, which nobody may lose\n".repeat(200)),
    ] {
        std::fs::write(&file, &bytes).unwrap();
        let (code, log) = setup.fail_to_start();
        assert_eq!(code, Some(1), "{what}: {log}");
        assert!(log.contains("muster.db") && log.contains("restore a backup"), "{what}: {log}");
        assert!(std::fs::read(&file).unwrap() == bytes, "{what}: the file was changed");
    }
    std::fs::write(&file, &sound).unwrap();
    let server = setup.start();
    let path = "/v2/account/authenticate/device?create=false";
    let known = server.call("POST", path, &http::basic("defaultkey"), &json!({ "id": "device-of-before" }));
    assert_eq!(known.status, 200);
    server.stop();
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_by_name() {
    // The folder `/sys`, in which Linux shows its devices, takes no files, not even from the superuser.
    for (setup, what) in [
        (Setup::dev().flag("data_dir", "/sys"), "/sys"),
        (Setup::serve().flag("data_dir", "/sys/muster"), "/sys/muster"),
        (Setup::dev().flag("database.address", "sqlite:/sys/muster.db"), "/sys/muster.db"),
    ] {
        let (code, log) = setup.fail_to_start();
        assert_eq!(code, Some(1), "{log}");
        assert!(log.contains("muster: ") && log.contains(what) && !log.contains("panicked"), "{log}");
    }
}
