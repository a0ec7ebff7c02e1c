//! The `register_…` functions by which modules in Lua register functions, hooks, listeners, schedules and routes.

use mlua::{Function, Lua, Result, Table, Value as LuaValue, Variadic};
use muster_api::game::Occasion;

use crate::machine::call::{SinglePurpose, listener_name};
use crate::machine::registered::{Among, SharedFunctions, When};

/// Adds the registering functions to the host's module.
pub(super) fn bind_all(lua: &Lua, nk: &Table, bind: &Function, registered: &SharedFunctions<Function>) -> Result<()> {
    let put = |name: &str, run: Function| nk.raw_set(name, bind.call::<Function>(run)?);
    put("register_rpc", register_rpc(lua, registered.clone())?)?;
    for purpose in SinglePurpose::ALL {
        put(&format!("register_{}", purpose.name()), register_single_purpose(lua, registered.clone(), purpose)?)?;
    }
    for occasion in Occasion::ALL {
        let name = format!("register_{}", listener_name(occasion));
        put(&name, register_listener(lua, registered.clone(), occasion, name.clone())?)?;
    }
    put("register_schedule", register_schedule(lua, registered.clone())?)?;
    put("register_http", register_http(lua, registered.clone())?)?;
    for (name, when, table) in [
        ("register_req_before", When::Before, Among::Operations),
        ("register_req_after", When::After, Among::Operations),
        ("register_rt_before", When::Before, Among::Messages),
        ("register_rt_after", When::After, Among::Messages),
    ] {
        put(name, register_hook(lua, registered.clone(), name, when, table)?)?;
    }
    Ok(())
}

/// The return of a function that the prelude binds: `true`, or `false` and a sentence, which the prelude raises as
/// Lua's own errors are raised.
type BoundResult = Result<(bool, LuaValue)>;

fn refused(lua: &Lua, told: impl AsRef<[u8]>) -> BoundResult {
    Ok((false, LuaValue::String(lua.create_string(told.as_ref())?)))
}

fn bound_result(lua: &Lua, set: std::result::Result<(), String>) -> BoundResult {
    match set {
        Ok(()) => Ok((true, LuaValue::Nil)),
        Err(why) => refused(lua, why),
    }
}

fn register_rpc(lua: &Lua, registered: SharedFunctions<Function>) -> Result<Function> {
    lua.create_function(move |lua, (function, id): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(id)) = (function, id) else {
            return refused(lua, "register_rpc expects a function and an id");
        };
        let set = registered.borrow_mut().set_function("register_rpc", &id.to_string_lossy(), function);
        bound_result(lua, set)
    })
}

fn register_single_purpose(
    lua: &Lua,
    registered: SharedFunctions<Function>,
    purpose: SinglePurpose,
) -> Result<Function> {
    lua.create_function(move |lua, function: LuaValue| {
        let LuaValue::Function(function) = function else {
            return refused(lua, format!("register_{} expects a function", purpose.name()));
        };
        registered.borrow_mut().set_single_purpose(purpose, function);
        Ok((true, LuaValue::Nil))
    })
}

fn register_listener(
    lua: &Lua,
    registered: SharedFunctions<Function>,
    occasion: Occasion,
    name: String,
) -> Result<Function> {
    lua.create_function(move |lua, function: LuaValue| {
        let LuaValue::Function(function) = function else {
            return refused(lua, format!("{name} expects a function"));
        };
        registered.borrow_mut().add_listener(occasion, function);
        Ok((true, LuaValue::Nil))
    })
}

fn register_schedule(lua: &Lua, registered: SharedFunctions<Function>) -> Result<Function> {
    lua.create_function(move |lua, (function, expression): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(expression)) = (function, expression) else {
            return refused(lua, "register_schedule expects a function and a cron expression");
        };
        let added = registered.borrow_mut().add_schedule("register_schedule", &expression.to_string_lossy(), function);
        bound_result(lua, added)
    })
}

fn register_http(lua: &Lua, registered: SharedFunctions<Function>) -> Result<Function> {
    lua.create_function(move |lua, (function, path, methods): (LuaValue, LuaValue, Variadic<LuaValue>)| {
        let (LuaValue::Function(function), LuaValue::String(path)) = (function, path) else {
            return refused(lua, "register_http expects a function, a path, and methods");
        };
        let text = |method: LuaValue| match method {
            LuaValue::String(method) => Some(method.to_string_lossy()),
            _ => None,
        };
        let Some(methods) = methods.into_iter().map(text).collect::<Option<Vec<_>>>() else {
            return refused(lua, "register_http expects methods to be strings");
        };
        let added = registered.borrow_mut().add_route("register_http", &path.to_string_lossy(), &methods, function);
        bound_result(lua, added)
    })
}

fn register_hook(
    lua: &Lua,
    registered: SharedFunctions<Function>,
    registers: &'static str,
    when: When,
    among: Among,
) -> Result<Function> {
    lua.create_function(move |lua, (function, name): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(name)) = (function, name) else {
            return refused(lua, format!("{registers} expects a function and a name"));
        };
        let set = registered.borrow_mut().set_hook(registers, when, among, &name.to_string_lossy(), function);
        bound_result(lua, set)
    })
}
