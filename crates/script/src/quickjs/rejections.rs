//! Rejected promises that no code has handled yet: most often those of a forgotten `await`. They are kept until every
//! call that could still await them has ended, and are then told in the log.

use std::cell::RefCell;

use rquickjs::{Ctx, Persistent, Value as JsValue};

/// Limit on the promises that are kept. Further ones are not told.
const KEPT_MAX: usize = 64;

/// The rejected promises of a machine that no code has handled yet.
#[derive(Default)]
pub(super) struct Rejections(RefCell<Vec<Rejection>>);

struct Rejection {
    /// The promise, which is kept so that no other promise takes its address.
    promise: Persistent<JsValue<'static>>,
    reason: Persistent<JsValue<'static>>,
    /// The last number that a call had at the moment of the rejection.
    last_call: u64,
}

impl Rejections {
    /// Keeps a promise that was rejected while nothing awaited it.
    pub(super) fn add<'js>(&self, ctx: &Ctx<'js>, promise: JsValue<'js>, reason: JsValue<'js>, last_call: u64) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT_MAX {
            let [promise, reason] = [promise, reason].map(|value| Persistent::save(ctx, value));
            kept.push(Rejection { promise, reason, last_call });
        }
    }

    /// Forgets a promise, because it is handled.
    pub(super) fn remove<'js>(&self, ctx: &Ctx<'js>, promise: &JsValue<'js>) {
        let is_it = |kept: &Rejection| kept.promise.clone().restore(ctx).is_ok_and(|kept| kept == *promise);
        let position = self.0.borrow().iter().rposition(is_it);
        let removed = position.map(|position| self.0.borrow_mut().remove(position));
        drop(removed);
    }

    /// Takes the reasons of the promises that no call can await any more, given the lowest number of an unfinished
    /// call.
    pub(super) fn take<'js>(&self, ctx: &Ctx<'js>, first_call: Option<u64>) -> Vec<JsValue<'js>> {
        let is_over = |kept: &mut Rejection| first_call.is_none_or(|first| first > kept.last_call);
        let over: Vec<_> = self.0.borrow_mut().extract_if(.., is_over).collect();
        over.into_iter().filter_map(|kept| kept.reason.restore(ctx).ok()).collect()
    }
}
