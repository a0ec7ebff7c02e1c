//! Where Luau's code leaves the stack that it runs on, and is told to: functions of C, called by Luau itself. mlua's own
//! callbacks note which coroutine runs, and forget it in the order of a stack; calls that are put aside end in any order.
//! So nothing may be put aside below one of mlua's callbacks: here it is at the end of a slice, in `functions.rs` by what
//! waits, and nowhere else.

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
use crate::process::clock::Alarm;

/// What a call that nobody waits for fails with.
const GIVEN_UP: &str = "the call was given up";

/// The alarm of one machine: Luau looks at each call and loop edge whether there is a function to ask.
struct Interrupt(NonNull<ffi::lua_Callbacks>);

// SAFETY: what it points to is part of the machine. It is used by the machine's own thread, and by the clock's while the
// machine runs, which holds a lock without which the machine's turn does not end.
unsafe impl Send for Interrupt {}
// SAFETY: see above; it is only read, and what it points to is written as an atomic.
unsafe impl Sync for Interrupt {}

impl Interrupt {
    fn put(&self, function: *mut ()) {
        // SAFETY: the callbacks live as long as the machine, see above. The field is a pointer that is aligned as one, and
        // may be null. Luau reads it as a word, which no supported machine tears.
        let field = unsafe { AtomicPtr::from_ptr(ptr::addr_of_mut!((*self.0.as_ptr()).interrupt).cast::<*mut ()>()) };
        field.store(function, Ordering::Relaxed);
    }
}

impl Alarm for Interrupt {
    fn ring(&self) {
        self.put(interrupt as *mut ());
    }

    fn silence(&self) {
        self.put(ptr::null_mut());
    }
}

/// The alarm of a machine.
pub(super) fn alarm(lua: &Lua) -> Option<Arc<dyn Alarm>> {
    let callbacks = lua.exec_raw_lua(|raw| {
        // SAFETY: the state is the machine's, which is open.
        NonNull::new(unsafe { ffi::lua_callbacks(raw.state()) })
    })?;
    Some(Arc::new(Interrupt(callbacks)))
}

/// Lets what runs in a coroutine find its seat. The coroutine must not run when the seat is gone.
pub(super) fn seat(thread: &Thread, seat: &Seat) {
    // SAFETY: the coroutine is the seat's, which alone runs it.
    unsafe { ffi::lua_setthreaddata(thread.state(), ptr::from_ref(seat).cast_mut().cast()) };
}

/// The seat of what runs.
///
/// # Safety
/// The state must be one of an open machine, and the seat is there as long as its call.
pub(super) unsafe fn seat_of<'a>(state: *mut ffi::lua_State) -> Option<&'a Seat> {
    // SAFETY: nothing but `seat` sets it, and coroutines run only while their seat is there.
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
        // SAFETY: the state is the one that runs, and nothing of ours that is to be dropped is on the stack.
        Step::End => unsafe { raise(state, OVER) },
        Step::GiveUp => {
            seat.fiber.give_up();
            // SAFETY: as above.
            unsafe { raise(state, OVER) }
        }
    }
    if seat.fiber.is_abandoned() {
        // SAFETY: as above.
        unsafe { raise(state, GIVEN_UP) };
    }
}

/// Raises an error if the call is to end.
///
/// # Safety
/// As [`raise`].
pub(super) unsafe fn end_if_over(state: *mut ffi::lua_State) {
    // SAFETY: as for this function.
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

/// Raises an error with the place of the code that called the function of C which runs, as Luau's own functions do.
///
/// # Safety
/// As [`raise`].
pub(super) unsafe fn raise_at_caller(state: *mut ffi::lua_State, told: String) -> ! {
    // SAFETY: room is made for the place and the text. The text is dropped before the error is raised.
    unsafe {
        ffi::lua_rawcheckstack(state, 3);
        ffi::luaL_where(state, 1);
        ffi::lua_pushlstring(state, told.as_ptr().cast(), told.len());
        drop(told);
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// # Safety
/// The state must be the one that runs; what lies between here and Luau's code is left as by an error of Lua.
unsafe fn raise(state: *mut ffi::lua_State, told: &'static str) {
    // SAFETY: room for the text is made before it is pushed: an interrupt finds the stack full.
    unsafe {
        ffi::lua_rawcheckstack(state, 1);
        ffi::lua_pushlstring(state, told.as_ptr().cast(), told.len());
        ffi::lua_error(state)
    }
}
