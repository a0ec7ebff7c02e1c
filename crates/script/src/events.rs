//! Events on their way to game code: one queue for each shard, from which so many at a time are worked off. Nobody waits for
//! that; what finds the queue full is dropped and counted.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use muster_api::game::{Invocation, Occasion};
use muster_wire::api::Event;
use muster_wire::json;
use tokio::sync::Notify;

use crate::functions::Inner;
use crate::machine::Machine;
use crate::machine::call::{Callee, Given, Wanted};

/// How often the log says that events are dropped.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Default)]
pub(crate) struct Events {
    waiting: RefCell<VecDeque<Told>>,
    /// How many tasks work them off.
    workers: Cell<usize>,
    settled: Notify,
    complained: Cell<Option<Instant>>,
}

/// An event that game code is to be told of.
pub(crate) struct Told {
    pub(crate) occasion: Occasion,
    pub(crate) invocation: Invocation,
    pub(crate) event: Event,
}

impl Events {
    /// Resolves when there is nothing to tell.
    pub(crate) async fn settled(&self) {
        while self.workers.get() > 0 {
            self.settled.notified().await;
        }
    }
}

impl<M: Machine> Inner<M> {
    /// Has game code told of an event.
    pub(crate) fn queue(self: Rc<Self>, told: Told) {
        let Events { waiting, workers, complained, .. } = &self.events;
        if waiting.borrow().len() >= self.limits.events_max {
            self.metrics.events_dropped.fetch_add(1, Ordering::Relaxed);
            if complained.get().is_none_or(|last| last.elapsed() > COMPLAINT_INTERVAL) {
                complained.set(Some(Instant::now()));
                let queue = self.limits.events_max;
                tracing::warn!(queue, "events are dropped: game code does not keep up with them");
            }
            return;
        }
        waiting.borrow_mut().push_back(told);
        self.metrics.events_waiting.fetch_add(1, Ordering::Relaxed);
        if workers.get() < self.limits.event_workers {
            let worker = Worker::new(self.clone());
            (self.host.spawn)(Box::pin(worker.run()));
        }
    }
}

/// Works events off until none waits.
struct Worker<M: Machine>(Rc<Inner<M>>);

impl<M: Machine> Worker<M> {
    fn new(inner: Rc<Inner<M>>) -> Self {
        inner.events.workers.set(inner.events.workers.get() + 1);
        Self(inner)
    }

    async fn run(self) {
        loop {
            let next = self.0.events.waiting.borrow_mut().pop_front();
            let Some(told) = next else { return };
            self.0.metrics.events_waiting.fetch_sub(1, Ordering::Relaxed);
            self.tell(told).await;
        }
    }

    /// Every function that wants to hear of it does.
    async fn tell(&self, Told { occasion, invocation, event }: Told) {
        let pool = self.0.pool();
        self.0.metrics.events.fetch_add(1, Ordering::Relaxed);
        for index in 0..pool.names().listeners(occasion) {
            let given = Given::Messages(vec![Some(json::to_json_with(&event, M::FORM))]);
            let callee = Callee::Listener(occasion, index);
            if let Err(failure) = pool.run(callee, (invocation.clone(), given), Wanted::Nothing).await {
                let (code, told) = (failure.code.number(), failure.message);
                tracing::warn!(event = event.name, code, told, "game code failed when it was told of an event");
            }
        }
    }
}

impl<M: Machine> Drop for Worker<M> {
    fn drop(&mut self) {
        let events = &self.0.events;
        events.workers.set(events.workers.get() - 1);
        if events.workers.get() == 0 {
            events.settled.notify_waiters();
        }
    }
}
