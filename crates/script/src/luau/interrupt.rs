//! The interrupt by which running code of Luau leaves its stack at the end of a slice, or learns that its call is to
//! end. Luau calls it directly, as a function of C. mlua's own callbacks note which coroutine runs, and forget it in
//! the order of a stack, but calls that are put aside end in any order. So no call may be put aside below a callback of
//! mlua. Calls are put aside only here and, when they wait, in `functions.rs`.

#![expect(
    unsafe_code,
    reason = "Luau's interrupt and its coroutines' own data have no safe form that can be put aside"
)]

use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use mlua::{Lua, Thread, ffi};

use super::seat::Seat;
use crate::machine::budget::{OVER, Step};
use crate::process::clock::SliceAlarm;

/// The error of a call that nobody waits for any more.
const GIVEN_UP: &str = "the call was given up";

/// The alarm of one machine. At each call and loop edge Luau checks whether an interrupt function is set, and calls it.
struct Interrupt(NonNull<ffi::lua_Callbacks>);

// SAFETY: the callbacks are part of the machine. The machine's own thread uses them; the clock's thread uses them only
// while it holds a lock without which the machine's turn does not end.
unsafe impl Send for Interrupt {}
// SAFETY: as for `Send`; the pointer itself is only read, and the field behind it is written as an atomic.
unsafe impl Sync for Interrupt {}

impl Interrupt {
    fn put(&self, function: *mut ()) {
        // SAFETY: the callbacks live as long as the machine, see `Send`. The field is an aligned pointer that may be
        // null. Luau reads it as one word, which every supported processor reads as a whole.
        let field = unsafe { AtomicPtr::from_ptr(ptr::addr_of_mut!((*self.0.as_ptr()).interrupt).cast::<*mut ()>()) };
        field.store(function, Ordering::Relaxed);
    }
}

impl SliceAlarm for Interrupt {
    fn ring(&self) {
        self.put(interrupt as *mut ());
    }

    fn silence(&self) {
        self.put(ptr::null_mut());
    }
}

/// The alarm by which the clock interrupts a machine; `None` if Luau has no callbacks.
pub(super) fn alarm(lua: &Lua) -> Option<Arc<dyn SliceAlarm>> {
    let callbacks = lua.exec_raw_lua(|raw| {
        // SAFETY: mlua passes the state of an open machine.
        NonNull::new(unsafe { ffi::lua_callbacks(raw.state()) })
    })?;
    Some(Arc::new(Interrupt(callbacks)))
}

/// Stores the address of a seat in its coroutine. The coroutine must not run after the seat is gone.
pub(super) fn seat(thread: &Thread, seat: &Seat) {
    // SAFETY: the coroutine belongs to the seat, and only the seat runs it.
    unsafe { ffi::lua_setthreaddata(thread.state(), ptr::from_ref(seat).cast_mut().cast()) };
}

/// The seat of the coroutine that runs; `None` outside of seats.
///
/// # Safety
/// The state must be one of an open machine, and the seat must live as long as its call.
pub(super) unsafe fn seat_of<'a>(state: *mut ffi::lua_State) -> Option<&'a Seat> {
    // SAFETY: only `seat` sets a coroutine's data, and a coroutine runs only while its seat lives.
    unsafe { ffi::lua_getthreaddata(state).cast::<Seat>().as_ref() }
}

unsafe extern "C-unwind" fn interrupt(state: *mut ffi::lua_State, collecting: c_int) {
    if collecting >= 0 {
        return;
    }
    // SAFETY: Luau calls this with the state that runs.
    let Some(seat) = (unsafe { seat_of(state) }) else { return };
    match seat.budget.look() {
        Step::GoOn => {}
        Step::TakeTurns => seat.fiber.take_turns(),
        // SAFETY: the state is the one that runs, and no value of Rust is alive here that an error would have to drop.
        Step::End => unsafe { raise(state, OVER) },
        Step::GiveUp => {
            seat.fiber.give_up();
            // SAFETY: as for `Step::End`.
            unsafe { raise(state, OVER) }
        }
    }
    if seat.fiber.is_abandoned() {
        // SAFETY: as for `Step::End`.
        unsafe { raise(state, GIVEN_UP) };
    }
}

/// Raises an error if the call's time is used up or nobody waits for it.
///
/// # Safety
/// The conditions of [`raise`] must hold.
pub(super) unsafe fn end_if_over(state: *mut ffi::lua_State) {
    // SAFETY: the caller keeps the conditions of `raise`.
    unsafe {
        let Some(seat) = seat_of(state) else { return };
        if seat.budget.is_over() {
            raise(state, OVER);
        }
        if seat.fiber.is_abandoned() {
            raise(state, GIVEN_UP);
        }
    }
}

/// Raises an error that begins with the place of the code that called the running function of C, as errors of Luau's
/// own functions do.
///
/// # Safety
/// The conditions of [`raise`] must hold.
pub(super) unsafe fn raise_at_caller(state: *mut ffi::lua_State, told: String) -> ! {
    // SAFETY: room is made for the place and the text, and the text is dropped before the error unwinds the stack.
    unsafe {
        ffi::lua_rawcheckstack(state, 3);
        ffi::luaL_where(state, 1);
        ffi::lua_pushlstring(state, told.as_ptr().cast(), told.len());
        drop(told);
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// Raises an error with this text.
///
/// # Safety
/// The state must be the one that runs. Frames of Rust between here and Luau's code must hold nothing that has to be
/// dropped.
unsafe fn raise(state: *mut ffi::lua_State, told: &'static str) {
    // SAFETY: room for the text is made first, since an interrupt may find the stack full.
    unsafe {
        ffi::lua_rawcheckstack(state, 1);
        ffi::lua_pushlstring(state, told.as_ptr().cast(), told.len());
        ffi::lua_error(state)
    }
}
