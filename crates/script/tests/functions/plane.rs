//! A live plane of one place, as a shard alone has it: sessions that are open, and what they were sent.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use muster_api::live::{Live, Rim};
use muster_api::realtime::framer::Framer;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_live::plane::{JoinOptions, Message, PlaneConfig, Recoverable};
use muster_live::session::Millis;
use muster_live::{
    CloseReason, Delivery, Encoding, Epoch, Partition, Place, Plane, Routes, SessionInfo, SessionKey, StreamKey,
};
use serde_json::Value;

/// Keeps what sessions are sent and which close.
#[derive(Default)]
pub struct Sockets {
    sent: RefCell<Vec<(SessionKey, Value)>>,
    closed: RefCell<Vec<(SessionKey, CloseReason)>>,
}

impl Rim for Sockets {
    fn now(&self) -> Millis {
        1
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
        panic!("there is one place: {message:?} for {to:?}");
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

/// See the module.
pub struct Connected {
    pub live: Rc<Live>,
    sockets: Rc<Sockets>,
}

impl Default for Connected {
    fn default() -> Self {
        let sockets = Rc::new(Sockets::default());
        let framer = Rc::new(Framer { node: "muster".into() });
        let plane = Plane::new(Place::from(0), Routes::alone(1), PlaneConfig::default(), framer);
        Self { live: Rc::new(Live::new(plane, sockets.clone())), sockets }
    }
}

impl Connected {
    /// Opens a session of a user, of this number, as a socket does.
    pub fn open(&self, user: &str, name: &str, number: u128) -> SessionKey {
        let user: UserId = user.parse().unwrap();
        let session_id = SessionId(Uuid::from_u128(number));
        let info = SessionInfo { session_id, user_id: user, token_id: TokenId(Uuid::nil()), issued_at_sec: 0 };
        let key = self.live.step(|plane, _, _| plane.open(info, name.into(), Encoding::Json));
        let hidden = JoinOptions { hidden: true, ..JoinOptions::default() };
        self.live.step(|plane, now, out| {
            plane.join(now, key, StreamKey::notifications(user), hidden, None, out);
            plane.listen(now, key, StreamKey::status(user), None, out);
        });
        key
    }

    /// What a session was sent since it was last looked at.
    pub fn sent(&self, session: SessionKey) -> Vec<Value> {
        while self.live.step(|plane, _, out| plane.run_slice(out)) {}
        let mut sent = self.sockets.sent.borrow_mut();
        sent.extract_if(.., |(key, _)| *key == session).map(|(_, value)| value).collect()
    }

    /// Which sessions were told to close.
    pub fn closed(&self) -> Vec<(SessionKey, CloseReason)> {
        self.sockets.closed.take()
    }
}
