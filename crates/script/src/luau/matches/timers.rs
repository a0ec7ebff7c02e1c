//! The dispatcher's functions `set_timer` and `cancel_timer`, by which a callback sets and cancels timers of its
//! match.

use std::sync::Arc;

use mlua::{Function, Lua, MultiValue, Result, Table, Value as LuaValue};
use muster_live::matches::Act;

use crate::luau::vm::Vm;

/// Adds both functions to the dispatcher's table.
pub(super) fn add(lua: &Lua, vm: &Vm, dispatcher: &Table) -> Result<()> {
    put(lua, vm, dispatcher, "set_timer", set)?;
    put(lua, vm, dispatcher, "cancel_timer", |mut values| {
        text(&mut values, "cancel_timer", "the name of a timer").map(Act::CancelTimer)
    })
}

type Read = fn(MultiValue) -> std::result::Result<Act, String>;

fn put(lua: &Lua, vm: &Vm, dispatcher: &Table, name: &'static str, read: Read) -> Result<()> {
    let (seats, host) = (vm.seats.clone(), vm.host.clone());
    let run = lua.create_function(move |lua, arguments: MultiValue| {
        let counted = host.current.count(&host.process.metrics).map_err(|error| error.message.into_owned());
        let added = counted.and_then(|()| read(arguments)).and_then(|act| {
            let seat = seats.current().ok_or("no callback of the match is running")?;
            seat.sink.add(act)
        });
        match added {
            Ok(()) => Ok((true, LuaValue::Nil)),
            Err(why) => Ok((false, LuaValue::String(lua.create_string(why)?))),
        }
    })?;
    dispatcher.raw_set(name, vm.prelude.bind.call::<Function>(run)?)
}

fn set(mut values: MultiValue) -> std::result::Result<Act, String> {
    let name = text(&mut values, "set_timer", "the name of a timer")?;
    let after_ms = match values.pop_front() {
        Some(LuaValue::Number(number)) if number >= 0.0 => number.ceil() as u64,
        Some(LuaValue::Integer(number)) if number >= 0 => number as u64,
        _ => return Err("set_timer expects a number of milliseconds behind the name".into()),
    };
    let data = match values.front() {
        None | Some(LuaValue::Nil) => Arc::default(),
        Some(_) => text(&mut values, "set_timer", "a text behind the milliseconds")?,
    };
    Ok(Act::SetTimer { name, after_ms, data })
}

fn text(values: &mut MultiValue, of: &str, expected: &str) -> std::result::Result<Arc<str>, String> {
    match values.pop_front() {
        Some(LuaValue::String(text)) => {
            text.to_str().map(|text| Arc::from(&*text)).map_err(|_| format!("{of} expects {expected} in UTF-8"))
        }
        _ => Err(format!("{of} expects {expected}")),
    }
}
