//! Matches of game code in one machine. Each is an instance of the program with a state. While a callback waits, others'
//! may run.

mod arguments;
mod dispatcher;
mod handler;
mod migrate;
mod state;
mod timers;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, MultiValue, Table, Value as LuaValue};
use muster_live::matches::{Call, Callback, MatchId, Outcome, Return};

use super::instance::Chunks;
use super::program::Program;
use super::seat::Seat;
use super::vm::{Ran, Vm, plain};
use super::{memory, values};
use crate::host::Host;
use crate::machine::budget::OVER;
use crate::machine::limits::Limits;
use crate::machine::matches::{Pace, failed, holds_too_much};
use crate::machine::{Frozen, LoadError, MatchMachine};
use crate::value::Value;
use arguments::{Senders, Shapes, metadata};
use dispatcher::Dispatcher;
use handler::Handler;

/// A machine for matches.
pub struct MatchVm {
    vm: Vm,
    chunks: Rc<Chunks>,
    dispatcher: Dispatcher,
    shapes: Rc<Shapes>,
    games: RefCell<HashMap<MatchId, Rc<Game>>>,
    /// Categories of memory that no match has.
    categories: RefCell<Vec<u8>>,
    limits: Limits,
}

/// What a machine keeps of a match.
struct Game {
    handler: Handler,
    file: Arc<str>,
    context: Table,
    /// What the context says that it is found by.
    label: RefCell<Option<Arc<str>>>,
    senders: Senders,
    state: RefCell<LuaValue>,
    pace: Pace,
    /// Under which what it holds is counted.
    category: u8,
    /// What it may have come to before it is looked at what of that is to be collected.
    looked_at: Cell<usize>,
    /// Why it ends with its next callback, whatever that is.
    condemned: RefCell<Option<Arc<str>>>,
}

/// What a callback returned: the state, and what else it answers.
type Returned = Result<Vec<LuaValue>, Arc<str>>;

/// What a match begins with: its callbacks, its context, and what the first of them returned, or its state.
type Begun = Result<(Handler, Table, MultiValue), Arc<str>>;

/// How a match comes into a machine.
enum Beginning {
    /// By its first callback, with these parameters.
    Init(Value),
    /// With a state that was kept.
    Thaw(Vec<u8>),
}

impl MatchMachine for MatchVm {
    type Program = Program;
    const PARKS: bool = true;

    fn new(program: &Program, host: &Rc<Host>, limits: Limits, is_recorded: bool) -> Result<Self, LoadError> {
        let failed = |error| LoadError(format!("cannot start Lua: {error}"));
        let vm = Vm::bare(host, &limits, is_recorded).map_err(failed)?;
        vm.registered.borrow_mut().close();
        let chunks = Chunks::load(&vm, &program.modules).map_err(failed)?;
        let dispatcher = Dispatcher::new(&vm.lua, &vm).map_err(failed)?;
        let shapes = Rc::new(Shapes::new(&vm.lua).map_err(failed)?);
        let categories = RefCell::new(memory::CATEGORIES.collect());
        Ok(Self { vm, chunks, dispatcher, shapes, games: RefCell::default(), categories, limits })
    }

    fn freeze(&self, id: MatchId) -> Result<Vec<u8>, Arc<str>> {
        let game =
            self.games.borrow().get(&id).cloned().ok_or_else(|| Arc::from("the match is not in this machine"))?;
        let frozen = state::freeze(&game.state.borrow())?;
        let lua = &self.vm.lua;
        let thawed = memory::counted(lua, game.category, || state::thaw(lua, &frozen));
        game.state.replace(thawed.map_err(|error| Arc::from(plain(&error)))?);
        Ok(frozen)
    }

    async fn thaw(&self, frozen: Frozen<'_>) -> Result<(), Arc<str>> {
        let Frozen { id, handler, tick_rate, state } = frozen;
        let beginning = Beginning::Thaw(state.to_vec());
        let (handler, context, mut state, category) = self.open(id, handler, beginning).await?;
        let state = state.pop_front().unwrap_or(LuaValue::Nil);
        let game = self.game((handler, context), (state, tick_rate), category);
        let game = game.inspect_err(|_| self.free(category))?;
        self.games.borrow_mut().insert(id, game);
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.vm.seats.are_lost()
    }

    fn drop_match(&self, id: MatchId) {
        if let Some(game) = self.games.borrow_mut().remove(&id) {
            self.free(game.category);
        }
    }

    async fn call(&self, call: &Call) -> (Return, bool) {
        let Call { id, tick, .. } = *call;
        let game = if let Callback::Init { params, .. } = &call.callback {
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
        if let Some(why) = game.condemned.take() {
            return (failed(why), false);
        }
        let limit = match call.callback {
            Callback::Loop(_) => self.limits.tick_time_max,
            _ => self.limits.call_time,
        };
        let seat = match self.vm.seat() {
            Ok(seat) => seat,
            Err(error) => return (failed(plain(&error).into()), false),
        };
        seat.sink.open();
        if game.handler.timer.is_some() {
            seat.sink.let_set(&call.timers, call.callback.timer());
        }
        seat.category.set(game.category);
        seat.budget.at(game.file.clone());
        let (lua, node, table, its) =
            (self.vm.lua.clone(), self.vm.host.node.clone(), self.dispatcher.table.clone(), game.clone());
        let (callback, label, shapes) = (call.callback.clone(), call.label.clone(), self.shapes.clone());
        let arguments = move |seat: &Seat| -> mlua::Result<MultiValue> {
            let (function, first, second) = match &callback {
                Callback::Init { .. } => return Err(mlua::Error::runtime("the match has begun")),
                Callback::JoinAttempt { presence: who, metadata: said } => {
                    let said = metadata(&lua, said)?;
                    (&its.handler.join_attempt, shapes.presence(&lua, who, &node)?, Some(said))
                }
                Callback::Join(came) => (&its.handler.join, shapes.presences(&lua, came, &node)?, None),
                Callback::Leave(left) => {
                    its.senders.forget(left);
                    (&its.handler.leave, shapes.left_presences(&lua, left, &node)?, None)
                }
                Callback::Loop(inputs) => {
                    (&its.handler.run_loop, shapes.messages(&lua, inputs, &its.senders, &node)?, None)
                }
                Callback::Terminate { grace_sec } => {
                    (&its.handler.terminate, LuaValue::Number((*grace_sec).into()), None)
                }
                Callback::Timer { name, data } => {
                    let timer = its.handler.timer.as_ref();
                    let timer = timer.ok_or_else(|| mlua::Error::runtime("the match has no function match_timer"))?;
                    let data = LuaValue::String(lua.create_string(&**data)?);
                    (timer, LuaValue::String(lua.create_string(&**name)?), Some(data))
                }
                Callback::Signal(data) => (&its.handler.signal, LuaValue::String(lua.create_string(&**data)?), None),
            };
            its.tell_label(label)?;
            seat.context.replace(Some(its.context.clone()));
            let state = its.state.borrow().clone();
            let (function, context) = (LuaValue::Function(function.clone()), LuaValue::Table(its.context.clone()));
            let mut arguments =
                vec![function, context, LuaValue::Table(table), LuaValue::Number(tick as f64), state, first];
            arguments.extend(second);
            Ok(MultiValue::from_vec(arguments))
        };
        let (lua, category) = (self.vm.lua.clone(), game.category);
        let body = move |seat: &Seat| seat.call(memory::counted(&lua, category, || arguments(seat))?);
        let its = seat.clone();
        let ran = self.vm.run(seat, limit, body).await;
        let acts = its.sink.close();
        let spent = ran.spent;
        let returned = finish(ran).and_then(|results| values_of(&self.vm.lua, results));
        let (is_late, in_time) = if let Callback::Loop(_) = call.callback {
            // What it took when it is called again says nothing of the match.
            let spent = if self.vm.host.current.is_again() { Duration::ZERO } else { spent };
            game.pace.looped(spent, &self.limits)
        } else {
            (false, Ok(()))
        };
        let within = self.look_at_memory(&game);
        let outcome = in_time.and(within).and(returned).and_then(|values| game.outcome(&call.callback, values));
        (Return { outcome: outcome.unwrap_or_else(Outcome::Failed), acts }, is_late)
    }
}

impl MatchVm {
    /// Whether a match holds no more than it may. When the machine is nearly full, the one that holds most is to end: it is
    /// not the one whose call finds no memory who is at fault.
    fn look_at_memory(&self, game: &Game) -> Result<(), Arc<str>> {
        let lua = &self.vm.lua;
        if game.category == memory::COMMON {
            return Ok(());
        }
        let held = memory::bytes(lua, game.category);
        if held > game.looked_at.get() {
            let held = self.collected(game.category);
            if held > self.limits.match_bytes {
                return Err(holds_too_much(held));
            }
            game.looked_at.set(self.limits.match_bytes.max(held + self.limits.match_bytes / 2));
        }
        let is_full = || lua.used_memory() > self.limits.machine_bytes / 4 * 3;
        if is_full() {
            self.collected(game.category);
            if is_full() {
                let games = self.games.borrow();
                let most = games.values().max_by_key(|game| memory::bytes(lua, game.category));
                if let Some(most) = most {
                    most.condemned.replace(Some(holds_too_much(memory::bytes(lua, most.category))));
                }
            }
        }
        Ok(())
    }

    /// What is counted under a category when all that can be is collected.
    fn collected(&self, category: u8) -> usize {
        if let Err(error) = self.vm.lua.gc_collect() {
            tracing::error!(%error, "the memory of game code cannot be collected");
        }
        memory::bytes(&self.vm.lua, category)
    }

    async fn init(&self, call: &Call, params: &[u8]) -> Result<(Rc<Game>, Return), Arc<str>> {
        let params = Value::decode(params).map_err(|error| Arc::from(error.to_string()))?;
        let opened = self.open(call.id, &call.handler, Beginning::Init(params)).await?;
        let (handler, context, results, category) = opened;
        let begun = values_of(&self.vm.lua, results).and_then(handler::begun);
        let begun = begun.and_then(|(state, tick_rate, label)| {
            let game = self.game((handler, context), (state, tick_rate), category)?;
            Ok((game, Return { outcome: Outcome::Begun { tick_rate, label }, acts: Vec::new() }))
        });
        if begun.is_err() {
            self.free(category);
        }
        begun
    }

    fn free(&self, category: u8) {
        if category != memory::COMMON {
            self.categories.borrow_mut().push(category);
        }
    }

    /// Makes an instance of the modules for a match.
    async fn open(
        &self,
        id: MatchId,
        handler: &Arc<str>,
        beginning: Beginning,
    ) -> Result<(Handler, Table, MultiValue, u8), Arc<str>> {
        let category = self.categories.borrow_mut().pop().unwrap_or(memory::COMMON);
        let opened = self.try_open(id, handler.clone(), beginning, category).await;
        if opened.is_err() {
            self.free(category);
        }
        let (handler, context, results) = opened?;
        Ok((handler, context, results, category))
    }

    async fn try_open(&self, id: MatchId, name: Arc<str>, beginning: Beginning, category: u8) -> Begun {
        let seat = self.vm.seat().map_err(|error| Arc::from(plain(&error)))?;
        seat.category.set(category);
        let (lua, chunks, contexts) = (self.vm.lua.clone(), self.chunks.clone(), self.vm.contexts.clone());
        let host = self.vm.host.clone();
        let public_id = format!("{id}.{}", host.node);
        let body = move |seat: &Seat| -> mlua::Result<Begun> {
            let require = memory::counted(&lua, category, || chunks.instance(&lua))?;
            let module = match values_of(&lua, seat.call((require, &*name))?) {
                Ok(values) => values.into_iter().next().unwrap_or(LuaValue::Nil),
                Err(why) => return Ok(Err(why)),
            };
            let handler = Handler::of(module, &name)?;
            seat.budget.at(handler.file());
            let around = host.surroundings();
            let context = contexts.of_nobody(&lua, "match", &around)?;
            context.raw_set("node", &*around.node)?;
            context.raw_set("version", &*around.version)?;
            context.raw_set("match_id", public_id)?;
            context.raw_set("match_node", &*host.node)?;
            seat.context.replace(Some(context.clone()));
            let results = match &beginning {
                Beginning::Init(params) => {
                    let params = memory::counted(&lua, category, || values::write(&lua, params))?;
                    seat.call((&handler.init, &context, params))?
                }
                Beginning::Thaw(state) => {
                    let state = memory::counted(&lua, category, || state::thaw(&lua, state))?;
                    MultiValue::from_vec(vec![state])
                }
            };
            Ok(Ok((handler, context, results)))
        };
        finish(self.vm.run(seat, self.limits.load_time, body).await)?
    }

    /// What is kept of a match that begins here, unless it holds too much already.
    fn game(
        &self,
        (handler, context): (Handler, Table),
        (state, tick_rate): (LuaValue, u32),
        category: u8,
    ) -> Result<Rc<Game>, Arc<str>> {
        context.raw_set("match_tick_rate", tick_rate).map_err(|error| Arc::from(plain(&error)))?;
        let senders = memory::counted(&self.vm.lua, category, || Senders::new(&self.vm.lua));
        let game = Game {
            file: handler.file(),
            handler,
            context,
            label: RefCell::default(),
            senders: senders.map_err(|error| Arc::from(plain(&error)))?,
            state: RefCell::new(state),
            pace: Pace::default(),
            category,
            looked_at: Cell::new(self.limits.match_bytes),
            condemned: RefCell::default(),
        };
        self.look_at_memory(&game)?;
        Ok(Rc::new(game))
    }
}

fn finish<T>(ran: Ran<T>) -> Result<T, Arc<str>> {
    if ran.is_over { Err(OVER.into()) } else { ran.result.map_err(Arc::from) }
}

/// What a protected call says: `true` and the results, or `false` and what was raised.
fn values_of(lua: &Lua, results: MultiValue) -> Returned {
    let mut results = results.into_iter();
    match results.next() {
        Some(LuaValue::Boolean(true)) => Ok(results.collect()),
        _ => Err(super::call::raised(lua, results.next().unwrap_or(LuaValue::Nil)).message.into()),
    }
}

impl Game {
    /// The context says by what the match is found.
    fn tell_label(&self, label: Arc<str>) -> mlua::Result<()> {
        let mut told = self.label.borrow_mut();
        if !told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &label)) {
            self.context.raw_set("match_label", &*label)?;
            *told = Some(label);
        }
        Ok(())
    }

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
