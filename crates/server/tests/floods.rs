//! A session that floods, and those who are sent to: the first is slowed and refused, the others stay.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write as _;
use std::net::Shutdown;
use std::thread::JoinHandle;

use muster_wire::envelope::Format;
use muster_wire::realtime::envelope::Message;
use serde_json::json;
use support::server::{Server, Setup};
use support::socket::{CLOSE, FINAL, Socket, TEXT, frame};
use support::wait_until;

/// A server whose sessions may send 50 chat messages a second, and 50 at once. It waits for readers for as long as they
/// take.
fn setup() -> Setup {
    Setup::dev()
        .flag("limits.session_chat_per_sec", 50)
        .flag("limits.session_burst_sec", 1)
        .flag("socket.write_wait_ms", 60_000)
}

struct Talker {
    socket: Socket,
    channel: String,
}

impl Talker {
    fn join(server: &Server, device: &str) -> Self {
        let token = server.sign_in(device).session;
        let mut socket = Socket::open(server.address, &token, Format::Json);
        let join = json!({ "cid": "join", "channel_join": { "target": "lobby", "type": 1, "persistence": false } });
        socket.send_message(join.to_string().as_bytes());
        loop {
            if let Some(Message::Channel(channel)) = socket.read_envelope().message {
                return Self { socket, channel: channel.id };
            }
        }
    }

    fn say(&self) -> Vec<u8> {
        let content = json!({ "text": "a".repeat(100) }).to_string();
        let say = json!({ "cid": "7", "channel_message_send": { "channel_id": self.channel, "content": content } });
        say.to_string().into_bytes()
    }
}

/// Sends a message without end, until the connection has ended.
fn flood(mut socket: Socket, message: Vec<u8>) -> JoinHandle<()> {
    let frame = frame(FINAL | TEXT, &message);
    std::thread::spawn(move || while socket.stream.write_all(&frame).is_ok() {})
}

/// Ends the connection of a flooder.
fn end(flooder: Talker, flood: JoinHandle<()>) {
    // The server may have ended it before.
    let _ = flooder.socket.stream.shutdown(Shutdown::Both);
    flood.join().unwrap();
}

#[test]
fn a_victim_that_reads_nothing_meanwhile_survives_the_flood_of_another() {
    let server = setup().start();
    let (mut flooder, mut victim) = (Talker::join(&server, "flooder"), Talker::join(&server, "victim"));
    let say = flooder.say();
    let flood = flood(flooder.socket.writer(), say);
    let error = loop {
        if let Some(Message::Error(error)) = flooder.socket.read_envelope().message {
            break error;
        }
    };
    assert_eq!((error.code, error.context["code"].as_str()), (8, "8"));
    // The receiver has read nothing so far. All of it arrives, and it is still there.
    victim.socket.send_message(br#"{"cid":"still there","ping":{}}"#);
    let mut heard = 0;
    loop {
        let envelope = victim.socket.read_envelope();
        match envelope.message {
            Some(Message::ChannelMessage(_)) => heard += 1,
            Some(Message::Pong(_)) => break,
            _ => {}
        }
    }
    assert!((50..1_000).contains(&heard), "{heard}");
    let metrics = server.metrics();
    assert_eq!(metrics.closed_for("queue_overflow") + metrics.closed_for("slow_reader"), 0.0);
    assert!(metrics.value("message_slowed_count{kind=\"chat\"}") > 0.0);
    assert!(metrics.value("message_limited_count{kind=\"chat\"}") > 0.0);
    end(flooder, flood);
    server.stop();
}

#[test]
fn who_floods_on_is_closed_and_kept_out_if_the_ladder_says_so() {
    let server = setup().flag("limits.ladder", "chat=refuse:600").start();
    let mut flooder = Talker::join(&server, "flooder");
    let say = flooder.say();
    let flood = flood(flooder.socket.writer(), say);
    let close = std::iter::from_fn(|| flooder.socket.read()).find(|frame| frame.opcode == CLOSE).unwrap();
    let (code, text) = close.payload.split_at(2);
    assert_eq!((code, text), (&1_008_u16.to_be_bytes()[..], &b"sends more messages than it may"[..]));
    end(flooder, flood);
    wait_until("the socket is closed", || server.metrics().closed_for("flooding") == 1.0);
    let token = server.sign_in("flooder").session;
    let request = support::socket::handshake(&token, Format::Json);
    let answer = support::http::Response::only(&support::http::exchange(server.address, &request));
    assert_eq!((answer.status, answer.code()), (429, Some(8)));
    assert!(answer.header("retry-after").unwrap().parse::<u32>().unwrap() > 500, "{answer:?}");
    // Others are let in.
    let somebody = server.sign_in("somebody").session;
    Socket::open(server.address, &somebody, Format::Json).ping_pong("1");
    server.stop();
}
