//! The rim of a live plane of one place: what sessions are sent, and which close.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use muster_api::live::Rim;
use muster_live::plane::Effect;
use muster_live::{CloseReason, Millis, SessionKey};
use serde_json::Value;

/// Carries out effects that concern more than sockets.
pub type Others = Rc<dyn Fn(Effect)>;

/// Keeps what sessions are sent and which close.
#[derive(Default)]
pub struct TestRim {
    /// Frames by session, without their headers.
    pub sent: RefCell<Vec<(SessionKey, Value)>>,
    /// Sessions told to close.
    pub closed: RefCell<Vec<(SessionKey, CloseReason)>>,
    /// Carries out effects that concern more than sockets.
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
                // The length of a frame stands in its second byte, or in the two after that.
                let header_len = if frame[1] < 126 { 2 } else { 4 };
                self.sent.borrow_mut().push((session, serde_json::from_slice(&frame[header_len..]).unwrap()));
            }
            Effect::Close(session, reason) => self.closed.borrow_mut().push((session, reason)),
            Effect::Send(..) | Effect::HandedOver(_) | Effect::Keep(_) | Effect::Recover(_) | Effect::Depart(..) => {
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
