//! Methods of texts in programs that write to the library `string`: each instance has a copy of the library, and
//! `text:trim()` finds the copy of the instance whose function makes the call, although texts have one metatable in a
//! machine.

#![expect(unsafe_code, reason = "the calling function and its environment are found on the stack")]

use std::ffi::c_int;
use std::mem::MaybeUninit;

use mlua::{Function, Lua, LuaString, Result, Table, ffi};

/// Level of the function that uses a method; level 0 is the lookup itself.
const CALLER: c_int = 1;

/// Has methods of texts looked up in the caller's library.
pub(super) fn look_up_in_instances(lua: &Lua) -> Result<()> {
    // Behind `sandbox` the globals are an empty table over the libraries.
    let shared: Table = lua.globals().get("string")?;
    // SAFETY: the one argument becomes the one upvalue of the function that is left.
    let look_up: Function =
        unsafe { lua.exec_raw(shared, |state| ffi::lua_pushcclosurek(state, look_up, c"string".as_ptr(), 1, None))? };
    let metatable = lua.create_table_from([("__index", look_up)])?;
    metatable.raw_set("__metatable", "The metatable is locked")?;
    metatable.set_readonly(true);
    lua.set_type_metatable::<LuaString>(Some(metatable));
    Ok(())
}

/// Answers a field of the caller's library `string`.
unsafe extern "C-unwind" fn look_up(state: *mut ffi::lua_State) -> c_int {
    /// Place of the field's name, behind the text.
    const NAME: c_int = 2;
    let mut found = MaybeUninit::<ffi::lua_Debug>::zeroed();
    // SAFETY: Luau calls this with a text and a name, and a function of C has room for the values that are pushed.
    unsafe {
        if ffi::lua_getinfo(state, CALLER, c"f".as_ptr(), found.as_mut_ptr()) == 0 {
            ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        } else {
            ffi::lua_getfenv(state, -1);
            ffi::lua_getfield(state, -1, c"string".as_ptr());
        }
        if ffi::lua_type(state, -1) != ffi::LUA_TTABLE {
            ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        }
        ffi::lua_pushvalue(state, NAME);
        ffi::lua_gettable(state, -2);
        1
    }
}
