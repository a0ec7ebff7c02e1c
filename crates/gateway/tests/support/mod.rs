//! A socket polled by hand, whose handler does the things that its messages name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future as _;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use muster_api::realtime::{Finished, MessageOutcome, Operation};
use muster_gateway::metrics::GatewayMetrics;
use muster_gateway::ws::connection::Connection;
use muster_gateway::ws::frame::Opcode;
use muster_gateway::ws::handle::{Pushing, SocketHandle};
use muster_gateway::ws::shared::{SocketLimits, SocketShared, Traffic};
use muster_gateway::ws::work::{MessageHandler, Work};
use muster_live::{CloseReason, Delivery, KeepAliveConfig, OutboxLimits};
use muster_wire::Format;
use tokio::io::{AsyncRead as _, AsyncWrite as _, DuplexStream, ReadBuf};
use tokio::sync::oneshot;

pub const OUTBOX_FRAMES_MAX: usize = 16;
/// Time for which the socket is not read after `hold`.
pub const HOLD_MS: u32 = 50;
const PIPE_BYTES: usize = 4_096;

/// Runs a test in a runtime with timers. The timers never fire, because no test lasts that long.
pub fn in_runtime(test: impl FnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { test() });
}

/// Runs a test whose time stands still until the test moves it on.
pub fn in_paused_runtime(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test());
}

/// A text frame as the server sends it.
pub fn frame(text: &str) -> Bytes {
    muster_wire::frame::finished(Format::Json, |out| out.extend_from_slice(text.as_bytes()))
}

/// A text frame as a client sends it, masked with zeros.
pub fn client_frame(text: &str) -> Vec<u8> {
    let mut frame = frame(text).to_vec();
    assert!(frame[1] < 126);
    frame[1] |= 0x80;
    frame.splice(2..2, [0; 4]);
    frame
}

/// The contents of short frames of a server, as texts.
pub fn texts(mut frames: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    while let [first, length, rest @ ..] = frames {
        let (payload, behind) = rest.split_at(usize::from(*length));
        texts.push(match first {
            0x81 => String::from_utf8(payload.to_vec()).unwrap(),
            0x8A => format!("pong {}", str::from_utf8(payload).unwrap()),
            0x88 => {
                let (code, text) = payload.split_first_chunk().unwrap();
                format!("close {} {}", u16::from_be_bytes(*code), str::from_utf8(text).unwrap())
            }
            other => panic!("unexpected frame {other:x}"),
        });
        frames = behind;
    }
    texts
}

#[derive(Clone, Default)]
pub struct Counters {
    pub held: Rc<Cell<u32>>,
    pub pauses: Rc<Cell<u32>>,
    pub panics: Rc<Cell<u32>>,
}

impl Traffic for Counters {
    fn received(&self, _messages: u64, _bytes: u64) {}
    fn sent(&self, _bytes: u64) {}
    fn held(&self) {
        self.held.update(|count| count + 1);
    }
    fn paused(&self) {
        self.pauses.update(|count| count + 1);
    }
    fn panicked(&self) {
        self.panics.update(|count| count + 1);
    }
}

/// The gates of operations that wait, by the name in their message.
type Gates = Rc<RefCell<HashMap<String, oneshot::Sender<()>>>>;

/// A handler that does the thing that a message's first word names, and answers the second word.
pub struct Script {
    handle: Rc<SocketHandle>,
    shared: Rc<SocketShared<Counters>>,
    gates: Gates,
    hold_ms: u32,
}

impl MessageHandler for Script {
    fn message(&mut self, payload: &[u8], reply: &mut Vec<u8>) -> MessageOutcome {
        let text = str::from_utf8(payload).unwrap();
        let (word, name) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "push" => self.handle.push(frame("pushed"), Delivery::Reliable),
            "pause" => self.shared.pause(),
            "hold" => self.hold_ms = HOLD_MS,
            "panic" => {
                self.handle.push(frame("pushed"), Delivery::Reliable);
                panic!("as the message says");
            }
            "ready" => {
                let reply = name.as_bytes().to_vec();
                return MessageOutcome::Later(Box::pin(async { Finished { reply, then: None, rest: None } }));
            }
            "malformed" => return MessageOutcome::Malformed(name.repeat(40)),
            "later" => return MessageOutcome::Later(self.later(name.to_owned())),
            // An operation that answers at once, and then has further work to wait for.
            "rest" => {
                let (reply, rest) = (name.as_bytes().to_vec(), Some(self.later(name.to_owned())));
                return MessageOutcome::Later(Box::pin(async { Finished { reply, then: None, rest } }));
            }
            _ => {}
        }
        reply.extend_from_slice(name.as_bytes());
        MessageOutcome::Done
    }

    fn take_hold_ms(&mut self) -> u32 {
        std::mem::take(&mut self.hold_ms)
    }

    fn opcode(&self) -> Opcode {
        Opcode::Text
    }
}

impl Script {
    fn later(&self, name: String) -> Operation {
        let (gate, opened) = oneshot::channel();
        self.gates.borrow_mut().insert(name.clone(), gate);
        Box::pin(async move {
            opened.await.unwrap();
            assert_ne!(name, "panic");
            let then = (name == "end").then_some(CloseReason::TokenRevoked);
            Finished { reply: name.into_bytes(), then, rest: None }
        })
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A socket and its client.
pub struct Rig {
    pub handle: Rc<SocketHandle>,
    pub shared: Rc<SocketShared<Counters>>,
    pub counters: Counters,
    pub metrics: Arc<GatewayMetrics>,
    /// Number of polls of the socket.
    pub polls: u32,
    connection: Option<Connection<DuplexStream, Script, Counters>>,
    client: Option<DuplexStream>,
    gates: Gates,
    woken: Arc<Woken>,
}

impl Rig {
    pub fn new() -> Self {
        const FOREVER_MS: u64 = 3_600_000;
        let keep_alive = KeepAliveConfig {
            ping_period_ms: FOREVER_MS,
            pong_wait_ms: FOREVER_MS,
            ping_backoff_threshold: 1,
            write_wait_ms: FOREVER_MS,
        };
        let limits = SocketLimits {
            message_bytes_max: 4_096,
            backlog_bytes_max: 4_096,
            close_ack_wait_ms: FOREVER_MS,
            keep_alive,
        };
        let counters = Counters::default();
        let metrics = Arc::new(GatewayMetrics::default());
        let shared = Rc::new(SocketShared::new(limits, counters.clone()));
        let outbox = OutboxLimits { bytes_max: 4_096, frames_max: OUTBOX_FRAMES_MAX };
        let handle = Rc::new(SocketHandle::new(Rc::new(Pushing::new(outbox, metrics.clone()))));
        let gates = Gates::default();
        let script = Script { handle: handle.clone(), shared: shared.clone(), gates: gates.clone(), hold_ms: 0 };
        let (client, server) = tokio::io::duplex(PIPE_BYTES);
        let connection = Connection::new(server, b"", Work::new(script), handle.clone(), shared.clone());
        let woken = Arc::new(Woken::default());
        woken.0.store(true, Ordering::Relaxed);
        Self {
            handle,
            shared,
            counters,
            metrics,
            polls: 0,
            connection: Some(connection),
            client: Some(client),
            gates,
            woken,
        }
    }

    pub fn poll(&mut self) -> Option<CloseReason> {
        self.polls += 1;
        self.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(self.woken.clone());
        match Pin::new(self.connection.as_mut().unwrap()).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(reason) => Some(reason),
            Poll::Pending => None,
        }
    }

    /// Polls the socket until nothing wakes it. Answers the reason if the socket closed.
    pub fn run(&mut self) -> Option<CloseReason> {
        while self.woken.0.load(Ordering::Relaxed) {
            if let Some(reason) = self.poll() {
                return Some(reason);
            }
        }
        None
    }

    /// The reply of the operation that was running when the socket closed.
    pub fn finish(&mut self) -> Option<String> {
        let mut operation = self.connection.take().unwrap().into_work().into_operation()?;
        match operation.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(finished) => Some(String::from_utf8(finished.reply).unwrap()),
            Poll::Pending => panic!("the operation still waits"),
        }
    }

    pub fn release(&self, name: &str) {
        self.gates.borrow_mut().remove(name).unwrap().send(()).unwrap();
    }

    /// Sends bytes, which must all fit into the connection.
    pub fn send(&mut self, bytes: &[u8]) {
        assert_eq!(self.write(bytes), bytes.len());
    }

    pub fn send_texts<const COUNT: usize>(&mut self, texts: [&str; COUNT]) {
        self.send(&texts.map(client_frame).concat());
    }

    /// Sends until the socket takes no more. Answers the number of bytes sent.
    pub fn send_what_fits(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        loop {
            let written = self.write(&bytes[sent..]);
            sent += written;
            assert_eq!(self.run(), None);
            if written == 0 {
                return sent;
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        if bytes.is_empty() {
            return 0;
        }
        let client = Pin::new(self.client.as_mut().unwrap());
        match client.poll_write(&mut Context::from_waker(Waker::noop()), bytes) {
            Poll::Ready(written) => written.unwrap(),
            Poll::Pending => 0,
        }
    }

    /// The bytes that the client has received and not read yet.
    pub fn received(&mut self) -> Vec<u8> {
        let mut received = Vec::new();
        let mut room = [0; PIPE_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut room);
            let client = Pin::new(self.client.as_mut().unwrap());
            let polled = client.poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer);
            if polled.is_pending() || buffer.filled().is_empty() {
                return received;
            }
            received.extend_from_slice(buffer.filled());
        }
    }

    pub fn cut(&mut self) {
        self.client = None;
    }
}
