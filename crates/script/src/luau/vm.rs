//! One machine: the libraries, the `nk` module, and all modules of a program, run once.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, LuaOptions, MultiValue, Result, StdLib, Table, Value as LuaValue};
use muster_wire::code::Code;

use super::call::outcome;
use super::context::Contexts;
use super::instance::{Chunks, source_of};
use super::program::Module;
use super::seat::{Seat, Seats};
use super::{builtins, catching, fated, functions, once, register};
use crate::host::{Host, pending};
use crate::machine::LoadError;
use crate::machine::budget::OVER;
use crate::machine::limits::Limits;
use crate::machine::registry::{Names, Registered};

/// What modules call the host by.
pub(super) const HOST_MODULE: &str = "nakama";

/// Most elements that `table.move` moves, since it cannot be interrupted.
const MOVE_MAX: f64 = 1_000_000.0;

/// The part of the machine that is written in Lua.
const PRELUDE: &str = include_str!("prelude.lua");

/// A machine.
pub struct Vm {
    pub(super) lua: Lua,
    pub(super) seats: Rc<Seats>,
    pub(super) prelude: Prelude,
    pub(super) registered: Registered<Function>,
    pub(super) host: Rc<Host>,
    pub(super) contexts: Rc<Contexts>,
    pub(super) machine_bytes: usize,
    /// The files of functions, by where they are.
    files: RefCell<HashMap<usize, Arc<str>>>,
}

/// See `prelude.lua`.
#[derive(Clone)]
pub(super) struct Prelude {
    /// Makes a function of Lua from one of ours, which raises errors as Lua's own functions do.
    pub(super) bind: Function,
    bind_once: Function,
    /// Runs a function so that its error comes back as the value that it is.
    protected: Function,
    pub(super) make_require: Function,
    require_all: Function,
}

/// How a call ended.
pub(super) struct Ran<T> {
    /// What came of it. An error of Lua that code raised is among the results of a protected call.
    pub(super) result: std::result::Result<T, String>,
    /// It used up its time.
    pub(super) is_over: bool,
    /// The processor's time that it used.
    pub(super) spent: Duration,
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
        let failed = |error| LoadError(format!("cannot start Lua: {error}"));
        let vm = Self::bare(host, limits, false).map_err(failed)?;
        let chunks = Chunks::load(&vm, modules).map_err(failed)?;
        let (lua, require_all) = (vm.lua.clone(), vm.prelude.require_all.clone());
        let seat = vm.seat().map_err(failed)?;
        let run = move |seat: &Seat| {
            let mut arguments = vec![LuaValue::Function(require_all)];
            arguments.push(LuaValue::Function(chunks.instance(&lua)?));
            for name in chunks.names() {
                arguments.push(LuaValue::String(lua.create_string(name)?));
            }
            seat.call(MultiValue::from_vec(arguments))
        };
        let ran = vm.run(seat, limits.load_time, run).await;
        if ran.is_over {
            return Err(LoadError(OVER.to_owned()));
        }
        let durable = outcome(&vm.lua, ran.result.map_err(LoadError)?).map_err(|failure| LoadError(failure.message))?;
        if let LuaValue::Table(durable) = durable {
            let mut registered = vm.registered.borrow_mut();
            durable.sequence_values::<String>().flatten().for_each(|name| registered.add_durable(&name));
        }
        vm.registered.borrow_mut().close();
        Ok(vm)
    }

    /// What its modules registered.
    pub(super) fn names(&self, modules: &[Module]) -> Names {
        let concurrent: BTreeSet<String> =
            modules.iter().filter(|module| module.is_concurrent).map(|module| source_of(&module.file)).collect();
        let is_concurrent =
            |function: &Function| function.info().source.is_some_and(|source| concurrent.contains(&source));
        self.registered.borrow().names(is_concurrent)
    }

    /// One without modules. In one for recorded matches clock and randomness are the match's.
    pub(super) fn bare(host: &Rc<Host>, limits: &Limits, is_recorded: bool) -> Result<Self> {
        let libraries = StdLib::TABLE | StdLib::OS | StdLib::STRING | StdLib::UTF8 | StdLib::BIT | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        lua.set_memory_limit(limits.machine_bytes)?;
        let globals = lua.globals();
        // What an instance has of its own must not be found here when code is loaded: it would be taken for good.
        for absent in ["_G", "require", "loadstring", "print"] {
            globals.raw_set(absent, LuaValue::Nil)?;
        }
        builtins::replace(&lua)?;
        if is_recorded {
            fated::replace(&lua, &host.current)?;
        }
        let seats = Seats::new(limits.deferred_max);
        let prelude: Table = lua.load(PRELUDE).set_name("=prelude").call(MOVE_MAX)?;
        catching::replace(&lua)?;
        let prelude = Prelude {
            bind: prelude.raw_get("bind")?,
            bind_once: prelude.raw_get("bind_once")?,
            protected: prelude.raw_get("protected")?,
            make_require: prelude.raw_get("make_require")?,
            require_all: prelude.raw_get("require_all")?,
        };
        let registered = Registered::default();
        let contexts = Rc::new(Contexts::new(&lua, &host.process.around)?);
        let parts = Parts { host, seats: &seats, prelude: &prelude, registered: &registered, contexts: &contexts };
        let nk = host_module(&lua, &parts)?;
        lua.sandbox(true)?;
        // That puts a table over the libraries which all instances would share.
        lua.globals().set_readonly(true);
        lua.set_named_registry_value(HOST_MODULE, nk)?;
        let (host, machine_bytes) = (host.clone(), limits.machine_bytes);
        Ok(Self { lua, seats, prelude, registered, host, contexts, machine_bytes, files: RefCell::default() })
    }

    /// A seat for a call.
    pub(super) fn seat(&self) -> Result<Rc<Seat>> {
        self.seats.take(&self.lua, &self.host, &self.prelude.protected)
    }

    /// The file of a function that the machine keeps.
    pub(super) fn file_of(&self, function: &Function) -> Arc<str> {
        let file = || function.info().short_src.unwrap_or_default().into();
        self.files.borrow_mut().entry(function.to_pointer() as usize).or_insert_with(file).clone()
    }

    /// Runs something in a seat, which is the current one whenever that has its turn.
    pub(super) async fn run<T: 'static>(
        &self,
        seat: Rc<Seat>,
        limit: Duration,
        body: impl FnOnce(&Seat) -> Result<T> + 'static,
    ) -> Ran<T> {
        seat.budget.begin(limit);
        // One that is given up holds both for ever: what lies on its stack refers to them.
        let (its, lua) = (seat.clone(), self.lua.clone());
        let body = move || {
            let result = body(&its);
            drop(lua);
            result
        };
        let ended = seat.fiber.run(&seat, body).await;
        let result = match ended {
            Ok(result) => result.map_err(|error| plain(&error)),
            Err(error) => Err(error.message.into_owned()),
        };
        let ran = Ran { result, is_over: seat.budget.is_over(), spent: seat.budget.spent() };
        self.seats.put_back(seat);
        ran
    }
}

/// What the host's module is made of.
struct Parts<'a> {
    host: &'a Rc<Host>,
    seats: &'a Rc<Seats>,
    prelude: &'a Prelude,
    registered: &'a Registered<Function>,
    contexts: &'a Rc<Contexts>,
}

fn host_module(lua: &Lua, parts: &Parts<'_>) -> Result<Table> {
    let nk = lua.create_table()?;
    let Prelude { bind, bind_once, .. } = parts.prelude;
    functions::bind_all(lua, &nk, parts.host)?;
    for name in pending().map(|function| function.name) {
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
        nk.raw_set(name, bind.call::<Function>(run)?)?;
    }
    register::bind_all(lua, &nk, bind, parts.registered)?;
    let begin_once = once::run_once(lua, parts.host.clone(), parts.seats.clone(), parts.contexts.clone())?;
    nk.raw_set("run_once", bind_once.call::<Function>(begin_once)?)?;
    let get_context = once::get_context(lua, parts.host.clone(), parts.seats.clone(), parts.contexts.clone())?;
    nk.raw_set("get_context", bind.call::<Function>(get_context)?)?;
    nk.set_readonly(true);
    Ok(nk)
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
