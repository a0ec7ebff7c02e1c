//! The live plane of a server with one shard, with open sessions and the frames that they were sent.

#[path = "../../../api/tests/pipeline/rim.rs"]
mod rim;

use std::cell::RefCell;
use std::rc::Rc;

use muster_api::live::{Live, MatchEngines};
use muster_api::realtime::framer::Framer;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_live::plane::{JoinOptions, PlaneConfig};
use muster_live::{CloseReason, Encoding, Place, Plane, Routes, SessionInfo, SessionKey, StreamKey};
use rim::TestRim;
use serde_json::Value;

/// The plane with its sessions.
pub struct Connected {
    pub live: Rc<Live>,
    sockets: Rc<TestRim>,
    /// The engines that were attached last. They are kept here, because the plane holds them weakly.
    engines: RefCell<Option<Rc<dyn MatchEngines>>>,
}

impl Default for Connected {
    fn default() -> Self {
        let sockets = Rc::new(TestRim::default());
        let framer = Framer::new("muster".into(), false);
        let plane = Plane::new(Place::from(0), Routes::alone(1), PlaneConfig::default(), framer);
        let live = Rc::new(Live::new(plane, sockets.clone()));
        live.attach_engines(None);
        Self { live, sockets, engines: RefCell::default() }
    }
}

impl Connected {
    /// Has these engines carry out the orders for match handlers.
    pub fn attach_engines(&self, engines: Rc<dyn MatchEngines>) {
        self.live.attach_engines(Some(Rc::downgrade(&engines)));
        self.engines.replace(Some(engines));
    }

    /// Opens a session of a user with this number, as a socket does.
    pub fn open(&self, user: &str, name: &str, number: u128) -> SessionKey {
        let user: UserId = user.parse().unwrap();
        let session_id = SessionId(Uuid::from_u128(number));
        let info = SessionInfo {
            session_id,
            user_id: user,
            token_id: TokenId(Uuid::nil()),
            issued_at_sec: 0,
            only_session_since: None,
        };
        let key = self.live.step(|plane, _, _| plane.open(info, name.into(), Encoding::Json));
        let hidden = JoinOptions { hidden: true, ..JoinOptions::default() };
        self.live.step(|plane, now, out| {
            plane.join(now, key, StreamKey::notifications(user), hidden, None, out);
            plane.listen(now, key, StreamKey::status(user), None, out);
        });
        key
    }

    /// The frames that a session was sent since the last call.
    pub fn sent(&self, session: SessionKey) -> Vec<Value> {
        while self.live.step(|plane, now, out| plane.run_slice(now, out)) {}
        let mut sent = self.sockets.sent.borrow_mut();
        sent.extract_if(.., |(key, _)| *key == session).map(|(_, value)| value).collect()
    }

    /// The sessions that were told to close.
    pub fn closed(&self) -> Vec<(SessionKey, CloseReason)> {
        self.sockets.closed.take()
    }
}
