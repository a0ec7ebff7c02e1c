//! What each match of a machine holds. Luau counts bytes by category, which what a coroutine makes gets from it; what was
//! made by nobody's call has none.

#![expect(unsafe_code, reason = "mlua has categories by names only, and does not read them")]

use std::ffi::c_int;

use mlua::{Lua, Thread, ffi};

/// Categories of matches: the first is everybody's.
pub(super) const CATEGORIES: std::ops::RangeInclusive<u8> = 1..=u8::MAX;

/// What everybody's things are counted under.
pub(super) const COMMON: u8 = 0;

/// What a coroutine makes is counted so from now on.
pub(super) fn count_thread(thread: &Thread, category: u8) {
    // SAFETY: the coroutine is there as long as its handle.
    unsafe { ffi::lua_setmemcat(thread.state(), c_int::from(category)) };
}

/// What is made outside of coroutines meanwhile is counted so.
pub(super) fn counted<T>(lua: &Lua, category: u8, make: impl FnOnce() -> T) -> T {
    let count = |category: u8| {
        // SAFETY: the state is the machine's, which is open.
        lua.exec_raw_lua(|raw| unsafe { ffi::lua_setmemcat(raw.state(), c_int::from(category)) });
    };
    count(category);
    let made = make();
    count(COMMON);
    made
}

/// The bytes that are counted so, those among them that are to be collected.
pub(super) fn bytes(lua: &Lua, category: u8) -> usize {
    // SAFETY: the state is the machine's, which is open; this only reads.
    lua.exec_raw_lua(|raw| unsafe { ffi::lua_totalbytes(raw.state(), c_int::from(category)) })
}
