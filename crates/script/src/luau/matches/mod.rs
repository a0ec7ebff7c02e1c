//! Matches of game code in one machine. Each is an instance of the program with a state. While a callback waits, others'
//! may run.

mod arguments;
mod dispatcher;
mod handler;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{MultiValue, Table, Value as LuaValue};
use muster_live::matches::{Call, Callback, MatchId, Outcome, Return};

use super::instance::{Chunks, instance};
use super::once::context_of;
use super::program::Program;
use super::seat::Seat;
use super::values;
use super::vm::{Ran, Vm, plain};
use crate::host::Host;
use crate::machine::budget::OVER;
use crate::machine::limits::Limits;
use crate::machine::matches::{Pace, failed};
use crate::machine::{LoadError, MatchMachine};
use crate::value::Value;
use arguments::{left_presences, messages, metadata, presence, presences};
use dispatcher::Dispatcher;
use handler::Handler;

/// A machine for matches.
pub struct MatchVm {
    vm: Vm,
    chunks: Rc<Chunks>,
    dispatcher: Dispatcher,
    games: RefCell<HashMap<MatchId, Rc<Game>>>,
    limits: Limits,
}

/// What a machine keeps of a match.
struct Game {
    handler: Handler,
    context: Table,
    state: RefCell<LuaValue>,
    pace: Pace,
}

/// What a callback returned: the state, and what else it answers.
type Returned = Result<Vec<LuaValue>, Arc<str>>;

/// What a match begins with: its callbacks, its context, and what the first of them returned.
type Begun = Result<(Handler, Table, MultiValue), Arc<str>>;

impl MatchMachine for MatchVm {
    type Program = Program;
    const LANGUAGE: &'static str = "Lua";
    const PARKS: bool = true;

    fn new(program: &Program, host: &Rc<Host>, limits: Limits) -> Result<Self, LoadError> {
        let failed = |error| LoadError(format!("cannot start Lua: {error}"));
        let vm = Vm::bare(host, &limits).map_err(failed)?;
        vm.registered.borrow_mut().close();
        let chunks = Chunks::load(&vm.lua, &program.modules).map_err(failed)?;
        let dispatcher = Dispatcher::new(&vm.lua, &vm.prelude.bind, &vm.seats).map_err(failed)?;
        Ok(Self { vm, chunks, dispatcher, games: RefCell::default(), limits })
    }

    fn drop_match(&self, id: MatchId) {
        self.games.borrow_mut().remove(&id);
    }

    async fn call(&self, call: &Call) -> (Return, bool) {
        let Call { id, tick, .. } = *call;
        let game = if let Callback::Init { params } = &call.callback {
            match self.init(call, params).await {
                Ok((game, begun)) => {
                    self.games.borrow_mut().insert(id, game);
                    return (begun, false);
                }
                Err(why) => return (failed(why), false),
            }
        } else {
            self.games.borrow().get(&id).cloned()
        };
        let Some(game) = game else { return (failed("the match is not in this machine".into()), false) };
        let limit = match call.callback {
            Callback::Loop(_) => self.limits.tick_time_max,
            _ => self.limits.call_time,
        };
        let seat = match self.vm.seat() {
            Ok(seat) => seat,
            Err(error) => return (failed(plain(&error).into()), false),
        };
        seat.sink.open(game.pace.deferred());
        let (lua, node, table, its) =
            (self.vm.lua.clone(), self.vm.host.node.clone(), self.dispatcher.table.clone(), game.clone());
        let (callback, label) = (call.callback.clone(), call.label.clone());
        let body = move |seat: &Seat| -> mlua::Result<MultiValue> {
            let (function, first, second) = match &callback {
                Callback::Init { .. } => return Err(mlua::Error::runtime("the match has begun")),
                Callback::JoinAttempt { presence: who, metadata: said } => {
                    let said = metadata(&lua, said)?;
                    (&its.handler.join_attempt, presence(&lua, who, &node, None)?, Some(said))
                }
                Callback::Join(came) => (&its.handler.join, presences(&lua, came, &node)?, None),
                Callback::Leave(left) => (&its.handler.leave, left_presences(&lua, left, &node)?, None),
                Callback::Loop(inputs) => (&its.handler.run_loop, messages(&lua, inputs, &node)?, None),
                Callback::Terminate { grace_sec } => {
                    (&its.handler.terminate, LuaValue::Number((*grace_sec).into()), None)
                }
                Callback::Signal(data) => (&its.handler.signal, LuaValue::String(lua.create_string(&**data)?), None),
            };
            its.context.raw_set("match_label", &*label)?;
            seat.context.replace(Some(its.context.clone()));
            let state = its.state.borrow().clone();
            let (function, context) = (LuaValue::Function(function.clone()), LuaValue::Table(its.context.clone()));
            let mut arguments =
                vec![function, context, LuaValue::Table(table), LuaValue::Number(tick as f64), state, first];
            arguments.extend(second);
            seat.call(MultiValue::from_vec(arguments))
        };
        let its = seat.clone();
        let ran = self.vm.run(seat, limit, body).await;
        let (acts, deferred) = its.sink.close();
        let spent = ran.spent;
        let returned = finish(ran).and_then(values_of);
        let (is_late, in_time) = if let Callback::Loop(_) = call.callback {
            game.pace.looped(spent, &self.limits)
        } else {
            game.pace.called(deferred);
            (false, Ok(()))
        };
        let outcome = in_time.and(returned).and_then(|values| game.outcome(&call.callback, values));
        (Return { outcome: outcome.unwrap_or_else(Outcome::Failed), acts }, is_late)
    }
}

impl MatchVm {
    async fn init(&self, call: &Call, params: &[u8]) -> Result<(Rc<Game>, Return), Arc<str>> {
        let params = Value::decode(params).map_err(|error| Arc::from(error.to_string()))?;
        let seat = self.vm.seat().map_err(|error| Arc::from(plain(&error)))?;
        let (lua, chunks, make_require) =
            (self.vm.lua.clone(), self.chunks.clone(), self.vm.prelude.make_require.clone());
        let (host, name) = (self.vm.host.clone(), call.handler.clone());
        let public_id = format!("{}.{}", call.id, host.node);
        let body = move |seat: &Seat| -> mlua::Result<Begun> {
            let require = instance(&lua, &chunks, &make_require)?;
            let module = match values_of(seat.call((require, &*name))?) {
                Ok(values) => values.into_iter().next().unwrap_or(LuaValue::Nil),
                Err(why) => return Ok(Err(why)),
            };
            let handler = Handler::of(module, &name)?;
            let context = context_of(&lua, "match", &host.process.around)?;
            context.raw_set("match_id", public_id)?;
            context.raw_set("match_node", &*host.node)?;
            seat.context.replace(Some(context.clone()));
            let results = seat.call((&handler.init, &context, values::write(&lua, params)?))?;
            Ok(Ok((handler, context, results)))
        };
        let (handler, context, results) = finish(self.vm.run(seat, self.limits.load_time, body).await)??;
        let (state, tick_rate, label) = handler::begun(values_of(results)?)?;
        context.raw_set("match_tick_rate", tick_rate).map_err(|error| Arc::from(plain(&error)))?;
        let game = Game { handler, context, state: RefCell::new(state), pace: Pace::default() };
        Ok((Rc::new(game), Return { outcome: Outcome::Begun { tick_rate, label }, acts: Vec::new() }))
    }
}

fn finish<T>(ran: Ran<T>) -> Result<T, Arc<str>> {
    if ran.is_over { Err(OVER.into()) } else { ran.result.map_err(Arc::from) }
}

/// What a protected call says: `true` and the results, or `false` and what was raised.
fn values_of(results: MultiValue) -> Returned {
    let mut results = results.into_iter();
    match results.next() {
        Some(LuaValue::Boolean(true)) => Ok(results.collect()),
        _ => Err(super::call::raised(results.next().unwrap_or(LuaValue::Nil)).message.into()),
    }
}

impl Game {
    /// What a callback's values mean. The state is kept.
    fn outcome(&self, callback: &Callback, values: Vec<LuaValue>) -> Result<Outcome, Arc<str>> {
        let mut values = values.into_iter();
        let name = handler::name(callback);
        let state = values.next().ok_or_else(|| {
            Arc::from(format!("{name} returned nothing: it must return the state, or nil to end the match"))
        })?;
        if state.is_nil() {
            return Ok(Outcome::Over);
        }
        self.state.replace(state);
        handler::answer(callback, name, values)
    }
}
