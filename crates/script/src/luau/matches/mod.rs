//! Matches of game code in one machine. Each match is an instance of the program with a state. While the callback of
//! one match waits, callbacks of others may run.

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
use arguments::{ArgumentTables, Senders, attempt_context, metadata};
use dispatcher::Dispatcher;
use handler::{Handler, InitReturn};

/// A machine of Lua for many matches.
pub struct MatchVm {
    vm: Vm,
    chunks: Rc<Chunks>,
    dispatcher: Dispatcher,
    tables: Rc<ArgumentTables>,
    matches: RefCell<HashMap<MatchId, Rc<LoadedMatch>>>,
    /// Memory categories that no match uses.
    categories: RefCell<Vec<u8>>,
    limits: Limits,
}

/// A match as its machine keeps it.
struct LoadedMatch {
    handler: Handler,
    file: Arc<str>,
    context: Table,
    /// The label that the context holds.
    label: RefCell<Option<Arc<str>>>,
    senders: Senders,
    state: RefCell<LuaValue>,
    pace: Pace,
    /// The memory category that the match's allocations count for.
    category: u8,
    /// Bytes above which garbage is collected before the match's memory is measured.
    collect_above: Cell<usize>,
    /// The reason why the match fails at its next callback, whichever callback that is.
    end_reason: RefCell<Option<Arc<str>>>,
}

/// The values that a callback returned: the state, and an answer behind it.
type Returned = Result<Vec<LuaValue>, Arc<str>>;

/// A match whose modules have run in a new instance.
struct OpenedMatch {
    handler: Handler,
    context: Table,
    /// Results of the protected call of `match_init`; of a thawed match its state alone.
    results: MultiValue,
}

/// The way in which a match begins in a machine.
enum Beginning {
    /// The match begins by `match_init`, with these parameters.
    Init(Value),
    /// The match goes on from the bytes of a state.
    Thaw(Vec<u8>),
}

impl MatchMachine for MatchVm {
    type Program = Program;
    const TAKES_CALLS_WHILE_WAITING: bool = true;

    fn new(program: &Program, host: &Rc<Host>, limits: Limits, is_recorded: bool) -> Result<Self, LoadError> {
        let failed = |error| LoadError(format!("cannot start Lua: {error}"));
        let vm = Vm::bare(host, &limits, is_recorded).map_err(failed)?;
        vm.registered.borrow_mut().close();
        let chunks = Chunks::load(&vm, &program.modules, &program.uses).map_err(failed)?;
        let dispatcher = Dispatcher::new(&vm.lua, &vm).map_err(failed)?;
        let tables = Rc::new(ArgumentTables::new(&vm.lua).map_err(failed)?);
        let categories = RefCell::new(memory::CATEGORIES.collect());
        Ok(Self { vm, chunks, dispatcher, tables, matches: RefCell::default(), categories, limits })
    }

    fn freeze(&self, id: MatchId) -> Result<Vec<u8>, Arc<str>> {
        let loaded =
            self.matches.borrow().get(&id).cloned().ok_or_else(|| Arc::from("the match is not in this machine"))?;
        let frozen = state::freeze(&loaded.state.borrow())?;
        let lua = &self.vm.lua;
        let thawed = memory::counted(lua, loaded.category, || state::thaw(lua, &frozen));
        loaded.state.replace(thawed.map_err(|error| Arc::from(plain(&error)))?);
        Ok(frozen)
    }

    async fn thaw(&self, frozen: Frozen<'_>) -> Result<(), Arc<str>> {
        let Frozen { id, handler, tick_rate, state } = frozen;
        let beginning = Beginning::Thaw(state.to_vec());
        let category = self.take_category();
        let opened = self.open(id, handler, beginning, category).await;
        let loaded = opened.and_then(|mut opened| {
            let state = opened.results.pop_front().unwrap_or(LuaValue::Nil);
            self.load(opened.handler, opened.context, state, tick_rate, category)
        });
        let loaded = loaded.inspect_err(|_| self.free(category))?;
        self.matches.borrow_mut().insert(id, loaded);
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.vm.seats.are_lost()
    }

    fn drop_match(&self, id: MatchId) {
        if let Some(loaded) = self.matches.borrow_mut().remove(&id) {
            self.free(loaded.category);
        }
    }

    async fn call(&self, call: &Call) -> (Return, bool) {
        let Call { id, tick, .. } = *call;
        let loaded = if let Callback::Init { params, .. } = &call.callback {
            match self.init(call, params).await {
                Ok((loaded, begun)) => {
                    self.matches.borrow_mut().insert(id, loaded);
                    return (begun, false);
                }
                Err(why) => return (failed(why), false),
            }
        } else {
            self.matches.borrow().get(&id).cloned()
        };
        let Some(loaded) = loaded else { return (failed("the match is not in this machine".into()), false) };
        if let Some(why) = loaded.end_reason.take() {
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
        if loaded.handler.timer.is_some() {
            seat.sink.allow_timers(&call.timers, call.callback.timer());
        }
        seat.category.set(loaded.category);
        seat.budget.at(loaded.file.clone());
        let (lua, node, table, its) =
            (self.vm.lua.clone(), self.vm.host.node.clone(), self.dispatcher.table.clone(), loaded.clone());
        let (callback, label, tables) = (call.callback.clone(), call.label.clone(), self.tables.clone());
        let arguments = move |seat: &Seat| -> mlua::Result<MultiValue> {
            its.tell_label(label)?;
            let mut context = its.context.clone();
            let (function, first, second) = match &callback {
                Callback::Init { .. } => return Err(mlua::Error::runtime("the match has begun")),
                Callback::JoinAttempt { presence: who, joiner } => {
                    let said = metadata(&lua, &joiner.metadata)?;
                    context = attempt_context(&lua, &its.context, who, joiner)?;
                    (&its.handler.join_attempt, tables.presence(&lua, who, &node)?, Some(said))
                }
                Callback::Join(came) => (&its.handler.join, tables.presences(&lua, came, &node)?, None),
                Callback::Leave(left) => {
                    its.senders.forget(left);
                    (&its.handler.leave, tables.left_presences(&lua, left, &node)?, None)
                }
                Callback::Loop(inputs) => {
                    (&its.handler.run_loop, tables.messages(&lua, inputs, &its.senders, &node)?, None)
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
            seat.context.replace(Some(context.clone()));
            let state = its.state.borrow().clone();
            let (function, context) = (LuaValue::Function(function.clone()), LuaValue::Table(context));
            let mut arguments =
                vec![function, context, LuaValue::Table(table), LuaValue::Number(tick as f64), state, first];
            arguments.extend(second);
            Ok(MultiValue::from_vec(arguments))
        };
        let (lua, category) = (self.vm.lua.clone(), loaded.category);
        let body = move |seat: &Seat| seat.call(memory::counted(&lua, category, || arguments(seat))?);
        let its = seat.clone();
        let ran = self.vm.run(seat, limit, body).await;
        let acts = its.sink.close();
        let spent = ran.spent;
        let returned = finish(ran).and_then(|results| values_of(&self.vm.lua, results));
        let (is_late, in_time) = if let Callback::Loop(_) = call.callback {
            // A repeated call's time says nothing of the match's pace.
            let spent = if self.vm.host.current.is_replayed() { Duration::ZERO } else { spent };
            loaded.pace.looped(spent, &self.limits)
        } else {
            (false, Ok(()))
        };
        let within = self.look_at_memory(&loaded);
        let outcome = in_time.and(within).and(returned).and_then(|values| loaded.outcome(&call.callback, values));
        (Return { outcome: outcome.unwrap_or_else(Outcome::Failed), acts }, is_late)
    }
}

impl MatchVm {
    /// Checks that a match holds no more memory than it may. When the machine is nearly full, the match that holds the
    /// most memory is made to fail at its next callback. A match whose call finds no memory would not be the one at
    /// fault.
    fn look_at_memory(&self, loaded: &LoadedMatch) -> Result<(), Arc<str>> {
        let lua = &self.vm.lua;
        if loaded.category == memory::COMMON {
            return Ok(());
        }
        let held = memory::bytes(lua, loaded.category);
        if held > loaded.collect_above.get() {
            let held = self.collected(loaded.category);
            if held > self.limits.match_bytes {
                return Err(holds_too_much(held));
            }
            loaded.collect_above.set(self.limits.match_bytes.max(held + self.limits.match_bytes / 2));
        }
        let is_full = || lua.used_memory() > self.limits.machine_bytes / 4 * 3;
        if is_full() {
            self.collected(loaded.category);
            if is_full() {
                let matches = self.matches.borrow();
                let most = matches.values().max_by_key(|loaded| memory::bytes(lua, loaded.category));
                if let Some(most) = most {
                    most.end_reason.replace(Some(holds_too_much(memory::bytes(lua, most.category))));
                }
            }
        }
        Ok(())
    }

    /// Bytes that count for a category after garbage was collected.
    fn collected(&self, category: u8) -> usize {
        if let Err(error) = self.vm.lua.gc_collect() {
            tracing::error!(%error, "the memory of game code cannot be collected");
        }
        memory::bytes(&self.vm.lua, category)
    }

    async fn init(&self, call: &Call, params: &[u8]) -> Result<(Rc<LoadedMatch>, Return), Arc<str>> {
        let params = Value::decode(params).map_err(|error| Arc::from(error.to_string()))?;
        let category = self.take_category();
        let opened = self.open(call.id, &call.handler, Beginning::Init(params), category).await;
        let begun = opened.and_then(|OpenedMatch { handler, context, results }| {
            let InitReturn { state, tick_rate, label } = handler::begun(values_of(&self.vm.lua, results)?)?;
            let loaded = self.load(handler, context, state, tick_rate, category)?;
            Ok((loaded, Return { outcome: Outcome::Begun { tick_rate, label }, acts: Vec::new() }))
        });
        begun.inspect_err(|_| self.free(category))
    }

    /// A memory category for a new match: the common one when no other is left.
    fn take_category(&self) -> u8 {
        self.categories.borrow_mut().pop().unwrap_or(memory::COMMON)
    }

    fn free(&self, category: u8) {
        if category != memory::COMMON {
            self.categories.borrow_mut().push(category);
        }
    }

    /// Makes an instance of the modules for a match, and calls `match_init` or reads the match's state.
    async fn open(
        &self,
        id: MatchId,
        handler: &Arc<str>,
        beginning: Beginning,
        category: u8,
    ) -> Result<OpenedMatch, Arc<str>> {
        let name = handler.clone();
        let seat = self.vm.seat().map_err(|error| Arc::from(plain(&error)))?;
        seat.category.set(category);
        let (lua, chunks, contexts) = (self.vm.lua.clone(), self.chunks.clone(), self.vm.contexts.clone());
        let host = self.vm.host.clone();
        let public_id = format!("{id}.{}", host.node);
        let body = move |seat: &Seat| -> mlua::Result<Result<OpenedMatch, Arc<str>>> {
            let instance = memory::counted(&lua, category, || chunks.instance(&lua))?;
            let module = match values_of(&lua, seat.call((&instance.require, &*name))?) {
                Ok(values) => values.into_iter().next().unwrap_or(LuaValue::Nil),
                Err(why) => return Ok(Err(why)),
            };
            instance.modules_have_run();
            let handler = Handler::of(module, &name)?;
            seat.budget.at(handler.file());
            let facts = host.facts();
            let context = contexts.of_nobody(&lua, "match", &facts)?;
            context.raw_set("node", &*facts.node)?;
            context.raw_set("version", &*facts.version)?;
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
            Ok(Ok(OpenedMatch { handler, context, results }))
        };
        finish(self.vm.run(seat, self.limits.load_time, body).await)?
    }

    /// Makes the machine's record of a match, unless the match already holds too much memory.
    fn load(
        &self,
        handler: Handler,
        context: Table,
        state: LuaValue,
        tick_rate: u32,
        category: u8,
    ) -> Result<Rc<LoadedMatch>, Arc<str>> {
        context.raw_set("match_tick_rate", tick_rate).map_err(|error| Arc::from(plain(&error)))?;
        let senders = memory::counted(&self.vm.lua, category, || Senders::new(&self.vm.lua));
        let loaded = LoadedMatch {
            file: handler.file(),
            handler,
            context,
            label: RefCell::default(),
            senders: senders.map_err(|error| Arc::from(plain(&error)))?,
            state: RefCell::new(state),
            pace: Pace::default(),
            category,
            collect_above: Cell::new(self.limits.match_bytes),
            end_reason: RefCell::default(),
        };
        self.look_at_memory(&loaded)?;
        Ok(Rc::new(loaded))
    }
}

fn finish<T>(ran: Ran<T>) -> Result<T, Arc<str>> {
    if ran.is_over { Err(OVER.into()) } else { ran.result.map_err(Arc::from) }
}

/// The results of a protected call, whose values are `true` and the results, or `false` and an error.
fn values_of(lua: &Lua, results: MultiValue) -> Returned {
    let mut results = results.into_iter();
    match results.next() {
        Some(LuaValue::Boolean(true)) => Ok(results.collect()),
        _ => {
            let value = results.next().unwrap_or(LuaValue::Nil);
            Err(super::call::raised_with_stack(lua, value, results.next()).in_full().into())
        }
    }
}

impl LoadedMatch {
    /// Writes the match's label into its context if it has changed.
    fn tell_label(&self, label: Arc<str>) -> mlua::Result<()> {
        let mut told = self.label.borrow_mut();
        if !told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &label)) {
            self.context.raw_set("match_label", &*label)?;
            *told = Some(label);
        }
        Ok(())
    }

    /// The outcome that the values of a callback's return stand for. Keeps the state among them.
    fn outcome(&self, callback: &Callback, values: Vec<LuaValue>) -> Result<Outcome, Arc<str>> {
        let mut values = values.into_iter();
        let state = values.next().unwrap_or(LuaValue::Nil);
        if state.is_nil() {
            return Ok(Outcome::Over);
        }
        self.state.replace(state);
        handler::answer(callback, values)
    }
}
