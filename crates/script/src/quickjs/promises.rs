//! Calls of `async` functions that wait beside each other in one machine, for answers of the host that come as promises
//! (`nk.promises`). All code runs on the machine's one stack, so calls take turns: a call goes on when an answer to it
//! came, or when its promise was settled in another call's turn.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use muster_domain::Result;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Persistent, Promise, Value as JsValue};
use tokio::sync::{Mutex, Notify};

use super::errors::{raised, refusal, set_stack, stack_here};
use super::host::AnswerWriter;
use super::rejections::Rejections;
use crate::host::{Host, line_of};
use crate::machine::fiber::Awaited;
use crate::value::Value;

/// The calls and promises of one machine. Functions that JavaScript holds must refer to this weakly, because it holds
/// values of JavaScript.
#[derive(Default)]
pub(super) struct Promises {
    /// Locked by the call that has the turn.
    pub(super) turn: Mutex<()>,
    /// The number of the call that has the turn, if it may wait beside others.
    current: Cell<Option<u64>>,
    /// The last number given to a call or a promise.
    count: Cell<u64>,
    calls: RefCell<BTreeMap<u64, UnfinishedCall>>,
    /// Promises that wait for an answer of the host, by number.
    unsettled: RefCell<BTreeMap<u64, UnsettledPromise>>,
    /// Answers to promises whose calls have ended; the next turn of any call settles them.
    orphans: RefCell<Vec<PromisedAnswer>>,
    rejections: Rejections,
}

/// A call that has not ended.
#[derive(Default)]
struct UnfinishedCall {
    /// The promise that the call's function returned.
    promise: Option<Persistent<Promise<'static>>>,
    /// Answers to the call's promises; the next turn of the call settles these.
    answered: Vec<PromisedAnswer>,
    news: Rc<Notify>,
}

/// An answer of the host that is to settle a promise.
struct PromisedAnswer {
    /// The promise's number.
    promise: u64,
    result: Result<Value>,
}

/// A promise that an answer of the host will settle.
struct UnsettledPromise {
    /// The functions that resolve and reject the promise.
    settle: [Persistent<Function<'static>>; 2],
    written: AnswerWriter,
    /// The stack of the code that asked the host, for the error if the host refuses.
    stack: Option<String>,
}

/// A call that may wait beside others. Dropping it ends the call.
pub(super) struct ConcurrentCall<'a> {
    promises: &'a Promises,
    number: u64,
    news: Rc<Notify>,
}

impl Promises {
    /// Begins a call.
    pub(super) fn begin(&self) -> ConcurrentCall<'_> {
        let (number, waiting) = (self.number(), UnfinishedCall::default());
        let news = waiting.news.clone();
        self.calls.borrow_mut().insert(number, waiting);
        ConcurrentCall { promises: self, number, news }
    }

    fn number(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    /// Whether the call that has the turn may wait beside others.
    pub(super) fn may_wait(&self) -> bool {
        self.current.get().is_some()
    }

    /// Makes a promise for the call that has the turn. The host's answer will settle the promise.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn expect<'js>(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        host: &Host,
        awaited: Awaited,
        written: AnswerWriter,
    ) -> rquickjs::Result<Promise<'js>> {
        let (promise, resolve, reject) = ctx.promise()?;
        let settle = [resolve, reject].map(|settle| Persistent::save(ctx, settle));
        let (number, call) = (self.number(), self.current.get());
        self.unsettled.borrow_mut().insert(number, UnsettledPromise { settle, written, stack: stack_here(ctx) });
        let (its, current, meter) = (Rc::downgrade(self), host.current.clone(), host.current.meter());
        tokio::task::spawn_local(async move {
            let result = current.during(meter, awaited).await;
            if let Some(promises) = Weak::upgrade(&its) {
                promises.answered(call, PromisedAnswer { promise: number, result });
            }
        });
        Ok(promise)
    }

    fn answered(&self, call: Option<u64>, answered: PromisedAnswer) {
        let mut calls = self.calls.borrow_mut();
        match call.and_then(|call| calls.get_mut(&call)) {
            Some(waiting) => {
                waiting.answered.push(answered);
                waiting.news.notify_one();
            }
            None => {
                self.orphans.borrow_mut().push(answered);
                drop(calls);
                // Other calls may wait for the promise nevertheless.
                self.wake_all();
            }
        }
    }

    /// Settles answered promises: those of the call that has the turn, and those of calls that have ended.
    pub(super) fn settle(&self, ctx: &Ctx<'_>) {
        let its = self
            .current
            .get()
            .and_then(|call| Some(std::mem::take(&mut self.calls.borrow_mut().get_mut(&call)?.answered)));
        let orphans = self.orphans.take();
        for PromisedAnswer { promise, result } in orphans.into_iter().chain(its.into_iter().flatten()) {
            let unsettled = self.unsettled.borrow_mut().remove(&promise);
            let Some(UnsettledPromise { settle: [resolve, reject], written, stack }) = unsettled else { continue };
            let settled = match result {
                Ok(value) => written.write(ctx, value).and_then(|value| resolve.restore(ctx)?.call::<_, ()>((value,))),
                Err(error) => refusal(ctx, &error).and_then(|error| {
                    set_stack(&error, stack)?;
                    reject.restore(ctx)?.call::<_, ()>((error,))
                }),
            };
            if let Err(error) = settled {
                // There was no memory for the answer. A call that waits for the promise fails later, because the
                // promise is never settled.
                let told = raised(ctx, &error).message;
                tracing::warn!(told = line_of(&told), "an answer of the host did not reach its promise");
            }
        }
    }

    /// Takes in that a promise was rejected while nothing awaited it, or that such a promise is handled after all.
    pub(super) fn rejected<'js>(&self, ctx: &Ctx<'js>, promise: JsValue<'js>, reason: JsValue<'js>, is_handled: bool) {
        if is_handled {
            self.rejections.remove(ctx, &promise);
        } else {
            self.rejections.add(ctx, promise, reason, self.count.get());
        }
    }

    /// Takes in that the host handles a promise, because a function returned it.
    pub(super) fn handled<'js>(&self, ctx: &Ctx<'js>, promise: &Promise<'js>) {
        self.rejections.remove(ctx, promise.as_value());
    }

    /// Takes the reasons of the rejected promises that no call handled and none can await any more. The call that has
    /// the turn counts as ended.
    pub(super) fn take_unhandled<'js>(&self, ctx: &Ctx<'js>) -> Vec<JsValue<'js>> {
        let first_call = self.calls.borrow().keys().copied().find(|call| Some(*call) != self.current.get());
        self.rejections.take(ctx, first_call)
    }

    /// Wakes the calls whose promises were settled in another call's turn, or can never be settled.
    pub(super) fn wake(&self, ctx: &Ctx<'_>) {
        let is_over = self.unsettled.borrow().is_empty();
        for waiting in self.calls.borrow().values() {
            let promise = waiting.promise.clone().and_then(|promise| promise.restore(ctx).ok());
            if promise.is_some_and(|promise| is_over || promise.state() != PromiseState::Pending) {
                waiting.news.notify_one();
            }
        }
    }

    /// Wakes all calls, because any of them may be able to go on.
    pub(super) fn wake_all(&self) {
        self.calls.borrow().values().for_each(|waiting| waiting.news.notify_one());
    }

    /// Whether any promise waits for an answer of the host.
    pub(super) fn is_awaited(&self) -> bool {
        !self.unsettled.borrow().is_empty()
    }
}

impl ConcurrentCall<'_> {
    /// Waits until the call may be able to go on.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Keeps the promise that the call's function returned.
    pub(super) fn returned(&self, promise: Persistent<Promise<'static>>) {
        if let Some(waiting) = self.promises.calls.borrow_mut().get_mut(&self.number) {
            waiting.promise = Some(promise);
        }
    }

    /// Takes the promise that the call's function returned.
    pub(super) fn take_returned(&self) -> Option<Persistent<Promise<'static>>> {
        self.promises.calls.borrow_mut().get_mut(&self.number)?.promise.take()
    }

    /// Notes that the call has the turn, or has it no more.
    pub(super) fn has_turn(&self, has_turn: bool) {
        self.promises.current.set(has_turn.then_some(self.number));
    }
}

impl Drop for ConcurrentCall<'_> {
    fn drop(&mut self) {
        let ended = self.promises.calls.borrow_mut().remove(&self.number);
        if self.promises.current.get() == Some(self.number) {
            self.promises.current.set(None);
            // The call was abandoned in its turn. If it could not be ended, the other calls must learn that the machine
            // is lost.
            self.promises.wake_all();
        }
        let answered = ended.map(|waiting| waiting.answered).unwrap_or_default();
        if !answered.is_empty() {
            self.promises.orphans.borrow_mut().extend(answered);
            self.promises.wake_all();
        }
    }
}

/// The error of a call whose promise can never be settled.
pub(super) const UNFULFILLED: &str =
    "The function returned a promise that nothing fulfils: there is nothing here to wait for.";
