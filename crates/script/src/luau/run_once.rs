//! The host functions `run_once`, which modules call for work that is done once in the life of the process, and
//! `get_context`, which answers the context of the call that runs.
//!
//! The function that is given to `run_once` sets variables of its module, which each instance has for itself. Further
//! instances therefore repeat the function with the host's answers to its first run, see [`OnceRun`].

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Result, Table, Value as LuaValue};

use super::call::raised;
use super::context::Contexts;
use super::seat::Seats;
use crate::host::{Host, line_of};
use crate::machine::once::{Answers, OnceRun};

/// The name of the function, also in errors.
const RUN_ONCE: &str = "run_once";

/// The function that a program gives to `run_once` first, as long as its modules are run, and the host's answers to
/// it.
#[derive(Clone)]
pub(super) struct KeptRun {
    /// File and line at which the function begins.
    place: String,
    answers: Answers,
}

/// The part that a machine has in `run_once`.
pub(super) enum OnceRole {
    /// The machine loads a program: the first function that its modules give to `run_once` is that of the program.
    Finds {
        /// Whether the modules have given a function.
        is_found: bool,
        /// The function, if it came to its end.
        kept: Option<KeptRun>,
    },
    /// The machine runs a program that was loaded, and repeats the program's function, if there is one.
    Repeats(Option<KeptRun>),
}

/// The parts of a machine that `run_once` refers to.
pub(super) struct OnceParts {
    pub(super) host: Rc<Host>,
    pub(super) seats: Rc<Seats>,
    pub(super) contexts: Rc<Contexts>,
    pub(super) role: Rc<RefCell<OnceRole>>,
}

impl OnceRole {
    /// The part of a machine that loads a program.
    pub(super) const FINDS: Self = Self::Finds { is_found: false, kept: None };

    /// The function of the program that this machine has loaded or runs.
    pub(super) fn kept(&self) -> Option<KeptRun> {
        let (Self::Finds { kept, .. } | Self::Repeats(kept)) = self;
        kept.clone()
    }

    /// Whether a function at this place is to run, in an instance that has not repeated one yet. Answers its run;
    /// `None` in place of the run for a function that no machine repeats.
    fn begin(&mut self, host: &Host, place: &str) -> Option<Option<Rc<OnceRun>>> {
        match self {
            Self::Finds { is_found: true, .. } => None,
            Self::Finds { is_found, .. } => {
                *is_found = true;
                Some(Some(host.process.once.begin(RUN_ONCE)))
            }
            Self::Repeats(Some(KeptRun { place: known, answers })) => {
                (known == place).then(|| Some(OnceRun::repeated(RUN_ONCE, answers.clone())))
            }
            Self::Repeats(None) => host.process.once.claim().then_some(None),
        }
    }

    /// Keeps a function that this machine has found, for repetitions in others.
    fn keep(&mut self, place: String, run: &OnceRun) {
        if let Self::Finds { kept, .. } = self {
            *kept = Some(KeptRun { place, answers: run.answers() });
        }
    }
}

/// File and line at which a function begins.
fn place_of(function: &Function) -> String {
    let info = function.info();
    format!("{}:{}", info.short_src.unwrap_or_default(), info.line_defined.unwrap_or_default())
}

/// Returns a function of Lua that begins `run_once`. It is given the function, and a table of the instances that have
/// run or repeated one. It answers whether its argument is a function, the context for the function if it is to run,
/// and the former context.
pub(super) fn begin(lua: &Lua, parts: OnceParts) -> Result<Function> {
    lua.create_function(move |lua, (function, ran): (LuaValue, Table)| {
        let OnceParts { host, seats, contexts, role } = &parts;
        let LuaValue::Function(function) = function else {
            let told = lua.create_string("run_once expects a function")?;
            return Ok((false, LuaValue::String(told), LuaValue::Nil));
        };
        let nothing = Ok((true, LuaValue::Nil, LuaValue::Nil));
        let instance = function.environment();
        if let Some(instance) = &instance
            && ran.raw_get::<bool>(instance)?
        {
            return nothing;
        }
        let Some(run) = role.borrow_mut().begin(host, &place_of(&function)) else { return nothing };
        if let Some(instance) = instance {
            ran.raw_set(instance, true)?;
        }
        host.current.set_once(run);
        let context = contexts.of_nobody(lua, RUN_ONCE, &host.process.facts)?;
        let before = seats.current().and_then(|seat| seat.context.replace(Some(context.clone())));
        let before = before.map_or(LuaValue::Nil, LuaValue::Table);
        Ok((true, LuaValue::Table(context), before))
    })
}

/// Returns a function of Lua that ends `run_once`. It is given the function, whether it came to its end, its error, and
/// the former context; it answers whether the error is to be raised. The error of a repetition is not: the modules load
/// without it, as in the original, whose other machines do not run the function at all.
pub(super) fn end(lua: &Lua, parts: OnceParts) -> Result<Function> {
    lua.create_function(move |lua, (function, is_done, why, before): (Function, bool, LuaValue, Option<Table>)| {
        let OnceParts { host, seats, role, .. } = &parts;
        if let Some(seat) = seats.current() {
            seat.context.replace(before);
        }
        let Some(run) = host.current.set_once(None) else { return Ok(!is_done) };
        if run.is_repeated() || is_done {
            role.borrow_mut().keep(place_of(&function), &run);
        }
        if !run.is_repeated() {
            host.process.once.end(&run, is_done);
            return Ok(!is_done);
        }
        if !is_done {
            let failure = raised(lua, why);
            let why = line_of(&failure.message);
            tracing::error!(why, "the function of run_once has run before, and failed when a machine repeated it");
        }
        Ok(false)
    })
}

/// Returns a function of Lua that answers the context of the call that the machine runs, or one that names no caller if
/// there is none.
pub(super) fn get_context(lua: &Lua, host: Rc<Host>, seats: Rc<Seats>, contexts: Rc<Contexts>) -> Result<Function> {
    lua.create_function(move |lua, _: MultiValue| {
        let known = seats.current().and_then(|seat| seat.context.borrow().clone());
        let context = match known {
            Some(context) => context,
            None => contexts.of_nobody(lua, RUN_ONCE, &host.process.facts)?,
        };
        Ok((true, context))
    })
}
