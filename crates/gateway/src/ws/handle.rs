//! What a shard keeps of a socket: the way to push frames to it and to close it.
//!
//! Used on the shard's own thread only; the socket's task is woken, never waited for.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use bytes::Bytes;
use muster_live::{CloseReason, Outbox, OutboxLimits};

/// The shared side of one socket.
#[derive(Debug)]
pub struct SocketHandle {
    outbox: RefCell<Outbox>,
    close: Cell<Option<CloseReason>>,
    waker: RefCell<Option<Waker>>,
    limits: OutboxLimits,
}

impl SocketHandle {
    /// A socket with nothing to send.
    pub fn new(limits: OutboxLimits) -> Self {
        Self { outbox: RefCell::default(), close: Cell::new(None), waker: RefCell::new(None), limits }
    }

    /// Sends a frame that stands ready for the wire. A session whose queue is full closes: it reads slower than it is
    /// sent to, and dropping what it was promised would be silent loss.
    pub fn push(&self, frame: Bytes) {
        if self.outbox.borrow_mut().push(frame, self.limits).is_err() {
            self.close(CloseReason::QueueOverflow);
            return;
        }
        self.wake();
    }

    /// Closes the socket after what it still has to send; the first reason counts.
    pub fn close(&self, reason: CloseReason) {
        if self.close.get().is_none() {
            self.close.set(Some(reason));
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(super) fn close_requested(&self) -> Option<CloseReason> {
        self.close.get()
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
