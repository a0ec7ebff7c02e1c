//! Functions and hooks of game code, as the operations ask for them: a pool of machines for each shard.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_api::game::{Failure, FarewellFuture, FunctionFuture, GameFunctions, Invocation, MatchedPlayer, Mode};
use muster_api::hooks::{HookFuture, Hooks, Payload, Subject};
use muster_live::matches::Chain;
use muster_wire::code::Code;
use tokio::sync::Semaphore;

use crate::host::{Host, Meter};
use crate::luau::vm::Vm as LuaVm;
use crate::machine::call::{self, Breach, Callee, Given, Sole, Wanted};
use crate::machine::limits::Limits;
use crate::machine::registry::{Names, Point, When};
use crate::machine::{Code as _, Machine};
use crate::metrics::ScriptMetrics;
use crate::quickjs::vm::Vm as JsVm;

/// What every call is told of the server.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The node's name.
    pub node: Arc<str>,
    /// The server's version.
    pub version: Arc<str>,
    /// Values that the operator gave to game code.
    pub env: Arc<[(String, String)]>,
}

/// The functions and hooks of one shard's Lua code.
pub type LuaFunctions = Functions<LuaVm>;

/// The functions and hooks of one shard's JavaScript code.
pub type JsFunctions = Functions<JsVm>;

/// The functions and hooks of one shard's code in a language.
pub struct Functions<M: Machine> {
    program: Arc<M::Program>,
    host: Rc<Host>,
    limits: Limits,
    permits: Semaphore,
    idle: RefCell<Vec<M>>,
    waiting: Cell<usize>,
    metrics: Arc<ScriptMetrics>,
}

impl<M: Machine> Functions<M> {
    /// Machines are started when calls need them.
    pub fn new(program: Arc<M::Program>, host: Rc<Host>, limits: Limits, metrics: Arc<ScriptMetrics>) -> Self {
        let permits = Semaphore::new(limits.machines_max);
        Self { program, host, limits, permits, idle: RefCell::default(), waiting: Cell::new(0), metrics }
    }

    pub(crate) fn names(&self) -> &Names {
        self.program.names()
    }

    async fn run(
        &self,
        callee: Callee<'_>,
        arguments: (Invocation, Given),
        wanted: Wanted,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.metrics.calls.fetch_add(1, Ordering::Relaxed);
        let result = self.run_uncounted(callee, arguments, wanted).await;
        if let Err(failure) = &result {
            self.metrics.failed.fetch_add(1, Ordering::Relaxed);
            let (id, code) = (callee.name(), failure.code.number());
            tracing::debug!(id, code, told = failure.message, "a game function failed");
        }
        result
    }

    async fn run_uncounted(
        &self,
        callee: Callee<'_>,
        arguments: (Invocation, Given),
        wanted: Wanted,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if self.waiting.get() >= self.limits.waiting_max {
            self.metrics.refused.fetch_add(1, Ordering::Relaxed);
            let message = "Too many calls of game functions are waiting. Try again.";
            return Err(Failure::new(Code::Unavailable, message));
        }
        let waits = Waits::new(self);
        let permit = self.permits.acquire().await;
        drop(waits);
        let _permit = permit.map_err(|_| Failure::new(Code::Unavailable, "The server is stopping."))?;
        let mut held = Held { vm: Some(self.take().await?), idle: &self.idle };
        let Some(vm) = &held.vm else { return Err(Failure::new(Code::Internal, "An internal error occurred.")) };
        let meter = Meter::new(Chain::default(), &self.limits);
        let end = self.host.current.during(meter, vm.call(callee, arguments, wanted, &self.limits)).await;
        self.count(callee, end.breach);
        let is_full = end.breach == Some(Breach::Memory) && !vm.has_room();
        if is_full || vm.is_spent() {
            // What fills it are variables of modules, and stays: every further call would fail.
            held.vm = None;
            self.metrics.machines.fetch_sub(1, Ordering::Relaxed);
        }
        end.result
    }

    /// Makes machines until there are so many, one after the other, others' work in between.
    pub async fn make_machines(&self, count: usize) {
        let there = || self.limits.machines_max - self.permits.available_permits() + self.idle.borrow().len();
        while there() < count {
            match M::start(&self.program, &self.host, &self.limits).await {
                Ok(vm) => {
                    self.metrics.machines.fetch_add(1, Ordering::Relaxed);
                    self.idle.borrow_mut().push(vm);
                }
                Err(error) => {
                    tracing::error!(%error, language = M::LANGUAGE, "cannot start a machine");
                    return;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    async fn take(&self) -> Result<M, Failure> {
        if let Some(vm) = self.idle.borrow_mut().pop() {
            return Ok(vm);
        }
        let meter = Meter::new(Chain::default(), &self.limits);
        let started = M::start(&self.program, &self.host, &self.limits);
        let vm = self.host.current.during(meter, started).await.map_err(|error| {
            tracing::error!(%error, language = M::LANGUAGE, "cannot start a machine");
            Failure::new(Code::Internal, "An internal error occurred.")
        })?;
        self.metrics.machines.fetch_add(1, Ordering::Relaxed);
        Ok(vm)
    }

    /// Names who went over a limit.
    fn count(&self, callee: Callee<'_>, breach: Option<Breach>) {
        let (counter, limit) = match breach {
            Some(Breach::Time) => (&self.metrics.over_time, "time"),
            Some(Breach::Memory) => (&self.metrics.over_memory, "memory"),
            None => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(id = callee.name(), limit, "a game function went over its limit");
    }
}

impl<M: Machine> GameFunctions for Functions<M> {
    fn has(&self, id: &str) -> bool {
        self.names().functions.contains(id)
    }

    fn call<'a>(&'a self, id: &'a str, mut invocation: Invocation) -> FunctionFuture<'a> {
        let given = Given::Text(std::mem::take(&mut invocation.payload));
        Box::pin(async move {
            let text = self.run(Callee::Function(id), (invocation, given), Wanted::Text).await?;
            Ok(text.map(lossy))
        })
    }

    fn is_asked_of_matches(&self) -> bool {
        self.names().has(Sole::Matched)
    }

    fn matched(&self, players: Vec<MatchedPlayer>) -> FunctionFuture<'_> {
        let given = Given::Value(call::matched_players(players, &self.host.node));
        let invocation = Invocation { mode: Mode::Matchmaker, ..Invocation::default() };
        Box::pin(async move {
            let id = self.run(Callee::Sole(Sole::Matched), (invocation, given), Wanted::Text).await?;
            Ok(id.map(lossy))
        })
    }

    fn farewell(&self, grace_sec: u64) -> FarewellFuture<'_> {
        if !self.names().has(Sole::Farewell) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let invocation = Invocation { mode: Mode::Shutdown, ..Invocation::default() };
        let given = (invocation, Given::Number(grace_sec as f64));
        Box::pin(async move { self.run(Callee::Sole(Sole::Farewell), given, Wanted::Nothing).await.map(drop) })
    }
}

impl<M: Machine> Hooks for Functions<M> {
    fn has_before(&self, subject: Subject) -> bool {
        self.names().has_hook(Point { when: When::Before, subject })
    }

    fn has_after(&self, subject: Subject) -> bool {
        self.names().has_hook(Point { when: When::After, subject })
    }

    fn before<'a>(
        &'a self,
        subject: Subject,
        invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        let hook = Callee::Hook(Point { when: When::Before, subject });
        let Some(input) = input else {
            // Whatever it answers, there is nothing to go on with instead.
            let given = Given::Messages(Vec::new());
            return Box::pin(self.run(hook, (invocation, given), Wanted::Nothing));
        };
        let given = Given::Messages(vec![Some(input.json(M::FORM))]);
        Box::pin(self.run(hook, (invocation, given), Wanted::Message))
    }

    fn after<'a>(
        &'a self,
        subject: Subject,
        invocation: Invocation,
        output: Option<&'a dyn Payload>,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        let given = Given::Messages([output, input].map(|message| message.map(|message| message.json(M::FORM))).into());
        let hook = Callee::Hook(Point { when: When::After, subject });
        Box::pin(async move { self.run(hook, (invocation, given), Wanted::Nothing).await.map(drop) })
    }
}

/// A text of game code, which may hold any bytes.
fn lossy(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Counts one that waits, also when it stops waiting because nobody wants its answer any more.
struct Waits<'a, M: Machine>(&'a Functions<M>);

impl<'a, M: Machine> Waits<'a, M> {
    fn new(functions: &'a Functions<M>) -> Self {
        functions.waiting.set(functions.waiting.get() + 1);
        functions.metrics.waiting.fetch_add(1, Ordering::Relaxed);
        Self(functions)
    }
}

impl<M: Machine> Drop for Waits<'_, M> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
        self.0.metrics.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A machine at work. It goes back when the call ends, also by being dropped: the call is made to end then.
struct Held<'a, M> {
    vm: Option<M>,
    idle: &'a RefCell<Vec<M>>,
}

impl<M> Drop for Held<'_, M> {
    fn drop(&mut self) {
        self.idle.borrow_mut().extend(self.vm.take());
    }
}

impl<M: Machine> Drop for Functions<M> {
    fn drop(&mut self) {
        let machines = i64::try_from(self.idle.borrow().len()).unwrap_or(i64::MAX);
        self.metrics.machines.fetch_sub(machines, Ordering::Relaxed);
    }
}
