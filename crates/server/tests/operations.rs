//! Tests of features for operators: the metrics page, health and readiness, TLS, and limits on guessing passwords
//! behind proxies.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read as _, Write as _};

use muster_testenv::Postgres;
use muster_wire::envelope::Format;
use serde_json::json;
use support::http::{self, Response};
use support::proxy::Proxy;
use support::server::{SERVER_KEY, Server, Setup};
use support::socket::Socket;
use support::tls::Certificate;
use support::wait_until;

#[test]
fn metrics_have_the_names_of_the_original_and_tell_what_happened() {
    let server = Setup::dev().flag("live.shards", 2).start();
    let token = server.sign_in("measured").session;
    let refused = server.call("POST", "/v2/account/authenticate/device", &http::basic(SERVER_KEY), &json!({}));
    assert_eq!(refused.status, 400);
    assert_eq!(server.account_status(&token), 200);
    let mut socket = Socket::open(server.address, &token, Format::Json);
    (0..5).for_each(|number| socket.ping_pong(&number.to_string()));

    let page = server.metrics();
    for name in [
        "overall_request_count",
        "overall_request_errors",
        "overall_request_recv_bytes",
        "overall_request_sent_bytes",
        "overall_latency_ms_count",
        "overall_latency_ms_sum",
        "overall_message_count",
        "overall_message_errors",
        "overall_message_recv_bytes",
        "overall_message_sent_bytes",
        "overall_recv_bytes",
        "overall_sent_bytes",
        "sessions",
        "socket_ws_opened",
        "socket_ws_closed",
        "AuthenticateDevice_count",
        "AuthenticateDevice_errors",
        "AuthenticateDevice_recv_bytes",
        "AuthenticateDevice_sent_bytes",
        "AuthenticateDevice_latency_ms_count",
        "AuthenticateDevice_latency_ms_sum",
        "GetAccount_count",
    ] {
        assert!(page.has(name), "{name}");
    }
    let check = |name: &str, expected: f64| assert_eq!(page.value(name), expected, "{name}");
    check("AuthenticateDevice_count", 2.0);
    check("AuthenticateDevice_errors", 1.0);
    check("AuthenticateDevice_latency_ms_count", 2.0);
    check("GetAccount_count", 1.0);
    check("overall_request_count", 3.0);
    check("overall_request_errors", 1.0);
    check("message_count{message=\"ping\"}", 5.0);
    check("overall_message_count", 5.0);
    check("sessions", 1.0);
    check("socket_ws_opened", 1.0);
    check("socket_ws_closed", 0.0);
    check("panic_count", 0.0);
    check(&format!("build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0);
    drop(socket);
    wait_until("the socket is counted as closed", || server.metrics().value("socket_ws_closed") == 1.0);
    assert_eq!(server.metrics().value("sessions"), 0.0);
    server.stop();
}

#[test]
fn names_of_metrics_are_always_ones_that_prometheus_reads() {
    let server = Setup::dev().flag("metrics.prefix", "9 my-game").start();
    let page = http::exchange(server.metrics_address, &http::request("GET", "/", &[], b""));
    let page = Response::only(&page).text();
    assert!(page.contains("\n__my_game_sessions{"), "{page}");
    let is_fit = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == ':';
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split('{').next().unwrap();
        assert!(name.chars().all(is_fit) && !name.starts_with(|first: char| first.is_ascii_digit()), "{line}");
    }
    server.stop();
}

#[test]
fn metrics_are_this_machines_alone_and_a_token_may_be_demanded() {
    let server = Setup::serve().flag("socket.address", "").flag("metrics.token", "let me read").start();
    assert!(server.metrics_address.ip().is_loopback());
    let status = |headers: &[&str]| {
        let page = http::exchange(server.metrics_address, &http::request("GET", "/", headers, b""));
        Response::only(&page).status
    };
    assert_eq!(status(&[]), 401);
    assert_eq!(status(&["Authorization: Bearer let me rea"]), 401);
    assert_eq!(status(&["Authorization: Bearer let me read"]), 200);
    server.stop();
}

#[test]
fn silent_readers_of_metrics_make_room_for_others() {
    const READERS_MAX: usize = 16;
    let server = Setup::dev().start();
    let silent: Vec<_> = (0..READERS_MAX).map(|_| http::connect(server.metrics_address)).collect();
    assert!(server.metrics().has("uptime_seconds"));
    for mut stream in silent {
        assert_eq!(http::read_to_end(&mut stream), b"");
    }
    server.stop();
}

#[test]
fn a_server_without_its_database_lives_and_is_not_ready() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    let (before, rest) = database.url().split_once("127.0.0.1:").expect("a server on this machine");
    let (port, after) = rest.split_at(rest.find('/').unwrap());
    let proxy = Proxy::start(format!("127.0.0.1:{port}").parse().unwrap());
    let url = format!("{before}{}{after}", proxy.address);
    let server = Setup::dev().flag("database.address", url).start();
    let token = server.sign_in("patient").session;
    let mut socket = Socket::open(server.address, &token, Format::Json);
    assert_eq!(server.get("/readycheck").status, 200);

    proxy.cut();
    // An answer is reused for requests of the next moment.
    wait_until("it is not ready", || server.get("/readycheck").status == 503);
    let response = server.get("/readycheck");
    assert_eq!((response.status, response.code()), (503, Some(14)));
    assert_eq!(server.get("/healthcheck").status, 200);
    let response = server.call("GET", "/v2/account", &http::bearer(&token), &json!(null));
    assert_eq!((response.status, response.code()), (503, Some(14)), "{}", response.text());
    socket.ping_pong("meanwhile");

    proxy.mend();
    wait_until("it is ready again", || server.get("/readycheck").status == 200);
    assert_eq!(server.account_status(&token), 200);
    socket.ping_pong("after");

    // A database that is up but silent must not delay this answer.
    proxy.hold();
    wait_until("it is not ready", || server.get("/readycheck").status == 503);
    let response = server.get("/readycheck");
    assert_eq!((response.status, response.code()), (503, Some(14)));
    assert_eq!(server.get("/healthcheck").status, 200);
    socket.ping_pong("held");
    proxy.mend();
    wait_until("it is ready once more", || server.get("/readycheck").status == 200);
    assert_eq!(server.metrics().value("panic_count"), 0.0);
    server.stop();
}

#[test]
fn https_and_wss_are_served_with_a_certificate() {
    let setup = Setup::dev();
    let certificate = Certificate::create(setup.folder());
    let setup = setup
        .flag("socket.ssl_certificate", certificate.certificate.display())
        .flag("socket.ssl_private_key", certificate.private_key.display())
        .flag("socket.read_timeout_ms", 10_000);
    let server = setup.start();
    let mut stream = certificate.connect(server.address);
    let header = format!("Authorization: {}", http::basic(SERVER_KEY));
    let path = "/v2/account/authenticate/device?create=true";
    stream.write_all(&http::request("POST", path, &[&header], br#"{"id":"encrypted-device"}"#)).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an end that the server announces");
    let response = Response::only(&bytes);
    assert_eq!(response.status, 200);
    let token = response.json()["token"].as_str().unwrap().to_owned();
    for format in [Format::Json, Format::Protobuf] {
        let mut socket = Socket::open_with(certificate.connect(server.address), &token, format, b"");
        // More bytes than fit into one record of TLS, or one read.
        (0..1_000).for_each(|number| socket.send_envelope(&support::socket::ping(&number.to_string())));
        (0..1_000).for_each(|number| assert_eq!(socket.read_envelope().cid, number.to_string()));
        socket.send_raw(b"\xff\xff");
        let (_, code, _) = socket.read_close();
        assert_eq!(code, 1002);
    }
    // A client without TLS, and one that is silent, get no answer and are disconnected.
    let plain = http::exchange(server.address, &http::request("GET", "/healthcheck", &[], b""));
    assert!(!plain.starts_with(b"HTTP/"), "{:?}", String::from_utf8_lossy(&plain));
    assert_eq!(http::read_to_end(&mut http::connect(server.address)), b"");
    wait_until("nobody is left", || server.metrics().value("connections") == 0.0);
    server.stop();
}

const NAMES: [&str; 5] = ["ann", "bob", "cid", "dan", "eve"];
const PASSWORD: &str = "correct horse battery";

/// Signs in by email, through a proxy that saw `forwarded_for`. Answers status and code.
fn sign_in(server: &Server, server_key: &str, email: &str, password: &str, forwarded_for: &str) -> (u16, Option<u64>) {
    let body = json!({ "email": email, "password": password }).to_string();
    let headers = [format!("Authorization: {}", http::basic(server_key)), format!("X-Forwarded-For: {forwarded_for}")];
    let path = "/v2/account/authenticate/email?create=true";
    let request = http::request("POST", path, &headers.each_ref().map(String::as_str), body.as_bytes());
    let response = Response::only(&http::exchange(server.address, &request));
    (response.status, response.code())
}

const RIGHT: (u16, Option<u64>) = (200, None);
const WRONG: (u16, Option<u64>) = (401, Some(16));
const TOO_OFTEN: (u16, Option<u64>) = (429, Some(8));

#[test]
fn guessing_passwords_locks_the_account_and_nobody_else() {
    let key = "a key for this test alone";
    let setup = Setup::serve().flag("socket.server_key", key).flag("socket.proxy_count", 1);
    let server = setup.flag("account.failures.account_attempts", 3).start();
    let attempt = |email: &str, password: &str, from: &str| sign_in(&server, key, email, password, from);
    assert_eq!(attempt("victim@example.com", PASSWORD, "203.0.113.1"), RIGHT);
    assert_eq!(attempt("other@example.com", PASSWORD, "203.0.113.2"), RIGHT);
    // One attempt more than is tolerated.
    for number in 0..=3 {
        // The attempts come from many addresses, since the limit is on the account.
        assert_eq!(attempt("victim@example.com", "wrong password", &format!("203.0.113.{}", 10 + number)), WRONG);
    }
    assert_eq!(attempt("victim@example.com", "wrong password", "203.0.113.20"), TOO_OFTEN);
    assert_eq!(attempt("victim@example.com", PASSWORD, "203.0.113.21"), TOO_OFTEN);
    // The player gets in where the player signed in before.
    assert_eq!(attempt("victim@example.com", PASSWORD, "203.0.113.1"), RIGHT);
    assert_eq!(attempt("other@example.com", PASSWORD, "203.0.113.2"), RIGHT);
    assert_eq!(server.metrics().value("password_refused_by_account_count"), 2.0);
    assert_eq!(server.metrics().value("password_failures_count"), 4.0);
    server.stop();
}

#[test]
fn guessing_passwords_locks_the_address_that_the_trusted_proxy_saw() {
    let key = "a key for this test alone";
    let setup = Setup::serve().flag("socket.server_key", key).flag("account.failures.address_attempts", 3);
    // With one proxy only the last entry is the proxy's; the client may have written those before it.
    let server = setup.clone().flag("socket.proxy_count", 1).start();
    let attempt = |email: &str, password: &str, from: &str| sign_in(&server, key, email, password, from);
    for name in NAMES {
        assert_eq!(attempt(&format!("{name}@example.com"), PASSWORD, "198.51.100.1"), RIGHT);
    }
    for (number, name) in NAMES[..4].iter().enumerate() {
        let forged = format!("192.0.2.{number}, 203.0.113.1");
        assert_eq!(attempt(&format!("{name}@example.com"), "wrong password", &forged), WRONG);
    }
    assert_eq!(attempt("eve@example.com", PASSWORD, "192.0.2.77, 203.0.113.1"), TOO_OFTEN);
    assert_eq!(attempt("eve@example.com", PASSWORD, "203.0.113.1, 203.0.113.2"), RIGHT);
    assert_eq!(server.metrics().value("password_refused_by_address_count"), 1.0);
    server.stop();

    // Without a proxy the header is ignored: all attempts come from this machine.
    let server = setup.start();
    for (number, name) in NAMES[..4].iter().enumerate() {
        let forged = format!("192.0.2.{number}");
        assert_eq!(sign_in(&server, key, &format!("{name}@example.com"), "wrong password", &forged), WRONG);
    }
    assert_eq!(sign_in(&server, key, "eve@example.com", PASSWORD, "192.0.2.9"), TOO_OFTEN);
    server.stop();
}
