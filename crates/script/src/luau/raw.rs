//! Tables written and read by Luau's own functions of C: a whole value within one error handler. By mlua's functions each
//! name, text and entry has one of its own as long as a machine's memory is limited, which cost more than all the rest of a
//! call.
//!
//! Where a machine has no memory left Luau throws an exception of C++, which ends what stands here as a panic would: what
//! is to be dropped is dropped, and mlua makes an error of it.

#![expect(unsafe_code, reason = "mlua's safe functions handle errors one by one")]

use std::ffi::c_int;

use mlua::{Lua, Result, Table, Value as LuaValue, ffi};

use crate::value::allowance::{Allowance, PARTS_MAX};
use crate::value::{DEPTH_MAX, Value, whole};

/// Places on Luau's stack that one level of nesting takes at most.
const PLACES: c_int = 4;

/// Writes one value in a machine.
pub(super) struct Pen {
    state: *mut ffi::lua_State,
}

/// Writes a table, by a function that says what stands in it.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn table(lua: &Lua, names: usize, fill: impl FnOnce(&mut Pen)) -> Result<Table> {
    // SAFETY: the function keeps to Luau's stack as `Pen` does: it leaves the one table behind.
    unsafe { lua.exec_raw((), |state| Pen { state }.table(0, names, fill)) }
}

/// Writes a value.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn value(lua: &Lua, value: &Value) -> Result<LuaValue> {
    match value {
        Value::Nil => Ok(LuaValue::Nil),
        Value::Flag(flag) => Ok(LuaValue::Boolean(*flag)),
        Value::Number(number) => Ok(LuaValue::Number(*number)),
        // SAFETY: as above; one value is left behind.
        _ => unsafe { lua.exec_raw((), |state| Pen { state }.value(value)) },
    }
}

impl Pen {
    fn text(&mut self, text: &[u8]) {
        // SAFETY: there is room on the stack, see `table`.
        unsafe { ffi::lua_pushlstring(self.state, text.as_ptr().cast(), text.len()) };
    }

    /// Leaves a table on the stack, filled so.
    fn table(&mut self, items: usize, names: usize, fill: impl FnOnce(&mut Self)) {
        // SAFETY: room is made for the table, and for a name and what stands under it.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            ffi::lua_createtable(self.state, capacity(items), capacity(names));
        }
        fill(self);
    }

    fn value(&mut self, value: &Value) {
        match value {
            // SAFETY: there is room on the stack, see `table`.
            Value::Nil => unsafe { ffi::lua_pushnil(self.state) },
            // SAFETY: as above.
            Value::Flag(flag) => unsafe { ffi::lua_pushboolean(self.state, (*flag).into()) },
            // SAFETY: as above.
            Value::Number(number) => unsafe { ffi::lua_pushnumber(self.state, *number) },
            Value::Bytes(bytes) => self.text(bytes),
            Value::List(values) | Value::Results(values) => self.table(values.len(), 0, |pen| {
                values.iter().zip(1..).for_each(|(value, place)| pen.put(place, |pen| pen.value(value)));
            }),
            Value::Map(entries) => self.table(0, entries.len(), |pen| {
                entries.iter().for_each(|(name, value)| pen.set(name, |pen| pen.value(value)));
            }),
            Value::Record(entries) => self.table(0, entries.len(), |pen| {
                entries.iter().for_each(|(name, value)| pen.set(name, |pen| pen.value(value)));
            }),
        }
    }

    /// In the table being filled: under a name stands what is written, which is one value.
    fn set(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.text(name.as_bytes());
        write(self);
        // SAFETY: name and value lie on the table.
        unsafe { ffi::lua_rawset(self.state, -3) };
    }

    /// In the table being filled: at a place stands what is written, which is one value.
    fn put(&mut self, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        write(self);
        // SAFETY: the value lies on the table.
        unsafe { ffi::lua_rawseti(self.state, -2, place) };
    }

    /// Under a name stands a text.
    pub(super) fn set_text(&mut self, name: &str, text: impl AsRef<[u8]>) {
        self.set(name, |pen| pen.text(text.as_ref()));
    }

    /// Under a name stands a number.
    pub(super) fn set_number(&mut self, name: &str, number: f64) {
        self.set(name, |pen| pen.value(&Value::Number(number)));
    }

    /// Under a name stands a truth value.
    pub(super) fn set_flag(&mut self, name: &str, flag: bool) {
        self.set(name, |pen| pen.value(&Value::Flag(flag)));
    }

    /// Under a name stands a table, filled so.
    pub(super) fn set_table(&mut self, name: &str, names: usize, fill: impl FnOnce(&mut Self)) {
        self.set(name, |pen| pen.table(0, names, fill));
    }

    /// Tables in order are the items of the table being filled.
    pub(super) fn put_tables<T>(&mut self, items: &[T], names: usize, fill: impl Fn(&mut Self, &T)) {
        items
            .iter()
            .zip(1..)
            .for_each(|(item, place)| self.put(place, |pen| pen.table(0, names, |pen| fill(pen, item))));
    }

    /// Under a name stands a list of texts.
    pub(super) fn set_texts(&mut self, name: &str, texts: &[String]) {
        self.set(name, |pen| {
            pen.table(texts.len(), 0, |pen| {
                texts.iter().zip(1..).for_each(|(text, place)| pen.put(place, |pen| pen.text(text.as_bytes())));
            });
        });
    }
}

fn capacity(count: usize) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

/// Reads a table. One with a first element is a list, as in the original; names of others are their texts.
///
/// # Errors
/// For what has no form outside of Lua, and for tables nested too deeply, which those are that hold themselves.
pub(super) fn read(lua: &Lua, table: &Table, left: &mut Allowance) -> Result<Value> {
    let mut read = Err(String::new());
    // SAFETY: the table is the function's first argument; it leaves nothing behind.
    unsafe { lua.exec_raw::<()>(table, |state| read = Reader { state, left }.table(1, 1))? };
    read.map_err(mlua::Error::runtime)
}

struct Reader<'a> {
    state: *mut ffi::lua_State,
    left: &'a mut Allowance,
}

type Read<T> = std::result::Result<T, String>;

impl Reader<'_> {
    /// What lies at a place of the stack.
    fn value(&mut self, at: c_int, depth: usize) -> Read<Value> {
        // SAFETY: something lies there.
        let kind = unsafe { ffi::lua_type(self.state, at) };
        if kind == ffi::LUA_TSTRING {
            let bytes = self.bytes(at).to_vec();
            self.left.take(bytes.len())?;
            return Ok(Value::Bytes(bytes));
        }
        self.left.take(0)?;
        Ok(match kind {
            ffi::LUA_TNIL => Value::Nil,
            // SAFETY: it is of the kind that it is read as.
            ffi::LUA_TBOOLEAN => Value::Flag(unsafe { ffi::lua_toboolean(self.state, at) } != 0),
            // SAFETY: as above.
            ffi::LUA_TNUMBER => Value::Number(unsafe { ffi::lua_tonumber(self.state, at) }),
            ffi::LUA_TTABLE if depth < DEPTH_MAX => self.table(at, depth + 1)?,
            ffi::LUA_TTABLE => return Err("the table is nested too deeply".to_owned()),
            other => return Err(format!("a {} cannot be used here", self.kind_name(other))),
        })
    }

    fn table(&mut self, at: c_int, depth: usize) -> Read<Value> {
        // SAFETY: a table lies there, and room is made for a name and what stands under it. What is pushed is popped.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            let at = ffi::lua_absindex(self.state, at);
            let length = ffi::lua_rawlen(self.state, at);
            if length > 0 {
                let mut values = Vec::with_capacity(length.min(PARTS_MAX));
                for place in (1..).take(length) {
                    ffi::lua_rawgeti(self.state, at, place);
                    values.push(self.value(-1, depth)?);
                    ffi::lua_pop(self.state, 1);
                }
                return Ok(Value::List(values));
            }
            let mut entries = Vec::new();
            ffi::lua_pushnil(self.state);
            while ffi::lua_next(self.state, at) != 0 {
                let name = self.name(-2)?;
                self.left.take(name.len())?;
                entries.push((name, self.value(-1, depth)?));
                ffi::lua_pop(self.state, 1);
            }
            Ok(Value::Map(entries))
        }
    }

    /// What lies at a place of the stack, as a name. It is not asked what it would be called.
    fn name(&mut self, at: c_int) -> Read<String> {
        // SAFETY: something lies there, of the kind that it is read as.
        match unsafe { ffi::lua_type(self.state, at) } {
            ffi::LUA_TSTRING => {
                let name = std::str::from_utf8(self.bytes(at));
                name.map(str::to_owned).map_err(|_| "a name in the table is not UTF-8".to_owned())
            }
            ffi::LUA_TNUMBER => {
                // SAFETY: as above.
                let number = unsafe { ffi::lua_tonumber(self.state, at) };
                Ok(whole(number).map_or_else(|| number.to_string(), |number| number.to_string()))
            }
            // SAFETY: as above.
            ffi::LUA_TBOOLEAN => Ok((unsafe { ffi::lua_toboolean(self.state, at) } != 0).to_string()),
            // SAFETY: as above.
            other => Ok(format!("{}: {:p}", self.kind_name(other), unsafe { ffi::lua_topointer(self.state, at) })),
        }
    }

    /// The text at a place of the stack, which stays there while it is used.
    fn bytes(&self, at: c_int) -> &[u8] {
        let mut length = 0;
        // SAFETY: a text lies there, which is not changed by being read.
        unsafe {
            let start = ffi::lua_tolstring(self.state, at, &raw mut length);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), length) }
        }
    }

    fn kind_name(&self, kind: c_int) -> String {
        // SAFETY: Luau's names of kinds are texts that stay.
        unsafe { std::ffi::CStr::from_ptr(ffi::lua_typename(self.state, kind)) }.to_string_lossy().into_owned()
    }
}
