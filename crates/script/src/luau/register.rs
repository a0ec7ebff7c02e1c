//! The `register_…` functions by which modules in Lua register functions, hooks, listeners, schedules and routes.

use mlua::{Function, Lua, MultiValue, Result, Table, Value as LuaValue, Variadic};
use muster_api::game::Occasion;

use super::call::kind;
use super::functions::with_colon;
use crate::machine::call::{SinglePurpose, listener_name};
use crate::machine::registered::{Among, SharedFunctions, When};

/// The functions that register hooks.
const HOOKS: [(&str, When, Among); 4] = [
    ("register_req_before", When::Before, Among::Operations),
    ("register_req_after", When::After, Among::Operations),
    ("register_rt_before", When::Before, Among::Messages),
    ("register_rt_after", When::After, Among::Messages),
];

/// Functions of Lua between the code that registers something and a function of Rust, which is level 0.
const CALLER: usize = 2;

/// Names of the registering functions.
pub(super) fn names() -> impl Iterator<Item = String> {
    let plain = ["register_rpc", "register_schedule", "register_http"].map(str::to_owned).into_iter();
    let purposes = SinglePurpose::ALL.into_iter().map(|purpose| format!("register_{}", purpose.name()));
    let occasions = Occasion::ALL.into_iter().map(|occasion| format!("register_{}", listener_name(occasion)));
    plain.chain(purposes).chain(occasions).chain(HOOKS.iter().map(|(name, ..)| (*name).to_owned()))
}

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
    for (name, when, table) in HOOKS {
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

/// The place of the code that registers something, for warnings.
fn place(lua: &Lua) -> Option<String> {
    lua.inspect_stack(CALLER, |debug| {
        let (source, line) = (debug.source(), debug.current_line());
        Some(format!("{}:{}", source.short_src?, line?))
    })?
}

/// A sentence that says which argument of a registering function does not fit, and what may be the reason. `second`
/// says what the argument behind the function must be.
fn unfit(registers: &str, given: &[&LuaValue], second: &str) -> String {
    if let Some(LuaValue::Table(host)) = given.first()
        && host.raw_get(registers).is_ok_and(|found: LuaValue| found.is_function())
    {
        return with_colon(registers);
    }
    match given {
        [LuaValue::Function(_), other, ..] => {
            format!("{registers} expects {second} behind the function, got {}", kind(other))
        }
        [other, ..] => {
            let told = format!("{registers} expects a function as its first argument, got {}", kind(other));
            if other.is_nil() { format!("{told}: is it defined above this line?") } else { told }
        }
        [] => format!("{registers} expects a function"),
    }
}

/// Returns a function that notes that a module registers something for a feature which is not built yet.
pub(super) fn unbuilt(lua: &Lua, registered: SharedFunctions<Function>, name: &'static str) -> Result<Function> {
    lua.create_function(move |_, _: MultiValue| {
        registered.borrow_mut().add_unbuilt(name);
        Ok((true, LuaValue::Nil))
    })
}

fn register_rpc(lua: &Lua, registered: SharedFunctions<Function>) -> Result<Function> {
    const NAME: &str = "register_rpc";
    lua.create_function(move |lua, (function, id): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(id)) = (&function, &id) else {
            return refused(lua, unfit(NAME, &[&function, &id], "an id"));
        };
        let set = registered.borrow_mut().set_function(NAME, &id.to_string_lossy(), function.clone(), place(lua));
        bound_result(lua, set)
    })
}

fn register_single_purpose(
    lua: &Lua,
    registered: SharedFunctions<Function>,
    purpose: SinglePurpose,
) -> Result<Function> {
    let name = format!("register_{}", purpose.name());
    lua.create_function(move |lua, function: LuaValue| {
        let LuaValue::Function(function) = function else {
            return refused(lua, unfit(&name, &[&function], ""));
        };
        registered.borrow_mut().set_single_purpose(&name, purpose, function);
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
            return refused(lua, unfit(&name, &[&function], ""));
        };
        registered.borrow_mut().add_listener(&name, occasion, function);
        Ok((true, LuaValue::Nil))
    })
}

fn register_schedule(lua: &Lua, registered: SharedFunctions<Function>) -> Result<Function> {
    const NAME: &str = "register_schedule";
    lua.create_function(move |lua, (function, expression): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(expression)) = (&function, &expression) else {
            return refused(lua, unfit(NAME, &[&function, &expression], "a cron expression"));
        };
        let added = registered.borrow_mut().add_schedule(NAME, &expression.to_string_lossy(), function.clone());
        bound_result(lua, added)
    })
}

fn register_http(lua: &Lua, registered: SharedFunctions<Function>) -> Result<Function> {
    const NAME: &str = "register_http";
    lua.create_function(move |lua, (function, path, methods): (LuaValue, LuaValue, Variadic<LuaValue>)| {
        let (LuaValue::Function(function), LuaValue::String(path)) = (&function, &path) else {
            return refused(lua, unfit(NAME, &[&function, &path], "a path"));
        };
        let text = |method: LuaValue| match method {
            LuaValue::String(method) => Some(method.to_string_lossy()),
            _ => None,
        };
        let Some(methods) = methods.into_iter().map(text).collect::<Option<Vec<_>>>() else {
            return refused(lua, "register_http expects methods to be strings");
        };
        let added = registered.borrow_mut().add_route(NAME, &path.to_string_lossy(), &methods, function.clone());
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
        let (LuaValue::Function(function), LuaValue::String(name)) = (&function, &name) else {
            return refused(lua, unfit(registers, &[&function, &name], "a name"));
        };
        let set = registered.borrow_mut().set_hook(registers, when, among, &name.to_string_lossy(), function.clone());
        bound_result(lua, set)
    })
}
