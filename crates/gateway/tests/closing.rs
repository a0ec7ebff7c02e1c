//! What a socket still says once it closes, over a connection in memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::rc::Rc;

use muster_gateway::ws::connection::{Connection, MessageHandler, Scratch, SocketLimits, SocketShared, Traffic};
use muster_gateway::ws::frame::Opcode;
use muster_gateway::ws::handle::SocketHandle;
use muster_live::{CloseReason, KeepAliveConfig, OutboxLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

struct Silent;

impl MessageHandler for Silent {
    fn message(&mut self, _payload: &[u8], _reply: &mut Vec<u8>) -> Result<(), CloseReason> {
        Ok(())
    }

    fn opcode(&self) -> Opcode {
        Opcode::Text
    }
}

struct Uncounted;

impl Traffic for Uncounted {
    fn received(&self, _messages: u64, _bytes: u64) {}
    fn sent(&self, _bytes: u64) {}
    fn panicked(&self) {}
}

/// Runs a socket whose client sends `frames` at once; answers all it was sent, and why the socket closed.
fn run(frames: &[u8]) -> (Vec<u8>, CloseReason) {
    let keep_alive = KeepAliveConfig {
        ping_period_ms: 60_000,
        pong_wait_ms: 60_000,
        ping_backoff_threshold: 1,
        write_wait_ms: 60_000,
    };
    let limits =
        SocketLimits { message_bytes_max: 4_096, backlog_bytes_max: 4_096, close_ack_wait_ms: 60_000, keep_alive };
    let shared = SocketShared {
        scratch: RefCell::new(Scratch::new(limits.message_bytes_max)),
        limits,
        traffic: Uncounted,
        started: Instant::now(),
    };
    let handle = Rc::new(SocketHandle::new(OutboxLimits { bytes_max: 4_096, frames_max: 16 }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(4_096);
        client.write_all(frames).await.unwrap();
        let reason = Connection::new(server, b"", Silent, handle, Rc::new(shared)).await;
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        (received, reason)
    })
}

/// A ping and a close frame with code 1000, as a client masks them.
const PING: [u8; 7] = [0x89, 0x81, 0, 0, 0, 0, b'x'];
const CLOSE: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 3, 232];

#[test]
fn nothing_follows_the_close_frame() {
    let closed = [0x88, 2, 3, 232];
    assert_eq!(
        run(&[&PING[..], &CLOSE].concat()),
        ([&[0x8A, 1, b'x'][..], &closed].concat(), CloseReason::ClientClosed)
    );
    assert_eq!(run(&[&CLOSE[..], &PING].concat()), (closed.to_vec(), CloseReason::ClientClosed));
}
