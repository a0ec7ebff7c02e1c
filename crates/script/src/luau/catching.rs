//! `pcall` and `xpcall` that do not catch the end of a call: when its time is used up, or nobody waits for it any more, each
//! raises again. Otherwise code that Luau calls without asking, as metamethods that are functions of C are, could catch the
//! end as often as it likes.

#![expect(unsafe_code, reason = "what catches errors can only be called on the stack that it was called with from C")]

use std::ffi::{CStr, c_int};

use mlua::{Function, Lua, Result, ffi};

use super::interrupt::end_if_over;

type Body = unsafe extern "C-unwind" fn(*mut ffi::lua_State) -> c_int;

type Continuation = unsafe extern "C-unwind" fn(*mut ffi::lua_State, c_int) -> c_int;

const REPLACED: [(&CStr, Body, Continuation); 2] = [(c"pcall", pcall, pcall_ended), (c"xpcall", xpcall, xpcall_ended)];

/// Replaces them in a machine.
pub(super) fn replace(lua: &Lua) -> Result<()> {
    for (name, body, continuation) in REPLACED {
        // SAFETY: the stack has room for one function.
        let function: Function = unsafe {
            lua.exec_raw((), |state| ffi::lua_pushcclosurek(state, body, name.as_ptr(), 0, Some(continuation)))?
        };
        lua.globals().raw_set(&*name.to_string_lossy(), function)?;
    }
    Ok(())
}

unsafe extern "C-unwind" fn pcall(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Luau calls this with the state that runs, and its continuation when what it calls has ended.
    unsafe {
        ffi::luaL_checkany(state, 1);
        ffi::lua_pcallyieldable(state, ffi::lua_gettop(state) - 1, ffi::LUA_MULTRET, 0)
    }
}

unsafe extern "C-unwind" fn pcall_ended(state: *mut ffi::lua_State, status: c_int) -> c_int {
    // SAFETY: the stack holds the results alone, or the error on top. Nothing of ours that is to be dropped is there.
    unsafe {
        end_if_over(state);
        if status != ffi::LUA_OK {
            return failed(state);
        }
        ffi::lua_rawcheckstack(state, 1);
        ffi::lua_pushboolean(state, 1);
        ffi::lua_insert(state, 1);
        ffi::lua_gettop(state)
    }
}

unsafe extern "C-unwind" fn xpcall(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as for `pcall`. The handler is to lie below the function.
    unsafe {
        ffi::luaL_checktype(state, 2, ffi::LUA_TFUNCTION);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushvalue(state, 2);
        ffi::lua_replace(state, 1);
        ffi::lua_replace(state, 2);
        ffi::lua_pcallyieldable(state, ffi::lua_gettop(state) - 2, ffi::LUA_MULTRET, 1)
    }
}

unsafe extern "C-unwind" fn xpcall_ended(state: *mut ffi::lua_State, status: c_int) -> c_int {
    // SAFETY: the stack holds the handler and the results, or the error on top. Nothing of ours that is to be dropped is there.
    unsafe {
        end_if_over(state);
        if status != ffi::LUA_OK {
            return failed(state);
        }
        ffi::lua_rawcheckstack(state, 1);
        ffi::lua_pushboolean(state, 1);
        ffi::lua_replace(state, 1);
        ffi::lua_gettop(state)
    }
}

/// Answers false and the error on top of the stack.
///
/// # Safety
/// The state must be the one that runs.
unsafe fn failed(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: room is made before something is pushed.
    unsafe {
        ffi::lua_rawcheckstack(state, 1);
        ffi::lua_pushboolean(state, 0);
        ffi::lua_insert(state, -2);
    }
    2
}
