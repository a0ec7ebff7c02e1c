//! The host functions `run_once`, which modules call for work that is done once in the life of the process, and
//! `get_context`, which answers the context of the call that runs.

use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Result, Value as LuaValue};

use super::context::Contexts;
use super::seat::Seats;
use crate::host::Host;

/// Returns a function of Lua that answers the context for the function to be run, or nil if the process has run one
/// already: only the first of all modules runs its function, as in the original.
pub(super) fn run_once(lua: &Lua, host: Rc<Host>, seats: Rc<Seats>, contexts: Rc<Contexts>) -> Result<Function> {
    lua.create_function(move |lua, function: LuaValue| {
        if !function.is_function() {
            let told = lua.create_string("run_once expects a function")?;
            return Ok((false, LuaValue::String(told)));
        }
        if !host.process.is_first_run() {
            return Ok((true, LuaValue::Nil));
        }
        let context = contexts.of_nobody(lua, "run_once", &host.process.facts)?;
        if let Some(seat) = seats.current() {
            seat.context.replace(Some(context.clone()));
        }
        Ok((true, LuaValue::Table(context)))
    })
}

/// Returns a function of Lua that answers the context of the call that the machine runs, or one that names no caller if
/// there is none.
pub(super) fn get_context(lua: &Lua, host: Rc<Host>, seats: Rc<Seats>, contexts: Rc<Contexts>) -> Result<Function> {
    lua.create_function(move |lua, _: MultiValue| {
        let known = seats.current().and_then(|seat| seat.context.borrow().clone());
        let context = match known {
            Some(context) => context,
            None => contexts.of_nobody(lua, "run_once", &host.process.facts)?,
        };
        Ok((true, context))
    })
}
