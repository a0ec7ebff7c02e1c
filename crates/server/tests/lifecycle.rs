//! Tests of a server from start to end: reasons not to start, state that survives a restart, and the ways to stop.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use muster_testenv::Postgres;
use muster_wire::envelope::Format;
use rustix::process::Signal;
use serde_json::json;
use support::database::postgres;
use support::http::{self, Response};
use support::load::Load;
use support::server::{SERVER_KEY, Server, Setup};
use support::socket::{CLOSE, Socket};
use support::{DEADLINE, wait_until};

const SIGN_IN: &str = "/v2/account/authenticate/device?create=true";

/// A request under way: everything but the end of its body has been sent.
struct Unfinished {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Unfinished {
    fn begin(server: &Server) -> Self {
        let header = format!("Authorization: {}", http::basic(SERVER_KEY));
        let request =
            http::request("POST", SIGN_IN, &[&header, "Expect: 100-continue"], br#"{"id":"unfinished-device"}"#);
        let (first, rest) = request.split_at(request.len() - 10);
        let mut stream = http::connect(server.address);
        stream.write_all(first).unwrap();
        // The server asks for the body once it has read the head.
        let mut asked = [0; 25];
        std::io::Read::read_exact(&mut stream, &mut asked).unwrap();
        assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
        Self { stream, rest: rest.to_vec() }
    }

    fn finish(mut self) -> Response {
        self.stream.write_all(&self.rest).unwrap();
        Response::only(&http::read_to_end(&mut self.stream))
    }
}

#[test]
fn stopping_closes_sockets_with_a_reason_and_finishes_what_is_under_way() {
    for (shards, signal) in [(1, Signal::TERM), (2, Signal::INT)] {
        let mut server = Setup::dev().flag("live.shards", shards).flag("shutdown_drain_sec", 50).start();
        let token = server.sign_in("stopping").session;
        let sockets: Vec<_> = [Format::Json, Format::Protobuf, Format::Json, Format::Protobuf]
            .into_iter()
            .map(|format| Socket::open(server.address, &token, format))
            .collect();
        let requests: Vec<_> = (0..4).map(|_| Unfinished::begin(&server)).collect();
        let mut idle = http::connect(server.address);
        let mut half_asked = http::connect(server.address);
        half_asked.write_all(b"GET /readycheck HTTP/1.1\r\nHost: ").unwrap();
        server.signal(signal);
        for mut socket in sockets {
            let (before, code, text) = socket.read_close();
            assert_eq!((before, code, text.as_str()), (Vec::new(), 1001, "server is stopping"));
        }
        wait_until("nobody is let in", || TcpStream::connect(server.address).is_err());
        assert_eq!(http::read_to_end(&mut idle), b"");
        // The server is not ready any more, if it reads the rest at all.
        let _ = half_asked.write_all(b"localhost\r\n\r\n");
        let told = Response::all(&http::read_to_end(&mut half_asked));
        assert!(told.iter().all(|response| response.status == 503), "{told:?}");
        for request in requests {
            assert_eq!(request.finish().status, 200);
        }
        assert_eq!(server.wait().code(), Some(0));
        assert!(server.says("\"connections_cut\":0"), "{}", server.log());
    }
}

/// Whether something listens at this address of this machine.
fn listens(address: std::net::IpAddr, port: u16) -> bool {
    TcpStream::connect((address, port)).is_ok()
}

#[test]
fn a_server_listens_on_the_versions_of_ip_that_are_wanted() {
    let (v4, v6) = ("127.0.0.1".parse().unwrap(), "::1".parse().unwrap());
    for (protocol, expected) in [("tcp", [true, true]), ("tcp4", [true, false]), ("tcp6", [false, true])] {
        let server = Setup::serve().flag("socket.address", "").flag("socket.protocol", protocol).start();
        let port = server.address.port();
        assert_eq!([listens(v4, port), listens(v6, port)], expected, "{protocol}");
        server.stop();
    }
}

#[test]
fn no_more_connections_to_postgresql_are_open_than_allowed() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    let setup = Setup::dev().flag("database.address", database.url()).flag("live.shards", 2);
    let server = setup.clone().flag("database.max_open_conns", 6).start();
    let load = Load::start(server.address, 8, "narrow");
    load.wait_for_acknowledged(100);
    let count =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'muster'";
    assert_eq!(postgres(database.url(), count), ["3"]);
    load.finish();
    server.stop();
    let (code, log) = setup.flag("database.max_open_conns", 5).fail_to_start();
    assert_eq!(code, Some(1));
    assert!(log.contains("set it to 6 at least"), "{log}");
}

#[test]
fn stopping_takes_no_longer_than_the_drain_allows() {
    let mut server = Setup::dev().flag("shutdown_drain_sec", 1).flag("socket.read_timeout_ms", 100_000).start();
    let mut never_finished = Unfinished::begin(&server);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
    assert!(server.says("\"connections_cut\":1"), "{}", server.log());
    assert_eq!(http::read_to_end(&mut never_finished.stream), b"");
}

#[test]
fn a_second_signal_ends_at_once() {
    let drain = 10 * DEADLINE;
    let setup = Setup::dev().flag("socket.read_timeout_ms", drain.as_millis());
    let mut server = setup.flag("shutdown_drain_sec", drain.as_secs()).start();
    let _never_finished = Unfinished::begin(&server);
    server.signal(Signal::TERM);
    server.wait_for_log("a second signal ends at once");
    server.signal(Signal::INT);
    server.wait();
}

#[test]
fn a_start_that_waits_can_be_stopped() {
    assert_eq!(Setup::dev().stop_while_starting(), Some(0));
}

#[test]
fn tokens_survive_a_restart_and_revoked_ones_stay_revoked() {
    let setup = Setup::serve();
    let server = setup.start();
    server.wait_for_log("keys were generated into");
    let keys_file = setup.folder().join("keys.yml");
    let keys = std::fs::read_to_string(&keys_file).unwrap();
    assert_eq!(std::fs::metadata(&keys_file).unwrap().permissions().mode() & 0o777, 0o600);
    let server_key = generated(&keys, "socket.server_key");
    let (kept, ended) = (server.sign_in_with(&server_key, "kept"), server.sign_in_with(&server_key, "ended"));
    let body = json!({ "token": ended.session, "refresh_token": ended.refresh });
    let response = server.call("POST", "/v2/session/logout", &http::bearer(&ended.session), &body);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(server.account_status(&ended.session), 401);
    server.stop();

    let server = setup.start();
    assert_eq!(std::fs::read_to_string(&keys_file).unwrap(), keys);
    assert_eq!(server.account_status(&kept.session), 200);
    assert_eq!(server.account_status(&ended.session), 401);
    let refresh = |token: &str| {
        let body = json!({ "token": token });
        server.call("POST", "/v2/account/session/refresh", &http::basic(&server_key), &body).status
    };
    assert_eq!((refresh(&kept.refresh), refresh(&ended.refresh)), (200, 401));
    assert_eq!(open_status(&server, &ended.session), 401);
    assert!(!server.log().contains("keys were generated into"));
    server.stop();
}

/// A secret in the file of keys.
fn generated(keys: &str, name: &str) -> String {
    let value = keys.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap().trim_matches('"').to_owned()
}

/// The status of a handshake that is refused.
fn open_status(server: &Server, token: &str) -> u16 {
    let mut stream = http::connect(server.address);
    stream.write_all(&support::socket::handshake(token, Format::Json)).unwrap();
    // The connection stays open for another attempt unless the client ends it.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    Response::only(&http::read_to_end(&mut stream)).status
}

#[test]
fn open_sockets_close_when_their_account_logs_out_or_is_deleted() {
    let server = Setup::dev().flag("live.shards", 2).start();
    let other = server.sign_in("stays").session;
    let mut bystander = Socket::open(server.address, &other, Format::Json);
    type End = fn(&Server, &str) -> Response;
    let log_out: End = |server, token| server.call("POST", "/v2/session/logout", &http::bearer(token), &json!({}));
    let delete: End = |server, token| server.call("DELETE", "/v2/account", &http::bearer(token), &json!(null));
    for (device, end) in [("logs-out", log_out), ("is-deleted", delete)] {
        let token = server.sign_in(device).session;
        let sockets: Vec<_> = (0..4).map(|_| Socket::open(server.address, &token, Format::Protobuf)).collect();
        assert_eq!(end(&server, &token).status, 200);
        for mut socket in sockets {
            let (before, code, text) = socket.read_close();
            assert_eq!((before, code, text.as_str()), (Vec::new(), 1008, "session token revoked"));
        }
        assert_eq!(server.account_status(&token), 401);
        bystander.ping_pong(device);
    }
    wait_until("they are counted", || server.metrics().closed_for("token_revoked") == 8.0);
    server.stop();
}

#[test]
fn a_log_that_was_moved_away_is_begun_anew_and_no_signal_of_users_ends_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let [log, moved] = ["muster.log", "muster.log.1"].map(|name| folder.path().join(name));
    let server = Setup::dev().flag("logger.file", log.display()).start();
    std::fs::rename(&log, &moved).unwrap();
    server.signal(Signal::USR2);
    server.signal(Signal::USR1);
    wait_until("a new file is there", || log.exists());
    assert_eq!(server.get("/readycheck").status, 200);
    server.stop();
    let text = |path| std::fs::read_to_string(path).unwrap();
    assert!(text(&moved).contains("muster serves") && !text(&moved).contains("\"stopped\""));
    assert!(text(&log).contains("\"stopped\""));
}

#[test]
fn what_is_in_use_is_said() {
    let setup = Setup::dev();
    let server = setup.start();
    let (code, text) = setup.fail_to_start();
    assert_eq!(code, Some(1));
    assert!(text.contains("is in use by another process: stop that server first"), "{text}");
    let (code, text) = Setup::dev().flag("socket.port", server.address.port()).fail_to_start();
    assert_eq!(code, Some(1));
    assert!(text.contains("cannot listen on") && text.contains("--socket.port"), "{text}");
    let metrics_port = server.metrics_address.port();
    let (code, text) = Setup::dev().flag("metrics.prometheus_port", metrics_port).fail_to_start();
    assert_eq!(code, Some(1));
    assert!(text.contains("cannot listen on") && text.contains("metrics.prometheus_port"), "{text}");
    // The failed starts did the running server no harm.
    assert_eq!(server.get("/readycheck").status, 200);
    server.stop();
}

#[test]
fn well_known_keys_are_for_development_on_this_machine() {
    for (key, value) in [
        ("socket.server_key", "defaultkey"),
        ("session.encryption_key", "defaultencryptionkey"),
        ("session.refresh_encryption_key", "defaultrefreshencryptionkey"),
        ("runtime.http_key", "defaulthttpkey"),
    ] {
        let (code, text) = Setup::serve().flag(key, value).fail_to_start();
        assert_eq!(code, Some(1));
        assert!(text.contains(key), "{text}");
        assert!(!text.contains(value), "the secret itself is not repeated: {text}");
    }
    let server = Setup::dev().start();
    assert!(server.address.ip().is_loopback() && server.metrics_address.ip().is_loopback());
    for header in ["X-Forwarded-For: 203.0.113.7", "Forwarded: for=203.0.113.7", "Via: 1.1 proxy"] {
        for path in ["/healthcheck", "/v2/account", "/ws"] {
            let request = http::request("GET", path, &[header], b"");
            let response = Response::only(&http::exchange(server.address, &request));
            assert_eq!((response.status, response.code()), (403, Some(7)), "{header} {path}");
        }
    }
    assert_eq!(server.metrics().value("forwarded_refused_count"), 9.0);
    server.stop();
}

#[test]
fn at_the_limit_of_connections_accepting_rests_and_nobody_is_turned_away() {
    const CONNECTIONS_MAX: usize = 8;
    const LATE: usize = 20;
    let server = Setup::dev().flag("socket.max_connections", CONNECTIONS_MAX).start();
    let token = server.sign_in("crowd").session;
    wait_until("that connection is gone", || server.metrics().value("connections") == 0.0);
    let mut sockets: Vec<_> =
        (0..CONNECTIONS_MAX).map(|_| Socket::open(server.address, &token, Format::Json)).collect();
    // These clients connect and ask; their answers wait for a free connection.
    let late: Vec<_> = (0..LATE)
        .map(|_| {
            let mut stream = http::connect(server.address);
            stream.write_all(&http::request("GET", "/healthcheck", &[], b"")).unwrap();
            stream
        })
        .collect();
    wait_until("accepting rests", || server.metrics().value("accept_pause_count") >= 1.0);
    assert_eq!(server.metrics().value("connections"), CONNECTIONS_MAX as f64);
    sockets.iter_mut().for_each(|socket| socket.ping_pong("full"));
    sockets.pop().unwrap().send(CLOSE, &1000_u16.to_be_bytes());
    for mut stream in late {
        assert_eq!(Response::only(&http::read_to_end(&mut stream)).status, 200);
    }
    sockets.iter_mut().for_each(|socket| socket.ping_pong("after"));
    server.stop();
}
