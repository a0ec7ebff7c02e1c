//! Conversion of values between Lua and the host.

use mlua::{Lua, Result, Value as LuaValue};

use super::raw;
use crate::value::Value;
use crate::value::allowance::Allowance;

/// Reads a value. A table with a positive index is read as a list, as in the original. Names of other tables are read
/// as the texts that they print as.
///
/// # Errors
/// For functions, threads and userdata, and for tables nested too deeply or within themselves.
pub(super) fn read(lua: &Lua, value: LuaValue) -> Result<Value> {
    read_within(lua, value, &mut Allowance::new())
}

/// Reads one of several values that share an allowance.
///
/// # Errors
/// The errors of [`read`].
pub(super) fn read_within(lua: &Lua, value: LuaValue, left: &mut Allowance) -> Result<Value> {
    let bytes = if let LuaValue::String(text) = &value { text.as_bytes().len() } else { 0 };
    left.take(bytes).map_err(mlua::Error::runtime)?;
    Ok(match value {
        LuaValue::Nil => Value::Nil,
        LuaValue::Boolean(flag) => Value::Flag(flag),
        LuaValue::Integer(number) => Value::Number(number as f64),
        LuaValue::Number(number) => Value::Number(number),
        LuaValue::String(text) => Value::Bytes(text.as_bytes().to_vec()),
        LuaValue::Table(table) => raw::read(lua, &table, left)?,
        other => return Err(mlua::Error::runtime(format!("a {} cannot be used here", other.type_name()))),
    })
}

/// A value of the host as a value of Lua.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn write(lua: &Lua, value: &Value) -> Result<LuaValue> {
    raw::value(lua, value)
}
