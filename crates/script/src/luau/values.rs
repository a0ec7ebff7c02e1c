//! Values between Lua and the host.

use mlua::{Lua, Result, Table, Value as LuaValue};

use crate::value::allowance::{Allowance, PARTS_MAX};
use crate::value::{DEPTH_MAX, Value};

/// Reads a value. A table with a first element is a list, as in the original; names of others are their texts.
///
/// # Errors
/// For what has no form outside of Lua, and for tables nested too deeply, which those are that hold themselves.
pub(super) fn read(value: LuaValue) -> Result<Value> {
    read_within(value, &mut Allowance::new())
}

/// Reads one of several values that cross together.
///
/// # Errors
/// As [`read`].
pub(super) fn read_within(value: LuaValue, left: &mut Allowance) -> Result<Value> {
    read_at(value, 0, left)
}

fn read_at(value: LuaValue, depth: usize, left: &mut Allowance) -> Result<Value> {
    let bytes = if let LuaValue::String(text) = &value { text.as_bytes().len() } else { 0 };
    left.take(bytes).map_err(mlua::Error::runtime)?;
    Ok(match value {
        LuaValue::Nil => Value::Nil,
        LuaValue::Boolean(flag) => Value::Flag(flag),
        LuaValue::Integer(number) => Value::Number(number as f64),
        LuaValue::Number(number) => Value::Number(number),
        LuaValue::String(text) => Value::Bytes(text.as_bytes().to_vec()),
        LuaValue::Table(table) if depth < DEPTH_MAX => read_table(&table, depth + 1, left)?,
        LuaValue::Table(_) => return Err(mlua::Error::runtime("the table is nested too deeply")),
        other => return Err(mlua::Error::runtime(format!("a {} cannot be used here", other.type_name()))),
    })
}

fn read_table(table: &Table, depth: usize, left: &mut Allowance) -> Result<Value> {
    let length = table.raw_len();
    if length > 0 {
        let mut values = Vec::with_capacity(length.min(PARTS_MAX));
        for index in 1..=length {
            values.push(read_at(table.raw_get(index)?, depth, left)?);
        }
        return Ok(Value::List(values));
    }
    let mut entries = Vec::new();
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (name, value) = pair?;
        let name = name.to_string()?;
        left.take(name.len()).map_err(mlua::Error::runtime)?;
        entries.push((name, read_at(value, depth, left)?));
    }
    Ok(Value::Map(entries))
}

/// Writes a value.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn write(lua: &Lua, value: Value) -> Result<LuaValue> {
    Ok(match value {
        Value::Nil => LuaValue::Nil,
        Value::Flag(flag) => LuaValue::Boolean(flag),
        Value::Number(number) => LuaValue::Number(number),
        Value::Bytes(bytes) => LuaValue::String(lua.create_string(bytes)?),
        Value::List(values) | Value::Results(values) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for (index, value) in values.into_iter().enumerate() {
                table.raw_set(index + 1, write(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
        Value::Map(entries) => {
            let table = lua.create_table_with_capacity(0, entries.len())?;
            for (name, value) in entries {
                table.raw_set(name, write(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
        Value::Record(entries) => {
            let table = lua.create_table_with_capacity(0, entries.len())?;
            for (name, value) in entries {
                table.raw_set(name, write(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
    })
}
