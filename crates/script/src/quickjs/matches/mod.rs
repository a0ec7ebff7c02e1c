//! A match of game code in a machine of its own: the modules have run there, and the match has a state. The machine
//! never serves a second match.

mod arguments;
mod dispatcher;
mod handler;
mod migrate;
mod state;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_live::matches::{Call, Callback, MatchId, Outcome, Return};
use muster_wire::code::Code;
use rquickjs::function::Args;
use rquickjs::{Ctx, Object, Persistent, Result, Value as JsValue};

use super::context::context_of;
use super::errors::{raised, throw};
use super::program::Bundle;
use super::register::Callbacks;
use super::sources::Sources;
use super::values;
use super::vm::{Engine, enter};
use crate::host::Host;
use crate::machine::budget::{LOADS_TOO_LONG, OVER};
use crate::machine::limits::Limits;
use crate::machine::matches::{Pace, failed, holds_too_much};
use crate::machine::once::Answers;
use crate::machine::{Frozen, LoadError, MatchMachine};
use crate::value::Value;
use arguments::{attempt_context, left_presences, messages, metadata, presence, presences};
use dispatcher::Dispatcher;
use handler::InitReturn;

/// A machine of JavaScript for one match.
pub struct MatchVm {
    loaded: RefCell<Option<Rc<LoadedMatch>>>,
    /// Whether a match has begun or has failed to begin: no other may begin here.
    is_used: Cell<bool>,
    dispatcher: Dispatcher,
    engine: Rc<Engine>,
    script: Script,
    limits: Limits,
}

/// The files that a machine runs before its match begins.
#[derive(Clone)]
struct Script {
    sources: Arc<Sources>,
    /// The host's answers to the first run of `InitModule`.
    answers: Answers,
    /// Bytes that the machine held when the files had run; they do not count as the match's.
    bytes: Rc<Cell<usize>>,
}

/// A match that has begun, with the tick rate and label that the plane is told.
struct OpenedMatch {
    loaded: LoadedMatch,
    tick_rate: u32,
    label: Arc<str>,
}

/// The parts of a match that its machine keeps between callbacks.
struct LoadedMatch {
    callbacks: Callbacks,
    context: Persistent<Object<'static>>,
    state: RefCell<Persistent<JsValue<'static>>>,
    pace: Pace,
    calls: Cell<u32>,
}

/// The way in which a match begins in a machine.
enum Beginning {
    /// The match begins by `matchInit`, with these parameters.
    Init(Value),
    /// The match goes on from the bytes of a state.
    Thaw { tick_rate: u32, state: Vec<u8> },
}

/// Callbacks between two looks at the memory of a match. A match that holds much is collected at each look.
const CALLS_PER_LOOK: u32 = 64;

/// A result, or a sentence on why the match's code failed.
type MatchResult<T> = std::result::Result<T, Arc<str>>;

impl MatchMachine for MatchVm {
    type Program = Bundle;
    /// A runtime of QuickJS keeps the frames of running code on one stack. If several matches shared a runtime, only
    /// one callback could wait at a time, and never for another match of the runtime.
    const MATCHES_MAX: usize = 1;

    fn new(
        program: &Bundle,
        host: &Rc<Host>,
        limits: Limits,
        is_recorded: bool,
    ) -> std::result::Result<Self, LoadError> {
        let engine = Engine::new(host, &limits, is_recorded)?;
        let dispatcher = engine.briefly(limits.load_time, |ctx| Dispatcher::new(&ctx, host, limits.deferred_max));
        let dispatcher = dispatcher.map_err(|error| LoadError(format!("cannot start JavaScript: {error}")))?;
        let bytes = Rc::new(Cell::new(engine.bytes()));
        let script = Script { sources: program.sources.clone(), answers: program.answers.clone(), bytes };
        Ok(Self { loaded: RefCell::default(), is_used: Cell::new(false), dispatcher, engine, script, limits })
    }

    fn freeze(&self, _: MatchId) -> MatchResult<Vec<u8>> {
        let loaded = self.loaded()?;
        self.engine.briefly(self.limits.call_time, |ctx| -> MatchResult<Vec<u8>> {
            let told = |error: rquickjs::Error| Arc::<str>::from(raised(&ctx, &error).message);
            let frozen = state::freeze(&loaded.state.borrow().clone().restore(&ctx).map_err(told)?)?;
            let thawed = state::thaw(&ctx, &frozen).map_err(told)?;
            loaded.state.replace(Persistent::save(&ctx, thawed));
            Ok(frozen)
        })
    }

    async fn thaw(&self, frozen: Frozen<'_>) -> MatchResult<()> {
        self.is_used.set(true);
        let Frozen { id, handler, tick_rate, state } = frozen;
        let opened = self.open(id, handler.clone(), Beginning::Thaw { tick_rate, state: state.to_vec() }).await?;
        self.loaded.replace(Some(Rc::new(opened.loaded)));
        Ok(())
    }

    fn drop_match(&self, _: MatchId) {
        self.loaded.take();
    }

    fn is_spent(&self) -> bool {
        self.is_used.get()
    }

    async fn call(&self, call: &Call) -> (Return, bool) {
        if let Callback::Init { params, .. } = &call.callback {
            self.is_used.set(true);
            let begun = self.begin(call, params).await.unwrap_or_else(failed);
            return (begun, false);
        }
        let loaded = match self.loaded() {
            Ok(loaded) => loaded,
            Err(why) => return (failed(why), false),
        };
        let limit = match call.callback {
            Callback::Loop(_) => self.limits.tick_time_max,
            _ => self.limits.call_time,
        };
        let (fiber, budget) = (&self.engine.means.fiber, &self.engine.means.budget);
        let (engine, its, called) = (self.engine.clone(), loaded.clone(), call.clone());
        let dispatcher = self.dispatcher.object.clone();
        self.dispatcher.sink.open();
        if loaded.callbacks.timer.is_some() {
            self.dispatcher.sink.allow_timers(&call.timers, call.callback.timer());
        }
        budget.begin(limit);
        let body = move || enter(&engine.context, |ctx| its.call(&ctx, &engine, dispatcher, &called));
        let ended = fiber.run(budget, body).await;
        let returned = if budget.is_over() {
            Err(OVER.into())
        } else {
            ended.unwrap_or_else(|error| Err(error.message.as_ref().into()))
        };
        let acts = self.dispatcher.sink.close();
        let (is_late, in_time) = if let Callback::Loop(_) = call.callback {
            // A repeated call's time says nothing of the match's pace.
            let is_replayed = self.engine.means.host.current.is_replayed();
            let spent = if is_replayed { Duration::ZERO } else { budget.spent() };
            loaded.pace.looped(spent, &self.limits)
        } else {
            (false, Ok(()))
        };
        let outcome = in_time.and(returned).and_then(|outcome| self.within_memory(&loaded, outcome));
        (Return { outcome: outcome.unwrap_or_else(Outcome::Failed), acts }, is_late)
    }
}

impl MatchVm {
    /// The machine's match.
    fn loaded(&self) -> MatchResult<Rc<LoadedMatch>> {
        let loaded = self.loaded.borrow().clone().filter(|_| !self.engine.is_lost());
        loaded.ok_or_else(|| Arc::from("the match is not in this machine"))
    }

    /// Checks once in [`CALLS_PER_LOOK`] callbacks that the match holds no more memory than it may.
    fn within_memory(&self, loaded: &LoadedMatch, outcome: Outcome) -> MatchResult<Outcome> {
        loaded.calls.set(loaded.calls.get().wrapping_add(1));
        if !loaded.calls.get().is_multiple_of(CALLS_PER_LOOK) {
            return Ok(outcome);
        }
        let kept = self.kept_bytes();
        if kept <= self.limits.match_bytes || self.is_kept_less_by_collecting() {
            return Ok(outcome);
        }
        Err(holds_too_much(kept))
    }

    fn is_kept_less_by_collecting(&self) -> bool {
        self.engine.has_room() && self.kept_bytes() <= self.limits.match_bytes
    }

    /// Bytes that the match holds, including garbage that is not yet collected.
    fn kept_bytes(&self) -> usize {
        self.engine.bytes().saturating_sub(self.script.bytes.get())
    }

    async fn begin(&self, call: &Call, params: &[u8]) -> MatchResult<Return> {
        let params = Value::decode(params).map_err(|error| Arc::from(error.to_string()))?;
        let opened = self.open(call.id, call.handler.clone(), Beginning::Init(params)).await?;
        let OpenedMatch { loaded, tick_rate, label } = opened;
        self.loaded.replace(Some(Rc::new(loaded)));
        Ok(Return { outcome: Outcome::Begun { tick_rate, label }, acts: Vec::new() })
    }

    /// Runs the modules on the machine's stack, and begins the match.
    async fn open(&self, id: MatchId, name: Arc<str>, beginning: Beginning) -> MatchResult<OpenedMatch> {
        let (fiber, budget) = (&self.engine.means.fiber, &self.engine.means.budget);
        let (engine, script) = (self.engine.clone(), self.script.clone());
        budget.begin(self.limits.load_time);
        let body = move || -> MatchResult<OpenedMatch> {
            let made = enter(&engine.context, |ctx| begin(&ctx, &engine, &script, id, &name, beginning));
            // Only the match's own callbacks are kept.
            *engine.registered.borrow_mut() = Default::default();
            made
        };
        let ended = fiber.run(budget, body).await;
        if budget.is_over() {
            return Err(LOADS_TOO_LONG.into());
        }
        ended.unwrap_or_else(|error| Err(error.message.as_ref().into()))
    }
}

impl Script {
    /// Runs the files.
    fn run(&self, ctx: &Ctx<'_>, engine: &Engine) -> MatchResult<()> {
        engine.load(ctx, &self.sources, Some(&self.answers)).map_err(|error| Arc::from(error.to_string()))?;
        self.bytes.set(engine.bytes());
        Ok(())
    }
}

/// Runs the modules, and calls `matchInit` or reads the match's state.
fn begin(
    ctx: &Ctx<'_>,
    engine: &Engine,
    script: &Script,
    id: MatchId,
    name: &str,
    beginning: Beginning,
) -> MatchResult<OpenedMatch> {
    let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(ctx, &error).message);
    script.run(ctx, engine)?;
    let callbacks = engine.registered.borrow_mut().matches.remove(name);
    let callbacks =
        callbacks.ok_or_else(|| Arc::from(format!("InitModule did not register the match '{name}' again")))?;
    let host = &engine.means.host;
    let context = || -> Result<_> {
        let context = context_of(ctx, "match", &host.facts())?;
        context.set("matchId", format!("{id}.{}", host.node))?;
        context.set("matchNode", &*host.node)?;
        Ok(context)
    };
    let context = context().map_err(thrown)?;
    let begun = match beginning {
        Beginning::Thaw { tick_rate, state } => {
            let state = Persistent::save(ctx, state::thaw(ctx, &state).map_err(thrown)?);
            InitReturn { state, tick_rate, label: Arc::default() }
        }
        Beginning::Init(params) => {
            let prepare = || -> Result<_> {
                let mut arguments = Args::new(ctx.clone(), 4);
                arguments.push_arg(context.clone())?;
                arguments.push_arg(engine.logger.clone())?;
                arguments.push_arg(engine.nk.clone())?;
                let params = match params {
                    Value::Nil => Value::Map(Vec::new()),
                    params => params,
                };
                arguments.push_arg(values::write(ctx, params)?)?;
                Ok((callbacks.required[0].clone().restore(ctx)?, arguments))
            };
            let (function, arguments) = prepare().map_err(thrown)?;
            let returned = engine.call(ctx, &function, arguments).map_err(|failure| Arc::from(failure.in_full()))?;
            handler::begun(ctx, returned)?
        }
    };
    context.set("matchTickRate", begun.tick_rate).map_err(thrown)?;
    let InitReturn { state, tick_rate, label } = begun;
    Ok(OpenedMatch { loaded: LoadedMatch::new(callbacks, Persistent::save(ctx, context), state), tick_rate, label })
}

impl LoadedMatch {
    fn new(callbacks: Callbacks, context: Persistent<Object<'static>>, state: Persistent<JsValue<'static>>) -> Self {
        Self { callbacks, context, state: RefCell::new(state), pace: Pace::default(), calls: Cell::default() }
    }

    fn call(
        &self,
        ctx: &Ctx<'_>,
        engine: &Engine,
        dispatcher: Persistent<Object<'static>>,
        call: &Call,
    ) -> MatchResult<Outcome> {
        let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(ctx, &error).message);
        let (index, name) = handler::callback(&call.callback);
        let node = &*engine.means.host.node;
        let prepare = || -> Result<_> {
            let mut context = self.context.clone().restore(ctx)?;
            context.set("matchLabel", &*call.label)?;
            let (first, second) = match &call.callback {
                Callback::Init { .. } => (JsValue::new_null(ctx.clone()), None),
                Callback::JoinAttempt { presence: who, joiner } => {
                    context = attempt_context(ctx, context, who, joiner)?;
                    (presence(ctx, who, node)?.into_value(), Some(metadata(ctx, &joiner.metadata)?))
                }
                Callback::Join(came) => (presences(ctx, came, node)?, None),
                Callback::Leave(left) => (left_presences(ctx, left, node)?, None),
                Callback::Loop(inputs) => (messages(ctx, inputs, node)?, None),
                Callback::Terminate { grace_sec } => (JsValue::new_number(ctx.clone(), (*grace_sec).into()), None),
                Callback::Timer { name, data } => {
                    let text = |text: &str| values::write(ctx, Value::text(text));
                    (text(name)?, Some(text(data)?))
                }
                Callback::Signal(data) => (values::write(ctx, Value::text(&**data))?, None),
            };
            let mut arguments = Args::new_unsized(ctx.clone());
            arguments.push_arg(context)?;
            arguments.push_arg(engine.logger.clone())?;
            arguments.push_arg(engine.nk.clone())?;
            arguments.push_arg(dispatcher)?;
            arguments.push_arg(call.tick as f64)?;
            arguments.push_arg(self.state.borrow().clone())?;
            arguments.push_arg(first)?;
            if let Some(second) = second {
                arguments.push_arg(second)?;
            }
            let called = index.map(|index| &self.callbacks.required[index]).or(self.callbacks.timer.as_ref());
            let Some(called) = called else {
                return Err(throw(ctx, Code::Internal, "the match has no function matchTimer"));
            };
            Ok((called.clone().restore(ctx)?, arguments))
        };
        let (function, arguments) = prepare().map_err(thrown)?;
        let returned = engine.call(ctx, &function, arguments).map_err(|failure| Arc::from(failure.in_full()))?;
        handler::outcome(ctx, &call.callback, name, returned, |state| {
            self.state.replace(Persistent::save(ctx, state));
        })
    }
}
