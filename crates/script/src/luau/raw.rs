//! Values written and read directly on Luau's stack: a [`Pen`] pushes values, a [`Reader`] reads them. One error
//! handler guards a whole value. In a machine whose memory is limited, mlua's safe functions would guard each name,
//! text and entry by a handler of its own, and that costs more than all the rest of a call.
//!
//! When a machine has no memory left, Luau throws an exception of C++. It unwinds through these functions as a panic
//! does: values of Rust are dropped, and mlua turns the exception into an error.

#![expect(unsafe_code, reason = "mlua's safe functions handle errors one by one")]

use std::ffi::{CStr, c_int};

use mlua::{FromLuaMulti, Lua, MultiValue, Result, Table, Value as LuaValue, ffi};

use crate::value::allowance::{Allowance, PARTS_MAX};
use crate::value::{DEPTH_MAX, Value, whole};

/// Stack places that one level of nesting takes at most: a table, a name, its value, and a spare one.
const PLACES: c_int = 4;

unsafe extern "C-unwind" {
    /// Pushes a shallow copy of the table at a place. mlua has no binding of this function of Luau.
    fn lua_clonetable(state: *mut ffi::lua_State, at: c_int);
}

/// Pushes values of one machine. Each method leaves its value on top of the stack unless its comment says otherwise;
/// "the open table" is the table that [`table`](Pen::table) is filling, on top of the stack.
pub(super) struct Pen {
    state: *mut ffi::lua_State,
}

/// Makes a table, whose entries the function writes.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn table(lua: &Lua, names: usize, fill: impl FnOnce(&mut Pen)) -> Result<Table> {
    // SAFETY: a `Pen` pops whatever it pushes but the values it writes, so exactly the one table is left behind.
    unsafe { lua.exec_raw((), |state| Pen { state }.table(0, names, fill)) }
}

/// Writes values by a function that finds `tables` at the first places of the stack.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn with_tables<const N: usize, T: FromLuaMulti>(
    lua: &Lua,
    tables: [&Table; N],
    write: impl FnOnce(&mut Pen),
) -> Result<T> {
    let tables = tables.into_iter().map(|table| LuaValue::Table(table.clone())).collect::<MultiValue>();
    // SAFETY: a `Pen` leaves exactly the values it writes; the tables are removed from below them.
    unsafe {
        lua.exec_raw(tables, |state| {
            write(&mut Pen { state });
            (0..N).for_each(|_| ffi::lua_remove(state, 1));
        })
    }
}

/// A shallow copy of a table, which may be written to.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn copy(lua: &Lua, table: &Table) -> Result<Table> {
    // SAFETY: the copy is left in the place of the original.
    unsafe {
        lua.exec_raw(table, |state| {
            lua_clonetable(state, -1);
            ffi::lua_remove(state, -2);
        })
    }
}

/// A value of the host as a value of Lua.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn value(lua: &Lua, value: &Value) -> Result<LuaValue> {
    match value {
        Value::Nil => Ok(LuaValue::Nil),
        Value::Flag(flag) => Ok(LuaValue::Boolean(*flag)),
        Value::Number(number) => Ok(LuaValue::Number(*number)),
        // SAFETY: a `Pen` leaves exactly the one value it writes.
        _ => unsafe { lua.exec_raw((), |state| Pen { state }.value(value)) },
    }
}

impl Pen {
    /// A pen for a function of C.
    ///
    /// # Safety
    /// The state must be the one that runs, with room on its stack for the values that are written outside of tables.
    pub(super) unsafe fn new(state: *mut ffi::lua_State) -> Self {
        Self { state }
    }

    /// Makes room on the stack for `values` values.
    pub(super) fn make_room(&mut self, values: usize) {
        // SAFETY: a running state may grow its stack at any time.
        unsafe { ffi::luaL_checkstack(self.state, capacity(values), c"too many values".as_ptr()) };
    }

    /// Writes nil.
    pub(super) fn nil(&mut self) {
        // SAFETY: `begin_table` or the caller of `new` made room for the value.
        unsafe { ffi::lua_pushnil(self.state) };
    }

    /// Writes a truth value.
    pub(super) fn flag(&mut self, flag: bool) {
        // SAFETY: as for `nil`.
        unsafe { ffi::lua_pushboolean(self.state, flag.into()) };
    }

    /// Writes a number.
    pub(super) fn number(&mut self, number: f64) {
        // SAFETY: as for `nil`.
        unsafe { ffi::lua_pushnumber(self.state, number) };
    }

    /// Writes a text of any bytes.
    pub(super) fn text(&mut self, text: &[u8]) {
        // SAFETY: as for `nil`.
        unsafe { ffi::lua_pushlstring(self.state, text.as_ptr().cast(), text.len()) };
    }

    /// Writes a shallow copy of the table at a place of the stack.
    pub(super) fn clone_of(&mut self, at: c_int) {
        // SAFETY: the caller names a place with a table; room is made for its copy, and for a name and a value in it.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            lua_clonetable(self.state, at);
        }
    }

    /// Writes a shallow copy of the table at an index of a list; the list lies at a place of the stack.
    pub(super) fn clone_of_listed(&mut self, list: c_int, place: ffi::lua_Integer) {
        // SAFETY: the caller names a place with a list, and `begin_table` made room for one more value.
        unsafe { ffi::lua_rawgeti(self.state, list, place) };
        self.clone_of(-1);
        // SAFETY: the original table lies directly below its copy.
        unsafe { ffi::lua_remove(self.state, -2) };
    }

    /// Sets an entry of the open table. Its name stands at an index of a list, which lies at a place of the stack; its
    /// value is the one that the function writes.
    pub(super) fn set_listed(&mut self, names: c_int, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        // SAFETY: the caller names a place with a list of names, and `begin_table` made room for a name and a value.
        unsafe { ffi::lua_rawgeti(self.state, names, place) };
        write(self);
        self.set_written();
    }

    /// Writes a table, with entries written by the function. `items` and `names` are the capacities of its list and of
    /// its named entries.
    pub(super) fn table(&mut self, items: usize, names: usize, fill: impl FnOnce(&mut Self)) {
        self.begin_table(items, names);
        fill(self);
    }

    /// Writes an empty table with these capacities.
    pub(super) fn begin_table(&mut self, items: usize, names: usize) {
        // SAFETY: room is made here for the table, and for a name and a value in it.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            ffi::lua_createtable(self.state, capacity(items), capacity(names));
        }
    }

    /// Moves the value on top into the table below it, at an index.
    pub(super) fn put_written(&mut self, place: ffi::lua_Integer) {
        // SAFETY: the table lies directly below the value.
        unsafe { ffi::lua_rawseti(self.state, -2, place) };
    }

    /// Moves the name and the value on top into the table below them.
    pub(super) fn set_written(&mut self) {
        // SAFETY: the table lies directly below name and value.
        unsafe { ffi::lua_rawset(self.state, -3) };
    }

    /// Writes a value of any kind.
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

    /// Sets an entry of the open table to the one value that the function writes.
    pub(super) fn set(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.text(name.as_bytes());
        write(self);
        self.set_written();
    }

    /// Sets an index of the open table to the one value that the function writes.
    fn put(&mut self, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        write(self);
        self.put_written(place);
    }

    /// Sets an entry of the open table to a text.
    pub(super) fn set_text(&mut self, name: &str, text: impl AsRef<[u8]>) {
        self.set(name, |pen| pen.text(text.as_ref()));
    }

    /// Writes a list; the function writes one value for each item.
    pub(super) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.begin_table(items.len(), 0);
        items.iter().zip(1..).for_each(|(item, place)| self.put(place, |pen| write(pen, item)));
    }

    /// Sets an index of the table at a place of the stack to the one value that the function writes.
    pub(super) fn put_in(&mut self, table: c_int, place: ffi::lua_Integer, write: impl FnOnce(&mut Self)) {
        write(self);
        // SAFETY: the caller names a place with a table, and the value lies on top of the stack.
        unsafe { ffi::lua_rawseti(self.state, table, place) };
    }

    /// Sets an entry of the open table to a list of texts.
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

/// Reads a table. A table with a positive index is read as a list, as in the original. Names that are no texts are read
/// as the texts that they print as.
///
/// # Errors
/// For functions, threads and userdata, and for tables nested too deeply or within themselves.
pub(super) fn read(lua: &Lua, table: &Table, left: &mut Allowance) -> Result<Value> {
    let mut read = Err(String::new());
    // SAFETY: the table is the function's first argument, and the reader pops whatever it pushes.
    unsafe { lua.exec_raw::<()>(table, |state| read = Reader { state, left }.table(1, 1))? };
    read.map_err(mlua::Error::runtime)
}

/// Reads values of one machine within an allowance.
pub(super) struct Reader<'a> {
    state: *mut ffi::lua_State,
    left: &'a mut Allowance,
}

type Read<T> = std::result::Result<T, String>;

impl<'a> Reader<'a> {
    /// A reader for a function of C.
    ///
    /// # Safety
    /// The state must be the one that runs, and every place that is read must exist.
    pub(super) unsafe fn new(state: *mut ffi::lua_State, left: &'a mut Allowance) -> Self {
        Self { state, left }
    }
}

impl Reader<'_> {
    /// The value at a place of the stack; `depth` counts the tables around it.
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
        let length = self.extent(at);
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

    /// Whether the function of C was given an argument at this place.
    pub(super) fn is_given(&self, at: c_int) -> bool {
        // SAFETY: Luau accepts any place here.
        unsafe { ffi::lua_gettop(self.state) >= at }
    }

    /// Luau's type number of the value at a place of the stack.
    pub(super) fn kind(&self, at: c_int) -> c_int {
        // SAFETY: Luau accepts any place here.
        unsafe { ffi::lua_type(self.state, at) }
    }

    /// The truth value at a place of the stack.
    pub(super) fn flag(&self, at: c_int) -> bool {
        // SAFETY: the place exists, and Luau converts any value to true or false.
        unsafe { ffi::lua_toboolean(self.state, at) != 0 }
    }

    /// The number at a place of the stack.
    pub(super) fn number(&self, at: c_int) -> f64 {
        // SAFETY: the place exists, and Luau reads zero where no number is.
        unsafe { ffi::lua_tonumber(self.state, at) }
    }

    /// Number of list elements of the table at a place of the stack.
    pub(super) fn length(&self, at: c_int) -> usize {
        // SAFETY: the caller names a place with a table.
        unsafe { ffi::lua_rawlen(self.state, at) }
    }

    /// Number of elements of the table at a place of the stack when it is read as a list: its highest index, as in the
    /// original, so that elements may be missing in between. A table whose highest index is beyond the limit of values
    /// has the elements up to the first that is missing.
    pub(super) fn extent(&self, at: c_int) -> usize {
        let (at, length) = (self.absolute(at), self.length(at));
        let mut extent = length;
        // SAFETY: a table lies at the place and is not changed; `absolute` made room for a name and a value. The
        // element at `length` exists, so iteration may begin behind it, and everything that is pushed is popped.
        unsafe {
            match length {
                0 => ffi::lua_pushnil(self.state),
                length => ffi::lua_pushnumber(self.state, length as f64),
            }
            while ffi::lua_next(self.state, at) != 0 {
                ffi::lua_pop(self.state, 1);
                if self.kind(-1) == ffi::LUA_TNUMBER {
                    let index = whole(self.number(-1)).and_then(|index| usize::try_from(index).ok());
                    extent = extent.max(index.filter(|index| *index <= PARTS_MAX).unwrap_or_default());
                }
            }
        }
        extent
    }

    /// Charges the allowance for one part of a value, with `bytes` bytes of text.
    pub(super) fn take(&mut self, bytes: usize) -> Read<()> {
        self.left.take(bytes)
    }

    /// Checks that a table may be nested at this depth.
    pub(super) fn enter(&self, depth: usize) -> Read<()> {
        if depth < DEPTH_MAX { Ok(()) } else { Err("the table is nested too deeply".to_owned()) }
    }

    /// Calls the function for each element of a list, with the element on top of the stack.
    pub(super) fn each_item(
        &mut self,
        at: c_int,
        length: usize,
        mut see: impl FnMut(&mut Self, ffi::lua_Integer) -> Read<()>,
    ) -> Read<()> {
        let at = self.absolute(at);
        for place in (1..).take(length) {
            // SAFETY: a table lies at the place, and `absolute` made room for the element, which is popped below.
            unsafe { ffi::lua_rawgeti(self.state, at, place) };
            see(self, place)?;
            // SAFETY: the element lies on top of the stack.
            unsafe { ffi::lua_pop(self.state, 1) };
        }
        Ok(())
    }

    /// Calls the function for each entry of a table, with its name and with its value on top of the stack.
    pub(super) fn each_entry(&mut self, at: c_int, mut see: impl FnMut(&mut Self, String) -> Read<()>) -> Read<()> {
        let at = self.absolute(at);
        // SAFETY: a table lies at the place and is not changed while it is read; `absolute` made room for a name and a
        // value. Everything pushed is popped, except after an error, when the caller discards the stack.
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

    /// A field of the table at a place of the stack, parsed from its text. `None` if it is no text or cannot be parsed.
    pub(super) fn field<T>(&self, at: c_int, name: &CStr, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        // SAFETY: a table lies at the place, and functions of C have room for one more value, which is popped.
        unsafe {
            let is_text = ffi::lua_rawgetfield(self.state, at, name.as_ptr()) == ffi::LUA_TSTRING;
            let found = if is_text { read(self.bytes(-1)) } else { None };
            ffi::lua_pop(self.state, 1);
            found
        }
    }

    /// The absolute place of a table, which stays right while the stack grows. Makes room for a name and a value of the
    /// table.
    fn absolute(&self, at: c_int) -> c_int {
        // SAFETY: the place exists, and a running state may grow its stack at any time.
        unsafe {
            ffi::luaL_checkstack(self.state, PLACES, c"nested too deeply".as_ptr());
            ffi::lua_absindex(self.state, at)
        }
    }

    /// The value at a place of the stack as a name. Metamethods are not asked for it.
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
            // SAFETY: the place exists.
            other => Ok(format!("{}: {:p}", self.kind_name(other), unsafe { ffi::lua_topointer(self.state, at) })),
        }
    }

    /// The bytes of the text at a place of the stack. The text must stay on the stack while they are used.
    pub(super) fn bytes(&self, at: c_int) -> &[u8] {
        let mut length = 0;
        // SAFETY: a text lies at the place, and Luau does not change texts.
        unsafe {
            let start = ffi::lua_tolstring(self.state, at, &raw mut length);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), length) }
        }
    }

    /// Luau's name of a type number.
    pub(super) fn kind_name(&self, kind: c_int) -> String {
        // SAFETY: Luau's type names are static texts.
        unsafe { CStr::from_ptr(ffi::lua_typename(self.state, kind)) }.to_string_lossy().into_owned()
    }
}
