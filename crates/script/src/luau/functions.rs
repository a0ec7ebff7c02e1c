//! The functions of the host table as functions of C, which Luau calls directly. A function that waits puts the stack
//! of its call aside in this file, with only Luau's code below it on the stack.

#![expect(
    unsafe_code,
    reason = "mlua's callbacks guard each step by an error handler of its own, and must not be put aside"
)]

use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use mlua::{Function, Lua, Result, Table, ffi};

use super::interrupt::{raise_at_caller, seat_of};
use super::json;
use super::raw::{Pen, Reader};
use crate::host::{Host, HostAnswer, HostFunction, Unfit, functions};
use crate::quickjs::camel_case;
use crate::value::Value;
use crate::value::allowance::Allowance;

/// The error for a panic of the host.
const FAULT: &str = "An internal error occurred.";

/// A host function bound to a machine. The function of C has the address of this as an upvalue.
pub(super) struct Bound {
    pub(super) function: &'static HostFunction,
    pub(super) host: Rc<Host>,
    /// The function's name in stack traces.
    name: CString,
}

/// The bound functions of a machine, kept as long as the machine because upvalues point to them.
struct Kept {
    _bound: Box<[Bound]>,
}

/// The number of results that a function has left on the stack, or the message of its error.
type Ended = std::result::Result<c_int, String>;

/// A way to run a bound function, directly on Luau's stack.
type Form = unsafe fn(*mut ffi::lua_State, &Bound) -> Ended;

/// The function of C for a host function that needs no values of the host; `None` for all others, which run by
/// [`by_values`].
fn own_form(name: &str) -> Option<ffi::lua_CFunction> {
    match name {
        "json_encode" => Some(enter::<ENCODE>),
        "json_decode" => Some(enter::<DECODE>),
        _ => None,
    }
}

const BY_VALUES: usize = 0;
const ENCODE: usize = 1;
const DECODE: usize = 2;
const FORMS: [Form; 3] = [by_values, json::encode, json::decode];

/// Adds the functions of the host table to the host's module.
pub(super) fn bind_all(lua: &Lua, nk: &Table, host: &Rc<Host>) -> Result<()> {
    let bind = |function: &'static HostFunction| Bound {
        function,
        host: host.clone(),
        name: CString::new(function.name).unwrap_or_default(),
    };
    let bound: Box<[Bound]> = functions().map(bind).collect();
    for bound in &bound {
        let run = own_form(bound.function.name).unwrap_or(enter::<BY_VALUES>);
        // SAFETY: the only upvalue is the address of `bound`, which stays in place as long as the machine.
        let function: Function = unsafe {
            lua.exec_raw((), |state| {
                ffi::lua_pushlightuserdata(state, ptr::from_ref(bound).cast_mut().cast());
                ffi::lua_pushcclosurek(state, run, bound.name.as_ptr(), 1, None);
            })?
        };
        nk.raw_set(bound.function.name, function)?;
    }
    lua.set_app_data(Kept { _bound: bound });
    Ok(())
}

unsafe extern "C-unwind" fn enter<const FORM: usize>(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Luau calls this with the state that runs; the upvalue is the address of a `Bound` that `bind_all` made.
    // Values of Rust are dropped before an error is raised here, and unwinding drops them when Luau raises one.
    unsafe {
        let bound = &*ffi::lua_tolightuserdata(state, ffi::lua_upvalueindex(1)).cast::<Bound>();
        match FORMS[FORM](state, bound) {
            Ok(results) => results,
            Err(_) if is_called_with_colon(state, bound) => raise_at_caller(state, with_colon(bound.function.name)),
            Err(told) => raise_at_caller(state, told),
        }
    }
}

/// The error of `nk:name(…)`, which passes the host's module as the first argument.
pub(super) fn with_colon(name: &str) -> String {
    format!("{name} is called with a colon: write nk.{name}(…), not nk:{name}(…)")
}

/// Whether the first argument is a table that has the running function under its name.
///
/// # Safety
/// The state must be the one that runs, in a call from Luau.
pub(super) unsafe fn is_called_with_colon(state: *mut ffi::lua_State, bound: &Bound) -> bool {
    // SAFETY: the caller passes the running state, and room is made for one value, which is popped.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            return false;
        }
        ffi::lua_rawcheckstack(state, 1);
        ffi::lua_pushstring(state, bound.name.as_ptr());
        ffi::lua_rawget(state, 1);
        let is_there = ffi::lua_iscfunction(state, -1) != 0;
        ffi::lua_pop(state, 1);
        is_there
    }
}

/// Runs a function with its arguments and results converted to and from values of the host.
///
/// # Safety
/// The state must be the one that runs, in a call from Luau.
unsafe fn by_values(state: *mut ffi::lua_State, bound: &Bound) -> Ended {
    let Bound { function, host, .. } = bound;
    // SAFETY: the caller passes the running state.
    let mut values = unsafe { arguments(state, function) }?;
    function.lua.arguments.apply(function, &mut values).map_err(|Unfit { index, expected }| {
        let (number, name) = (index + 1, function.parameters[index].name);
        format!("bad argument #{number} to {} ({name} must be {expected})", function.name)
    })?;
    let told = |error| HostFunction::named(function.name, error).message.into_owned();
    let begin = || function.start(host, values).map_err(told);
    let started = catch_unwind(AssertUnwindSafe(begin)).map_err(|_| FAULT)??;
    let value = match started {
        HostAnswer::Ready(value) => value,
        HostAnswer::Pending(awaited) => {
            // SAFETY: the caller passes the running state. The seat lives as long as its call.
            let seat = unsafe { seat_of(state) }.ok_or_else(|| format!("{}: nothing runs", function.name))?;
            seat.fiber.wait(awaited).map_err(told)?
        }
    };
    // SAFETY: the caller passes the running state.
    Ok(unsafe { results(state, &function.lua.answer.apply(function, value, camel_case), function) })
}

/// Reads a function's arguments from the stack.
///
/// # Safety
/// The conditions of [`by_values`] must hold.
unsafe fn arguments(state: *mut ffi::lua_State, function: &HostFunction) -> std::result::Result<Vec<Value>, String> {
    let mut left = Allowance::new();
    // SAFETY: the caller passes the running state.
    let (given, mut reader) = unsafe { (ffi::lua_gettop(state), Reader::new(state, &mut left)) };
    let count = given.min(c_int::try_from(function.parameters.len()).unwrap_or(c_int::MAX));
    let unread = |told: String| format!("{}: {told}", function.name);
    (1..=count).map(|at| reader.value(at, 0).map_err(unread)).collect()
}

/// Writes a function's results on the stack, and returns their number.
///
/// # Safety
/// The conditions of [`by_values`] must hold.
unsafe fn results(state: *mut ffi::lua_State, value: &Value, function: &HostFunction) -> c_int {
    // SAFETY: the caller passes the running state, and room is made below for all results.
    let mut pen = unsafe { Pen::new(state) };
    let values = match value {
        Value::Results(values) => values,
        Value::Nil if function.results.is_empty() => return 0,
        value => {
            pen.value(value);
            return 1;
        }
    };
    pen.make_room(values.len());
    values.iter().for_each(|value| pen.value(value));
    c_int::try_from(values.len()).unwrap_or_default()
}
