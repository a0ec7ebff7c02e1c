//! Requests over keep-alive connections, one at a time on each.
//!
//! Closed loop: each connection sends the next request when it has its answer. Open loop: requests queue for the next
//! idle connection, and their latency counts from the intended start.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Connections;
use crate::load::Fault;
use crate::load::http::{HttpAnswer, HttpConnection};
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::{Event, Window};
use crate::worker::{Connected, Worker, say};

/// The pause before a refused connection is tried again, so that a server that is down is not hammered.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// A sender of requests.
pub trait Caller: 'static {
    /// Sends one request and checks its answer.
    async fn call(&mut self, worker: &Worker) -> Result<(), Fault>;
}

/// Waits for the order to begin, and lets all callers call until the measured part is over.
pub async fn drive(worker: &Rc<Worker>, callers: Vec<impl Caller>) -> anyhow::Result<Connections> {
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let mut connections = Connections::new();
    match worker.plan.rate {
        None => {
            for caller in callers {
                connections.spawn_local(call_in_turn(worker.clone(), caller, window));
            }
            worker.measure_window(window).await?;
        }
        Some(rate) => {
            let due = Rc::new(Due::default());
            for caller in callers {
                connections.spawn_local(call_when_due(worker.clone(), caller, due.clone()));
            }
            let arrivals = Arrivals::new(window.begin, rate, worker.plan.spread, worker.plan.seed);
            let arriving = run_arrivals(arrivals, window.measure_to, |intended| {
                worker.begin_operation();
                due.push(intended);
                true
            });
            let (measured, arrived) = tokio::join!(worker.measure_window(window), arriving);
            measured.and(arrived)?;
        }
    }
    worker.drain().await;
    Ok(connections)
}

async fn call_in_turn(worker: Rc<Worker>, mut caller: impl Caller, window: Window) {
    while Instant::now() < window.measure_to {
        worker.begin_operation();
        let started = Instant::now();
        let outcome = caller.call(&worker).await;
        worker.record_closed(&window, started, outcome);
    }
}

async fn call_when_due(worker: Rc<Worker>, mut caller: impl Caller, due: Rc<Due>) {
    loop {
        let intended = due.take().await;
        let outcome = caller.call(&worker).await;
        worker.record_open(intended, outcome);
    }
}

/// Intended starts that wait for an idle connection.
#[derive(Default)]
struct Due {
    queue: RefCell<VecDeque<Instant>>,
    changed: Notify,
}

impl Due {
    fn push(&self, intended: Instant) {
        self.queue.borrow_mut().push_back(intended);
        self.changed.notify_one();
    }

    async fn take(&self) -> Instant {
        loop {
            if let Some(intended) = self.queue.borrow_mut().pop_front() {
                return intended;
            }
            self.changed.notified().await;
        }
    }
}

/// A keep-alive connection, made anew after a fault that breaks it.
pub struct Line {
    index: usize,
    connection: Option<HttpConnection>,
    _connected: Connected,
}

impl Line {
    /// `index` is the connection's number within the worker.
    pub async fn open(worker: &Rc<Worker>, index: usize) -> Result<Self, Fault> {
        let connection = HttpConnection::open(&worker.endpoints, index).await?;
        Ok(Self { index, connection: Some(connection), _connected: worker.connected() })
    }

    /// Sends one whole request and checks the answer.
    pub async fn exchange(
        &mut self,
        worker: &Worker,
        request: &[u8],
        check: impl FnOnce(&HttpAnswer<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => reconnect(worker, self.index).await?,
        };
        let outcome = match connection.exchange(request).await {
            Ok(answer) => check(&answer),
            Err(fault) => Err(fault),
        };
        if outcome.as_ref().err().is_none_or(Fault::leaves_connection_usable) {
            self.connection = Some(connection);
        }
        outcome
    }
}

async fn reconnect(worker: &Worker, index: usize) -> Result<HttpConnection, Fault> {
    let connection = HttpConnection::open(&worker.endpoints, index).await;
    if connection.is_err() {
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
    connection
}
