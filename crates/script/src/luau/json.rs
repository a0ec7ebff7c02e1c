//! The host functions `json_decode` and `json_encode`. Both work directly on Luau's stack, without an intermediate
//! value.

#![expect(unsafe_code, reason = "values are pushed and read one by one on Luau's stack")]

use std::ffi::c_int;
use std::fmt;
use std::ops::Range;

use mlua::ffi;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::functions::{Bound, is_called_with_colon, with_colon};
use super::raw::{Pen, Reader};
use super::surrogates;
use crate::value::allowance::Allowance;
use crate::value::{original_json, whole};

/// Capacity of a table whose size is not yet known, in elements or names.
const ROOM: usize = 4;

type Returned = Result<c_int, String>;

/// Runs `json_decode`. Returns the number of results that it left on the stack.
///
/// # Safety
/// The state must be the one that runs, in a call from Luau.
pub(super) unsafe fn decode(state: *mut ffi::lua_State, bound: &Bound) -> Returned {
    count(bound)?;
    let mut left = Allowance::new();
    // SAFETY: the caller passes the running state. The text stays at its place while it is an argument.
    let (mut pen, mut reader) = unsafe { (Pen::new(state), Reader::new(state, &mut left)) };
    let bytes = if reader.kind(1) == ffi::LUA_TSTRING { reader.bytes(1).len() } else { 0 };
    reader.take(bytes).map_err(|told| format!("json_decode: {told}"))?;
    let number;
    let json = match reader.kind(1) {
        ffi::LUA_TSTRING => reader.bytes(1),
        // As everywhere in Lua, a number stands for its text where a text is expected.
        ffi::LUA_TNUMBER => {
            number = reader.number(1).to_string();
            number.as_bytes()
        }
        other => {
            let got = if reader.is_given(1) { reader.kind_name(other) } else { "nil".to_owned() };
            return Err(format!("bad argument #1 to json_decode (string expected, got {got})"));
        }
    };
    Allowance::check_json(json)?;
    let repaired = surrogates::replace_lone(json);
    let json = repaired.as_deref().unwrap_or(json);
    let mut from = serde_json::Deserializer::from_slice(json);
    let read = Push(&mut pen).deserialize(&mut from).and_then(|()| from.end());
    read.map(|()| 1).map_err(|error| format!("not a valid JSON string: {error}"))
}

/// Runs `json_encode`. Returns the number of results that it left on the stack.
///
/// # Safety
/// The conditions of [`decode`] must hold.
pub(super) unsafe fn encode(state: *mut ffi::lua_State, bound: &Bound) -> Returned {
    count(bound)?;
    // A module is a value, too, so that a call with a colon would encode the host's.
    // SAFETY: the caller passes the running state.
    if unsafe { ffi::lua_gettop(state) > 1 && is_called_with_colon(state, bound) } {
        return Err(with_colon(bound.function.name));
    }
    let mut left = Allowance::new();
    // SAFETY: the caller passes the running state.
    let (mut pen, mut reader) = unsafe { (Pen::new(state), Reader::new(state, &mut left)) };
    let mut out = Vec::with_capacity(256);
    if reader.is_given(1) {
        let told = |told: String| format!("json_encode: {told}");
        write(&mut reader, 1, 0, &mut out).map_err(told)?;
    } else {
        return Err("bad argument #1 to json_encode (value expected, got none)".to_owned());
    }
    pen.text(&out);
    Ok(1)
}

fn count(bound: &Bound) -> Result<(), String> {
    let Bound { host, .. } = bound;
    host.current.count(&host.process.metrics).map_err(|error| error.message.into_owned())
}

/// Writes the value that it deserializes with a pen.
struct Push<'a>(&'a mut Pen);

impl<'de> DeserializeSeed<'de> for Push<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Push<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.nil();
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.0.flag(flag);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.0.number(number as f64);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.0.number(number as f64);
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.number(number);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.text(text.as_bytes());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        self.0.begin_table(ROOM, 0);
        let mut place = 1;
        while from.next_element_seed(Push(self.0))?.is_some() {
            self.0.put_written(place);
            place += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        self.0.begin_table(0, ROOM);
        while from.next_key_seed(Push(self.0))?.is_some() {
            from.next_value_seed(Push(self.0))?;
            self.0.set_written();
        }
        Ok(())
    }
}

/// Appends the JSON of the value at a place of the stack.
fn write(reader: &mut Reader<'_>, at: c_int, depth: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let bytes = if reader.kind(at) == ffi::LUA_TSTRING { reader.bytes(at).len() } else { 0 };
    reader.take(bytes)?;
    match reader.kind(at) {
        ffi::LUA_TNIL => out.extend_from_slice(b"null"),
        ffi::LUA_TBOOLEAN => out.extend_from_slice(if reader.flag(at) { b"true" } else { b"false" }),
        ffi::LUA_TNUMBER => write_number(reader.number(at), out)?,
        ffi::LUA_TSTRING => write_text(reader.bytes(at), out)?,
        ffi::LUA_TTABLE => {
            reader.enter(depth)?;
            match reader.extent(at) {
                0 => write_object(reader, at, depth + 1, out)?,
                length => write_list(reader, at, length, depth + 1, out)?,
            }
        }
        // As in the original, a function is written as a text.
        other => write_text(reader.kind_name(other).as_bytes(), out)?,
    }
    Ok(())
}

fn write_list(
    reader: &mut Reader<'_>,
    at: c_int,
    length: usize,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    out.push(b'[');
    reader.each_item(at, length, |reader, place| {
        if place > 1 {
            out.push(b',');
        }
        write(reader, -1, depth, out)
    })?;
    out.push(b']');
    Ok(())
}

/// The name of an entry, and the range of the output that holds its JSON.
type Entry = (String, Range<usize>);

/// Appends the JSON of a table with names, sorted by name. Of several names that are written alike, such as the number
/// 1 and the text 1, the last one counts.
fn write_object(reader: &mut Reader<'_>, at: c_int, depth: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.push(b'{');
    let first = out.len();
    let mut entries: Vec<Entry> = Vec::new();
    reader.each_entry(at, |reader, name| {
        let begin = out.len();
        write_text(name.as_bytes(), out)?;
        out.push(b':');
        write(reader, -1, depth, out)?;
        entries.push((name, begin..out.len()));
        out.push(b',');
        Ok(())
    })?;
    if entries.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let found = out.split_off(first);
        for (index, (name, place)) in entries.iter().enumerate() {
            if entries.get(index + 1).is_none_or(|(next, _)| next != name) {
                out.extend_from_slice(&found[place.start - first..place.end - first]);
                out.push(b',');
            }
        }
    }
    if out.len() > first {
        out.pop();
    }
    out.push(b'}');
    Ok(())
}

fn write_number(number: f64, out: &mut Vec<u8>) -> Result<(), String> {
    match whole(number) {
        Some(number) => serde_json::to_writer(out, &number).map_err(unwritten),
        None if number.is_finite() => original_json::write_number(out, number).map_err(|error| error.to_string()),
        None => Err(format!("{number} is no number of JSON")),
    }
}

/// Appends a text. Each byte that is no UTF-8 becomes a replacement character.
fn write_text(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    if let Ok(text) = str::from_utf8(text) {
        return write_unicode(text, out);
    }
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        let mut valid = Vec::new();
        write_unicode(chunk.valid(), &mut valid)?;
        out.extend_from_slice(&valid[1..valid.len() - 1]);
        for _ in chunk.invalid() {
            out.extend_from_slice(br"\ufffd");
        }
    }
    out.push(b'"');
    Ok(())
}

fn write_unicode(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let begin = out.len();
    serde_json::to_writer(&mut *out, text).map_err(unwritten)?;
    let is_special = |bytes: &[u8]| bytes.iter().any(|byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2));
    if is_special(&out[begin..]) {
        let written = out.split_off(begin);
        original_json::write_escaped(out, &String::from_utf8_lossy(&written)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn unwritten(error: serde_json::Error) -> String {
    format!("not a value that JSON has: {error}")
}
