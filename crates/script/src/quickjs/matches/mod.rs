//! A match of game code in a machine of its own, in which the modules have run, with a state.

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
use super::init::Answers;
use super::program::Bundle;
use super::register::Callbacks;
use super::sources::Sources;
use super::values;
use super::vm::{Engine, enter};
use crate::host::Host;
use crate::machine::budget::OVER;
use crate::machine::limits::Limits;
use crate::machine::matches::{Pace, failed, holds_too_much};
use crate::machine::{Frozen, LoadError, MatchMachine};
use crate::value::Value;
use arguments::{left_presences, messages, metadata, presence, presences};
use dispatcher::Dispatcher;
use handler::Begun;

/// A machine for a match.
pub struct MatchVm {
    game: RefCell<Option<Rc<Game>>>,
    /// A match has begun or failed to: there cannot be another.
    is_used: Cell<bool>,
    dispatcher: Dispatcher,
    engine: Rc<Engine>,
    sources: Arc<Sources>,
    answers: Answers,
    limits: Limits,
    /// What the machine held before the script ran in it.
    bytes_before: usize,
}

/// What a machine keeps of its match.
struct Game {
    callbacks: Callbacks,
    shown: Persistent<Object<'static>>,
    state: RefCell<Persistent<JsValue<'static>>>,
    pace: Pace,
    calls: Cell<u32>,
}

/// How a match comes into a machine.
enum Beginning {
    /// By its first callback, with these parameters.
    Init(Value),
    /// With a state that was kept.
    Thaw { tick_rate: u32, state: Vec<u8> },
}

/// Memory is looked at once in so many callbacks: to know it all of it is looked at.
const CALLS_PER_LOOK: u32 = 64;

/// What comes of a callback, or why it failed.
type Ended<T> = std::result::Result<T, Arc<str>>;

impl MatchMachine for MatchVm {
    type Program = Bundle;
    /// Frames of what runs are kept by the runtime, so of matches that share one only one could wait, and not for another.
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
        let (sources, answers) = (program.sources.clone(), program.answers.clone());
        Ok(Self {
            game: RefCell::default(),
            is_used: Cell::new(false),
            dispatcher,
            bytes_before: engine.bytes(),
            engine,
            sources,
            answers,
            limits,
        })
    }

    fn freeze(&self, _: MatchId) -> Ended<Vec<u8>> {
        let game = self.game()?;
        self.engine.briefly(self.limits.call_time, |ctx| -> Ended<Vec<u8>> {
            let told = |error: rquickjs::Error| Arc::<str>::from(raised(&ctx, &error).message);
            let frozen = state::freeze(&game.state.borrow().clone().restore(&ctx).map_err(told)?)?;
            let thawed = state::thaw(&ctx, &frozen).map_err(told)?;
            game.state.replace(Persistent::save(&ctx, thawed));
            Ok(frozen)
        })
    }

    async fn thaw(&self, frozen: Frozen<'_>) -> Ended<()> {
        self.is_used.set(true);
        let Frozen { id, handler, tick_rate, state } = frozen;
        let (game, ..) = self.open((id, handler.clone()), Beginning::Thaw { tick_rate, state: state.to_vec() }).await?;
        self.game.replace(Some(Rc::new(game)));
        Ok(())
    }

    fn drop_match(&self, _: MatchId) {
        self.game.take();
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
        let game = match self.game() {
            Ok(game) => game,
            Err(why) => return (failed(why), false),
        };
        let limit = match call.callback {
            Callback::Loop(_) => self.limits.tick_time_max,
            _ => self.limits.call_time,
        };
        let (fiber, budget) = (&self.engine.means.fiber, &self.engine.means.budget);
        let (engine, its, called) = (self.engine.clone(), game.clone(), call.clone());
        let dispatcher = self.dispatcher.object.clone();
        self.dispatcher.sink.open();
        if game.callbacks.timer.is_some() {
            self.dispatcher.sink.let_set(&call.timers, call.callback.timer());
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
            // What it took when it is called again says nothing of the match.
            let is_again = self.engine.means.host.current.is_again();
            let spent = if is_again { Duration::ZERO } else { budget.spent() };
            game.pace.looped(spent, &self.limits)
        } else {
            (false, Ok(()))
        };
        let outcome = in_time.and(returned).and_then(|outcome| self.within_memory(&game, outcome));
        (Return { outcome: outcome.unwrap_or_else(Outcome::Failed), acts }, is_late)
    }
}

impl MatchVm {
    /// Its match.
    fn game(&self) -> Ended<Rc<Game>> {
        let game = self.game.borrow().clone().filter(|_| !self.engine.is_lost());
        game.ok_or_else(|| Arc::from("the match is not in this machine"))
    }

    /// Whether the match keeps no more memory than it may, which is looked at now and then.
    fn within_memory(&self, game: &Game, outcome: Outcome) -> Ended<Outcome> {
        game.calls.set(game.calls.get().wrapping_add(1));
        if !game.calls.get().is_multiple_of(CALLS_PER_LOOK) {
            return Ok(outcome);
        }
        let kept = self.engine.bytes().saturating_sub(self.bytes_before);
        if kept <= self.limits.match_bytes || self.is_kept_less_by_collecting() {
            return Ok(outcome);
        }
        Err(holds_too_much(kept))
    }

    fn is_kept_less_by_collecting(&self) -> bool {
        self.engine.has_room() && self.engine.bytes().saturating_sub(self.bytes_before) <= self.limits.match_bytes
    }

    async fn begin(&self, call: &Call, params: &[u8]) -> Ended<Return> {
        let params = Value::decode(params).map_err(|error| Arc::from(error.to_string()))?;
        let opened = self.open((call.id, call.handler.clone()), Beginning::Init(params)).await?;
        let (game, tick_rate, label) = opened;
        self.game.replace(Some(Rc::new(game)));
        Ok(Return { outcome: Outcome::Begun { tick_rate, label }, acts: Vec::new() })
    }

    /// Runs the modules, and what a match begins with.
    async fn open(&self, (id, name): (MatchId, Arc<str>), beginning: Beginning) -> Ended<(Game, u32, Arc<str>)> {
        let (fiber, budget) = (&self.engine.means.fiber, &self.engine.means.budget);
        let (engine, sources, answers) = (self.engine.clone(), self.sources.clone(), self.answers.clone());
        budget.begin(self.limits.load_time);
        let body = move || -> Ended<(Game, u32, Arc<str>)> {
            let made = enter(&engine.context, |ctx| begin(&ctx, &engine, (&sources, &answers), (id, &name), beginning));
            // Only what the match needs of it stays.
            *engine.registered.borrow_mut() = Default::default();
            let (callbacks, shown, begun) = made?;
            let Begun { state, tick_rate, label } = begun;
            let game =
                Game { callbacks, shown, state: RefCell::new(state), pace: Pace::default(), calls: Cell::default() };
            Ok((game, tick_rate, label))
        };
        let ended = fiber.run(budget, body).await;
        if budget.is_over() {
            return Err(OVER.into());
        }
        ended.unwrap_or_else(|error| Err(error.message.as_ref().into()))
    }
}

/// Runs the modules, and the match's first callback if it begins by that.
fn begin(
    ctx: &Ctx<'_>,
    engine: &Engine,
    (sources, answers): (&Arc<Sources>, &Answers),
    (id, name): (MatchId, &str),
    beginning: Beginning,
) -> Ended<(Callbacks, Persistent<Object<'static>>, Begun)> {
    let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(ctx, &error).message);
    engine.load(ctx, sources, Some(answers)).map_err(|error| Arc::from(error.to_string()))?;
    let callbacks = engine.registered.borrow_mut().matches.remove(name);
    let callbacks =
        callbacks.ok_or_else(|| Arc::from(format!("InitModule did not register the match '{name}' again")))?;
    let host = &engine.means.host;
    let shown = || -> Result<_> {
        let shown = context_of(ctx, "match", &host.surroundings())?;
        shown.set("matchId", format!("{id}.{}", host.node))?;
        shown.set("matchNode", &*host.node)?;
        Ok(shown)
    };
    let shown = shown().map_err(thrown)?;
    let begun = match beginning {
        Beginning::Thaw { tick_rate, state } => {
            let state = Persistent::save(ctx, state::thaw(ctx, &state).map_err(thrown)?);
            Begun { state, tick_rate, label: Arc::default() }
        }
        Beginning::Init(params) => {
            let prepare = || -> Result<_> {
                let mut arguments = Args::new(ctx.clone(), 4);
                arguments.push_arg(shown.clone())?;
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
            let returned = engine.call(ctx, &function, arguments).map_err(|failure| Arc::from(failure.message))?;
            handler::begun(ctx, returned)?
        }
    };
    shown.set("matchTickRate", begun.tick_rate).map_err(thrown)?;
    Ok((callbacks, Persistent::save(ctx, shown), begun))
}

impl Game {
    fn call(
        &self,
        ctx: &Ctx<'_>,
        engine: &Engine,
        dispatcher: Persistent<Object<'static>>,
        call: &Call,
    ) -> Ended<Outcome> {
        let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(ctx, &error).message);
        let (index, name) = handler::callback(&call.callback);
        let node = &*engine.means.host.node;
        let prepare = || -> Result<_> {
            let (first, second) = match &call.callback {
                Callback::Init { .. } => (JsValue::new_null(ctx.clone()), None),
                Callback::JoinAttempt { presence: who, metadata: said } => {
                    (presence(ctx, who, node, None)?.into_value(), Some(metadata(ctx, said)?))
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
            let shown = self.shown.clone().restore(ctx)?;
            shown.set("matchLabel", &*call.label)?;
            let mut arguments = Args::new_unsized(ctx.clone());
            arguments.push_arg(shown)?;
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
        let returned = engine.call(ctx, &function, arguments).map_err(|failure| Arc::from(failure.message))?;
        handler::outcome(ctx, &call.callback, name, returned, |state| {
            self.state.replace(Persistent::save(ctx, state));
        })
    }
}
