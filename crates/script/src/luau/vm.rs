//! A machine of Lua: the libraries, the host's module `nk`, and all modules of a program, run once. This file never
//! calls game code but through a [seat](super::seat).

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, LuaOptions, LuaString, MultiValue, Result, StdLib, Table, Value as LuaValue};

use super::call::outcome;
use super::context::Contexts;
use super::instance::{Chunks, source_of};
use super::matches::handler::no_handler;
use super::program::Module;
use super::run_once::{KeptRun, OnceParts, OnceRole};
use super::seat::{Seat, Seats};
use super::uses::Uses;
use super::{builtins, catching, deterministic, functions, register, run_once};
use crate::host::{Host, functions as host_functions, pending, print};
use crate::machine::LoadError;
use crate::machine::budget::LOADS_TOO_LONG;
use crate::machine::limits::Limits;
use crate::machine::registered::{Names, SharedFunctions};

/// The module name under which game code requires the host.
pub(super) const HOST_MODULE: &str = "nakama";

/// Most elements that `table.move` moves, since it cannot be interrupted.
const MOVE_MAX: f64 = 1_000_000.0;

/// Source of the part of a machine that is written in Lua.
const PRELUDE: &str = include_str!("prelude.lua");

/// A machine of Lua for functions and hooks.
pub struct Vm {
    pub(super) lua: Lua,
    pub(super) seats: Rc<Seats>,
    pub(super) prelude: Prelude,
    pub(super) registered: SharedFunctions<Function>,
    pub(super) host: Rc<Host>,
    pub(super) contexts: Rc<Contexts>,
    once: Rc<RefCell<OnceRole>>,
    pub(super) machine_bytes: usize,
    /// Whether the machine is for recorded matches.
    pub(super) is_recorded: bool,
    /// Names of files by the address of a function that stands in them.
    files: RefCell<HashMap<usize, Arc<str>>>,
}

/// The functions that `prelude.lua` returns.
#[derive(Clone)]
pub(super) struct Prelude {
    /// Turns a function of Rust that returns a flag and values into a function of Lua that raises errors as Lua's own
    /// functions do.
    pub(super) bind: Function,
    bind_once: Function,
    /// Calls a function and returns its error as a value, unchanged, with the stack of the error behind it.
    protected: Function,
    /// Gives an instance the functions that load code.
    pub(super) add_own_functions: Function,
    pub(super) make_require: Function,
    require_all: Function,
}

/// The end of a call in a seat.
pub(super) struct Ran<T> {
    /// The body's result, or an error outside of its protected call, such as a stack that was given up. Errors that
    /// game code raises are among the results of the protected call.
    pub(super) result: std::result::Result<T, String>,
    /// Whether the call used up its time.
    pub(super) is_over: bool,
    /// Processor time that the call used.
    pub(super) spent: Duration,
}

impl Vm {
    /// Starts a machine and runs all modules of a program in it.
    ///
    /// # Errors
    /// The error of a module, with file and line.
    pub(super) async fn load(
        modules: &Arc<[Module]>,
        uses: &Uses,
        once: OnceRole,
        host: &Rc<Host>,
        limits: &Limits,
    ) -> std::result::Result<Self, LoadError> {
        let failed = |error| LoadError(format!("cannot start Lua: {error}"));
        let vm = Self::bare(host, limits, once, false).map_err(failed)?;
        let chunks = Chunks::load(&vm, modules, uses).map_err(failed)?;
        let (lua, require_all) = (vm.lua.clone(), vm.prelude.require_all.clone());
        let seat = vm.seat().map_err(failed)?;
        let run = move |seat: &Seat| {
            let mut arguments = vec![LuaValue::Function(require_all)];
            arguments.push(LuaValue::Function(chunks.instance(&lua)?.require));
            for name in chunks.names() {
                arguments.push(LuaValue::String(lua.create_string(name)?));
            }
            seat.call(MultiValue::from_vec(arguments))
        };
        let ran = vm.run(seat, limits.load_time, run).await;
        if ran.is_over {
            return Err(LoadError(LOADS_TOO_LONG.to_owned()));
        }
        let found = outcome(&vm.lua, ran.result.map_err(LoadError)?).map_err(|failure| LoadError(failure.message))?;
        if let LuaValue::Table(found) = found {
            let names = |list: &str| found.raw_get::<Vec<String>>(list).map_err(failed);
            let (handlers, durable, incomplete) = (names("handlers")?, names("durable")?, names("incomplete")?);
            let mut registered = vm.registered.borrow_mut();
            for told in incomplete {
                let (module, missing) = told.split_once(':').unwrap_or((&told, ""));
                registered.warn(no_handler(module, &missing.split(',').collect::<Vec<_>>()));
            }
            handlers.into_iter().for_each(|name| registered.add_handler(name));
            durable.into_iter().for_each(|name| registered.add_durable(&name));
        }
        vm.registered.borrow_mut().close();
        Ok(vm)
    }

    /// Names of everything that the modules registered.
    pub(super) fn names(&self, modules: &[Module]) -> Names {
        let concurrent: BTreeSet<String> =
            modules.iter().filter(|module| module.is_concurrent).map(|module| source_of(&module.file)).collect();
        let is_concurrent =
            |function: &Function| function.info().source.is_some_and(|source| concurrent.contains(&source));
        self.registered.borrow().names(is_concurrent)
    }

    /// The function of `run_once` that the modules have found or repeat.
    pub(super) fn kept_run(&self) -> Option<KeptRun> {
        self.once.borrow().kept()
    }

    /// A machine without modules. In a machine for recorded matches, clock and randomness are those of the match.
    pub(super) fn bare(host: &Rc<Host>, limits: &Limits, once: OnceRole, is_recorded: bool) -> Result<Self> {
        let libraries = StdLib::TABLE | StdLib::OS | StdLib::STRING | StdLib::UTF8 | StdLib::BIT | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        lua.set_memory_limit(limits.machine_bytes)?;
        let globals = lua.globals();
        // Each instance has its own versions of these. Code that is loaded would bind the shared versions for good.
        for absent in ["_G", "require", "loadstring", "print"] {
            globals.raw_set(absent, LuaValue::Nil)?;
        }
        builtins::replace(&lua)?;
        if is_recorded {
            deterministic::replace(&lua, &host.current)?;
        }
        let seats = Seats::new(limits.deferred_max);
        let prelude: Table =
            lua.load(PRELUDE).set_name("=prelude").call((MOVE_MAX, say(&lua, host)?, catching::traced_call(&lua)?))?;
        catching::replace(&lua)?;
        let prelude = Prelude {
            bind: prelude.raw_get("bind")?,
            bind_once: prelude.raw_get("bind_once")?,
            protected: prelude.raw_get("protected")?,
            add_own_functions: prelude.raw_get("add_own_functions")?,
            make_require: prelude.raw_get("make_require")?,
            require_all: prelude.raw_get("require_all")?,
        };
        let registered = SharedFunctions::default();
        let contexts = Rc::new(Contexts::new(&lua, &host.process.facts)?);
        let once = Rc::new(RefCell::new(once));
        let parts =
            Parts { host, seats: &seats, prelude: &prelude, registered: &registered, contexts: &contexts, once: &once };
        let nk = host_module(&lua, &parts)?;
        lua.sandbox(true)?;
        // `sandbox` has put a table over the libraries, which all instances would share.
        lua.globals().set_readonly(true);
        lua.set_named_registry_value(HOST_MODULE, nk)?;
        let (host, machine_bytes) = (host.clone(), limits.machine_bytes);
        let files = RefCell::default();
        Ok(Self { lua, seats, prelude, registered, host, contexts, once, machine_bytes, is_recorded, files })
    }

    /// A seat for a new call.
    pub(super) fn seat(&self) -> Result<Rc<Seat>> {
        self.seats.take(&self.lua, &self.host, &self.prelude.protected)
    }

    /// Name of the file in which a function stands. The function must live as long as the machine.
    pub(super) fn file_of(&self, function: &Function) -> Arc<str> {
        let file = || function.info().short_src.unwrap_or_default().into();
        self.files.borrow_mut().entry(function.to_pointer() as usize).or_insert_with(file).clone()
    }

    /// Runs a body in a seat. The seat is the machine's current one whenever the body has its turn.
    pub(super) async fn run<T: 'static>(
        &self,
        seat: Rc<Seat>,
        limit: Duration,
        body: impl FnOnce(&Seat) -> Result<T> + 'static,
    ) -> Ran<T> {
        seat.budget.begin(limit);
        // A body that is given up keeps both alive for ever, since its stack refers to them.
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

/// The function behind `print`, which writes a text to the log with the place of `print`'s caller.
fn say(lua: &Lua, host: &Rc<Host>) -> Result<Function> {
    /// Functions between the caller of `print` and this one, which is level 0.
    const CALLER: usize = 2;
    let host = host.clone();
    lua.create_function(move |lua, text: LuaString| {
        let file = lua.inspect_stack(CALLER, |debug| debug.source().short_src.map(|file| file.into_owned()));
        let line = lua.inspect_stack(CALLER, |debug| debug.current_line());
        let (file, line) = (file.flatten().unwrap_or_default(), line.flatten().unwrap_or_default());
        print(&host, &text.as_bytes(), &file, line);
        Ok(())
    })
}

/// Everything that the functions of the module `nk` refer to.
struct Parts<'a> {
    host: &'a Rc<Host>,
    seats: &'a Rc<Seats>,
    prelude: &'a Prelude,
    registered: &'a SharedFunctions<Function>,
    contexts: &'a Rc<Contexts>,
    once: &'a Rc<RefCell<OnceRole>>,
}

impl Parts<'_> {
    fn of_once(&self) -> OnceParts {
        OnceParts {
            host: self.host.clone(),
            seats: self.seats.clone(),
            contexts: self.contexts.clone(),
            role: self.once.clone(),
        }
    }
}

fn host_module(lua: &Lua, parts: &Parts<'_>) -> Result<Table> {
    let nk = lua.create_table()?;
    let Prelude { bind, bind_once, .. } = parts.prelude;
    functions::bind_all(lua, &nk, parts.host)?;
    for name in pending().map(|function| function.name) {
        let run = if name.starts_with("register_") {
            register::unbuilt(lua, parts.registered.clone(), name)?
        } else {
            let refusal = format!("nk.{name} is not available on this server yet.");
            lua.create_function(move |lua, _: MultiValue| Ok((false, lua.create_string(&refusal)?)))?
        };
        nk.raw_set(name, bind.call::<Function>(run)?)?;
    }
    register::bind_all(lua, &nk, bind, parts.registered)?;
    let once =
        bind_once.call::<Function>((run_once::begin(lua, parts.of_once())?, run_once::end(lua, parts.of_once())?))?;
    nk.raw_set("run_once", once)?;
    let get_context = run_once::get_context(lua, parts.host.clone(), parts.seats.clone(), parts.contexts.clone())?;
    nk.raw_set("get_context", bind.call::<Function>(get_context)?)?;
    nk.set_readonly(true);
    Ok(nk)
}

/// The functions of the host's module that are not in the host table.
const IN_THE_MACHINE: [&str; 2] = ["get_context", "run_once"];

/// Names of all functions of the host's module.
pub(super) fn host_names() -> BTreeSet<String> {
    let in_the_table = host_functions().chain(pending()).map(|function| function.name.to_owned());
    in_the_table.chain(register::names()).chain(IN_THE_MACHINE.map(str::to_owned)).collect()
}

/// The first line of an error: the text that game code raised, without Rust's part of the stack trace.
pub(super) fn plain(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => plain(cause),
        mlua::Error::RuntimeError(text) | mlua::Error::MemoryError(text) => {
            text.split("\nstack traceback").next().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}
