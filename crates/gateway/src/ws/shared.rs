//! State that the sockets of one shard share: buffers, limits, counters, and the pause.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use muster_live::{KeepAliveConfig, Millis};
use tokio::time::Instant;

/// Buffers that all sockets of a shard share, one poll at a time.
pub struct Scratch {
    /// Bytes that were read.
    pub(super) input: Vec<u8>,
    /// Frames that answer them.
    pub(super) output: Vec<u8>,
    /// The payload of one reply.
    pub(super) reply: Vec<u8>,
}

impl Scratch {
    /// Buffers that hold a message of `message_bytes_max` with its header.
    pub fn new(message_bytes_max: usize) -> Self {
        const INPUT_BYTES_MIN: usize = 64 * 1024;
        const HEADER_BYTES_MAX: usize = 14;
        let input_len = INPUT_BYTES_MIN.max(message_bytes_max + HEADER_BYTES_MAX);
        Self { input: vec![0; input_len], output: Vec::new(), reply: Vec::new() }
    }
}

/// The limits of a socket, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct SocketLimits {
    /// `socket.max_message_size_bytes`: the longest message that a client may send.
    pub message_bytes_max: usize,
    /// Unread replies beyond which a socket is not read: `socket.outgoing_queue_bytes`.
    pub backlog_bytes_max: usize,
    /// `socket.close_ack_wait_ms`: how long the client's close frame is waited for.
    pub close_ack_wait_ms: Millis,
    /// Timeouts.
    pub keep_alive: KeepAliveConfig,
}

/// Counters of sockets.
pub trait Traffic {
    /// Whole messages and bytes received.
    fn received(&self, messages: u64, bytes: u64);
    /// Bytes sent.
    fn sent(&self, bytes: u64);
    /// A socket is not read for now, because as many of its messages wait for an operation as may.
    fn held(&self);
    /// The sockets of a shard paused.
    fn paused(&self);
    /// A panic was caught.
    fn panicked(&self);
}

/// State that connections of one shard share.
pub struct SocketShared<T> {
    /// See [`Scratch`].
    pub(super) scratch: RefCell<Scratch>,
    /// See [`SocketLimits`].
    pub(super) limits: SocketLimits,
    /// Counters.
    pub(super) traffic: T,
    /// The zero of the sockets' clock.
    pub(super) started: Instant,
    is_paused: Cell<bool>,
    /// Number of pauses so far.
    pauses: Cell<u32>,
    /// Sockets to be polled when the pause ends, each once.
    paused: RefCell<Vec<Waker>>,
}

impl<T: Traffic> SocketShared<T> {
    /// The state for the sockets of a shard that starts now.
    pub fn new(limits: SocketLimits, traffic: T) -> Self {
        Self {
            scratch: RefCell::new(Scratch::new(limits.message_bytes_max)),
            limits,
            traffic,
            started: Instant::now(),
            is_paused: Cell::new(false),
            pauses: Cell::new(0),
            paused: RefCell::default(),
        }
    }

    /// Pauses the sockets: none of them handles a message or reads until [`SocketShared::resume`]. Bytes that were read
    /// already are kept; operations that run go on, pushes leave, and control frames that were read are answered.
    pub fn pause(&self) {
        if !self.is_paused.replace(true) {
            self.pauses.set(self.pauses.get().wrapping_add(1));
            self.traffic.paused();
        }
    }

    /// Ends the pause: every socket goes on where it stopped.
    pub fn resume(&self) {
        self.is_paused.set(false);
        for waker in self.paused.take() {
            waker.wake();
        }
    }

    /// Whether the shard's sockets pause.
    pub fn is_paused(&self) -> bool {
        self.is_paused.get()
    }

    /// Wakes the socket when the pause ends. `known` is the number of the last pause for which the socket asked this.
    pub(super) fn wake_after_pause(&self, known: &mut u32, waker: &Waker) {
        if *known != self.pauses.get() {
            *known = self.pauses.get();
            self.paused.borrow_mut().push(waker.clone());
        }
    }
}
