//! A match's state as bytes. Only plain data can be written; the keys of tables are sorted, so that equal states have
//! equal bytes.

use std::sync::Arc;

use mlua::{Lua, Table, Value as LuaValue};

use crate::value::DEPTH_MAX;

/// Version of the byte format.
const FORM: u8 = 1;

const NIL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const TABLE: u8 = 5;
const FROZEN_TABLE: u8 = 6;
const VECTOR: u8 = 7;
const BUFFER: u8 = 8;

/// Limit on the bytes of a written state.
const STATE_BYTES_MAX: usize = 8 << 20;

/// A sentence that says why a state cannot be written.
type Refused = Arc<str>;

/// Writes a state.
///
/// # Errors
/// A sentence that names the path of the value that is no plain data.
pub(super) fn freeze(state: &LuaValue) -> Result<Vec<u8>, Refused> {
    let mut writing = Writing { out: vec![FORM], path: vec!["state".to_owned()] };
    writing.value(state)?;
    Ok(writing.out)
}

struct Writing {
    out: Vec<u8>,
    /// The path to the value that is being written, for errors.
    path: Vec<String>,
}

impl Writing {
    fn value(&mut self, value: &LuaValue) -> Result<(), Refused> {
        match value {
            LuaValue::Nil => self.out.push(NIL),
            LuaValue::Boolean(flag) => self.out.push(if *flag { TRUE } else { FALSE }),
            LuaValue::Integer(number) => self.number(*number as f64),
            LuaValue::Number(number) => self.number(*number),
            LuaValue::String(text) => {
                self.out.push(TEXT);
                self.bytes(&text.as_bytes());
            }
            LuaValue::Table(table) => self.table(table)?,
            LuaValue::Vector(vector) => {
                self.out.push(VECTOR);
                for part in [vector.x(), vector.y(), vector.z()] {
                    self.out.extend(part.to_le_bytes());
                }
            }
            LuaValue::Buffer(buffer) => {
                self.out.push(BUFFER);
                self.bytes(&buffer.to_vec());
            }
            other => return Err(self.refused(&format!("is a {}", other.type_name()))),
        }
        if self.out.len() > STATE_BYTES_MAX {
            return Err(format!("the state of a durable match has more than {STATE_BYTES_MAX} bytes").into());
        }
        Ok(())
    }

    fn number(&mut self, number: f64) {
        self.out.push(NUMBER);
        self.out.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend((bytes.len() as u64).to_le_bytes());
        self.out.extend(bytes);
    }

    fn table(&mut self, table: &Table) -> Result<(), Refused> {
        if table.metatable().is_some() {
            return Err(self.refused("has a metatable"));
        }
        if self.path.len() > DEPTH_MAX {
            return Err(self.refused("is nested too deeply, or holds itself"));
        }
        self.out.push(if table.is_readonly() { FROZEN_TABLE } else { TABLE });
        let list = table.raw_len();
        let mut entries = Vec::new();
        let collected = table.for_each(|name: LuaValue, value: LuaValue| {
            entries.push((self.key(&name).map_err(|why| mlua::Error::runtime(&*why))?, name, value));
            Ok(())
        });
        collected.map_err(|error| Refused::from(crate::luau::vm::plain(&error)))?;
        // Equal states must have equal bytes, whatever the history of their tables.
        entries.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        self.out.extend((list as u64).to_le_bytes());
        self.out.extend((entries.len() as u64).to_le_bytes());
        entries.iter().try_for_each(|(_, name, value)| self.entry(name, value))
    }

    /// The sort key of a table's key.
    fn key(&self, name: &LuaValue) -> Result<(u8, u64, Vec<u8>), Refused> {
        // Maps numbers to bits that sort as the numbers do.
        let ordered = |number: f64| {
            let bits = number.to_bits();
            if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
        };
        Ok(match name {
            LuaValue::Integer(number) => (1, ordered(*number as f64), Vec::new()),
            LuaValue::Number(number) => (1, ordered(*number), Vec::new()),
            LuaValue::String(text) => (2, 0, text.as_bytes().to_vec()),
            LuaValue::Boolean(flag) => (3, u64::from(*flag), Vec::new()),
            other => return Err(self.refused(&format!("has a {} as a key", other.type_name()))),
        })
    }

    fn entry(&mut self, name: &LuaValue, value: &LuaValue) -> Result<(), Refused> {
        let shown = match name {
            LuaValue::String(text) => format!(".{}", text.to_string_lossy()),
            other => format!("[{}]", other.to_string().unwrap_or_default()),
        };
        self.path.push(shown);
        self.value(name)?;
        self.value(value)?;
        self.path.pop();
        Ok(())
    }

    fn refused(&self, what: &str) -> Refused {
        let most = 8;
        let shown: String = self.path.iter().take(most).map(String::as_str).collect();
        let more = if self.path.len() > most { "..." } else { "" };
        format!(
            "{shown}{more} {what}: the state of a durable match is plain data, of booleans, numbers, strings and tables"
        )
        .into()
    }
}

/// Reads a state.
///
/// # Errors
/// For bytes that [`freeze`] did not write, and when the machine has no memory left.
pub(super) fn thaw(lua: &Lua, state: &[u8]) -> mlua::Result<LuaValue> {
    let mut reading = Reading { lua, rest: state };
    match reading.byte()? {
        FORM => reading.value(),
        other => {
            Err(mlua::Error::runtime(format!("the state is of the form {other}, which this release does not know")))
        }
    }
}

struct Reading<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
}

impl<'a> Reading<'a> {
    fn take(&mut self, count: usize) -> mlua::Result<&'a [u8]> {
        let taken = self.rest.split_at_checked(count);
        let (taken, rest) = taken.ok_or_else(|| mlua::Error::runtime("the state is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const COUNT: usize>(&mut self) -> mlua::Result<[u8; COUNT]> {
        self.take(COUNT)?.try_into().map_err(|_| mlua::Error::runtime("the state is cut off"))
    }

    fn byte(&mut self) -> mlua::Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn count(&mut self) -> mlua::Result<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| mlua::Error::runtime("the state is damaged"))
    }

    fn bytes(&mut self) -> mlua::Result<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    fn value(&mut self) -> mlua::Result<LuaValue> {
        Ok(match self.byte()? {
            NIL => LuaValue::Nil,
            FALSE => LuaValue::Boolean(false),
            TRUE => LuaValue::Boolean(true),
            NUMBER => LuaValue::Number(f64::from_le_bytes(self.array()?)),
            TEXT => LuaValue::String(self.lua.create_string(self.bytes()?)?),
            kind @ (TABLE | FROZEN_TABLE) => {
                let table = self.table()?;
                table.set_readonly(kind == FROZEN_TABLE);
                LuaValue::Table(table)
            }
            VECTOR => {
                let mut part = || self.array().map(f32::from_le_bytes);
                LuaValue::Vector(mlua::Vector::new(part()?, part()?, part()?))
            }
            BUFFER => LuaValue::Buffer(self.lua.create_buffer(self.bytes()?)?),
            other => return Err(mlua::Error::runtime(format!("the state has a part of the unknown kind {other}"))),
        })
    }

    fn table(&mut self) -> mlua::Result<Table> {
        let (list, entries) = (self.count()?, self.count()?);
        // An entry takes at least two bytes. This limits the memory that a wrong count reserves.
        let most = self.rest.len() / 2;
        let list = list.min(most);
        let table = self.lua.create_table_with_capacity(list, entries.min(most).saturating_sub(list))?;
        for _ in 0..entries {
            let (name, value) = (self.value()?, self.value()?);
            table.raw_set(name, value)?;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> (Lua, LuaValue) {
        let lua = Lua::new();
        let value = lua.load(text).eval().unwrap();
        (lua, value)
    }

    #[test]
    fn a_state_comes_back_as_it_was_and_the_same_state_is_the_same_bytes() {
        let (lua, value) = state(
            "local s = { 1, 2.5, 'text', false, list = { 'a', 'b' }, [true] = 'yes', [-3] = 0, [1e9] = 'far' }
            s.nested = { deep = { deeper = table.freeze({ at = vector.create(1, 2, 3) }) }, buffer = buffer.fromstring('ab') }
            for i = 1, 100 do s['k' .. i] = i end
            for i = 1, 100, 3 do s['k' .. i] = nil end
            return s",
        );
        let first = freeze(&value).unwrap();
        let copies: Vec<Vec<u8>> = (0..2).map(|_| freeze(&thaw(&lua, &first).unwrap()).unwrap()).collect();
        assert_eq!((&copies[0], &copies[1]), (&first, &first));
        let again = Lua::new();
        assert_eq!(freeze(&thaw(&again, &first).unwrap()).unwrap(), first, "in another machine too");
        let shown: String = lua
            .load("local s = ... return s[3] .. s.list[2] .. s[true] .. s[1e9] .. tostring(s.k2) .. tostring(s.k4) .. s.nested.deep.deeper.at.y")
            .call(thaw(&lua, &first).unwrap())
            .unwrap();
        assert_eq!(shown, "textbyesfar2nil2");
        let frozen: bool = lua
            .load("local s = ... return table.isfrozen(s.nested.deep.deeper) and not table.isfrozen(s)")
            .call(thaw(&lua, &first).unwrap())
            .unwrap();
        assert!(frozen);
    }

    #[test]
    fn what_is_no_plain_data_is_named() {
        for (text, told) in [
            ("return { players = { ann = { act = print } } }", "state.players.ann.act is a function"),
            ("return { list = { 1, setmetatable({}, {}) } }", "state.list[2] has a metatable"),
            ("return { [{}] = 1 }", "state has a table as a key"),
            ("local s = {} s.s = s return s", "state.s.s.s.s.s.s.s... is nested too deeply, or holds itself"),
        ] {
            let (_lua, value) = state(text);
            assert!(freeze(&value).unwrap_err().starts_with(told), "{:?}", freeze(&value));
        }
        let (_lua, value) = state("return { long = string.rep('a', 9 * 2 ^ 20) }");
        assert!(freeze(&value).unwrap_err().contains("more than 8388608 bytes"));
    }

    #[test]
    fn bytes_that_are_no_state_are_refused() {
        let (lua, value) = state("return { 1, a = { b = 'c' } }");
        let bytes = freeze(&value).unwrap();
        for end in 0..bytes.len() {
            assert!(thaw(&lua, &bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() {
            for byte in [0, 4, 5, 7, 8, 9, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                // Any bytes must be read or refused, without a panic.
                let _ = thaw(&lua, &changed);
            }
        }
    }
}
