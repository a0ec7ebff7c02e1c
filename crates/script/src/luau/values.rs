//! Values between Lua and the host.

use mlua::{Lua, Result, Table, Value as LuaValue};

use crate::value::{DEPTH_MAX, Value};

/// Reads a value. A table with a first element is a list, as in the original; names of others are their texts.
///
/// # Errors
/// For what has no form outside of Lua, and for tables nested too deeply, which those are that hold themselves.
pub(super) fn read(value: LuaValue) -> Result<Value> {
    read_at(value, 0)
}

fn read_at(value: LuaValue, depth: usize) -> Result<Value> {
    Ok(match value {
        LuaValue::Nil => Value::Nil,
        LuaValue::Boolean(flag) => Value::Flag(flag),
        LuaValue::Integer(number) => Value::Number(number as f64),
        LuaValue::Number(number) => Value::Number(number),
        LuaValue::String(text) => Value::Bytes(text.as_bytes().to_vec()),
        LuaValue::Table(table) if depth < DEPTH_MAX => read_table(&table, depth + 1)?,
        LuaValue::Table(_) => return Err(mlua::Error::runtime("the table is nested too deeply")),
        other => return Err(mlua::Error::runtime(format!("a {} cannot be used here", other.type_name()))),
    })
}

fn read_table(table: &Table, depth: usize) -> Result<Value> {
    let length = table.raw_len();
    if length > 0 {
        let mut values = Vec::with_capacity(length);
        for index in 1..=length {
            values.push(read_at(table.raw_get(index)?, depth)?);
        }
        return Ok(Value::List(values));
    }
    let mut entries = Vec::new();
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (name, value) = pair?;
        entries.push((name.to_string()?, read_at(value, depth)?));
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
