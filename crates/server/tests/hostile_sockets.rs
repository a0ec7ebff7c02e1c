//! Ten thousand malformed requests and frames, together with `hostile`; each class gets its documented answer. This
//! file sends frames over sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use support::frames::{CLASSES, Class, ExpectedEnd};
use support::random::Random;
use support::server::{Server, Setup};
use support::socket::{Frame, Socket};
use support::wait_until;

/// Number of sockets to a server with one shard, and again to one with two. `hostile` sends the other half of ten
/// thousand.
const SOCKETS_PER_RUN: usize = 2_500;
/// Largest number of bytes by which the server's memory may grow after the first few sockets of each class.
const GROWTH_BYTES_MAX: u64 = 16 << 20;
const WARM_UP_PER_CLASS: usize = 10;

const FORMATS: [Format; 2] = [Format::Json, Format::Protobuf];

fn send(server: &Server, token: &str, class: &Class, random: &mut Random) {
    let format = random.pick(&FORMATS);
    let bytes = (class.make)(random, format);
    let mut socket = Socket::open(server.address, token, format);
    socket.send_raw(&bytes);
    match class.end {
        ExpectedEnd::Lost(_) => {
            socket.half_close();
            assert_eq!(socket.read(), None, "{}: {bytes:?}", class.name);
        }
        ExpectedEnd::Close(expected, _) => {
            let (before, code, text) = socket.read_close();
            assert_eq!((before, code), (Vec::new(), expected), "{}: {text}, to {bytes:?}", class.name);
        }
        ExpectedEnd::Error(error, expected, _) => {
            let (before, code, text) = socket.read_close();
            assert_eq!(code, expected, "{}: {text}, to {bytes:?}", class.name);
            assert_eq!(error_codes(&before, format), [error], "{}: {bytes:?}", class.name);
        }
    }
}

fn error_codes(frames: &[Frame], format: Format) -> Vec<i32> {
    let codes = frames.iter().map(|frame| match envelope::decode(&frame.payload, format).unwrap().message {
        Some(Message::Error(error)) => error.code,
        other => panic!("no error: {other:?}"),
    });
    codes.collect()
}

fn reason(class: &Class) -> &'static str {
    let (ExpectedEnd::Close(_, reason) | ExpectedEnd::Error(_, _, reason) | ExpectedEnd::Lost(reason)) = class.end;
    reason
}

fn run(shards: usize) {
    let server = Setup::dev().flag("live.shards", shards).start();
    let token = server.sign_in("hostile").session;
    let mut random = Random::new(100 + shards as u64);
    let mut bystanders = FORMATS.map(|format| Socket::open(server.address, &token, format));
    for class in CLASSES {
        for _ in 0..WARM_UP_PER_CLASS {
            send(&server, &token, class, &mut random);
        }
    }
    let before = server.resident_bytes();
    let per_class = SOCKETS_PER_RUN.div_ceil(CLASSES.len());
    for class in CLASSES {
        let closed_before = server.metrics().closed_for(reason(class));
        for _ in 0..per_class {
            send(&server, &token, class, &mut random);
        }
        assert_eq!(server.get("/healthcheck").status, 200);
        bystanders.iter_mut().for_each(|socket| socket.ping_pong(class.name));
        wait_until("every one is counted under its reason", || {
            server.metrics().closed_for(reason(class)) == closed_before + per_class as f64
        });
    }
    let after = server.resident_bytes();
    assert!(after < before + GROWTH_BYTES_MAX, "grew from {before} to {after} bytes");
    drop(bystanders);
    assert_nothing_left(&server);
    server.stop();
}

/// Checks that every socket is gone, and none because of a defect of the server.
fn assert_nothing_left(server: &Server) {
    wait_until("all connections are closed", || server.metrics().value("connections") == 0.0);
    let metrics = server.metrics();
    assert_eq!(metrics.value("sessions"), 0.0);
    assert_eq!(metrics.value("panic_count"), 0.0);
    assert_eq!(metrics.value("socket_ws_opened"), metrics.value("socket_ws_closed"));
}

#[test]
fn every_class_of_frame_is_answered_by_one_shard() {
    run(1);
}

#[test]
fn every_class_of_frame_is_answered_by_two_shards() {
    run(2);
}

#[test]
fn the_reference_lists_every_class() {
    let page = include_str!("../../../docs/reference/limits.md");
    for class in CLASSES {
        let (end, reason) = match class.end {
            ExpectedEnd::Close(code, reason) => (format!("close {code}"), reason),
            ExpectedEnd::Error(error, code, reason) => (format!("error {error}, then close {code}"), reason),
            ExpectedEnd::Lost(reason) => ("none".to_owned(), reason),
        };
        let row = format!("| {} | {end} | `{reason}` |", class.name);
        assert!(page.contains(&row), "docs/reference/limits.md has no row {row}");
    }
}
