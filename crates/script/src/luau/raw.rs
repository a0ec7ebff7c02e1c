//! Tables written and read by Luau's own functions of C: a whole value within one error handler. By mlua's functions each
//! name, text and entry has one of its own as long as a machine's memory is limited, which cost more than all the rest of a
//! call.
//!
//! Where a machine has no memory left Luau throws an exception of C++, which ends what stands here as a panic would: what
//! is to be dropped is dropped, and mlua makes an error of it.

#![expect(unsafe_code, reason = "mlua's safe functions handle errors one by one")]

use std::ffi::{CStr, c_int};

use mlua::{FromLuaMulti, Lua, MultiValue, Result, Table, Value as LuaValue, ffi};

use crate::value::allowance::{Allowance, PARTS_MAX};
use crate::value::{DEPTH_MAX, Value, whole};

/// Places on Luau's stack that one level of nesting takes at most.
const PLACES: c_int = 4;

unsafe extern "C-unwind" {
    /// Luau's own, which mlua does not name.
    fn lua_clonetable(state: *mut ffi::lua_State, at: c_int);
}

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

/// Writes values, by a function that finds these tables on the stack, at the first places.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn with_tables<const N: usize, T: FromLuaMulti>(
    lua: &Lua,
    tables: [&Table; N],
    write: impl FnOnce(&mut Pen),
) -> Result<T> {
    let tables = tables.into_iter().map(|table| LuaValue::Table(table.clone())).collect::<MultiValue>();
    // SAFETY: the function keeps to Luau's stack as `Pen` does; the tables are taken from below what it leaves.
    unsafe {
        lua.exec_raw(tables, |state| {
            write(&mut Pen { state });
            (0..N).for_each(|_| ffi::lua_remove(state, 1));
        })
    }
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
    /// One for a function of C.
    ///
    /// # Safety
    /// The state must be the one that runs, and have room for what is written besides tables.
    pub(super) unsafe fn new(state: *mut ffi::lua_State) -> Self {
        Self { state }
    }

    /// Makes room for so many values beside each other.
    pub(super) fn make_room(&mut self, values: usize) {
        // SAFETY: room may be made at any time.
        unsafe { ffi::luaL_checkstack(self.state, capacity(values), c"too many values".as_ptr()) };
    }

    /// Leaves nil on the stack.
    pub(super) fn nil(&mut self) {
        // SAFETY: there is room on the stack, see `table`.
        unsafe { ffi::lua_pushnil(self.state) };
    }

    /// Leaves a truth value on the stack.
    pub(super) fn flag(&mut self, flag: bool) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushboolean(self.state, flag.into()) };
    }

    /// Leaves a number on the stack.
    pub(super) fn number(&mut self, number: f64) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnumber(self.state, number) };
    }

    /// Leaves a text on the stack.
    pub(super) fn text(&mut self, text: &[u8]) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushlstring(self.state, text.as_ptr().cast(), text.len()) };
    }

    /// Leaves a table on the stack that holds what the table at a place holds.
    pub(super) fn clone_of(&mut self, at: c_int) {
        // SAFETY: a table lies there; room is made for it, and for a name and what stands under it.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            lua_clonetable(self.state, at);
        }
    }

    /// The same, of the table that stands in a list at a place.
    pub(super) fn clone_of_listed(&mut self, list: c_int, place: ffi::lua_Integer) {
        // SAFETY: a list of tables lies there, and there is room, see `table`.
        unsafe { ffi::lua_rawgeti(self.state, list, place) };
        self.clone_of(-1);
        // SAFETY: the table lies below its clone.
        unsafe { ffi::lua_remove(self.state, -2) };
    }

    /// In the table being filled: under the name that stands in a list at a place stands what is written, one value.
    pub(super) fn set_listed(&mut self, names: c_int, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        // SAFETY: a list of names lies there, and there is room, see `table`.
        unsafe { ffi::lua_rawgeti(self.state, names, place) };
        write(self);
        self.set_written();
    }

    /// Leaves a table on the stack, filled so.
    pub(super) fn table(&mut self, items: usize, names: usize, fill: impl FnOnce(&mut Self)) {
        self.begin_table(items, names);
        fill(self);
    }

    /// Leaves an empty table on the stack.
    pub(super) fn begin_table(&mut self, items: usize, names: usize) {
        // SAFETY: room is made for the table, and for a name and what stands under it.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            ffi::lua_createtable(self.state, capacity(items), capacity(names));
        }
    }

    /// Puts what was written last into the table below it, at a place.
    pub(super) fn put_written(&mut self, place: ffi::lua_Integer) {
        // SAFETY: the value lies on the table.
        unsafe { ffi::lua_rawseti(self.state, -2, place) };
    }

    /// Puts what was written last into the table below it, under the name that was written before.
    pub(super) fn set_written(&mut self) {
        // SAFETY: name and value lie on the table.
        unsafe { ffi::lua_rawset(self.state, -3) };
    }

    /// Leaves a value on the stack.
    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Nil => self.nil(),
            Value::Flag(flag) => self.flag(*flag),
            Value::Number(number) => self.number(*number),
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
        self.set_written();
    }

    /// In the table being filled: at a place stands what is written, which is one value.
    fn put(&mut self, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        write(self);
        self.put_written(place);
    }

    /// Under a name stands a text.
    pub(super) fn set_text(&mut self, name: &str, text: impl AsRef<[u8]>) {
        self.set(name, |pen| pen.text(text.as_ref()));
    }

    /// Leaves a list on the stack, each item as it is written.
    pub(super) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.begin_table(items.len(), 0);
        items.iter().zip(1..).for_each(|(item, place)| self.put(place, |pen| write(pen, item)));
    }

    /// In a table at a place of the stack: at a place stands what is written, which is one value.
    pub(super) fn put_in(&mut self, table: c_int, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        write(self);
        // SAFETY: a table lies there, and the value on top.
        unsafe { ffi::lua_rawseti(self.state, table, place) };
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

/// Reads values in a machine.
pub(super) struct Reader<'a> {
    state: *mut ffi::lua_State,
    left: &'a mut Allowance,
}

type Read<T> = std::result::Result<T, String>;

impl<'a> Reader<'a> {
    /// One for a function of C.
    ///
    /// # Safety
    /// The state must be the one that runs, and places of the stack that are read must be there.
    pub(super) unsafe fn new(state: *mut ffi::lua_State, left: &'a mut Allowance) -> Self {
        Self { state, left }
    }
}

impl Reader<'_> {
    /// What lies at a place of the stack.
    pub(super) fn value(&mut self, at: c_int, depth: usize) -> Read<Value> {
        let kind = self.kind(at);
        if kind == ffi::LUA_TSTRING {
            let bytes = self.bytes(at).to_vec();
            self.take(bytes.len())?;
            return Ok(Value::Bytes(bytes));
        }
        self.take(0)?;
        Ok(match kind {
            ffi::LUA_TNIL => Value::Nil,
            ffi::LUA_TBOOLEAN => Value::Flag(self.flag(at)),
            ffi::LUA_TNUMBER => Value::Number(self.number(at)),
            ffi::LUA_TTABLE => {
                self.enter(depth)?;
                self.table(at, depth + 1)?
            }
            other => return Err(format!("a {} cannot be used here", self.kind_name(other))),
        })
    }

    fn table(&mut self, at: c_int, depth: usize) -> Read<Value> {
        let length = self.length(at);
        if length > 0 {
            let mut values = Vec::with_capacity(length.min(PARTS_MAX));
            self.each_item(at, length, |reader, _| {
                values.push(reader.value(-1, depth)?);
                Ok(())
            })?;
            return Ok(Value::List(values));
        }
        let mut entries = Vec::new();
        self.each_entry(at, |reader, name| {
            entries.push((name, reader.value(-1, depth)?));
            Ok(())
        })?;
        Ok(Value::Map(entries))
    }

    /// Whether there is an argument at this place.
    pub(super) fn is_given(&self, at: c_int) -> bool {
        // SAFETY: this may be asked of any place.
        unsafe { ffi::lua_gettop(self.state) >= at }
    }

    /// The kind of what lies at a place of the stack.
    pub(super) fn kind(&self, at: c_int) -> c_int {
        // SAFETY: this may be asked of any place.
        unsafe { ffi::lua_type(self.state, at) }
    }

    /// The truth value at a place of the stack.
    pub(super) fn flag(&self, at: c_int) -> bool {
        // SAFETY: something lies there; whatever it is can be taken for true or false.
        unsafe { ffi::lua_toboolean(self.state, at) != 0 }
    }

    /// The number at a place of the stack.
    pub(super) fn number(&self, at: c_int) -> f64 {
        // SAFETY: something lies there; what is no number is read as zero.
        unsafe { ffi::lua_tonumber(self.state, at) }
    }

    /// How many elements the table at a place of the stack has.
    pub(super) fn length(&self, at: c_int) -> usize {
        // SAFETY: a table lies there.
        unsafe { ffi::lua_rawlen(self.state, at) }
    }

    /// A part of the value is read that has so many bytes of text.
    pub(super) fn take(&mut self, bytes: usize) -> Read<()> {
        self.left.take(bytes)
    }

    /// Something is read within a table at this depth.
    pub(super) fn enter(&self, depth: usize) -> Read<()> {
        if depth < DEPTH_MAX { Ok(()) } else { Err("the table is nested too deeply".to_owned()) }
    }

    /// Has each element of a table seen, on top of the stack.
    pub(super) fn each_item(
        &mut self,
        at: c_int,
        length: usize,
        mut see: impl FnMut(&mut Self, ffi::lua_Integer) -> Read<()>,
    ) -> Read<()> {
        let at = self.absolute(at);
        for place in (1..).take(length) {
            // SAFETY: a table lies there, and there is room for the element, which is popped.
            unsafe { ffi::lua_rawgeti(self.state, at, place) };
            see(self, place)?;
            // SAFETY: as above.
            unsafe { ffi::lua_pop(self.state, 1) };
        }
        Ok(())
    }

    /// Has each value of a table seen, on top of the stack, with its name.
    pub(super) fn each_entry(&mut self, at: c_int, mut see: impl FnMut(&mut Self, String) -> Read<()>) -> Read<()> {
        let at = self.absolute(at);
        // SAFETY: a table lies there, which is not changed meanwhile, and there is room for a name and what stands under it.
        // What is pushed is popped.
        unsafe {
            ffi::lua_pushnil(self.state);
            while ffi::lua_next(self.state, at) != 0 {
                let name = self.name(-2)?;
                self.take(name.len())?;
                see(self, name)?;
                ffi::lua_pop(self.state, 1);
            }
        }
        Ok(())
    }

    /// What a text says that stands under a name in the table at a place of the stack.
    pub(super) fn field<T>(&self, at: c_int, name: &CStr, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        // SAFETY: a table lies there, and there is room for what stands in it, which is popped.
        unsafe {
            let is_text = ffi::lua_rawgetfield(self.state, at, name.as_ptr()) == ffi::LUA_TSTRING;
            let found = if is_text { read(self.bytes(-1)) } else { None };
            ffi::lua_pop(self.state, 1);
            found
        }
    }

    /// The place of a table for good, with room for what is in it.
    fn absolute(&self, at: c_int) -> c_int {
        // SAFETY: something lies there; room may be made at any time.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            ffi::lua_absindex(self.state, at)
        }
    }

    /// What lies at a place of the stack, as a name. It is not asked what it would be called.
    fn name(&mut self, at: c_int) -> Read<String> {
        match self.kind(at) {
            ffi::LUA_TSTRING => {
                let name = std::str::from_utf8(self.bytes(at));
                name.map(str::to_owned).map_err(|_| "a name in the table is not UTF-8".to_owned())
            }
            ffi::LUA_TNUMBER => {
                let number = self.number(at);
                Ok(whole(number).map_or_else(|| number.to_string(), |number| number.to_string()))
            }
            ffi::LUA_TBOOLEAN => Ok(self.flag(at).to_string()),
            // SAFETY: something lies there.
            other => Ok(format!("{}: {:p}", self.kind_name(other), unsafe { ffi::lua_topointer(self.state, at) })),
        }
    }

    /// The text at a place of the stack, which stays there while it is used.
    pub(super) fn bytes(&self, at: c_int) -> &[u8] {
        let mut length = 0;
        // SAFETY: a text lies there, which is not changed by being read.
        unsafe {
            let start = ffi::lua_tolstring(self.state, at, &raw mut length);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), length) }
        }
    }

    /// What Luau calls a kind.
    pub(super) fn kind_name(&self, kind: c_int) -> String {
        // SAFETY: Luau's names of kinds are texts that stay.
        unsafe { CStr::from_ptr(ffi::lua_typename(self.state, kind)) }.to_string_lossy().into_owned()
    }
}
