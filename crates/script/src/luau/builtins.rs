//! Checks before builtins of Luau that cannot be interrupted while they work: long inputs are refused first. `setfenv`
//! is refused for environments that instances share. Each replacement is a function of C that continues as the builtin,
//! so errors name the same place and function as before.

#![expect(unsafe_code, reason = "a builtin can only be called on the stack that it was called with from C")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::slice;

use mlua::{Function, Lua, Result, Table, ffi};

use super::format;

/// Most bytes of a format: of packed data, and of times.
const FORMAT_BYTES_MAX: usize = 64 << 10;

/// Most pieces into which a text is split.
const PIECES_MAX: usize = 1_000_000;

/// Largest product of both lengths for Luau's own search. Longer searches use an algorithm whose steps grow with the
/// sum of the lengths.
const SEARCH_MAX: usize = 1 << 26;

/// Most bytes of a text that the other algorithm looks for.
const PART_BYTES_MAX: usize = 1 << 20;

/// Characters that make a text a pattern.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// A check before a builtin. It answers the number of results that it has left on the stack in the builtin's stead,
/// `None` to continue with the builtin, or why the builtin is refused.
type Look = unsafe fn(*mut ffi::lua_State) -> std::result::Result<Option<c_int>, &'static CStr>;

type Builtin = unsafe extern "C-unwind" fn(*mut ffi::lua_State) -> c_int;

/// The replaced builtins: library, name, and the function that replaces it. An empty library means the globals.
const REPLACED: [(&str, &CStr, Builtin); 8] = [
    ("", c"setfenv", looked_at::<ENVIRONMENT>),
    ("string", c"find", looked_at::<FIND>),
    ("string", c"format", looked_at::<TEXT>),
    ("string", c"split", looked_at::<SPLIT>),
    ("string", c"pack", looked_at::<FORMAT>),
    ("string", c"packsize", looked_at::<FORMAT>),
    ("string", c"unpack", looked_at::<FORMAT>),
    ("os", c"date", looked_at::<FORMAT>),
];

const FIND: usize = 0;
const SPLIT: usize = 1;
const FORMAT: usize = 2;
const ENVIRONMENT: usize = 3;
const TEXT: usize = 4;
const LOOKS: [Look; 5] = [find, split, short_format, environment, format_text];

/// Indexes of a replacement's upvalues: the builtin's address, and the address of the machine's table of globals.
const ORIGINAL: c_int = 1;
const GLOBALS: c_int = 2;

/// Replaces the builtins in a machine's libraries.
pub(super) fn replace(lua: &Lua) -> Result<()> {
    let globals = lua.globals();
    for (library, name, builtin) in REPLACED {
        let library: Table = if library.is_empty() { globals.clone() } else { globals.raw_get(library)? };
        let name_text = name.to_string_lossy();
        let original: Function = library.raw_get(&*name_text)?;
        let shared = globals.to_pointer();
        // SAFETY: the original is a function of C without upvalues, whose address becomes an upvalue of the new one;
        // functions of C have stack room for three more values.
        let replaced: Function = unsafe {
            lua.exec_raw(original, |state| {
                let Some(original) = ffi::lua_tocfunction(state, -1) else { return };
                ffi::lua_pushlightuserdata(state, original as *mut c_void);
                ffi::lua_pushlightuserdata(state, shared.cast_mut());
                ffi::lua_pushcclosurek(state, builtin, name.as_ptr(), GLOBALS, None);
                ffi::lua_replace(state, -2);
            })?
        };
        library.raw_set(&*name_text, replaced)?;
    }
    Ok(())
}

unsafe extern "C-unwind" fn looked_at<const LOOK: usize>(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Luau calls this with the state that runs; the first upvalue is the builtin's address, see `replace`. Here
    // no value of Rust is alive when the check or the builtin raises an error; those of a check are dropped, see `raw`.
    unsafe {
        match LOOKS[LOOK](state) {
            Ok(Some(results)) => results,
            Ok(None) => {
                let original = ffi::lua_tolightuserdata(state, ffi::lua_upvalueindex(ORIGINAL));
                std::mem::transmute::<*mut c_void, Builtin>(original)(state)
            }
            Err(why) => ffi::luaL_error(state, c"%s".as_ptr(), why.as_ptr()),
        }
    }
}

/// The bytes of an argument that is a text; `None` for other types.
///
/// # Safety
/// The bytes must not be used after the argument has left the stack.
pub(super) unsafe fn text<'a>(state: *mut ffi::lua_State, index: c_int) -> Option<&'a [u8]> {
    // SAFETY: the bytes live as long as the text. Only texts are read, so Luau converts no number in place.
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        let bytes = ffi::lua_tolstring(state, index, &mut length);
        (!bytes.is_null()).then(|| slice::from_raw_parts(bytes.cast(), length))
    }
}

unsafe fn find(state: *mut ffi::lua_State) -> std::result::Result<Option<c_int>, &'static CStr> {
    // SAFETY: the arguments stay on the stack until this function returns.
    unsafe {
        let (Some(all), Some(part)) = (text(state, 1), text(state, 2)) else { return Ok(None) };
        let is_plain = || ffi::lua_toboolean(state, 4) != 0 || !part.iter().any(|byte| SPECIAL.contains(byte));
        if all.len().saturating_mul(part.len()) <= SEARCH_MAX || !is_plain() {
            return Ok(None);
        }
        if part.len() > PART_BYTES_MAX {
            return Err(c"string.find: the text to find is too long");
        }
        let first = match ffi::lua_type(state, 3) {
            ffi::LUA_TNONE | ffi::LUA_TNIL => 1.0,
            _ => {
                let mut is_number = 0;
                let first = ffi::lua_tonumberx(state, 3, &raw mut is_number).trunc();
                if is_number == 0 {
                    // The builtin raises the error.
                    return Ok(None);
                }
                first
            }
        };
        let from = if first < 0.0 { all.len() as f64 + first } else { first - 1.0 }.max(0.0) as usize;
        match all.get(from..).and_then(|rest| position(rest, part)) {
            Some(at) => {
                ffi::lua_pushnumber(state, (from + at + 1) as f64);
                ffi::lua_pushnumber(state, (from + at + part.len()) as f64);
                Ok(Some(2))
            }
            None => {
                ffi::lua_pushnil(state);
                Ok(Some(1))
            }
        }
    }
}

/// The offset of a text in another, found by the algorithm of Knuth, Morris and Pratt in steps that grow with the sum
/// of both lengths.
fn position(all: &[u8], part: &[u8]) -> Option<usize> {
    // For each offset: how much of the part's beginning still fits when the next byte does not.
    let mut fits = vec![0_u32; part.len()];
    let step = |fits: &[u32], mut fitting: usize, byte: u8| {
        while fitting > 0 && part[fitting] != byte {
            fitting = fits[fitting - 1] as usize;
        }
        if part[fitting] == byte { fitting + 1 } else { fitting }
    };
    let mut fitting = 0;
    for index in 1..part.len() {
        fitting = step(&fits, fitting, part[index]);
        fits[index] = fitting as u32;
    }
    fitting = 0;
    all.iter().enumerate().find_map(|(index, byte)| {
        fitting = step(&fits, fitting, *byte);
        (fitting == part.len()).then(|| index + 1 - part.len())
    })
}

unsafe fn split(state: *mut ffi::lua_State) -> std::result::Result<Option<c_int>, &'static CStr> {
    // SAFETY: the arguments stay on the stack until this function returns.
    let (all, by) = unsafe { (text(state, 1), text(state, 2)) };
    let (Some(all), by) = (all, by.unwrap_or(b",")) else { return Ok(None) };
    if all.len() <= PIECES_MAX && all.len().saturating_mul(by.len()) <= SEARCH_MAX {
        return Ok(None);
    }
    if by.len() > 1 && all.len().saturating_mul(by.len()) > SEARCH_MAX {
        return Err(c"string.split: the texts are too long");
    }
    let pieces = by.first().map_or(all.len(), |by| all.iter().filter(|byte| *byte == by).count());
    if pieces > PIECES_MAX { Err(c"string.split: too many pieces") } else { Ok(None) }
}

unsafe fn short_format(state: *mut ffi::lua_State) -> std::result::Result<Option<c_int>, &'static CStr> {
    // SAFETY: the argument stays on the stack until this function returns.
    let format = unsafe { text(state, 1) };
    if format.is_some_and(|format| format.len() > FORMAT_BYTES_MAX) { Err(c"the format is too long") } else { Ok(None) }
}

/// Formats in place of `string.format`, see [`format`].
unsafe fn format_text(state: *mut ffi::lua_State) -> std::result::Result<Option<c_int>, &'static CStr> {
    // SAFETY: this is called from a function of C with the state that runs.
    unsafe { format::run(state) }
}

/// Refuses environments that are not a call's own: a function whose globals are the machine's belongs to all instances,
/// and a coroutine serves many calls.
unsafe fn environment(state: *mut ffi::lua_State) -> std::result::Result<Option<c_int>, &'static CStr> {
    const NOT_OWN: &CStr = c"'setfenv' cannot change environment of given object";
    // SAFETY: each value that is pushed is popped, and a function of C has room for them.
    unsafe {
        let mut is_number = 0;
        let level = ffi::lua_tonumberx(state, 1, &raw mut is_number);
        let is_own_of = |at: c_int| {
            if ffi::lua_iscfunction(state, at) != 0 {
                return true;
            }
            ffi::lua_getfenv(state, at);
            let its = ffi::lua_topointer(state, -1).cast_mut();
            ffi::lua_pop(state, 1);
            let shared = ffi::lua_tolightuserdata(state, ffi::lua_upvalueindex(GLOBALS));
            its != shared && its != ffi::lua_topointer(state, ffi::LUA_GLOBALSINDEX).cast_mut()
        };
        let is_own = if ffi::lua_type(state, 1) == ffi::LUA_TFUNCTION {
            is_own_of(1)
        } else if is_number == 0 {
            true
        } else if level as c_int == 0 {
            false
        } else {
            let mut found = MaybeUninit::<ffi::lua_Debug>::zeroed();
            let is_there =
                level > 0.0 && ffi::lua_getinfo(state, level as c_int, c"f".as_ptr(), found.as_mut_ptr()) != 0;
            let is_own = !is_there || is_own_of(-1);
            ffi::lua_pop(state, c_int::from(is_there));
            is_own
        };
        // The builtin raises the error for a value that is no function.
        if is_own { Ok(None) } else { Err(NOT_OWN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_where_they_are() {
        let all = b"abcabcabdabcabcabcabd";
        for length in 1..=all.len() {
            for from in 0..=all.len() - length {
                let part = &all[from..from + length];
                assert_eq!(position(all, part), all.windows(length).position(|window| window == part));
            }
        }
        assert_eq!(position(all, b"abda "), None);
        assert_eq!(position(b"", b"a"), None);
    }

    #[test]
    fn replaced_builtins_are_as_they_were() {
        let lua = Lua::new();
        replace(&lua).unwrap();
        let run =
            |text: &str| lua.load(text).set_name("=f").eval::<mlua::Value>().map(|value| value.to_string().unwrap());
        assert_eq!(run("return ('a,b'):split()[2] .. ('hello'):find('l') .. string.packsize('i4')").unwrap(), "b34");
        for (text, told) in [
            ("string.find()", "f:1: missing argument #1 to 'find' (string expected)"),
            ("string.find('a', '[')", "f:1: malformed pattern (missing ']')"),
            ("os.date(string.rep('%c', 2 ^ 20))", "f:1: the format is too long"),
        ] {
            let error = run(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        let long = "local text = string.rep('a', 2 ^ 20) .. 'b' .. string.rep('a', 2 ^ 20) .. 'b'
            local part = string.rep('a', 2 ^ 10) .. 'b'
            local first, last = text:find(part)
            local from, to = text:find(part, last + 1, true)
            return table.concat({ first, last, from, to, tostring(text:find('c' .. part)) }, ' ')";
        let (one, other, all) = ((1 << 20) + 1, 2 * (1 << 20) + 2, 1 << 10);
        assert_eq!(run(long).unwrap(), format!("{} {one} {} {other} nil", one - all, other - all));
    }
}
