//! What modules do once in the life of the process, and what code is told of the server without being told who asks.

use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Result, Table, Value as LuaValue};

use super::raw::{self, Pen};
use super::seat::Seats;
use crate::functions::Surroundings;
use crate::host::Host;

/// About how many names a context has.
pub(super) const NAMES: usize = 16;

/// A context of nobody in particular.
pub(super) fn context_of(lua: &Lua, mode: &str, around: &Surroundings) -> Result<Table> {
    raw::table(lua, NAMES, |context| fill_context(context, mode, around))
}

/// What every context has.
pub(super) fn fill_context(context: &mut Pen, mode: &str, around: &Surroundings) {
    context.set_text("execution_mode", mode);
    context.set_text("node", &*around.node);
    context.set_text("version", &*around.version);
    context.set_table("env", around.env.len(), |env| {
        around.env.iter().for_each(|(name, value)| env.set_text(name, value));
    });
}

/// Answers the context for a function that is to be called, unless one was called so in this process already: the first of
/// all modules alone, as in the original.
pub(super) fn run_once(lua: &Lua, host: Rc<Host>, seats: Rc<Seats>) -> Result<Function> {
    lua.create_function(move |lua, function: LuaValue| {
        if !function.is_function() {
            let told = lua.create_string("run_once expects a function")?;
            return Ok((false, LuaValue::String(told)));
        }
        if !host.process.is_first_run() {
            return Ok((true, LuaValue::Nil));
        }
        let context = context_of(lua, "run_once", &host.process.around)?;
        if let Some(seat) = seats.current() {
            seat.context.replace(Some(context.clone()));
        }
        Ok((true, LuaValue::Table(context)))
    })
}

/// Answers the context of the call that the machine runs.
pub(super) fn get_context(lua: &Lua, host: Rc<Host>, seats: Rc<Seats>) -> Result<Function> {
    lua.create_function(move |lua, _: MultiValue| {
        let known = seats.current().and_then(|seat| seat.context.borrow().clone());
        let context = match known {
            Some(context) => context,
            None => context_of(lua, "run_once", &host.process.around)?,
        };
        Ok((true, context))
    })
}
