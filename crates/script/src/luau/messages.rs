//! Messages of the protocol as tables of Lua, converted from and to JSON. The conversion does not know the types of
//! messages; whoever reads the JSON checks it. Numbers of 64 bits are texts, as in the original, since Lua's numbers
//! cannot hold them.

use mlua::{Lua, Result, Table, Value as LuaValue};
use muster_wire::json::{JsonError, Mode, Reader, WriteOptions, Writer};

use super::values;
use super::vm::plain;
use crate::value::{Value, whole};

/// Limit on the bytes of a message; longer messages are refused. The memory of the machine does not limit them, because
/// a table is written at each place that refers to it.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// The form of messages in Lua: names with underscores, without fields at their defaults.
pub(crate) const FORM: WriteOptions = WriteOptions { emit_defaults: false, camel_case: false };

/// The table of a message in JSON.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn read(lua: &Lua, json: &[u8]) -> Result<LuaValue> {
    let mut reader = Reader::new(json, Mode::Tolerant).map_err(unreadable)?;
    values::write(lua, &value_of(&mut reader).map_err(unreadable)?)
}

fn value_of(reader: &mut Reader<'_>) -> std::result::Result<Value, JsonError> {
    let mut first = true;
    Ok(match reader.peek() {
        Some(b'{') => {
            reader.begin_object()?;
            let mut entries = Vec::new();
            while let Some(name) = reader.next_name(&mut first)? {
                entries.push((name.into_owned(), value_of(reader)?));
            }
            Value::Map(entries)
        }
        Some(b'[') => {
            reader.begin_array()?;
            let mut values = Vec::new();
            while reader.next_element(&mut first)? {
                values.push(value_of(reader)?);
            }
            Value::List(values)
        }
        Some(b'"') => Value::text(reader.string()?),
        Some(b't' | b'f') => Value::Flag(reader.boolean()?),
        Some(b'n') => {
            reader.take_null()?;
            Value::Nil
        }
        _ => Value::Number(reader.number()?.parse().unwrap_or(f64::NAN)),
    })
}

fn unreadable(error: JsonError) -> mlua::Error {
    mlua::Error::runtime(error.to_string())
}

/// The JSON of a message's table.
///
/// # Errors
/// A sentence that says so, for a value that has no form outside of Lua, is nested too deeply, or is too long.
pub(super) fn write(lua: &Lua, table: Table) -> std::result::Result<Vec<u8>, String> {
    let value = values::read(lua, LuaValue::Table(table)).map_err(|error| plain(&error))?;
    let mut out = Vec::new();
    write_value(&value, &mut out)?;
    Ok(out)
}

fn write_value(value: &Value, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        Value::Flag(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(number_text(*number).as_bytes()),
        Value::Bytes(text) => {
            let text = std::str::from_utf8(text).map_err(|_| "a text in it is not UTF-8".to_owned())?;
            Writer::new(out, FORM).string(text);
        }
        Value::List(values) | Value::Results(values) => {
            for (index, value) in values.iter().enumerate() {
                out.push(if index == 0 { b'[' } else { b',' });
                write_value(value, out)?;
            }
            out.push(b']');
        }
        Value::Map(entries) => write_object(entries.iter().map(|(name, value)| (name.as_str(), value)), out)?,
        Value::Record(entries) => write_object(entries.iter().map(|(name, value)| (*name, value)), out)?,
    }
    if out.len() > MESSAGE_BYTES_MAX {
        return Err(format!("it has more than {MESSAGE_BYTES_MAX} bytes"));
    }
    Ok(())
}

fn write_object<'a>(
    entries: impl Iterator<Item = (&'a str, &'a Value)>,
    out: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    out.push(b'{');
    for (index, (name, value)) in entries.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        Writer::new(out, FORM).string(name);
        out.push(b':');
        write_value(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// A number in JSON: whole numbers without a fraction, and `"NaN"`, `"Infinity"` and `"-Infinity"` as texts.
fn number_text(number: f64) -> String {
    if number.is_nan() {
        "\"NaN\"".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned()
    } else {
        whole(number).map_or_else(|| format!("{number:?}"), |number| number.to_string())
    }
}
