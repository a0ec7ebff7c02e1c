//! What modules do once in the life of the process, and what code is told of the server without being told who asks.

use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Result, Table, Value as LuaValue};

use crate::functions::Surroundings;
use crate::host::Host;

/// Under which name a machine keeps the context of the call that it runs.
const CONTEXT: &str = "context";

/// What every context has.
pub(super) fn context_of(lua: &Lua, mode: &str, around: &Surroundings) -> Result<Table> {
    let context = lua.create_table_with_capacity(0, 16)?;
    context.raw_set("execution_mode", mode)?;
    context.raw_set("node", &*around.node)?;
    context.raw_set("version", &*around.version)?;
    context.raw_set("env", lua.create_table_from(around.env.iter().map(|(name, value)| (&**name, &**value)))?)?;
    Ok(context)
}

/// From now on `get_context` answers this.
pub(super) fn keep_context(lua: &Lua, context: &Table) -> Result<()> {
    lua.set_named_registry_value(CONTEXT, context)
}

/// Calls a function, unless one was called so in this process already: the first of all modules alone, as in the original.
pub(super) fn run_once(lua: &Lua, host: Rc<Host>) -> Result<Function> {
    lua.create_function(move |lua, function: LuaValue| {
        let LuaValue::Function(function) = function else {
            let told = lua.create_string("run_once expects a function")?;
            return Ok((false, LuaValue::String(told)));
        };
        if host.process.is_first_run() {
            let context = context_of(lua, "run_once", &host.process.around)?;
            keep_context(lua, &context)?;
            function.call::<()>(context)?;
        }
        Ok((true, LuaValue::Nil))
    })
}

/// Answers the context of the call that the machine runs.
pub(super) fn get_context(lua: &Lua, host: Rc<Host>) -> Result<Function> {
    lua.create_function(move |lua, _: MultiValue| {
        let context = match lua.named_registry_value::<LuaValue>(CONTEXT)? {
            LuaValue::Table(context) => context,
            _ => context_of(lua, "run_once", &host.process.around)?,
        };
        Ok((true, context))
    })
}
