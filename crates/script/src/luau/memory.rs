//! Measures the memory that each match of a machine holds. Luau counts bytes by category: allocations of a coroutine
//! count for the coroutine's category, all others for the common one.

#![expect(unsafe_code, reason = "mlua knows categories by name only, and does not read how many bytes they hold")]

use std::ffi::c_int;

use mlua::{Lua, Thread, ffi};

/// Categories that matches may have; zero is the common one.
pub(super) const CATEGORIES: std::ops::RangeInclusive<u8> = 1..=u8::MAX;

/// The category of everything that belongs to no match.
pub(super) const COMMON: u8 = 0;

/// Sets the category that a coroutine's allocations count for from now on.
pub(super) fn count_thread(thread: &Thread, category: u8) {
    // SAFETY: the coroutine lives as long as its handle.
    unsafe { ffi::lua_setmemcat(thread.state(), c_int::from(category)) };
}

/// Runs a function whose allocations outside of coroutines count for a category.
pub(super) fn counted<T>(lua: &Lua, category: u8, make: impl FnOnce() -> T) -> T {
    let count = |category: u8| {
        // SAFETY: mlua passes the state of an open machine.
        lua.exec_raw_lua(|raw| unsafe { ffi::lua_setmemcat(raw.state(), c_int::from(category)) });
    };
    count(category);
    let made = make();
    count(COMMON);
    made
}

/// Bytes that count for a category, including garbage that is not yet collected.
pub(super) fn bytes(lua: &Lua, category: u8) -> usize {
    // SAFETY: mlua passes the state of an open machine, and this call only reads it.
    lua.exec_raw_lua(|raw| unsafe { ffi::lua_totalbytes(raw.state(), c_int::from(category)) })
}
