//! A pool of machines of one program on one shard.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_api::game::{Failure, Invocation};
use muster_live::matches::Chain;
use muster_wire::code::Code;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::host::{Host, Meter, line_of};
use crate::machine::call::{Breach, Callee, End, Given, Wanted};
use crate::machine::limits::Limits;
use crate::machine::registry::Names;
use crate::machine::{Code as _, Machine};
use crate::metrics::ScriptMetrics;

/// The machines of a program. Whoever calls keeps the pool until the call has ended.
pub(crate) struct Pool<M: Machine> {
    program: Arc<M::Program>,
    /// The number of the program among those that the process had, for logs.
    generation: u64,
    host: Rc<Host>,
    limits: Limits,
    permits: Semaphore,
    idle: RefCell<Vec<Counted<M>>>,
    /// The machine of functions that allow others beside them, once one was called.
    shared: RefCell<Rc<Shared<M>>>,
    shared_permits: Semaphore,
    waiting: Cell<usize>,
    metrics: Arc<ScriptMetrics>,
}

type Shared<M> = OnceCell<Counted<M>>;

impl<M: Machine> Pool<M> {
    /// Machines are started when calls need them.
    pub(crate) fn new(
        program: Arc<M::Program>,
        generation: u64,
        host: Rc<Host>,
        limits: Limits,
        metrics: Arc<ScriptMetrics>,
    ) -> Self {
        M::settle(&program, &host, &limits);
        let permits = Semaphore::new(limits.machines_max);
        let shared_permits = Semaphore::new(limits.concurrent_max);
        let (idle, shared, waiting) = Default::default();
        Self { program, generation, host, limits, permits, idle, shared, shared_permits, waiting, metrics }
    }

    /// What the program registers.
    pub(crate) fn names(&self) -> &Names {
        self.program.names()
    }

    /// Starts machines, so that first calls find some. Others' work goes on in between.
    pub(crate) async fn warm_up(&self) {
        let in_use = || self.limits.machines_max - self.permits.available_permits();
        let least = if self.names().is_empty() { 0 } else { self.limits.machines_min };
        while in_use() + self.idle.borrow().len() < least {
            // What goes wrong is told where it happens, and again by whoever calls.
            let Ok(machine) = self.start().await else { return };
            self.idle.borrow_mut().push(machine);
            tokio::task::yield_now().await;
        }
    }

    /// Calls what is registered.
    ///
    /// # Errors
    /// What it raised, or why it was not called.
    pub(crate) async fn run(
        &self,
        callee: Callee<'_>,
        arguments: (Invocation, Given),
        wanted: Wanted,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.metrics.calls.fetch_add(1, Ordering::Relaxed);
        let result = self.run_uncounted(callee, arguments, wanted).await;
        if let Err(failure) = &result {
            self.metrics.failed.fetch_add(1, Ordering::Relaxed);
            let (id, code, generation) = (callee.name(), failure.code.number(), self.generation);
            tracing::debug!(id, code, generation, told = line_of(&failure.message), "a game function failed");
        }
        result
    }

    async fn run_uncounted(
        &self,
        callee: Callee<'_>,
        arguments: (Invocation, Given),
        wanted: Wanted,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if self.names().is_concurrent(callee) {
            return self.run_beside_others(callee, arguments, wanted).await;
        }
        let _permit = self.admit(&self.permits).await?;
        let mut held = Held { machine: Some(self.take().await?), idle: &self.idle };
        let Some(vm) = &held.machine else { return Err(Failure::new(Code::Internal, "An internal error occurred.")) };
        let end = self.call(vm, callee, arguments, wanted).await;
        if is_full(&vm.machine, &end) {
            held.machine = None;
        }
        end.result
    }

    /// Calls what allows others beside it, on the machine that all of these share.
    async fn run_beside_others(
        &self,
        callee: Callee<'_>,
        arguments: (Invocation, Given),
        wanted: Wanted,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let _permit = self.admit(&self.shared_permits).await?;
        if self.shared.borrow().get().is_some_and(|vm| vm.machine.is_spent()) {
            self.shared.take();
        }
        let shared = self.shared.borrow().clone();
        let vm = shared.get_or_try_init(|| self.start()).await?;
        let end = self.call(vm, callee, arguments, wanted).await;
        if is_full(&vm.machine, &end) && Rc::ptr_eq(&shared, &self.shared.borrow()) {
            // Calls that are under way in it end there.
            self.shared.take();
        }
        end.result
    }

    /// Waits until there is room for one more call.
    async fn admit<'a>(&self, permits: &'a Semaphore) -> Result<SemaphorePermit<'a>, Failure> {
        if self.waiting.get() >= self.limits.waiting_max {
            self.metrics.refused.fetch_add(1, Ordering::Relaxed);
            let message = "Too many calls of game functions are waiting. Try again.";
            return Err(Failure::new(Code::Unavailable, message));
        }
        let waits = Waits::new(self);
        let permit = permits.acquire().await;
        drop(waits);
        permit.map_err(|_| Failure::new(Code::Unavailable, "The server is stopping."))
    }

    async fn call(&self, vm: &Counted<M>, callee: Callee<'_>, arguments: (Invocation, Given), wanted: Wanted) -> End {
        let meter = Meter::new(Chain::default(), &self.limits);
        let end = self.host.current.during(meter, vm.machine.call(callee, arguments, wanted, &self.limits)).await;
        self.count(callee, end.breach);
        end
    }

    async fn take(&self) -> Result<Counted<M>, Failure> {
        let idle = self.idle.borrow_mut().pop();
        match idle {
            Some(machine) => Ok(machine),
            None => self.start().await,
        }
    }

    async fn start(&self) -> Result<Counted<M>, Failure> {
        let meter = Meter::new(Chain::default(), &self.limits);
        let started = M::start(&self.program, &self.host, &self.limits);
        let machine = self.host.current.during(meter, started).await.map_err(|error| {
            tracing::error!(%error, language = M::LANGUAGE, "cannot start a machine");
            Failure::new(Code::Internal, "An internal error occurred.")
        })?;
        self.metrics.machines.fetch_add(i64::from(M::IS_COUNTED), Ordering::Relaxed);
        Ok(Counted { machine, metrics: self.metrics.clone() })
    }

    /// Names who went over a limit.
    fn count(&self, callee: Callee<'_>, breach: Option<Breach>) {
        let (counter, limit) = match breach {
            Some(Breach::Time) => (&self.metrics.over_time, "time"),
            Some(Breach::Memory) => (&self.metrics.over_memory, "memory"),
            None => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let generation = self.generation;
        tracing::warn!(id = callee.name(), limit, generation, "a game function went over its limit");
    }
}

/// Counts one that waits, also when it stops waiting because nobody wants its answer any more.
struct Waits<'a, M: Machine>(&'a Pool<M>);

impl<'a, M: Machine> Waits<'a, M> {
    fn new(pool: &'a Pool<M>) -> Self {
        pool.waiting.set(pool.waiting.get() + 1);
        pool.metrics.waiting.fetch_add(1, Ordering::Relaxed);
        Self(pool)
    }
}

impl<M: Machine> Drop for Waits<'_, M> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
        self.0.metrics.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether no call would find room in a machine after one that ended so. What fills it are variables of modules, and stays: every further
/// call would fail.
fn is_full(machine: &impl Machine, end: &End) -> bool {
    end.breach == Some(Breach::Memory) && !machine.has_room() || machine.is_spent()
}

/// A machine, for as long as it counts as one that there is.
struct Counted<M: Machine> {
    machine: M,
    metrics: Arc<ScriptMetrics>,
}

impl<M: Machine> Drop for Counted<M> {
    fn drop(&mut self) {
        self.metrics.machines.fetch_sub(i64::from(M::IS_COUNTED), Ordering::Relaxed);
    }
}

/// A machine at work. It goes back when the call ends, also by being dropped: the call is made to end then.
struct Held<'a, M: Machine> {
    machine: Option<Counted<M>>,
    idle: &'a RefCell<Vec<Counted<M>>>,
}

impl<M: Machine> Drop for Held<'_, M> {
    fn drop(&mut self) {
        let machine = self.machine.take().filter(|vm| !vm.machine.is_spent());
        self.idle.borrow_mut().extend(machine);
    }
}
