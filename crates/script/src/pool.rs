//! The machines of one program on one shard, and the calls that wait for one of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_api::game::Failure;
use muster_live::matches::Chain;
use muster_wire::code::Code;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::host::{Host, Meter, line_of};
use crate::machine::call::{Breach, CallInput, CallOutcome, Callee, ResultType};
use crate::machine::limits::Limits;
use crate::machine::registered::Names;
use crate::machine::{LoadedProgram as _, Machine};
use crate::metrics::ScriptMetrics;

/// The machines of a program. A caller keeps the pool until its call has ended.
pub(crate) struct Pool<M: Machine> {
    program: Arc<M::Program>,
    /// Serial number of the program in this process, for logs.
    generation: u64,
    host: Rc<Host>,
    limits: Limits,
    permits: Semaphore,
    idle: RefCell<Vec<Counted<M>>>,
    /// The machine that all concurrent calls share. The first such call starts it.
    shared: RefCell<Rc<Shared<M>>>,
    shared_permits: Semaphore,
    /// Count of calls that wait for a permit.
    waiting: Cell<usize>,
    metrics: Arc<ScriptMetrics>,
}

type Shared<M> = OnceCell<Counted<M>>;

impl<M: Machine> Pool<M> {
    /// A pool without machines. Machines are started when calls need them.
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
        Self {
            program,
            generation,
            host,
            limits,
            permits,
            idle: RefCell::default(),
            shared: RefCell::default(),
            shared_permits,
            waiting: Cell::default(),
            metrics,
        }
    }

    /// The names that the program registers.
    pub(crate) fn names(&self) -> &Names {
        self.program.names()
    }

    /// Starts machines until there are at least `machines_min`, so that the first calls find them ready. Other tasks of
    /// the thread have a turn between two starts.
    pub(crate) async fn warm_up(&self) {
        let in_use = || self.limits.machines_max - self.permits.available_permits();
        let least = if self.names().is_empty() { 0 } else { self.limits.machines_min };
        while in_use() + self.idle.borrow().len() < least {
            // The error is in the log, and the next call fails with it again.
            let Ok(machine) = self.start().await else { return };
            self.idle.borrow_mut().push(machine);
            tokio::task::yield_now().await;
        }
    }

    /// Calls a function.
    ///
    /// # Errors
    /// The error that the function raised, or the reason why the function was not called.
    pub(crate) async fn run(
        &self,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.metrics.calls.fetch_add(1, Ordering::Relaxed);
        let result = self.run_uncounted(callee, input, result_type).await;
        if let Err(failure) = &result {
            self.metrics.failed.fetch_add(1, Ordering::Relaxed);
            let (function, code, generation) = (callee.name(), failure.number(), self.generation);
            if let Some(trace) = failure.trace.as_deref() {
                let (language, source) = (M::LANGUAGE, self.host.process.source_line(trace));
                tracing::warn!(function, language, generation, source, trace = line_of(trace), "game code failed");
            } else {
                tracing::debug!(function, code, generation, told = line_of(&failure.message), "game code refused");
            }
        }
        result
    }

    async fn run_uncounted(
        &self,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if self.names().is_concurrent(callee) {
            return self.run_beside_others(callee, input, result_type).await;
        }
        let _permit = self.admit(&self.permits).await?;
        let mut busy = BusyMachine { machine: Some(self.take().await?), idle: &self.idle };
        let Some(vm) = &busy.machine else { return Err(Failure::new(Code::Internal, "An internal error occurred.")) };
        let outcome = self.call(vm, callee, input, result_type).await;
        if is_full(&vm.machine, &outcome) {
            busy.machine = None;
        }
        outcome.result
    }

    /// Calls a function that allows other calls beside it, on the machine that all such calls share.
    async fn run_beside_others(
        &self,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let _permit = self.admit(&self.shared_permits).await?;
        if self.shared.borrow().get().is_some_and(|vm| vm.machine.is_spent()) {
            self.shared.take();
        }
        let shared = self.shared.borrow().clone();
        let vm = shared.get_or_try_init(|| self.start()).await?;
        let outcome = self.call(vm, callee, input, result_type).await;
        if is_full(&vm.machine, &outcome) && Rc::ptr_eq(&shared, &self.shared.borrow()) {
            // Calls that are under way in the former machine end there.
            self.shared.take();
        }
        outcome.result
    }

    /// Waits until there is room for one more call.
    ///
    /// # Errors
    /// `Unavailable` when too many calls wait already.
    async fn admit<'a>(&self, permits: &'a Semaphore) -> Result<SemaphorePermit<'a>, Failure> {
        if self.waiting.get() >= self.limits.waiting_max {
            self.metrics.refused.fetch_add(1, Ordering::Relaxed);
            let message = "Too many calls of game functions are waiting. Try again.";
            return Err(Failure::new(Code::Unavailable, message));
        }
        let waiting = WaitingCall::new(self);
        let permit = permits.acquire().await;
        drop(waiting);
        permit.map_err(|_| Failure::new(Code::Unavailable, "The server is stopping."))
    }

    async fn call(
        &self,
        vm: &Counted<M>,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
    ) -> CallOutcome {
        let meter = Meter::new(Chain::default(), &self.limits);
        let outcome = self.host.current.during(meter, vm.machine.call(callee, input, result_type, &self.limits)).await;
        self.count(callee, outcome.breach);
        outcome
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

    /// Counts and logs a call that went over a limit.
    fn count(&self, callee: Callee<'_>, breach: Option<Breach>) {
        let (counter, limit) = match breach {
            Some(Breach::Time) => (&self.metrics.over_time, "script.call_cpu_ms"),
            Some(Breach::Memory) => (&self.metrics.over_memory, "script.vm_bytes"),
            None => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let generation = self.generation;
        tracing::warn!(id = callee.name(), limit, generation, "a game function went over its limit");
    }
}

/// A call that waits for a permit. The call counts as waiting until this value is dropped: when it has a permit, or
/// when nobody wants its result any more.
struct WaitingCall<'a, M: Machine>(&'a Pool<M>);

impl<'a, M: Machine> WaitingCall<'a, M> {
    fn new(pool: &'a Pool<M>) -> Self {
        pool.waiting.set(pool.waiting.get() + 1);
        pool.metrics.waiting.fetch_add(1, Ordering::Relaxed);
        Self(pool)
    }
}

impl<M: Machine> Drop for WaitingCall<'_, M> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
        self.0.metrics.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a machine has no room left after a call with this outcome. Variables of modules fill it and stay, so every
/// further call would fail.
fn is_full(machine: &impl Machine, outcome: &CallOutcome) -> bool {
    outcome.breach == Some(Breach::Memory) && !machine.has_room() || machine.is_spent()
}

/// A machine that counts in the metrics as long as it exists.
struct Counted<M: Machine> {
    machine: M,
    metrics: Arc<ScriptMetrics>,
}

impl<M: Machine> Drop for Counted<M> {
    fn drop(&mut self) {
        self.metrics.machines.fetch_sub(i64::from(M::IS_COUNTED), Ordering::Relaxed);
    }
}

/// A machine that runs a call. The machine goes back to the pool when this value is dropped, even if the call is still
/// under way: such a call has no caller any more, and the machine ends it.
struct BusyMachine<'a, M: Machine> {
    machine: Option<Counted<M>>,
    idle: &'a RefCell<Vec<Counted<M>>>,
}

impl<M: Machine> Drop for BusyMachine<'_, M> {
    fn drop(&mut self) {
        let machine = self.machine.take().filter(|vm| !vm.machine.is_spent());
        self.idle.borrow_mut().extend(machine);
    }
}
