//! Scheduled functions, which run at the moments of cron expressions.
//!
//! One shard of all nodes runs them. A record in the database says up to which moment each function has run, so that
//! each moment is used at most once, even if the task moves between nodes whose clocks differ. A shard that takes the
//! task over looks back a little, for moments that the former shard has missed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use muster_api::game::{ExecutionMode, Invocation};
use muster_domain::cron::Cron;
use muster_domain::ids::UserId;
use muster_domain::ports::storage::{Authority, Expected, ObjectId, ObjectWrite, ReadPermission, WritePermission};
use muster_domain::ports::store::{Rejection, Store, StoreError};
use muster_domain::storage::version_of;
use muster_domain::{Result, Timestamp};
use tokio::sync::Notify;

use crate::functions::Inner;
use crate::host::Host;
use crate::machine::Machine;
use crate::machine::call::{CallArgument, CallInput, Callee, ResultType};
use crate::pool::Pool;

/// Length of the time before now in which a shard looks for missed moments when it takes the task over.
const LOOK_BACK_SEC: i64 = 60;

/// Limit of the time by which a record may be ahead of the clock. A record beyond it is ignored, because a node with a
/// wrong clock has written it.
const CLOCK_DIFFERENCE_MAX_SEC: i64 = 60;

/// The collection of the records, which are objects of the system user.
const COLLECTION: &str = "muster_schedules";

/// The moments of a scheduled function, and an ordinal that tells the function from others with the same expression.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) expression: String,
    pub(crate) cron: Cron,
    /// Count of functions with the same expression that were registered before.
    pub(crate) ordinal: usize,
}

impl Schedule {
    /// # Errors
    /// `InvalidArgument`, with a sentence that names the wrong field of the expression.
    pub(crate) fn new(expression: &str, ordinal: usize) -> Result<Self> {
        Ok(Self { expression: expression.to_owned(), cron: Cron::parse(expression)?, ordinal })
    }
}

/// The state of scheduled functions on one shard.
pub(crate) struct Schedules {
    /// The moment up to which schedules were looked at, in seconds since 1970.
    since_sec: Cell<i64>,
    /// Keys of the records of functions that run now.
    running: RefCell<BTreeSet<String>>,
    settled: Notify,
}

impl Schedules {
    /// Schedules of a process that starts now. Moments before `now` are not looked at.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { since_sec: Cell::new(now.seconds()), running: RefCell::default(), settled: Notify::new() }
    }

    /// Resolves when no scheduled function runs.
    pub(crate) async fn settled(&self) {
        while !self.running.borrow().is_empty() {
            self.settled.notified().await;
        }
    }
}

impl<M: Machine> Inner<M> {
    pub(crate) fn turn_schedules(self: &Rc<Self>, is_mine: bool) -> Option<i64> {
        let (now, pool) = (self.host.clock.now().seconds(), self.pool());
        let since = self.schedules.since_sec.get().max(now - LOOK_BACK_SEC);
        let schedules = pool.names().schedules();
        if is_mine {
            for (index, schedule) in schedules.iter().enumerate() {
                if schedule.cron.next(since).is_none_or(|due| due > now) {
                    continue;
                }
                // If several moments have passed, the last one is used.
                if let Some(due) = schedule.cron.previous(now + 1) {
                    self.clone().begin(&pool, index, schedule, due);
                }
            }
        }
        self.schedules.since_sec.set(if is_mine { since.max(now) } else { since });
        schedules.iter().filter_map(|schedule| schedule.cron.next(now)).min()
    }

    fn begin(self: Rc<Self>, pool: &Rc<Pool<M>>, index: usize, schedule: &Schedule, due: i64) {
        let expression = &schedule.expression;
        let key = format!("{} {} #{}", M::LANGUAGE, short(expression), schedule.ordinal);
        if !self.schedules.running.borrow_mut().insert(key.clone()) {
            self.metrics.schedules_skipped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(expression, "a scheduled function still runs at its next moment, which it misses");
            return;
        }
        let (pool, expression) = (pool.clone(), expression.clone());
        let run = Run { inner: self, key };
        let spawn = run.inner.host.spawn;
        spawn(Box::pin(async move { run.run(&pool, index, &expression, due).await }));
    }
}

/// A run of a scheduled function.
struct Run<M: Machine> {
    inner: Rc<Inner<M>>,
    key: String,
}

impl<M: Machine> Run<M> {
    async fn run(self, pool: &Pool<M>, index: usize, expression: &str, due: i64) {
        let Host { store, clock, .. } = &*self.inner.host;
        match claim(&**store, &self.key, expression, due, clock.now()).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                self.inner.metrics.schedules_failed.fetch_add(1, Ordering::Relaxed);
                tracing::error!(expression, %error, "a scheduled function does not run: the database cannot record its moment");
                return;
            }
        }
        self.inner.metrics.schedules.fetch_add(1, Ordering::Relaxed);
        let invocation = Invocation { mode: ExecutionMode::Schedule, ..Invocation::default() };
        let input = CallInput { invocation, argument: CallArgument::Number(due as f64) };
        if let Err(failure) = pool.run(Callee::Schedule(index), input, ResultType::Nothing).await {
            self.inner.metrics.schedules_failed.fetch_add(1, Ordering::Relaxed);
            if failure.trace.is_none() {
                let (code, told) = (failure.code.number(), failure.message);
                tracing::warn!(expression, code, told, "a scheduled function failed");
            }
        }
    }
}

impl<M: Machine> Drop for Run<M> {
    fn drop(&mut self) {
        let schedules = &self.inner.schedules;
        schedules.running.borrow_mut().remove(&self.key);
        schedules.settled.notify_waiters();
    }
}

/// The expression, or its digest if it is too long for a key.
fn short(expression: &str) -> String {
    if expression.len() <= 64 { expression.to_owned() } else { version_of(expression) }
}

/// Records that a moment is used. Answers whether this call was the first to use it.
async fn claim(
    store: &dyn Store,
    key: &str,
    expression: &str,
    due: i64,
    now: Timestamp,
) -> std::result::Result<bool, StoreError> {
    let id = ObjectId { collection: COLLECTION.to_owned(), key: key.to_owned(), user_id: UserId::SYSTEM };
    let known = store.read_objects(Authority::Server, std::slice::from_ref(&id)).await?.into_iter().next();
    let last = known.as_ref().and_then(|object| last_due(&object.value));
    if last.is_some_and(|last| last >= due && last <= now.seconds() + CLOCK_DIFFERENCE_MAX_SEC) {
        return Ok(false);
    }
    let value = serde_json::json!({ "expression": expression, "last_due_sec": due }).to_string();
    let write = ObjectWrite {
        id,
        version: version_of(&value),
        value,
        expected: known.map_or(Expected::Absent, |object| Expected::Version(object.version)),
        read: ReadPermission::None,
        write: WritePermission::None,
    };
    match store.write_objects(Authority::Server, &[write], now).await {
        Ok(_) => Ok(true),
        // Another shard was faster.
        Err(StoreError::Rejected(Rejection::Version)) => Ok(false),
        Err(error) => Err(error),
    }
}

fn last_due(value: &str) -> Option<i64> {
    serde_json::from_str::<serde_json::Value>(value).ok()?.get("last_due_sec")?.as_i64()
}
