//! Events on their way to game code. Each shard has a queue for each language. A bounded number of tasks take events
//! from the queue and call the listeners. The sender of an event does not wait for the listeners; an event that finds
//! the queue full is dropped and counted.

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
use crate::machine::call::{CallArgument, CallInput, Callee, ResultType};

/// Shortest time between two lines of the log that say that events are dropped.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// The queue of events of one shard and language.
#[derive(Default)]
pub(crate) struct Events {
    queue: RefCell<VecDeque<QueuedEvent>>,
    /// Count of tasks that tell game code of the events.
    workers: Cell<usize>,
    settled: Notify,
    /// Moment of the last line of the log that said that events are dropped.
    complained: Cell<Option<Instant>>,
}

/// An event, and the occasion and invocation with which the listeners are called.
pub(crate) struct QueuedEvent {
    pub(crate) occasion: Occasion,
    pub(crate) invocation: Invocation,
    pub(crate) event: Event,
}

impl Events {
    /// Resolves when no task is left that tells game code of events.
    pub(crate) async fn settled(&self) {
        while self.workers.get() > 0 {
            self.settled.notified().await;
        }
    }
}

impl<M: Machine> Inner<M> {
    /// Puts an event into the queue.
    pub(crate) fn queue(self: Rc<Self>, event: QueuedEvent) {
        let Events { queue, workers, complained, .. } = &self.events;
        if queue.borrow().len() >= self.limits.events_max {
            self.metrics.events_dropped.fetch_add(1, Ordering::Relaxed);
            if complained.get().is_none_or(|last| last.elapsed() > COMPLAINT_INTERVAL) {
                complained.set(Some(Instant::now()));
                let queue = self.limits.events_max;
                tracing::warn!(queue, "events are dropped: game code does not keep up with them");
            }
            return;
        }
        queue.borrow_mut().push_back(event);
        self.metrics.events_waiting.fetch_add(1, Ordering::Relaxed);
        if workers.get() < self.limits.event_workers {
            let worker = Worker::new(self.clone());
            (self.host.spawn)(Box::pin(worker.run()));
        }
    }
}

/// A task that tells game code of events until the queue is empty.
struct Worker<M: Machine>(Rc<Inner<M>>);

impl<M: Machine> Worker<M> {
    fn new(inner: Rc<Inner<M>>) -> Self {
        inner.events.workers.set(inner.events.workers.get() + 1);
        Self(inner)
    }

    async fn run(self) {
        loop {
            let next = self.0.events.queue.borrow_mut().pop_front();
            let Some(event) = next else { return };
            self.0.metrics.events_waiting.fetch_sub(1, Ordering::Relaxed);
            self.tell(event).await;
        }
    }

    /// Calls every listener of the event.
    async fn tell(&self, QueuedEvent { occasion, invocation, event }: QueuedEvent) {
        let pool = self.0.pool();
        self.0.metrics.events.fetch_add(1, Ordering::Relaxed);
        for index in 0..pool.names().listeners(occasion) {
            let argument = CallArgument::Messages(vec![Some(json::to_json_with(&event, M::FORM))]);
            let input = CallInput { invocation: invocation.clone(), argument };
            let callee = Callee::Listener(occasion, index);
            let told = pool.run(callee, input, ResultType::Nothing).await;
            // Failures with a trace are in the log already.
            if let Err(failure) = told.or_else(|failure| if failure.trace.is_some() { Ok(None) } else { Err(failure) })
            {
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
