//! Answers that their clients do not read: they are counted, limited, and given up.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;
use support::http::{self, Response};
use support::server::{Server, Setup};
use support::{DEADLINE, wait_until};

/// Bytes of each object's value.
const VALUE_BYTES: usize = 200_000;
const OBJECTS: usize = 30;
const LISTING: &str = "/v2/storage/things?limit=100";

/// A server, and a player who has saved 6 MB.
fn start(setup: &Setup) -> (Server, String) {
    let server = setup.start();
    let bearer = http::bearer(&server.sign_in("keeper").session);
    let value = json!({ "text": "a".repeat(VALUE_BYTES) }).to_string();
    for number in 0..OBJECTS {
        let key = format!("{number:02}");
        let object = json!({ "collection": "things", "key": key, "value": value, "permission_read": 2 });
        let saved = server.call("PUT", "/v2/storage", &bearer, &json!({ "objects": [object] }));
        assert_eq!(saved.status, 200, "{}", saved.text());
    }
    (server, bearer)
}

/// Asks for a page, on a connection that takes little before it is read.
fn ask(server: &Server, bearer: &str) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(&server.address.into()).unwrap();
    let mut stream: TcpStream = socket.into();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let authorization = format!("Authorization: {bearer}");
    stream.write_all(&http::head("GET", LISTING, &[&authorization])).unwrap();
    stream
}

fn waiting_bytes(server: &Server) -> f64 {
    server.metrics().value("answer_bytes")
}

fn refused(server: &Server, scope: &str) -> f64 {
    server.metrics().value(&format!("answer_refused_count{{scope=\"{scope}\"}}"))
}

#[test]
fn pages_are_limited_by_bytes_and_go_on_at_their_cursor() {
    let (server, bearer) = start(&Setup::dev());
    let (mut keys, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = server.call("GET", &format!("{LISTING}&cursor={cursor}"), &bearer, &json!(null)).json();
        let objects = page["objects"].as_array().unwrap();
        assert!(objects.len() * VALUE_BYTES <= (4 << 20) + VALUE_BYTES, "{}", objects.len());
        keys.extend(objects.iter().map(|object| object["key"].as_str().unwrap().to_owned()));
        pages += 1;
        cursor = page["cursor"].as_str().unwrap_or_default().to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    let all: Vec<_> = (0..OBJECTS).map(|number| format!("{number:02}")).collect();
    assert_eq!((keys, pages), (all, 2));
    server.stop();
}

#[test]
fn who_does_not_read_answers_gets_no_more_of_them_and_others_do() {
    let setup = Setup::dev().flag("limits.answer_bytes_user", 6_000_000).flag("limits.answer_rate_min", 0);
    let (server, bearer) = start(&setup);
    let mut unread = ask(&server, &bearer);
    wait_until("an answer waits", || waiting_bytes(&server) > 4e6);
    let mut second = ask(&server, &bearer);
    let answer = Response::only(&http::read_to_end(&mut second));
    assert_eq!((answer.status, answer.code(), answer.header("retry-after")), (503, Some(14), Some("2")));
    assert_eq!(refused(&server, "user"), 1.0);
    // Small answers are not refused, nor are those to others.
    assert_eq!(server.call("GET", "/v2/account", &bearer, &json!(null)).status, 200);
    let other = http::bearer(&server.sign_in("other").session);
    assert_eq!(server.call("GET", LISTING, &other, &json!(null)).status, 200);
    // An answer that was read counts no more.
    assert_eq!(http::read_response(&mut unread).status, 200);
    wait_until("it is read", || waiting_bytes(&server) == 0.0);
    assert_eq!(http::read_response(&mut ask(&server, &bearer)).status, 200);
    // Who goes away takes the answer along.
    let unread = ask(&server, &bearer);
    wait_until("an answer waits", || waiting_bytes(&server) > 4e6);
    drop(unread);
    wait_until("it is given up", || waiting_bytes(&server) == 0.0);
    server.stop();
}

#[test]
fn all_answers_together_have_a_limit() {
    let setup = Setup::dev().flag("limits.answer_bytes_process", 6_000_000).flag("limits.answer_rate_min", 0);
    let (server, bearer) = start(&setup);
    let _unread = ask(&server, &bearer);
    wait_until("an answer waits", || waiting_bytes(&server) > 4e6);
    let answer = Response::only(&http::read_to_end(&mut ask(&server, &bearer)));
    assert_eq!((answer.status, answer.code()), (503, Some(14)));
    assert_eq!((refused(&server, "user"), refused(&server, "process")), (0.0, 1.0));
    server.stop();
}

#[test]
fn a_connection_that_reads_too_slowly_ends() {
    // The page is due half a second after it was made.
    let setup = Setup::dev().flag("limits.answer_rate_min", u32::MAX).flag("socket.write_timeout_ms", 500);
    let (server, bearer) = start(&setup);
    let mut slow = ask(&server, &bearer);
    wait_until("an answer waits", || waiting_bytes(&server) > 4e6);
    let mut chunk = [0; 512];
    let mut read = 0;
    // A little at a time, so that the server sees progress throughout.
    while waiting_bytes(&server) > 0.0 {
        match slow.read(&mut chunk) {
            Ok(length) => read += length,
            Err(error) => assert!(http::is_end(&error) || http::is_interruption(&error), "{error}"),
        }
    }
    assert!(read < 4_000_000, "{read}");
    assert_eq!(server.metrics().value("answer_too_slow_count"), 1.0);
    server.stop();
}
