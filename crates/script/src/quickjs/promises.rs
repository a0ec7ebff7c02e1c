//! Calls of one machine that wait beside each other: functions that are `async`, for answers of the host that came as promises
//! (`nk.promises`). Code runs on the machine's one stack all the same, so calls take turns: one goes on when an answer to it
//! came, or when a promise that it waits for was settled in another's turn.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use muster_domain::Result;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Persistent, Promise};
use tokio::sync::{Mutex, Notify};

use super::errors::{raised, refusal};
use super::host::write;
use super::surface::Answer;
use crate::host::{Host, line_of};
use crate::machine::fiber::Awaited;
use crate::value::Value;

/// Of one machine. What JavaScript holds must hold it weakly: it holds values of JavaScript.
#[derive(Default)]
pub(super) struct Promises {
    /// Held by the call that has its turn.
    pub(super) turn: Mutex<()>,
    /// Which call that is, if it may wait beside others.
    current: Cell<Option<u64>>,
    /// How many calls and promises there were.
    count: Cell<u64>,
    calls: RefCell<BTreeMap<u64, Waiting>>,
    /// Promises that answers of the host are to settle.
    open: RefCell<BTreeMap<u64, Open>>,
    /// Of promises whose calls have ended: settled in the next turn of any.
    left: RefCell<Vec<Answered>>,
}

/// A call that has not ended.
#[derive(Default)]
struct Waiting {
    /// What it returned, if it has.
    promise: Option<Persistent<Promise<'static>>>,
    answered: Vec<Answered>,
    news: Rc<Notify>,
}

/// The number of a promise, and what the host answered.
type Answered = (u64, Result<Value>);

/// A promise that the host has made.
struct Open {
    settle: [Persistent<Function<'static>>; 2],
    answer: &'static Answer,
}

/// A call that may wait beside others, until this is dropped.
pub(super) struct Call<'a> {
    promises: &'a Promises,
    number: u64,
    news: Rc<Notify>,
}

impl Promises {
    /// A call begins.
    pub(super) fn begin(&self) -> Call<'_> {
        let (number, waiting) = (self.number(), Waiting::default());
        let news = waiting.news.clone();
        self.calls.borrow_mut().insert(number, waiting);
        Call { promises: self, number, news }
    }

    fn number(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    /// Whether the call that has its turn may wait beside others.
    pub(super) fn may_wait(&self) -> bool {
        self.current.get().is_some()
    }

    /// A promise that the host's answer settles, to the call that has its turn.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn expect<'js>(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        host: &Host,
        awaited: Awaited,
        answer: &'static Answer,
    ) -> rquickjs::Result<Promise<'js>> {
        let (promise, resolve, reject) = ctx.promise()?;
        let settle = [resolve, reject].map(|settle| Persistent::save(ctx, settle));
        let (number, call) = (self.number(), self.current.get());
        self.open.borrow_mut().insert(number, Open { settle, answer });
        let (its, current, meter) = (Rc::downgrade(self), host.current.clone(), host.current.meter());
        tokio::task::spawn_local(async move {
            let result = current.during(meter, awaited).await;
            if let Some(promises) = Weak::upgrade(&its) {
                promises.answered(call, (number, result));
            }
        });
        Ok(promise)
    }

    fn answered(&self, call: Option<u64>, answered: Answered) {
        let mut calls = self.calls.borrow_mut();
        match call.and_then(|call| calls.get_mut(&call)) {
            Some(waiting) => {
                waiting.answered.push(answered);
                waiting.news.notify_one();
            }
            None => {
                self.left.borrow_mut().push(answered);
                drop(calls);
                // Others may wait for it nevertheless.
                self.wake_all();
            }
        }
    }

    /// Settles promises of the call that has its turn, and of calls that have ended.
    pub(super) fn settle(&self, ctx: &Ctx<'_>) {
        let its = self
            .current
            .get()
            .and_then(|call| Some(std::mem::take(&mut self.calls.borrow_mut().get_mut(&call)?.answered)));
        let left = self.left.take();
        for (number, result) in left.into_iter().chain(its.into_iter().flatten()) {
            let open = self.open.borrow_mut().remove(&number);
            let Some(Open { settle: [resolve, reject], answer }) = open else { continue };
            let settled = match result {
                Ok(value) => write(ctx, answer, value).and_then(|value| resolve.restore(ctx)?.call::<_, ()>((value,))),
                Err(error) => refusal(ctx, &error).and_then(|error| reject.restore(ctx)?.call::<_, ()>((error,))),
            };
            if let Err(error) = settled {
                // There was no memory for the answer: whoever waits for it is told below that nothing comes.
                let told = raised(ctx, &error).message;
                tracing::warn!(told = line_of(&told), "an answer of the host did not reach its promise");
            }
        }
    }

    /// Wakes the calls whose promises were settled in another's turn, or never will be.
    pub(super) fn wake(&self, ctx: &Ctx<'_>) {
        let is_over = self.open.borrow().is_empty();
        for waiting in self.calls.borrow().values() {
            let promise = waiting.promise.clone().and_then(|promise| promise.restore(ctx).ok());
            if promise.is_some_and(|promise| is_over || promise.state() != PromiseState::Pending) {
                waiting.news.notify_one();
            }
        }
    }

    /// Wakes all calls: there is something to go on with, of whomever.
    pub(super) fn wake_all(&self) {
        self.calls.borrow().values().for_each(|waiting| waiting.news.notify_one());
    }

    /// Whether an answer of the host is awaited.
    pub(super) fn is_awaited(&self) -> bool {
        !self.open.borrow().is_empty()
    }
}

impl Call<'_> {
    /// Waits until there is something to go on with.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// What it returned.
    pub(super) fn returned(&self, promise: Persistent<Promise<'static>>) {
        if let Some(waiting) = self.promises.calls.borrow_mut().get_mut(&self.number) {
            waiting.promise = Some(promise);
        }
    }

    /// What it returned, taken.
    pub(super) fn take_returned(&self) -> Option<Persistent<Promise<'static>>> {
        self.promises.calls.borrow_mut().get_mut(&self.number)?.promise.take()
    }

    /// It has its turn, or has it no more.
    pub(super) fn has_turn(&self, has_turn: bool) {
        self.promises.current.set(has_turn.then_some(self.number));
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let ended = self.promises.calls.borrow_mut().remove(&self.number);
        if self.promises.current.get() == Some(self.number) {
            self.promises.current.set(None);
            // Nobody waits for it any more. If it could not be ended, others must know.
            self.promises.wake_all();
        }
        let answered = ended.map(|waiting| waiting.answered).unwrap_or_default();
        if !answered.is_empty() {
            self.promises.left.borrow_mut().extend(answered);
            self.promises.wake_all();
        }
    }
}

/// What a call fails with whose promise nothing settles.
pub(super) const UNFULFILLED: &str =
    "The function returned a promise that nothing fulfils: there is nothing here to wait for.";
