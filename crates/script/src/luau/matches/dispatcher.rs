//! By what a callback says what it wants done: one table for all matches of a machine, which works for the match whose
//! callback runs.

use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use mlua::{Function, Lua, MultiValue, Result, Table, Value as LuaValue};
use muster_domain::UserId;
use muster_domain::ids::SessionId;
use muster_live::matches::{Act, Broadcast, LABEL_BYTES_MAX, Sender};

use crate::luau::seat::Seats;
use crate::luau::vm::Vm;

/// See the module.
pub(super) struct Dispatcher {
    pub(super) table: Table,
}

type Refused = String;

impl Dispatcher {
    /// Its table in a machine; `bind` turns what is refused into errors of Lua.
    pub(super) fn new(lua: &Lua, vm: &Vm) -> Result<Self> {
        let (bind, seats) = (&vm.prelude.bind, &vm.seats);
        let table = lua.create_table()?;
        let add = |name: &'static str, read: fn(Arguments) -> std::result::Result<Act, Refused>| {
            let (seats, host) = (seats.clone(), vm.host.clone());
            let run = lua.create_function(move |lua, arguments: MultiValue| {
                let counted = host.current.count(&host.process.metrics).map_err(|error| error.message.into_owned());
                match counted
                    .and_then(|()| read(Arguments { of: name, values: arguments, taken: 0 }))
                    .and_then(|act| say(&seats, act))
                {
                    Ok(()) => Ok((true, LuaValue::Nil)),
                    Err(why) => Ok((false, LuaValue::String(lua.create_string(why)?))),
                }
            })?;
            table.raw_set(name, bind.call::<Function>(run)?)
        };
        add("broadcast_message", |arguments| arguments.broadcast().map(Act::Broadcast))?;
        add("broadcast_message_deferred", |arguments| arguments.broadcast().map(Act::Defer))?;
        add("match_kick", |mut arguments| {
            let sessions = arguments.sessions()?;
            Ok(Act::Kick(sessions.unwrap_or_default()))
        })?;
        add("match_label_update", |mut arguments| arguments.label().map(Act::Label))?;
        super::timers::add(lua, vm, &table)?;
        table.set_readonly(true);
        Ok(Self { table })
    }
}

fn say(seats: &Seats, act: Act) -> std::result::Result<(), Refused> {
    seats.current().ok_or("no callback of the match is running")?.sink.add(act)
}

/// What a function was called with.
struct Arguments {
    of: &'static str,
    values: MultiValue,
    taken: usize,
}

impl Arguments {
    fn next(&mut self) -> LuaValue {
        self.taken += 1;
        self.values.pop_front().unwrap_or(LuaValue::Nil)
    }

    fn unfit(&self, expected: &str, got: &LuaValue) -> Refused {
        format!("bad argument #{} to {} ({expected} expected, got {})", self.taken, self.of, got.type_name())
    }

    fn broadcast(mut self) -> std::result::Result<Broadcast, Refused> {
        let op_code = match self.next() {
            LuaValue::Number(number) if number.fract() == 0.0 => number as i64,
            LuaValue::Integer(number) => number,
            other => return Err(self.unfit("whole number", &other)),
        };
        let data = match self.next() {
            LuaValue::Nil => Bytes::new(),
            LuaValue::String(data) => Bytes::copy_from_slice(&data.as_bytes()),
            other => return Err(self.unfit("string", &other)),
        };
        let to = self.sessions()?;
        let sender = match self.next() {
            LuaValue::Nil => None,
            LuaValue::Table(sender) => Some(self.sender(&sender)?),
            other => return Err(self.unfit("presence", &other)),
        };
        let reliable = match self.next() {
            LuaValue::Nil => true,
            LuaValue::Boolean(reliable) => reliable,
            other => return Err(self.unfit("boolean", &other)),
        };
        Ok(Broadcast { op_code, data, to, sender, reliable })
    }

    /// The sessions of presences.
    fn sessions(&mut self) -> std::result::Result<Option<Vec<SessionId>>, Refused> {
        let presences = match self.next() {
            LuaValue::Nil => return Ok(None),
            LuaValue::Table(presences) => presences,
            other => return Err(self.unfit("list of presences", &other)),
        };
        let session = |value: mlua::Result<LuaValue>| match value {
            Ok(LuaValue::Table(presence)) => self.id(&presence, "session_id"),
            Ok(other) => Err(self.unfit("list of presences", &other)),
            Err(error) => Err(error.to_string()),
        };
        presences.sequence_values::<LuaValue>().map(session).collect::<std::result::Result<_, _>>().map(Some)
    }

    fn sender(&self, presence: &Table) -> std::result::Result<Sender, Refused> {
        let username = match presence.raw_get::<LuaValue>("username") {
            Ok(LuaValue::String(name)) => Arc::from(name.to_string_lossy()),
            _ => return Err(self.lacks("username")),
        };
        let (session_id, user_id): (SessionId, UserId) =
            (self.id(presence, "session_id")?, self.id(presence, "user_id")?);
        Ok(Sender { session_id, user_id, username })
    }

    fn id<T: FromStr>(&self, presence: &Table, field: &str) -> std::result::Result<T, Refused> {
        let text = match presence.raw_get::<LuaValue>(field) {
            Ok(LuaValue::String(text)) => text.to_string_lossy(),
            _ => return Err(self.lacks(field)),
        };
        text.parse().map_err(|_| self.lacks(field))
    }

    fn lacks(&self, field: &str) -> Refused {
        format!("bad argument #{} to {} (a presence with a valid {field} expected)", self.taken, self.of)
    }

    fn label(&mut self) -> std::result::Result<Arc<str>, Refused> {
        match self.next() {
            LuaValue::String(label) if label.as_bytes().len() <= LABEL_BYTES_MAX => Ok(label.to_string_lossy().into()),
            LuaValue::String(_) => Err(format!("{}: a label has at most {LABEL_BYTES_MAX} bytes", self.of)),
            other => Err(self.unfit("string", &other)),
        }
    }
}
