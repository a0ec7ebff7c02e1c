//! The handle of a socket, by which its shard pushes frames to it and closes it.
//!
//! Handles are used on the shard's own thread only; the socket's task is woken, never waited for.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use muster_live::{CloseReason, Delivery, Discarded, Outbox, OutboxLimits, RingLimits};

use super::frame::{self, CLOSE_TEXT_BYTES_MAX, Opcode};
use super::resume::Resumption;
use crate::metrics::GatewayMetrics;

/// State that the handles of a shard's sockets share.
#[derive(Debug)]
pub struct Pushing {
    limits: OutboxLimits,
    metrics: Arc<GatewayMetrics>,
    /// Frames that the handler of a message pushed to its own socket, until the handler returns.
    own: RefCell<Vec<(Bytes, Delivery)>>,
}

impl Pushing {
    /// Queues with these limits, whose losses are counted in `metrics`.
    pub fn new(limits: OutboxLimits, metrics: Arc<GatewayMetrics>) -> Self {
        Self { limits, metrics, own: RefCell::default() }
    }
}

/// Frames in order, held back behind the answer of an operation.
type HeldFrames = Vec<(Bytes, Delivery)>;

/// The shared side of one socket, or of one session and its sockets, one after the other.
pub struct SocketHandle {
    outbox: RefCell<Outbox>,
    close: Cell<Option<CloseReason>>,
    /// More about the reason for which the socket closes, for the game's programmer.
    close_detail: RefCell<Option<Box<str>>>,
    /// Whether a message of this socket is being handled.
    is_handling: Cell<bool>,
    /// Frames that were pushed since the running operation's answer was decided; made for the first of them.
    held: RefCell<Option<Box<HeldFrames>>>,
    waker: RefCell<Option<Waker>>,
    shared: Rc<Pushing>,
    /// Set for a session that may change its socket.
    resumption: Option<Box<Resumption>>,
}

impl SocketHandle {
    /// A socket with nothing to send.
    pub fn new(shared: Rc<Pushing>) -> Self {
        Self::with(shared, Outbox::default(), None)
    }

    /// A session that may change its socket, with nothing to send.
    pub(super) fn resumable(shared: Rc<Pushing>, limits: RingLimits, resumption: Resumption) -> Self {
        let outbox = Outbox::retaining(limits, shared.limits);
        Self::with(shared, outbox, Some(Box::new(resumption)))
    }

    fn with(shared: Rc<Pushing>, outbox: Outbox, resumption: Option<Box<Resumption>>) -> Self {
        Self {
            outbox: RefCell::new(outbox),
            close: Cell::new(None),
            close_detail: RefCell::new(None),
            is_handling: Cell::new(false),
            held: RefCell::new(None),
            waker: RefCell::new(None),
            shared,
            resumption,
        }
    }

    /// Sends a frame that is ready for the wire. A session closes if its queue cannot take a frame that was promised:
    /// its client reads too slowly, and leaving the frame out would be silent loss.
    pub fn push(&self, frame: Bytes, delivery: Delivery) {
        // Nothing follows a close frame.
        if self.close.get().is_some() {
            return;
        }
        if self.is_handling.get() {
            self.shared.own.borrow_mut().push((frame, delivery));
            return;
        }
        if let Some(held) = &mut *self.held.borrow_mut() {
            held.push((frame, delivery));
            return;
        }
        // A socket with frames waiting is woken already, or blocked.
        if self.enqueue(frame, delivery) {
            self.wake();
        }
    }

    /// Holds frames that are pushed from here on behind the answer of the running operation, which is decided: a
    /// session that joins something learns who is there before it hears who comes and goes.
    pub fn hold(&self) {
        self.held.borrow_mut().get_or_insert_default();
        self.wake();
    }

    /// Closes the socket after what it still has to send; the first reason counts.
    pub fn close(&self, reason: CloseReason) {
        self.note_close(reason);
        self.wake();
    }

    /// Frames that this socket was not sent.
    pub fn discarded(&self) -> Discarded {
        self.outbox.borrow().discarded()
    }

    /// Queues a frame. Answers whether the queue was empty before.
    fn enqueue(&self, frame: Bytes, delivery: Delivery) -> bool {
        let mut outbox = self.outbox.borrow_mut();
        let was_empty = outbox.is_empty();
        match outbox.push(frame, delivery, self.shared.limits) {
            Ok(discarded) => {
                if discarded != Discarded::default() {
                    self.shared.metrics.frames_discarded(discarded);
                }
                was_empty
            }
            Err(_) => {
                self.note_close(CloseReason::QueueOverflow);
                true
            }
        }
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Notes that the socket closes: it takes nothing more from here on.
    pub(super) fn note_close(&self, reason: CloseReason) {
        if self.close.get().is_none() {
            self.close.set(Some(reason));
        }
    }

    /// Says more about the reason for which the socket is going to close. The text is cut to the length that a close
    /// frame holds.
    pub(super) fn explain_close(&self, detail: &str) {
        let end = detail.floor_char_boundary(CLOSE_TEXT_BYTES_MAX);
        self.close_detail.replace(Some(detail[..end].into()));
    }

    /// Words on the reason beyond its own text.
    pub(super) fn close_detail(&self) -> Option<Box<str>> {
        self.close_detail.borrow().clone()
    }

    pub(super) fn close_requested(&self) -> Option<CloseReason> {
        self.close.get()
    }

    /// Runs the handler of a message of this socket. Frames that it pushes to its own socket wait for
    /// [`SocketHandle::release_own`]. `None` if the handler panicked; its frames are dropped then.
    pub(super) fn handling<R>(&self, handle: impl FnOnce() -> R) -> Option<R> {
        self.is_handling.set(true);
        // The state that a panic leaves behind is not used again: the session closes.
        let outcome = catch_unwind(AssertUnwindSafe(handle)).ok();
        self.is_handling.set(false);
        if outcome.is_none() {
            self.shared.own.borrow_mut().clear();
        }
        outcome
    }

    /// Moves frames that a handler pushed to its own socket, or that were held, behind `replies`, the last of which is
    /// the handler's own answer: a session that joins something learns that it is in before it hears who is. `replies`
    /// are moved to the queue for that.
    pub(super) fn release_own(&self, replies: &mut Vec<u8>) {
        let held = self.held.take().map(|held| *held).unwrap_or_default();
        if held.is_empty() && self.shared.own.borrow().is_empty() {
            return;
        }
        self.queue_replies(replies);
        replies.clear();
        for (frame, delivery) in held.into_iter().chain(self.shared.own.borrow_mut().drain(..)) {
            // The socket is not woken: it writes once it has handled what it read.
            self.enqueue(frame, delivery);
        }
    }

    /// Queues the frames that were held, though their answer has not come: a close frame follows.
    pub(super) fn release_held(&self) {
        for (frame, delivery) in self.held.take().map(|held| *held).unwrap_or_default() {
            self.enqueue(frame, delivery);
        }
    }

    /// Queues whole frames, or the rest of them.
    pub(super) fn queue_replies(&self, replies: &[u8]) {
        let mut outbox = self.outbox.borrow_mut();
        if !outbox.is_retaining() {
            outbox.push_unbounded(Bytes::copy_from_slice(replies));
            return;
        }
        let mut rest = replies;
        while let Some(length) = frame::server_frame_len(rest) {
            let (frame, behind) = rest.split_at(length);
            if frame::is_control(frame) {
                outbox.push_for_socket(Bytes::copy_from_slice(frame));
            } else {
                outbox.push_unbounded(Bytes::copy_from_slice(frame));
            }
            rest = behind;
        }
    }

    pub(super) fn resumption(&self) -> Option<&Resumption> {
        self.resumption.as_deref()
    }

    /// Whether another socket came for the session, or is to come to another node.
    pub(super) fn is_taken_over(&self) -> bool {
        let resumption = self.resumption.as_ref();
        resumption.is_some_and(|resumption| resumption.is_sent_away.get() || resumption.offer.borrow().is_some())
    }

    /// Counts a message of the client.
    pub(super) fn note_arrived(&self) {
        if let Some(resumption) = &self.resumption {
            resumption.arrived.update(|arrived| arrived + 1);
        }
    }

    /// Asks the client whether it lives. Its pong also tells how much it has received.
    pub(super) fn push_ping(&self) {
        let mut outbox = self.outbox.borrow_mut();
        let ping = ping(outbox.sent());
        outbox.push_for_socket(ping);
    }

    /// Asks the client how much it has received, if so much is kept for it that the question is due. Answers whether
    /// the question was due.
    pub(super) fn push_question(&self) -> bool {
        if self.resumption.is_none() {
            return false;
        }
        let mut outbox = self.outbox.borrow_mut();
        let Some(sent) = outbox.question() else { return false };
        outbox.push_for_socket(ping(Some(sent)));
        true
    }

    /// Takes a pong. It repeats the number in the ping that it answers: how many messages were sent before that.
    pub(super) fn note_pong(&self, payload: &[u8]) {
        if self.resumption.is_some()
            && let Ok(received) = <[u8; 8]>::try_from(payload)
        {
            self.outbox.borrow_mut().acknowledge(u64::from_be_bytes(received));
        }
    }

    pub(super) fn outbox(&self) -> &RefCell<Outbox> {
        &self.outbox
    }

    pub(super) fn watch(&self, waker: &Waker) {
        let mut watched = self.waker.borrow_mut();
        if !watched.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *watched = Some(waker.clone());
        }
    }
}

/// A ping that says how many messages were sent before it.
fn ping(sent: Option<u64>) -> Bytes {
    let mut frame = Vec::new();
    let payload = sent.map(u64::to_be_bytes);
    frame::write_frame(Opcode::Ping, payload.as_ref().map_or(&[], <[u8; 8]>::as_slice), &mut frame);
    Bytes::from(frame)
}
