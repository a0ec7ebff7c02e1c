//! Tests of the promises of sockets: order, patience with slow readers, an end to dead connections, and proper closing
//! from both sides.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use support::server::{Server, Setup};
use support::socket::{
    BINARY, CLOSE, CONTINUATION, FINAL, Frame, PING, PONG, Socket, TEXT, frame, message_opcode, ping,
};
use support::{DEADLINE, http, wait_until};

const FORMATS: [Format; 2] = [Format::Json, Format::Protobuf];
const BURST: usize = 5_000;

/// A server whose clients may send as many pings as they like.
fn unlimited() -> Setup {
    Setup::dev().flag("limits.session_pings_per_sec", 0)
}

/// A frame with an application ping that has this cid.
fn ping_frame(format: Format, cid: &str) -> Vec<u8> {
    frame(FINAL | message_opcode(format), &envelope::encode(&ping(cid), format))
}

fn wait_for_reason(server: &Server, reason: &str, count: usize) {
    wait_until(reason, || server.metrics().closed_for(reason) == count as f64);
    assert!(server.wait_for_log(&format!("\"reason\":\"{reason}\"")).contains("socket closed"));
}

#[test]
fn a_burst_sent_before_the_first_read_is_answered_whole_and_in_order() {
    let server = unlimited().start();
    let token = server.sign_in("burst").session;
    for format in FORMATS {
        let mut socket = Socket::open(server.address, &token, format);
        let burst: Vec<u8> = (0..BURST).flat_map(|number| ping_frame(format, &number.to_string())).collect();
        socket.send_raw(&burst);
        for number in 0..BURST {
            let reply = socket.read_envelope();
            assert_eq!(reply.cid, number.to_string());
            assert!(matches!(reply.message, Some(Message::Pong(_))), "{reply:?}");
        }
    }
    server.stop();
}

#[test]
fn a_flood_of_control_frames_is_answered_whole_and_in_order() {
    let server = Setup::dev().start();
    let token = server.sign_in("flood").session;
    let mut socket = Socket::open(server.address, &token, Format::Json);
    let payload = |number: usize| format!("payload {number}").into_bytes();
    let flood: Vec<u8> = (0..BURST).flat_map(|number| frame(FINAL | PING, &payload(number))).collect();
    socket.send_raw(&flood);
    for number in 0..BURST {
        assert_eq!(socket.read(), Some(Frame { opcode: PONG, payload: payload(number) }));
    }
    socket.ping_pong("after");
    server.stop();
}

#[test]
fn fragments_may_have_control_frames_between_them() {
    let server = Setup::dev().start();
    let token = server.sign_in("fragments").session;
    for (format, first) in [(Format::Json, TEXT), (Format::Protobuf, BINARY)] {
        let mut socket = Socket::open(server.address, &token, format);
        let message = envelope::encode(&ping("whole"), format);
        socket.send_raw(&frame(first, &message[..2]));
        socket.send(PING, b"between");
        socket.send_raw(&frame(CONTINUATION, &[]));
        socket.send(PONG, b"unasked");
        socket.send_raw(&frame(CONTINUATION, &message[2..3]));
        socket.send_raw(&frame(FINAL | CONTINUATION, &message[3..]));
        assert_eq!(socket.read(), Some(Frame { opcode: PONG, payload: b"between".to_vec() }));
        assert_eq!(socket.read_envelope().cid, "whole");
        socket.ping_pong("after");
    }
    server.stop();
}

#[test]
fn frames_may_come_in_any_pieces_even_with_the_handshake() {
    let server = Setup::dev().start();
    let token = server.sign_in("pieces").session;
    for format in FORMATS {
        let early = ping_frame(format, "early");
        let mut socket = Socket::open_with(http::connect(server.address), &token, format, &early);
        assert_eq!(socket.read_envelope().cid, "early");
        let (half, rest) = early.split_at(early.len() / 2);
        let mut socket = Socket::open_with(http::connect(server.address), &token, format, half);
        socket.send_raw(rest);
        assert_eq!(socket.read_envelope().cid, "early");
        for byte in ping_frame(format, "bytes") {
            socket.send_raw(&[byte]);
        }
        assert_eq!(socket.read_envelope().cid, "bytes");
    }
    server.stop();
}

#[test]
fn closing_takes_both_sides() {
    let server = Setup::dev().flag("socket.close_ack_wait_ms", 300).start();
    let token = server.sign_in("closing").session;
    let open = || Socket::open(server.address, &token, Format::Json);
    // The client's close code comes back, and frames behind its close frame are ignored.
    for (payload, code) in [(&[0x0b, 0xb8, b'b', b'y', b'e'][..], 3_000), (&[], 1_000)] {
        let mut socket = open();
        socket.send(CLOSE, payload);
        socket.send_raw(&ping_frame(Format::Json, "late"));
        let (before, answered, _) = socket.read_close();
        assert_eq!((before, answered), (Vec::new(), code));
    }
    wait_for_reason(&server, "client_closed", 2);
    // A client that never answers the server's close frame is cut off.
    let mut socket = open();
    socket.send(BINARY, b"wrong");
    assert_eq!(socket.read().unwrap().opcode, CLOSE);
    assert_eq!(socket.read(), None);
    wait_for_reason(&server, "wrong_frame_type", 1);
    // A client that has closed its sending side still gets its answers.
    let mut socket = open();
    socket.send_raw(&ping_frame(Format::Json, "last").repeat(3));
    socket.half_close();
    for _ in 0..3 {
        assert_eq!(socket.read_envelope().cid, "last");
    }
    assert_eq!(socket.read(), None);
    wait_for_reason(&server, "connection_lost", 1);
    server.stop();
}

#[test]
fn a_client_that_is_gone_is_noticed_and_one_that_answers_stays() {
    let setup = Setup::dev().flag("socket.ping_period_ms", 700).flag("socket.pong_wait_ms", 10_000);
    let server = setup.start();
    let token = server.sign_in("keep-alive").session;
    let mut gone = Socket::open(server.address, &token, Format::Json);
    let mut here = Socket::open(server.address, &token, Format::Protobuf);
    for _ in 0..15 {
        assert_eq!(here.read(), Some(Frame { opcode: PING, payload: Vec::new() }));
        here.send(PONG, b"");
    }
    // By now the client was silent for longer than allowed.
    let (pings, code, text) = gone.read_close();
    assert!(!pings.is_empty() && pings.iter().all(|frame| frame.opcode == PING), "{pings:?}");
    assert_eq!((code, text.as_str()), (1008, "nothing received within socket.pong_wait_ms"));
    wait_for_reason(&server, "pong_timeout", 1);
    here.send(PONG, b"");
    server.stop();
}

const QUEUE_BYTES: u64 = 65_536;
/// Limit of the memory of a client besides its queue: the replies to one read, and its own state.
const BESIDE_QUEUE_BYTES: u64 = 512 * 1024;

/// Sends pings and reads nothing, until the connection ends or `is_over` is set. Sets `is_full` once nothing more fits.
fn stuff(socket: &mut Socket, is_full: &AtomicBool, is_over: &AtomicBool) {
    socket.stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    let pings = ping_frame(socket.format, "unread").repeat(500);
    let (mut sent, started) = (0, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        assert!(started.elapsed() < DEADLINE, "neither ended nor told to stop");
        match socket.stream.write(&pings[sent..]) {
            Ok(length) => sent = (sent + length) % pings.len(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => is_full.store(true, Ordering::Relaxed),
            Err(error) if http::is_end(&error) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_client_that_never_reads_is_closed_and_costs_no_more_than_stated() {
    const CLIENTS: usize = 20;
    let server = unlimited()
        .flag("socket.write_wait_ms", 1_000)
        .flag("socket.close_ack_wait_ms", 200)
        .flag("socket.outgoing_queue_bytes", QUEUE_BYTES)
        .start();
    let token = server.sign_in("never-reads").session;
    let mut bystander = Socket::open(server.address, &token, Format::Json);
    let sockets: Vec<_> = (0..CLIENTS).map(|_| Socket::open(server.address, &token, Format::Json)).collect();
    let before = server.resident_bytes();
    let mut peak = before;
    std::thread::scope(|scope| {
        for mut socket in sockets {
            scope.spawn(move || stuff(&mut socket, &AtomicBool::new(false), &AtomicBool::new(false)));
        }
        wait_until("all of them are closed", || {
            bystander.ping_pong("meanwhile");
            peak = peak.max(server.resident_bytes());
            server.metrics().closed_for("slow_reader") == CLIENTS as f64
        });
    });
    let allowed = CLIENTS as u64 * (QUEUE_BYTES + BESIDE_QUEUE_BYTES);
    assert!(peak < before + allowed, "grew from {before} to {peak} bytes");
    wait_for_reason(&server, "slow_reader", CLIENTS);
    server.stop();
}

#[test]
fn a_client_that_crawls_is_not_closed() {
    const WRITE_WAIT: Duration = Duration::from_secs(10);
    /// Number of frames that the slow reader takes at a time. Between two ends on one machine, TCP announces no window
    /// below 64 KiB, so the groups must be large.
    const FRAMES_AT_ONCE: usize = 250;
    let server = unlimited().flag("socket.write_wait_ms", WRITE_WAIT.as_millis()).start();
    let token = server.sign_in("crawls").session;
    let mut socket = Socket::open(server.address, &token, Format::Json);
    let mut writer = socket.writer();
    let (is_full, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| stuff(&mut writer, &is_full, &is_over));
        wait_until("the server reads no more", || is_full.load(Ordering::Relaxed));
        let crawling_until = Instant::now() + WRITE_WAIT + WRITE_WAIT / 4;
        while Instant::now() < crawling_until {
            // The client is slow by design: it reads some frames, then nothing for a while.
            std::thread::park_timeout(Duration::from_millis(40));
            for _ in 0..FRAMES_AT_ONCE {
                assert_eq!(socket.read_envelope().cid, "unread");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.metrics().closed_for("slow_reader"), 0.0);
    server.stop();
}
