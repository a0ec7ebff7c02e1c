//! `pcall` and `xpcall` that do not catch the end of a call: once the call's time is used up, or nobody waits for it
//! any more, each raises the error again. Otherwise code that Luau calls without asking for the time, such as
//! metamethods that are functions of C, could catch the end again and again.

#![expect(unsafe_code, reason = "a function that catches errors must be a function of C, which works on Luau's stack")]

use std::ffi::{CStr, c_int};
use std::{ptr, slice};

use mlua::{Function, Lua, Result, ffi};

use super::interrupt::end_if_over;
use crate::machine::matches::NO_MEMORY;

/// Places on the stack for writing down the stack of an error.
const STACK_PLACES: c_int = 20;

type Body = unsafe extern "C-unwind" fn(*mut ffi::lua_State) -> c_int;

const REPLACED: [(&CStr, Body); 2] = [(c"pcall", pcall), (c"xpcall", xpcall)];

/// Replaces both functions in a machine.
pub(super) fn replace(lua: &Lua) -> Result<()> {
    for (name, body) in REPLACED {
        // SAFETY: functions of C have stack room for one more value.
        let function: Function =
            unsafe { lua.exec_raw((), |state| ffi::lua_pushcclosurek(state, body, name.as_ptr(), 0, Some(ended)))? };
        lua.globals().raw_set(&*name.to_string_lossy(), function)?;
    }
    Ok(())
}

/// A function that calls a function with arguments, as `pcall` does. If the function raises an error, the stack of the
/// error follows the error. The end of a call is caught, too.
pub(super) fn traced_call(lua: &Lua) -> Result<Function> {
    // SAFETY: functions of C have stack room for one more value.
    unsafe { lua.exec_raw((), |state| ffi::lua_pushcclosurek(state, call, c"call".as_ptr(), 0, Some(traced))) }
}

unsafe extern "C-unwind" fn pcall(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Luau calls this with the state that runs and with room on its stack, and calls `ended` when the called
    // function has ended. The value below the function says whether it succeeded.
    unsafe {
        ffi::luaL_checkany(state, 1);
        ffi::lua_pushboolean(state, 1);
        ffi::lua_insert(state, 1);
        ffi::lua_pcallyieldable(state, ffi::lua_gettop(state) - 2, ffi::LUA_MULTRET, 0)
    }
}

unsafe extern "C-unwind" fn xpcall(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Luau calls this with the state that runs and with room on its stack. The error handler lies below the
    // function, where `lua_pcallyieldable` expects it.
    unsafe {
        ffi::luaL_checktype(state, 2, ffi::LUA_TFUNCTION);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushvalue(state, 2);
        ffi::lua_replace(state, 1);
        ffi::lua_replace(state, 2);
        ffi::lua_pcallyieldable(state, ffi::lua_gettop(state) - 2, ffi::LUA_MULTRET, 1)
    }
}

unsafe extern "C-unwind" fn ended(state: *mut ffi::lua_State, status: c_int) -> c_int {
    // SAFETY: the stack holds one value, and above it the results, or the error on top. No value of Rust is alive here
    // that an error would have to drop, and room is made before a value is pushed.
    unsafe {
        end_if_over(state);
        ffi::lua_rawcheckstack(state, 1);
        if status == ffi::LUA_OK {
            ffi::lua_pushboolean(state, 1);
            ffi::lua_replace(state, 1);
            ffi::lua_gettop(state)
        } else {
            ffi::lua_pushboolean(state, 0);
            ffi::lua_insert(state, -2);
            2
        }
    }
}

unsafe extern "C-unwind" fn call(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `xpcall`. The error handler lies below the function, where `lua_pcallyieldable` expects it.
    unsafe {
        ffi::luaL_checkany(state, 1);
        ffi::lua_pushcclosurek(state, note_stack, c"note_stack".as_ptr(), 0, None);
        ffi::lua_insert(state, 1);
        ffi::lua_pcallyieldable(state, ffi::lua_gettop(state) - 2, ffi::LUA_MULTRET, 1)
    }
}

/// The error handler of `call`, which Luau calls on top of the stack of the error. It returns a list of the error and
/// its stack. An error for want of memory is returned as it is: nothing can be made beside it.
unsafe extern "C-unwind" fn note_stack(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: the stack holds the error, and room is made before values are pushed.
    unsafe {
        if is_memory_error(state) {
            return 1;
        }
        ffi::lua_rawcheckstack(state, STACK_PLACES);
        ffi::lua_createtable(state, 2, 0);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_rawseti(state, -2, 1);
        ffi::luaL_traceback(state, state, ptr::null(), 1);
        ffi::lua_rawseti(state, -2, 2);
        1
    }
}

/// Whether the value on top of the stack is the text of Luau's error for want of memory.
unsafe fn is_memory_error(state: *mut ffi::lua_State) -> bool {
    // SAFETY: a value lies on the stack, and the bytes of a text that lies there stay where they are.
    unsafe {
        let mut length = 0;
        ffi::lua_type(state, -1) == ffi::LUA_TSTRING && {
            let text = ffi::lua_tolstring(state, -1, &mut length);
            slice::from_raw_parts(text.cast::<u8>(), length) == NO_MEMORY.as_bytes()
        }
    }
}

unsafe extern "C-unwind" fn traced(state: *mut ffi::lua_State, status: c_int) -> c_int {
    // SAFETY: as in `ended`. Only errors of running code have passed through `note_stack`: an error for want of memory
    // is a text.
    unsafe {
        ffi::lua_rawcheckstack(state, STACK_PLACES);
        ffi::lua_pushboolean(state, c_int::from(status == ffi::LUA_OK));
        if status == ffi::LUA_OK {
            ffi::lua_replace(state, 1);
            return ffi::lua_gettop(state);
        }
        ffi::lua_insert(state, -2);
        if status != ffi::LUA_ERRRUN || ffi::lua_type(state, -1) != ffi::LUA_TTABLE {
            return 2;
        }
        ffi::lua_rawgeti(state, -1, 1);
        ffi::lua_rawgeti(state, -2, 2);
        ffi::lua_remove(state, -3);
        3
    }
}
