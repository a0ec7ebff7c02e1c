//! The dispatcher: the table of functions by which a callback sends messages, kicks players, changes the label and sets
//! timers. One table serves all matches of a machine; a call of it works for the match whose callback runs. Luau calls
//! its functions directly, as it does those of the host.

#![expect(unsafe_code, reason = "mlua's callbacks guard each step by an error handler of its own")]

use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use mlua::{Function, Lua, Result, Table, ffi};
use muster_domain::UserId;
use muster_domain::ids::SessionId;
use muster_live::matches::{Act, Broadcast, LABEL_BYTES_MAX, Sender};

use crate::host::Host;
use crate::luau::interrupt::{raise_at_caller, seat_of};
use crate::luau::raw::Reader;
use crate::luau::slips;
use crate::luau::vm::Vm;
use crate::machine::matches::{PRESENCES_MAX, too_many_presences};
use crate::value::allowance::Allowance;

/// The dispatcher of a machine, see the module.
pub(super) struct Dispatcher {
    pub(super) table: Table,
}

/// Data behind the functions' upvalues, kept as long as the machine.
struct Kept {
    host: Rc<Host>,
}

type Refused = String;

/// Turns a function's arguments into an act.
type Read = fn(Arguments<'_>) -> std::result::Result<Act, Refused>;

const BROADCAST: usize = 0;
const DEFER: usize = 1;
const KICK: usize = 2;
const RELABEL: usize = 3;
const READS: [Read; 4] = [
    |arguments| arguments.broadcast().map(Act::Broadcast),
    |arguments| arguments.broadcast().map(Act::Defer),
    |mut arguments| Ok(Act::Kick(arguments.sessions()?.unwrap_or_default())),
    |mut arguments| arguments.label().map(Act::Label),
];
const NAMES: [&CStr; 4] = [c"broadcast_message", c"broadcast_message_deferred", c"match_kick", c"match_label_update"];
const FUNCTIONS: [ffi::lua_CFunction; 4] = [call::<BROADCAST>, call::<DEFER>, call::<KICK>, call::<RELABEL>];

impl Dispatcher {
    /// Makes the dispatcher's table in a machine.
    pub(super) fn new(lua: &Lua, vm: &Vm) -> Result<Self> {
        let kept = Box::new(Kept { host: vm.host.clone() });
        let table = lua.create_table()?;
        for (name, function) in NAMES.into_iter().zip(FUNCTIONS) {
            // SAFETY: the only upvalue is the address of `kept`, which stays in place as long as the machine.
            let function: Function = unsafe {
                lua.exec_raw((), |state| {
                    ffi::lua_pushlightuserdata(state, ptr::from_ref(&*kept).cast_mut().cast());
                    ffi::lua_pushcclosurek(state, function, name.as_ptr(), 1, None);
                })?
            };
            table.raw_set(name.to_string_lossy().as_ref(), function)?;
        }
        lua.set_app_data(kept);
        super::timers::add(lua, vm, &table)?;
        slips::watch(lua, &table)?;
        table.set_readonly(true);
        Ok(Self { table })
    }
}

unsafe extern "C-unwind" fn call<const FUNCTION: usize>(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Luau calls this with the state that runs; the upvalue is the address of the `Kept` that `new` made.
    // Values of Rust are dropped before an error is raised here, and unwinding drops them when Luau raises one.
    unsafe {
        let kept = &*ffi::lua_tolightuserdata(state, ffi::lua_upvalueindex(1)).cast::<Kept>();
        match say::<FUNCTION>(state, kept) {
            Ok(()) => 0,
            Err(why) => raise_at_caller(state, why),
        }
    }
}

/// Adds the act of a function of the dispatcher to the acts of the callback that runs.
///
/// # Safety
/// The state must be the one that runs, in a call from Luau.
unsafe fn say<const FUNCTION: usize>(state: *mut ffi::lua_State, kept: &Kept) -> std::result::Result<(), Refused> {
    let Kept { host } = kept;
    host.current.count(&host.process.metrics).map_err(|error| error.message.into_owned())?;
    let mut left = Allowance::new();
    // SAFETY: the caller passes the running state.
    let (reader, seat) = unsafe { (Reader::new(state, &mut left), seat_of(state)) };
    let of = NAMES[FUNCTION].to_str().unwrap_or_default();
    let act = READS[FUNCTION](Arguments { of, reader, taken: 0 })?;
    seat.ok_or("no callback of the match is running")?.sink.add(act)
}

/// Reads a function's arguments one after the other.
struct Arguments<'a> {
    of: &'static str,
    reader: Reader<'a>,
    taken: c_int,
}

impl Arguments<'_> {
    /// Moves to the next argument and answers its type; nil if there is none.
    fn next(&mut self) -> c_int {
        self.taken += 1;
        if self.reader.is_given(self.taken) { self.reader.kind(self.taken) } else { ffi::LUA_TNIL }
    }

    fn unfit(&self, expected: &str, got: c_int) -> Refused {
        let got = self.reader.kind_name(got);
        format!("bad argument #{} to {} ({expected} expected, got {got})", self.taken, self.of)
    }

    fn broadcast(mut self) -> std::result::Result<Broadcast, Refused> {
        let op_code = match self.next() {
            ffi::LUA_TNUMBER if self.reader.number(self.taken).fract() == 0.0 => self.reader.number(self.taken) as i64,
            other => return Err(self.unfit("whole number", other)),
        };
        let data = match self.next() {
            ffi::LUA_TNIL => Bytes::new(),
            ffi::LUA_TSTRING => Bytes::copy_from_slice(self.reader.bytes(self.taken)),
            other => return Err(self.unfit("string", other)),
        };
        let to = self.sessions()?;
        let sender = match self.next() {
            ffi::LUA_TNIL => None,
            ffi::LUA_TTABLE => Some(self.sender()?),
            other => return Err(self.unfit("presence", other)),
        };
        let reliable = match self.next() {
            ffi::LUA_TNIL => true,
            ffi::LUA_TBOOLEAN => self.reader.flag(self.taken),
            other => return Err(self.unfit("boolean", other)),
        };
        Ok(Broadcast { op_code, data, to, sender, reliable })
    }

    /// The session ids of a list of presences; `None` for nil.
    fn sessions(&mut self) -> std::result::Result<Option<Vec<SessionId>>, Refused> {
        match self.next() {
            ffi::LUA_TNIL => return Ok(None),
            ffi::LUA_TTABLE => {}
            other => return Err(self.unfit("list of presences", other)),
        }
        let (at, mut sessions) = (self.taken, Vec::new());
        let (of, unfit) = (self.of, |kind: String| format!("(list of presences expected, got {kind})"));
        let length = self.reader.length(at);
        if length > PRESENCES_MAX {
            return Err(too_many_presences(of));
        }
        self.reader.each_item(at, length, |reader, _| {
            match reader.kind(-1) {
                ffi::LUA_TTABLE => {
                    let id = reader.field(-1, c"session_id", |text| text_of(text)?.parse().ok());
                    sessions.push(id.ok_or_else(|| lacks(at, of, "session_id"))?);
                }
                other => return Err(format!("bad argument #{at} to {of} {}", unfit(reader.kind_name(other)))),
            }
            Ok(())
        })?;
        Ok(Some(sessions))
    }

    fn sender(&mut self) -> std::result::Result<Sender, Refused> {
        let username = self.field("username", c"username", |name| Some(Arc::from(String::from_utf8_lossy(name))))?;
        let session_id: SessionId = self.id("session_id", c"session_id")?;
        let user_id: UserId = self.id("user_id", c"user_id")?;
        Ok(Sender { session_id, user_id, username })
    }

    fn id<T: FromStr>(&mut self, name: &str, field: &CStr) -> std::result::Result<T, Refused> {
        self.field(name, field, |text| text_of(text)?.parse().ok())
    }

    /// A field of the presence that is the current argument, parsed from its text.
    fn field<T>(
        &mut self,
        name: &str,
        field: &CStr,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> std::result::Result<T, Refused> {
        self.reader.field(self.taken, field, read).ok_or_else(|| lacks(self.taken, self.of, name))
    }

    fn label(&mut self) -> std::result::Result<Arc<str>, Refused> {
        match self.next() {
            ffi::LUA_TSTRING => {
                let label = self.reader.bytes(self.taken);
                if label.len() > LABEL_BYTES_MAX {
                    return Err(format!("{}: a label has at most {LABEL_BYTES_MAX} bytes", self.of));
                }
                Ok(String::from_utf8_lossy(label).into())
            }
            other => Err(self.unfit("string", other)),
        }
    }
}

fn lacks(at: c_int, of: &str, field: &str) -> Refused {
    format!("bad argument #{at} to {of} (a presence with a valid {field} expected)")
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
