//! The rim of a live plane with one place: it keeps the messages that sessions are sent, and the sessions that close.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use muster_api::live::Rim;
use muster_live::plane::Effect;
use muster_live::{CloseReason, Millis, SessionKey};
use serde_json::Value;

/// A function that carries out effects that concern more than sockets.
pub type Others = Rc<dyn Fn(Effect)>;

/// Keeps the messages that sessions are sent, and the sessions that close.
#[derive(Default)]
pub struct TestRim {
    /// Frames by session, without their headers.
    pub sent: RefCell<Vec<(SessionKey, Value)>>,
    /// Sessions that were told to close.
    pub closed: RefCell<Vec<(SessionKey, CloseReason)>>,
    /// Carries out effects that concern more than sockets, if it is set.
    pub others: RefCell<Option<Others>>,
    /// The live plane's clock.
    pub now: Cell<Millis>,
}

impl Rim for TestRim {
    fn now(&self) -> Millis {
        1 + self.now.get()
    }

    fn hold(&self, _session: SessionKey) {}

    fn carry_out(&self, effect: Effect) {
        match effect {
            Effect::Deliver(session, frame, _) => {
                // The second byte of a frame is its length, or says that the length is in the next two bytes.
                let header_len = if frame[1] < 126 { 2 } else { 4 };
                self.sent.borrow_mut().push((session, serde_json::from_slice(&frame[header_len..]).unwrap()));
            }
            Effect::Close(session, reason) => self.closed.borrow_mut().push((session, reason)),
            Effect::Send(..)
            | Effect::HandedOver(_)
            | Effect::Keep(_)
            | Effect::Recover(_)
            | Effect::Recall(_)
            | Effect::Depart(..) => {
                panic!("there is one shard: {effect:?}");
            }
            effect => {
                let others = self.others.borrow().clone();
                if let Some(others) = others {
                    others(effect);
                }
            }
        }
    }

    fn settle(&self, _next_due: Option<Millis>, _is_busy: bool, _is_congested: bool) {}
}
