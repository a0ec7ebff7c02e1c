//! Builtins of Luau that give a recorded match the same answers in every replay. The clock stands still within a
//! callback, random numbers follow from the match's secret seed and the number of the call, and tables are iterated in
//! an order that does not depend on their history.

use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Result, Value as LuaValue};

use crate::durable::recorded_call::RecordedCall;
use crate::host::Current;

/// Source of a chunk that replaces the builtins. Its arguments are functions that read the match's clock and random
/// numbers.
const BUILTINS: &str = include_str!("deterministic.lua");

/// Replaces the functions in a machine's libraries.
pub(super) fn replace(lua: &Lua, current: &Current) -> Result<()> {
    let seconds = match_function(lua, current, |call, _| Ok(call.now().0 as f64 / 1e6))?;
    let fraction = match_function(lua, current, |call, _| Ok(call.chance.fraction()))?;
    let between = match_function(lua, current, |call, arguments| {
        let bounds: Vec<Option<i64>> = arguments.iter().map(|bound| number(bound).map(|bound| bound as i64)).collect();
        match bounds[..] {
            // The builtins have checked both numbers.
            [Some(least), Some(most)] => Ok(call.chance.between(least, most) as f64),
            _ => Err(mlua::Error::runtime("whole numbers expected")),
        }
    })?;
    let reseed = match_function(lua, current, |call, arguments| {
        call.chance.reseed(arguments.front().and_then(number).unwrap_or_default());
        Ok(0.0)
    })?;
    let builtins = lua.load(BUILTINS).set_name("=deterministic");
    let (pairs, next): (Function, Function) = builtins.call((seconds, fraction, between, reseed))?;
    lua.globals().raw_set("pairs", pairs)?;
    lua.globals().raw_set("next", next)
}

fn number(value: &LuaValue) -> Option<f64> {
    match value {
        LuaValue::Integer(number) => Some(*number as f64),
        LuaValue::Number(number) => Some(*number),
        _ => None,
    }
}

fn match_function(
    lua: &Lua,
    current: &Current,
    answer: impl Fn(Rc<RecordedCall>, MultiValue) -> Result<f64> + 'static,
) -> Result<Function> {
    let current = current.clone();
    lua.create_function(move |_, arguments: MultiValue| match current.recorded_call() {
        Some(call) => answer(call, arguments),
        None => Err(mlua::Error::runtime("no callback of a match is running")),
    })
}
