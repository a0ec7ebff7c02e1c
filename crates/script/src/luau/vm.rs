//! One machine: the libraries, the `nk` module, and all modules of a program, run once.

use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, LuaOptions, MultiValue, Result, StdLib, Table, Value as LuaValue, VmState};
use muster_wire::code::Code;

use super::instance::{Chunks, Instance};
use super::program::Module;
use super::{once, register, values};
use crate::host::{Arguments, Host, HostFunction, PENDING, Run, functions};
use crate::machine::LoadError;
use crate::machine::budget::{Budget, OVER, Step};
use crate::machine::fiber::Fiber;
use crate::machine::limits::Limits;
use crate::machine::registry::{Names, Registered};
use crate::value::Value;

/// What modules call the host by.
pub(super) const HOST_MODULE: &str = "nakama";

/// Most elements that `table.move` moves, since it cannot be interrupted.
const MOVE_MAX: f64 = 1_000_000.0;

/// The part of the machine that is written in Lua.
const PRELUDE: &str = include_str!("prelude.lua");

/// A machine.
pub struct Vm {
    pub(super) lua: Lua,
    pub(super) budget: Rc<Budget>,
    pub(super) fiber: Rc<Fiber>,
    /// Runs a function so that its error comes back as the value that it is.
    pub(super) protected: Function,
    /// Makes a function of Lua from one of ours, which raises errors as Lua's own functions do.
    pub(super) bind: Function,
    pub(super) registered: Registered<Function>,
    pub(super) host: Rc<Host>,
}

impl Vm {
    /// A machine that has run all modules of a program.
    ///
    /// # Errors
    /// What a module failed with, with file and line.
    pub(super) async fn load(
        modules: &Arc<[Module]>,
        host: &Rc<Host>,
        limits: &Limits,
    ) -> std::result::Result<Self, LoadError> {
        let vm = Self::bare(host, limits).map_err(|error| LoadError(format!("cannot start Lua: {error}")))?;
        vm.budget.begin(limits.load_time);
        let (lua, modules) = (vm.lua.clone(), modules.clone());
        let run = move || Instance::run_all(&lua, &Chunks::load(&lua, &modules)?);
        let ran = vm.fiber.run(&vm.budget, run).await;
        vm.registered.borrow_mut().close();
        ran.map_err(|error| LoadError(error.to_string()))?.map_err(|error| LoadError(plain(&error)))?;
        Ok(vm)
    }

    /// What its modules registered.
    pub(super) fn names(&self) -> Names {
        self.registered.borrow().names()
    }

    /// One without modules.
    pub(super) fn bare(host: &Rc<Host>, limits: &Limits) -> Result<Self> {
        let libraries = StdLib::TABLE | StdLib::OS | StdLib::STRING | StdLib::UTF8 | StdLib::BIT | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        lua.set_memory_limit(limits.machine_bytes)?;
        let globals = lua.globals();
        // What an instance has of its own must not be found here when code is loaded: it would be taken for good.
        for absent in ["_G", "require", "loadstring", "print"] {
            globals.raw_set(absent, LuaValue::Nil)?;
        }
        let (bind, protected): (Function, Function) = lua.load(PRELUDE).set_name("=prelude").call(MOVE_MAX)?;
        let registered = Registered::default();
        let fiber = Rc::new(Fiber::default());
        let parts = Parts { host, fiber: &fiber, registered: &registered };
        let nk = host_module(&lua, &bind, &parts)?;
        lua.sandbox(true)?;
        let budget = Rc::new(Budget::new());
        let (asked, its) = (budget.clone(), fiber.clone());
        lua.set_interrupt(move |_| {
            match asked.ask() {
                Step::GoOn => {}
                Step::TakeTurns => its.take_turns(),
                Step::End => return Err(mlua::Error::runtime(OVER)),
            }
            if its.is_abandoned() { Err(mlua::Error::runtime("the call was given up")) } else { Ok(VmState::Continue) }
        });
        lua.set_named_registry_value(HOST_MODULE, nk)?;
        Ok(Self { lua, budget, fiber, protected, bind, registered, host: host.clone() })
    }
}

/// What the host's module is made of.
struct Parts<'a> {
    host: &'a Rc<Host>,
    fiber: &'a Rc<Fiber>,
    registered: &'a Registered<Function>,
}

fn host_module(lua: &Lua, bind: &Function, parts: &Parts<'_>) -> Result<Table> {
    let nk = lua.create_table()?;
    for function in functions() {
        let run = host_function(lua, parts.host.clone(), parts.fiber.clone(), function)?;
        nk.raw_set(function.name, bind.call::<Function>(run)?)?;
    }
    for name in PENDING {
        let refusal = format!("nk.{name} is not available on this server yet.");
        let code = u32::from(Code::Unimplemented.number());
        let run = lua.create_function(move |lua, _: MultiValue| {
            Ok((
                false,
                lua.create_sequence_from([
                    LuaValue::String(lua.create_string(&refusal)?),
                    LuaValue::Number(code.into()),
                ])?,
            ))
        })?;
        nk.raw_set(*name, bind.call::<Function>(run)?)?;
    }
    register::bind_all(lua, &nk, bind, parts.registered)?;
    nk.raw_set("run_once", bind.call::<Function>(once::run_once(lua, parts.host.clone())?)?)?;
    nk.raw_set("get_context", bind.call::<Function>(once::get_context(lua, parts.host.clone())?)?)?;
    nk.set_readonly(true);
    Ok(nk)
}

/// Answers `true` and the results, or `false` and what is wrong, which the prelude raises as Lua's own errors are.
fn host_function(lua: &Lua, host: Rc<Host>, fiber: Rc<Fiber>, function: &'static HostFunction) -> Result<Function> {
    lua.create_function(move |lua, arguments: MultiValue| {
        let refused = |told: String| lua.create_string(told).map(|told| refusal(LuaValue::String(told)));
        let values =
            arguments.into_iter().take(function.parameters.len()).map(values::read).collect::<Result<Vec<_>>>();
        let values = match values {
            Ok(values) => values,
            Err(error) => return refused(format!("{}: {}", function.name, plain(&error))),
        };
        let answer = Arguments::check(function, values).and_then(|arguments| match function.run {
            Run::Now(run) => run(&host, arguments),
            Run::Later(run) => fiber.wait(run(host.clone(), arguments)),
        });
        match answer {
            Ok(Value::Results(results)) => {
                let results = results.into_iter().map(|value| values::write(lua, value));
                std::iter::once(Ok(LuaValue::Boolean(true))).chain(results).collect()
            }
            Ok(value) => Ok(MultiValue::from_vec(vec![LuaValue::Boolean(true), values::write(lua, value)?])),
            Err(error) => refused(error.message.into_owned()),
        }
    })
}

fn refusal(told: LuaValue) -> MultiValue {
    MultiValue::from_vec(vec![LuaValue::Boolean(false), told])
}

/// An error's first line: what game code raised, without our side of the stack.
pub(super) fn plain(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => plain(cause),
        mlua::Error::RuntimeError(text) | mlua::Error::MemoryError(text) => {
            text.split("\nstack traceback").next().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}
