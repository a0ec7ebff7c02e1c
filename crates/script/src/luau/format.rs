//! `string.format` as the original's interpreter has it, which formats by the rules of [Go](super::go_format). Texts
//! with `{…}` inside, which Luau formats by `%*`, go to Luau's own function.

#![expect(unsafe_code, reason = "the arguments of a builtin lie on the stack that it was called with from C")]

use std::ffi::{CStr, c_int};
use std::ptr;

use mlua::ffi;

use super::builtins::text;
use super::go_format::{self, Argument};

/// Formats the arguments on the stack, and leaves the result there. `None` if Luau's own function is to do it.
///
/// # Errors
/// When the result would be too long.
///
/// # Safety
/// Must be called from a function of C with the state that runs.
pub(super) unsafe fn run(state: *mut ffi::lua_State) -> Result<Option<c_int>, &'static CStr> {
    // SAFETY: the format stays at the first place of the stack until the end. Only texts are read, which stay where
    // they are, and each is on the stack as long as it is used. Values of Rust are dropped when Luau raises an error,
    // since it unwinds.
    unsafe {
        let Some(format) = text(state, 1) else { return Ok(None) };
        if is_interpolated(format) {
            return Ok(None);
        }
        let given = usize::try_from(ffi::lua_gettop(state) - 1).unwrap_or(0);
        let count = go_format::arguments_max(format).min(given);
        let arguments: Vec<Argument<'_>> = (2..).take(count).map(|at| argument(state, at)).collect();
        let Some(result) = go_format::format(format, &arguments) else {
            return Err(c"string.format: the result is too long");
        };
        drop(arguments);
        ffi::lua_pushlstring(state, result.as_ptr().cast(), result.len());
        Ok(Some(1))
    }
}

/// Whether every conversion of a format is one for a text with `{…}` inside.
fn is_interpolated(format: &[u8]) -> bool {
    let mut bytes = format.iter();
    let mut has_any = false;
    while bytes.any(|byte| *byte == b'%') {
        match bytes.next() {
            Some(b'*') => has_any = true,
            Some(b'%') => {}
            _ => return false,
        }
    }
    has_any
}

/// Reads an argument. One without a plain value is replaced by its text on the stack.
///
/// # Safety
/// See [`run`]; there must be an argument at the place.
unsafe fn argument<'a>(state: *mut ffi::lua_State, at: c_int) -> Argument<'a> {
    // SAFETY: as for `run`; a function of C has room for one more value.
    unsafe {
        let name = match ffi::lua_type(state, at) {
            ffi::LUA_TNIL => return Argument::Nil,
            ffi::LUA_TBOOLEAN => return Argument::Flag(ffi::lua_toboolean(state, at) != 0),
            ffi::LUA_TNUMBER => return Argument::Number(ffi::lua_tonumberx(state, at, ptr::null_mut())),
            ffi::LUA_TSTRING => return Argument::Text(text(state, at).unwrap_or_default()),
            ffi::LUA_TFUNCTION => "*lua.LFunction",
            ffi::LUA_TTABLE => "*lua.LTable",
            _ => "*lua.LUserData",
        };
        ffi::luaL_tolstring(state, at, ptr::null_mut());
        ffi::lua_replace(state, at);
        Argument::Other(name, text(state, at).unwrap_or_default())
    }
}
