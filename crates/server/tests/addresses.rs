//! Limits of client addresses, as clients meet them: with and without a proxy in front of the server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write as _;
use std::net::TcpStream;

use muster_wire::envelope::Format;
use support::http::{self, Response};
use support::server::{Server, Setup};
use support::socket::{Socket, UPGRADE};
use support::wait_until;

const DEVICE: &str = "/v2/account/authenticate/device";
const CARRIER: &str = "203.0.113.1";
const ELSEWHERE: &str = "203.0.113.2";

/// A server behind a proxy, which is the test.
fn behind_proxy() -> Setup {
    Setup::serve().flag("socket.server_key", "a-key").flag("socket.proxy_count", 1)
}

/// A sign-in as a proxy passes it on, on a connection that stays open unless the server closes it.
fn sign_in(server: &Server, address: &str, device: &str) -> (TcpStream, Response) {
    let body = format!(r#"{{"id":"device-of-{device}"}}"#);
    let (forwarded, length) = (format!("X-Forwarded-For: {address}"), format!("Content-Length: {}", body.len()));
    let authorization = format!("Authorization: {}", http::basic("a-key"));
    let mut stream = http::connect(server.address);
    stream.write_all(&http::head("POST", DEVICE, &[&forwarded, &length, &authorization])).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let response = http::read_response(&mut stream);
    (stream, response)
}

fn token(response: &Response) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["token"].as_str().unwrap().to_owned()
}

fn open_request(token: &str, address: &str) -> Vec<u8> {
    let forwarded = format!("X-Forwarded-For: {address}");
    http::head("GET", &format!("/ws?token={token}"), &[&UPGRADE[..], &[&forwarded]].concat())
}

fn open(server: &Server, token: &str, address: &str) -> Socket {
    Socket::open_by(http::connect(server.address), Format::Json, &open_request(token, address))
}

/// The answer to a handshake for which there is one connection too many; the server ends the connection.
fn refused(server: &Server, token: &str, address: &str) -> Response {
    Response::only(&http::exchange(server.address, &open_request(token, address)))
}

/// The answer to a handshake.
fn answer(server: &Server, token: &str, address: &str) -> Response {
    let mut stream = http::connect(server.address);
    stream.write_all(&open_request(token, address)).unwrap();
    http::read_response(&mut stream)
}

fn limited(server: &Server, limit: &str) -> f64 {
    server.metrics().value(&format!("address_limited_count{{limit=\"{limit}\"}}"))
}

#[test]
fn an_address_that_signs_in_too_often_is_told_when_to_come_back_and_loses_its_connection() {
    let setup = behind_proxy().flag("limits.address_burst", 1).flag("limits.address_sign_ins_per_sec", 1);
    let server = setup.start();
    let mut sign_ins = std::iter::repeat_with(|| sign_in(&server, CARRIER, "ann"));
    let (mut stream, response) = sign_ins.find(|(_, response)| response.status != 200).unwrap();
    assert_eq!((response.status, response.code()), (429, Some(8)));
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(http::read_to_end(&mut stream), b"", "the connection ends");
    assert_eq!(sign_in(&server, ELSEWHERE, "bob").1.status, 200);
    assert_eq!(limited(&server, "sign_ins"), 1.0);
    let told = server.wait_for_log("an address takes more than it may, and is refused");
    assert!(told.contains(CARRIER) && told.contains("\"limit\":\"sign_ins\",\"refusals\":1"), "{told}");
    server.stop();
}

#[test]
fn sockets_of_an_address_behind_a_proxy_are_counted_until_they_close() {
    let server = behind_proxy().flag("limits.address_connections", 2).start();
    let token = token(&sign_in(&server, CARRIER, "ann").1);
    let (first, _second) = (open(&server, &token, CARRIER), open(&server, &token, CARRIER));
    let answer = refused(&server, &token, CARRIER);
    assert_eq!((answer.status, answer.code(), answer.header("retry-after")), (429, Some(8), Some("10")));
    assert_eq!(limited(&server, "connections"), 1.0);
    drop(open(&server, &token, ELSEWHERE));
    drop(first);
    wait_until("the others are closed", || server.metrics().value("connections") == 1.0);
    open(&server, &token, CARRIER).ping_pong("1");
    server.stop();
}

#[test]
fn handshakes_and_bad_tokens_of_an_address_are_limited_each_by_itself() {
    let setup = behind_proxy()
        .flag("limits.address_burst", 2)
        .flag("limits.address_bad_credentials_per_sec", 1)
        .flag("limits.address_handshakes_per_sec", 1);
    let server = setup.start();
    let token = token(&sign_in(&server, CARRIER, "ann").1);
    let told = (0..).map(|_| answer(&server, "no.to.ken", CARRIER)).find(|answer| answer.status != 401).unwrap();
    assert_eq!((told.status, told.code(), told.header("retry-after")), (429, Some(8), Some("1")));
    // A good token is not refused for another's bad ones.
    let mut sockets = vec![open(&server, &token, CARRIER)];
    sockets[0].ping_pong("1");
    while limited(&server, "handshakes") == 0.0 {
        let response = answer(&server, &token, CARRIER);
        assert!(matches!(response.status, 101 | 429), "{response:?}");
    }
    sockets.push(open(&server, &token, ELSEWHERE));
    sockets.iter_mut().for_each(|socket| socket.ping_pong("2"));
    server.stop();
}

#[test]
fn connections_of_an_address_are_counted_where_there_is_no_proxy() {
    // The test's own address is not exempt here.
    let setup = Setup::dev().flag("limits.exempt", "203.0.113.0/24").flag("limits.address_connections", 2);
    let server = setup.start();
    let mut first = http::connect(server.address);
    let second = http::connect(server.address);
    wait_until("both are taken in", || server.metrics().value("connections") == 2.0);
    let mut third = http::connect(server.address);
    assert_eq!(http::read_to_end(&mut third), b"", "one too many is closed");
    assert_eq!(limited(&server, "connections"), 1.0);
    // The others go on.
    first.write_all(&http::head("GET", "/healthcheck", &[])).unwrap();
    assert_eq!(http::read_response(&mut first).status, 200);
    drop(second);
    wait_until("it is closed", || server.metrics().value("connections") == 1.0);
    assert_eq!(server.get("/healthcheck").status, 200);
    server.stop();
}
