//! The rim of a live plane of one place: what sessions are sent, and which close.

use std::cell::{Cell, RefCell};

use bytes::Bytes;
use muster_api::live::Rim;
use muster_live::plane::{Message, Recoverable};
use muster_live::{CloseReason, Delivery, Epoch, Millis, Partition, Place, SessionKey};
use serde_json::Value;

/// Keeps what sessions are sent and which close.
#[derive(Default)]
pub struct TestRim {
    /// Frames by session, without their headers.
    pub sent: RefCell<Vec<(SessionKey, Value)>>,
    /// Sessions told to close.
    pub closed: RefCell<Vec<(SessionKey, CloseReason)>>,
    /// The live plane's clock.
    pub now: Cell<Millis>,
}

impl Rim for TestRim {
    fn now(&self) -> Millis {
        1 + self.now.get()
    }

    fn deliver(&self, session: SessionKey, frame: Bytes, _delivery: Delivery) {
        // The length of a frame stands in its second byte, or in the two after that.
        let header_len = if frame[1] < 126 { 2 } else { 4 };
        self.sent.borrow_mut().push((session, serde_json::from_slice(&frame[header_len..]).unwrap()));
    }

    fn hold(&self, _session: SessionKey) {}

    fn close(&self, session: SessionKey, reason: CloseReason) {
        self.closed.borrow_mut().push((session, reason));
    }

    fn send(&self, to: Place, message: Message) {
        panic!("there is one shard: {message:?} for {to:?}");
    }

    fn handed_over(&self, partitions: Vec<(Partition, Epoch)>) {
        panic!("there is one place: {partitions:?}");
    }

    fn keep(&self, recoverable: Vec<Recoverable>) {
        panic!("there is one place: {recoverable:?}");
    }

    fn recover(&self, partitions: Vec<(Partition, Epoch)>) {
        panic!("there is one place: {partitions:?}");
    }

    fn settle(&self, _next_due: Option<Millis>, _is_busy: bool, _is_congested: bool) {}
}
