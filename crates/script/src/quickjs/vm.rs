//! A machine of JavaScript: a runtime, and a context in which the modules run. This file loads modules and runs
//! promises; calls of functions stand in `call.rs`, matches in `matches/`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_api::game::{Failure, STACK_LINE};
use muster_wire::code::Code;
use rquickjs::context::EvalOptions;
use rquickjs::function::Args;
use rquickjs::{Context, Ctx, Function, Module, Object, Persistent, Promise, Result, Runtime, Value as JsValue, qjs};

use super::context::{Contexts, context_of};
use super::errors::{self, place, raised, stack, thrown};
use super::host::{Means, nk};
use super::logger::logger;
use super::memory::{MachineAllocator, Memory};
use super::modules::Imports;
use super::places::name_written_places;
use super::promises::{Promises, UNFULFILLED};
use super::register::{InitRegistrations, initializer};
use super::sources::Sources;
use super::{deterministic, globals, slips};
use crate::host::{Host, line_of};
use crate::machine::LoadError;
use crate::machine::budget::{Budget, LOADS_TOO_LONG, OVER, Step};
use crate::machine::fiber::Fiber;
use crate::machine::limits::Limits;
use crate::machine::once::{Answers, OnceRun};
use crate::process::clock::SliceAlarm;

/// Bytes of a call's native stack that JavaScript may use. QuickJS keeps the frames of nested calls there: there is
/// room for many thousand functions that call each other, and for some thousand callbacks of builtins.
const STACK_BYTES: usize = 24 << 20;
/// Bytes of a call's native stack for functions of the host.
const HOST_STACK_BYTES: usize = 512 << 10;
/// Bytes of the thread's own stack that JavaScript may use. Only brief code without calls of modules runs there.
const BRIEF_STACK_BYTES: usize = 512 << 10;

/// Limit on the jobs of promises that run in one turn, because an endless chain of jobs would hold up all other calls.
const JOBS_MAX: usize = 100_000;
/// Limit on the jobs of a turn in a machine that has reached [`JOBS_MAX`]. Calls under way may still end there; no
/// further calls begin.
const SPENT_JOBS_MAX: usize = 1_000;

/// Script whose value is the function that registers all others.
const INIT_MODULE: &str = "typeof InitModule === 'function' ? InitModule : undefined";

/// A runtime and its context, with the objects that its code is given.
pub(super) struct Engine {
    pub(super) nk: Persistent<Object<'static>>,
    pub(super) logger: Persistent<Object<'static>>,
    initializer: Persistent<Object<'static>>,
    pub(super) contexts: Contexts,
    imports: Imports,
    pub(super) registered: Rc<RefCell<InitRegistrations>>,
    pub(super) promises: Rc<Promises>,
    pub(super) context: Context,
    pub(super) means: Means,
    globals_are_read_only: bool,
    is_recorded: bool,
    memory: Rc<Memory>,
    bytes_max: usize,
    is_spent: Cell<bool>,
}

/// An alarm that does nothing: QuickJS looks at the time every few thousand steps in any case.
struct NoAlarm;

impl SliceAlarm for NoAlarm {
    fn ring(&self) {}

    fn silence(&self) {}
}

/// A machine for functions and hooks.
pub struct Vm {
    pub(super) engine: Rc<Engine>,
}

/// Ends a budget's turn when it is dropped, also by a panic, because the clock would otherwise wait for the turn's end.
struct BriefTurn<'a>(&'a Budget);

impl Drop for BriefTurn<'_> {
    fn drop(&mut self) {
        self.0.pause();
    }
}

/// Runs a function in a context, on the machine's native stack, at its beginning.
pub(super) fn enter<T>(context: &Context, run: impl FnOnce(Ctx<'_>) -> T) -> T {
    enter_with(context, STACK_BYTES, run)
}

/// Runs a function in a context, on the caller's stack, of which JavaScript may use so many bytes.
#[expect(unsafe_code, reason = "the library assumes that a runtime stays on the stack on which it was made")]
fn enter_with<T>(context: &Context, stack_bytes: usize, run: impl FnOnce(Ctx<'_>) -> T) -> T {
    // SAFETY: the context keeps its runtime alive, and the runtime stays on this thread, so no code of it runs
    // elsewhere.
    unsafe {
        qjs::JS_SetMaxStackSize(context.get_runtime_ptr(), stack_bytes as _);
        qjs::JS_UpdateStackTop(context.get_runtime_ptr());
    }
    context.with(run)
}

fn unstarted(error: &rquickjs::Error) -> LoadError {
    LoadError(format!("cannot start JavaScript: {error}"))
}

impl Engine {
    /// A machine without modules. In a machine for a recorded match, clock and randomness are those of the match.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn new(host: &Rc<Host>, limits: &Limits, is_recorded: bool) -> std::result::Result<Rc<Self>, LoadError> {
        let memory = Memory::new(limits.machine_bytes);
        let runtime = Runtime::new_with_alloc(MachineAllocator(memory.clone())).map_err(|error| unstarted(&error))?;
        let imports = Imports::default();
        runtime.set_loader(imports.clone(), imports.clone());
        let budget = Budget::watched(&host.process, Arc::new(NoAlarm));
        let (fiber, budget) = (Rc::new(Fiber::new(STACK_BYTES + HOST_STACK_BYTES)), Rc::new(budget));
        let (its, asked) = (fiber.clone(), budget.clone());
        runtime.set_interrupt_handler(Some(Box::new(move || {
            match asked.look() {
                Step::GoOn => {}
                Step::TakeTurns => its.take_turns(),
                Step::End => return true,
                Step::GiveUp => {
                    its.give_up();
                    return true;
                }
            }
            its.is_abandoned()
        })));
        budget.begin(limits.load_time);
        // The turn begins here, so that the thread's earlier work does not count.
        budget.resume(false);
        let promises = Rc::<Promises>::default();
        let (host, weakly) = (host.clone(), Rc::downgrade(&promises));
        let tracking = weakly.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, is_handled| {
            if let Some(promises) = tracking.upgrade() {
                promises.rejected(&ctx, promise, reason, is_handled);
            }
        })));
        let means = Means { host, fiber, budget, promises: weakly };
        let context = Context::full(&runtime).map_err(|error| unstarted(&error))?;
        let registered = Rc::default();
        let made = enter_with(&context, BRIEF_STACK_BYTES, |ctx| {
            let make = || -> Result<_> {
                errors::know_memory(&ctx, &memory)?;
                slips::begin(&ctx)?;
                globals::add(&ctx, &means)?;
                if is_recorded {
                    deterministic::replace(&ctx, &means.host.current)?;
                }
                let nk = Persistent::save(&ctx, nk(&ctx, &means)?);
                let logger = logger(&ctx, &means)?;
                globals::add_console(&ctx, logger.clone())?;
                let logger = Persistent::save(&ctx, logger);
                let initializer = Persistent::save(&ctx, initializer(&ctx, &means, &registered)?);
                let contexts = Contexts::new(&ctx, &means.host.process.facts)?;
                Ok((nk, logger, initializer, contexts))
            };
            make().map_err(|error| LoadError(format!("cannot start JavaScript: {}", raised(&ctx, &error).message)))
        });
        means.budget.pause();
        let (nk, logger, initializer, contexts) = made?;
        let globals_are_read_only = limits.js_read_only_globals;
        let (bytes_max, is_spent) = (limits.machine_bytes, Cell::new(false));
        Ok(Rc::new(Self {
            nk,
            logger,
            initializer,
            contexts,
            imports,
            registered,
            promises,
            context,
            means,
            globals_are_read_only,
            is_recorded,
            memory,
            bytes_max,
            is_spent,
        }))
    }

    /// Runs a function that never waits. It has the budget of a call, since it may run code of modules, such as
    /// getters.
    pub(super) fn briefly<T>(&self, limit: Duration, run: impl FnOnce(Ctx<'_>) -> T) -> T {
        self.means.budget.begin(limit);
        self.means.budget.resume(false);
        let _turn = BriefTurn(&self.means.budget);
        enter_with(&self.context, BRIEF_STACK_BYTES, run)
    }

    /// Runs the modules and `InitModule`, and returns the host's answers to it. `answers` are those of the first run,
    /// if this is a repetition.
    ///
    /// # Errors
    /// The error that the modules failed with, with file and line.
    pub(super) fn load(
        &self,
        ctx: &Ctx<'_>,
        sources: &Arc<Sources>,
        answers: Option<&Answers>,
    ) -> std::result::Result<Answers, LoadError> {
        self.means.budget.at(sources.entry.clone());
        self.imports.set(sources);
        if sources.are_translated() {
            name_written_places(ctx, sources).map_err(|error| unloaded(ctx, &error))?;
        }
        let builtin = globals::names(ctx).map_err(|error| unloaded(ctx, &error))?;
        let exported = self.run(ctx, sources)?;
        let frozen = match (self.globals_are_read_only, self.is_recorded) {
            (false, _) => Ok(()),
            (true, false) => globals::freeze(ctx, builtin),
            (true, true) => self.nk.clone().restore(ctx).and_then(|nk| globals::freeze_all(ctx, &nk)),
        };
        frozen.map_err(|error| unloaded(ctx, &error))?;
        let function = match exported {
            Some(function) => Some(function),
            None => ctx.eval::<JsValue<'_>, _>(INIT_MODULE).map_err(|error| unloaded(ctx, &error))?.into_function(),
        };
        let Some(function) = function else {
            let file = &sources.entry;
            return Err(LoadError(format!("{file}: there is no function InitModule at the top level")));
        };
        let run = match answers {
            Some(answers) => OnceRun::repeated("InitModule", answers.clone()),
            None => OnceRun::first("InitModule"),
        };
        let current = &self.means.host.current;
        current.set_once(Some(run.clone()));
        let ran = self.init_module(ctx, function);
        current.set_once(None);
        if answers.is_none() {
            self.warn_of_rejections(ctx);
        } else {
            // The first run has told them.
            drop(self.promises.take_unhandled(ctx));
        }
        ran.map(|()| run.answers())
    }

    /// Runs the program's files, and returns the `InitModule` that a module exports.
    fn run<'js>(&self, ctx: &Ctx<'js>, sources: &Sources) -> std::result::Result<Option<Function<'js>>, LoadError> {
        let failed = |error: rquickjs::Error| unloaded(ctx, &error);
        let file = &sources.entry;
        let text = sources.get(file).map(|file| file.text.clone()).unwrap_or_default();
        if !sources.is_module {
            let mut options = EvalOptions::default();
            options.filename = Some(file.to_string());
            return ctx.eval_with_options::<JsValue<'js>, _>(&*text, options).map(|_| None).map_err(failed);
        }
        let begun = Module::declare(ctx.clone(), &**file, &*text).and_then(Module::eval);
        let (module, ended) = begun.map_err(|error| with_importers(sources, failed(error)))?;
        self.run_jobs(ctx).map_err(|failure| LoadError(failure.message))?;
        match ended.result::<JsValue<'js>>() {
            Some(result) => drop(result.map_err(failed)?),
            None => {
                let told =
                    "it waits at its top level for a promise that nothing fulfils: there is nothing here to wait for";
                return Err(LoadError(format!("{file}: {told}")));
            }
        }
        let names = module.namespace().map_err(failed)?;
        for name in ["InitModule", "default"] {
            let exported: JsValue<'js> = names.get(name).map_err(failed)?;
            if exported.is_function() {
                return Ok(exported.into_function());
            }
        }
        Ok(None)
    }

    fn init_module<'js>(&self, ctx: &Ctx<'js>, function: Function<'js>) -> std::result::Result<(), LoadError> {
        let arguments = || -> Result<_> {
            let mut arguments = Args::new(ctx.clone(), 4);
            arguments.push_arg(context_of(ctx, "run_once", &self.means.host.process.facts)?)?;
            arguments.push_arg(self.logger.clone())?;
            arguments.push_arg(self.nk.clone())?;
            arguments.push_arg(self.initializer.clone())?;
            Ok(arguments)
        };
        let arguments = arguments().map_err(|error| unloaded(ctx, &error))?;
        match arguments.apply::<JsValue<'js>>(&function) {
            Ok(returned) => {
                let settled = self.run_jobs(ctx).and_then(|()| self.settle(ctx, returned));
                settled.map(drop).map_err(|failure| LoadError(failure.message))
            }
            Err(error) => Err(unloaded(ctx, &error)),
        }
    }

    /// Calls a function. A promise that it returns must be settled without help from outside; its value is returned.
    ///
    /// # Errors
    /// The exception that the function threw.
    pub(super) fn call<'js>(
        &self,
        ctx: &Ctx<'js>,
        function: &Function<'js>,
        arguments: Args<'js>,
    ) -> std::result::Result<JsValue<'js>, Failure> {
        let result = self.apply(ctx, function, arguments).and_then(|returned| self.settle(ctx, returned));
        self.warn_of_rejections(ctx);
        result
    }

    /// Calls a function, and runs the jobs of promises.
    ///
    /// # Errors
    /// The exception that the function threw.
    pub(super) fn apply<'js>(
        &self,
        ctx: &Ctx<'js>,
        function: &Function<'js>,
        arguments: Args<'js>,
    ) -> std::result::Result<JsValue<'js>, Failure> {
        self.memory.take_refused();
        let returned = arguments.apply::<JsValue<'js>>(function).map_err(|error| reported(ctx, &error));
        self.run_jobs(ctx)?;
        returned
    }

    /// A value, or the result of a value that is a settled promise.
    fn settle<'js>(&self, ctx: &Ctx<'js>, value: JsValue<'js>) -> std::result::Result<JsValue<'js>, Failure> {
        let Some(promise) = value.as_promise() else { return Ok(value) };
        self.promises.handled(ctx, promise);
        settled(ctx, promise).unwrap_or_else(|| Err(Failure::new(Code::Internal, UNFULFILLED)))
    }

    /// Runs the waiting jobs of promises.
    pub(super) fn run_jobs(&self, ctx: &Ctx<'_>) -> std::result::Result<(), Failure> {
        let mut jobs = 0;
        while ctx.execute_pending_job() {
            jobs += 1;
            if self.is_spent() && jobs >= SPENT_JOBS_MAX {
                // A chain of jobs never ends. Jobs of the calls under way run between those of the chain.
                return Ok(());
            }
            if jobs >= JOBS_MAX || self.means.budget.is_over() {
                self.is_spent.set(true);
                // Remaining jobs may belong to other calls, which run them in their turns.
                self.promises.wake_all();
                let told = if jobs >= JOBS_MAX { "its promises go on without an end" } else { OVER };
                return Err(Failure::new(Code::Internal, told));
            }
        }
        Ok(())
    }

    /// Warns of rejected promises that no call awaited, at the end of a call. Code of modules may run, because errors
    /// may have getters.
    pub(super) fn warn_of_rejections(&self, ctx: &Ctx<'_>) {
        if self.means.budget.is_over() {
            return;
        }
        let host = &self.means.host;
        for reason in self.promises.take_unhandled(ctx) {
            let trace = with_trace(ctx, reason).in_full();
            if host.current.may_log(trace.len(), &host.process.metrics) {
                let (language, source) = ("JavaScript", host.process.source_line(&trace));
                tracing::warn!(
                    language,
                    source,
                    trace = line_of(&trace),
                    "a promise was rejected and nobody awaited it"
                );
            }
        }
    }

    /// Bytes that the machine has allocated, including garbage that is not yet collected.
    pub(super) fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Whether the machine can serve calls again after one found no memory.
    pub(super) fn has_room(&self) -> bool {
        if self.is_lost() {
            return false;
        }
        self.context.runtime().run_gc();
        self.bytes() < self.bytes_max / 4 * 3
    }

    /// Whether the machine must take no further calls, because an endless chain of promises runs in it or a call was
    /// given up.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get() || self.is_lost()
    }

    /// Whether a call was given up. The call's stack holds the library's lock, so the machine can never be entered
    /// again; it is kept alive for the values on that stack.
    pub(super) fn is_lost(&self) -> bool {
        self.means.fiber.is_lost()
    }
}

impl Vm {
    /// Starts a machine and runs the modules in it. Returns the answers to the first run of `InitModule`.
    ///
    /// # Errors
    /// The error that the modules failed with, with file and line.
    pub(super) async fn load(
        sources: &Arc<Sources>,
        answers: Option<Answers>,
        host: &Rc<Host>,
        limits: &Limits,
    ) -> std::result::Result<(Self, Answers), LoadError> {
        let engine = Engine::new(host, limits, false)?;
        let (its, sources) = (engine.clone(), sources.clone());
        let run = move || enter(&its.context, |ctx| its.load(&ctx, &sources, answers.as_ref()));
        let Means { fiber, budget, .. } = &engine.means;
        budget.begin(limits.load_time);
        let ran = fiber.run(budget, run).await;
        if budget.is_over() {
            return Err(LoadError(LOADS_TOO_LONG.to_owned()));
        }
        engine.registered.borrow_mut().close();
        let answers = ran.map_err(|error| LoadError(error.to_string()))??;
        Ok((Self { engine }, answers))
    }
}

/// The value or the failure of a promise; `None` while it is not settled.
pub(super) fn settled<'js>(
    ctx: &Ctx<'js>,
    promise: &Promise<'js>,
) -> Option<std::result::Result<JsValue<'js>, Failure>> {
    Some(promise.result::<JsValue<'js>>()?.map_err(|error| reported(ctx, &error)))
}

/// The error of modules that cannot be loaded, with file and line.
fn unloaded(ctx: &Ctx<'_>, error: &rquickjs::Error) -> LoadError {
    if !error.is_exception() {
        return LoadError(error.to_string());
    }
    let value = ctx.catch();
    let place = place(&value).map_or_else(String::new, |place| format!("{place}: "));
    LoadError(format!("{place}{}", thrown(ctx, value).message))
}

/// An error of modules with the files that import what another file does not export, because QuickJS names the other
/// file alone.
fn with_importers(sources: &Sources, LoadError(told): LoadError) -> LoadError {
    let importers = || {
        let (name, rest) = told.split_once("Could not find export '")?.1.split_once("' in module '")?;
        let importers: Vec<&str> = sources.importers(rest.strip_suffix('\'')?, name).collect();
        (!importers.is_empty()).then(|| importers.join(", "))
    };
    match importers() {
        Some(importers) => LoadError(format!("{told}, imported by {importers}")),
        None => LoadError(told),
    }
}

/// The failure of an exception. That of an error that the author did not throw on purpose has a trace.
fn reported(ctx: &Ctx<'_>, error: &rquickjs::Error) -> Failure {
    if error.is_exception() { with_trace(ctx, ctx.catch()) } else { raised(ctx, error) }
}

/// The failure of a thrown value, with a trace unless the author threw it on purpose.
fn with_trace<'js>(ctx: &Ctx<'js>, value: JsValue<'js>) -> Failure {
    let stack = stack(&value);
    let failure = thrown(ctx, value);
    match stack {
        Some(stack) => failure.with_stack(&format!("{STACK_LINE}\n{stack}")),
        None => failure.with_stack(STACK_LINE),
    }
}
