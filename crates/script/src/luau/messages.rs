//! Messages between Lua and their JSON, without knowing their types: whoever reads the JSON checks it. Numbers of 64 bits
//! are texts, as in the original, since Lua's numbers would not hold them.

use mlua::{Lua, Result, Table, Value as LuaValue};
use muster_wire::json::{JsonError, Mode, Reader, WriteOptions, Writer};

use crate::value::{DEPTH_MAX, whole};

/// Longer messages are refused, whatever machines hold: a table that stands in many places of another is written as often.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// Lua's form of a message: names with underscores, without what is at its default.
pub(crate) const FORM: WriteOptions = WriteOptions { emit_defaults: false, camel_case: false };

/// Reads the table of a JSON text.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn read(lua: &Lua, json: &[u8]) -> Result<LuaValue> {
    let mut reader = Reader::new(json, Mode::Tolerant).map_err(unreadable)?;
    read_value(lua, &mut reader)
}

fn read_value(lua: &Lua, reader: &mut Reader<'_>) -> Result<LuaValue> {
    let mut first = true;
    Ok(match reader.peek() {
        Some(b'{') => {
            reader.begin_object().map_err(unreadable)?;
            let table = lua.create_table()?;
            while let Some(name) = reader.next_name(&mut first).map_err(unreadable)? {
                table.raw_set(&*name, read_value(lua, reader)?)?;
            }
            LuaValue::Table(table)
        }
        Some(b'[') => {
            reader.begin_array().map_err(unreadable)?;
            let table = lua.create_table()?;
            while reader.next_element(&mut first).map_err(unreadable)? {
                table.raw_push(read_value(lua, reader)?)?;
            }
            LuaValue::Table(table)
        }
        Some(b'"') => LuaValue::String(lua.create_string(&*reader.string().map_err(unreadable)?)?),
        Some(b't' | b'f') => LuaValue::Boolean(reader.boolean().map_err(unreadable)?),
        Some(b'n') => {
            reader.take_null().map_err(unreadable)?;
            LuaValue::Nil
        }
        _ => LuaValue::Number(reader.number().map_err(unreadable)?.parse().unwrap_or(f64::NAN)),
    })
}

fn unreadable(error: JsonError) -> mlua::Error {
    mlua::Error::runtime(error.to_string())
}

/// Writes a table as JSON.
///
/// # Errors
/// A sentence on what has no form outside of Lua, is nested too deeply, or is too long.
pub(super) fn write(table: &Table) -> std::result::Result<Vec<u8>, String> {
    let mut out = Vec::new();
    write_table(table, 0, &mut out)?;
    Ok(out)
}

fn write_value(value: &LuaValue, depth: usize, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    match value {
        LuaValue::Boolean(flag) => Writer::new(out, FORM).raw(if *flag { b"true" } else { b"false" }),
        LuaValue::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        LuaValue::Number(number) => out.extend_from_slice(number_text(*number).as_bytes()),
        LuaValue::String(text) => {
            let text = text.to_str().map_err(|_| "a text in it is not UTF-8".to_owned())?;
            Writer::new(out, FORM).string(&text);
        }
        LuaValue::Table(table) => write_table(table, depth, out)?,
        other => return Err(format!("there is a {} in it", other.type_name())),
    }
    if out.len() > MESSAGE_BYTES_MAX {
        return Err(format!("it has more than {MESSAGE_BYTES_MAX} bytes"));
    }
    Ok(())
}

/// A table with a first element is a list, as in the original.
fn write_table(table: &Table, depth: usize, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    if depth == DEPTH_MAX {
        return Err("its tables are nested too deeply".to_owned());
    }
    let failed = |error: mlua::Error| error.to_string();
    let length = table.raw_len();
    let (open, close) = if length > 0 { (b'[', b']') } else { (b'{', b'}') };
    out.push(open);
    for index in 1..=length {
        if index > 1 {
            out.push(b',');
        }
        write_value(&table.raw_get(index).map_err(failed)?, depth + 1, out)?;
    }
    if length == 0 {
        for (index, pair) in table.pairs::<LuaValue, LuaValue>().enumerate() {
            let (name, value) = pair.map_err(failed)?;
            if index > 0 {
                out.push(b',');
            }
            let name = match name {
                LuaValue::String(name) => name.to_str().map_err(|_| "a name in it is not UTF-8".to_owned())?.to_owned(),
                LuaValue::Integer(number) => number.to_string(),
                LuaValue::Number(number) => number_text(number),
                other => return Err(format!("a name in it is a {}", other.type_name())),
            };
            Writer::new(out, FORM).string(&name);
            out.push(b':');
            write_value(&value, depth + 1, out)?;
        }
    }
    out.push(close);
    Ok(())
}

/// Whole numbers without a fraction; those that JSON does not have by their names.
fn number_text(number: f64) -> String {
    if number.is_nan() {
        "\"NaN\"".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned()
    } else {
        whole(number).map_or_else(|| format!("{number:?}"), |number| number.to_string())
    }
}
