//! The call of game code that a shard runs now: what it has used of the host, and whose callbacks wait for it.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;

use muster_live::matches::Chain;

/// What the host keeps of one call.
#[derive(Debug, Default)]
pub struct Meter {
    /// The matches whose callbacks wait for what the call asks, its own among them.
    chain: Chain,
}

impl Meter {
    /// Of a call for which these wait.
    pub(crate) fn new(chain: Chain) -> Rc<Self> {
        Rc::new(Self { chain })
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Current(RefCell<Rc<Meter>>);

impl Current {
    /// Runs a call. Whenever it has its turn it is the current one.
    pub(crate) async fn during<T>(&self, meter: Rc<Meter>, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            let before = self.0.replace(meter.clone());
            let polled = call.as_mut().poll(context);
            self.0.replace(before);
            polled
        })
        .await
    }

    /// The matches whose callbacks wait for what game code asks now.
    pub(crate) fn chain(&self) -> Chain {
        self.0.borrow().chain.clone()
    }
}
