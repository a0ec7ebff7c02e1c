//! Arguments of callbacks as tables of Lua. Each table belongs to its callback, which may change it. The presence of a
//! player who sends again and again is kept as a table that game code never sees, and copied.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use mlua::{Lua, Result, Table, Value as LuaValue};
use muster_domain::ids::SessionId;
use muster_live::Presence;
use muster_live::matches::{Input, Joiner, Left};

use crate::luau::context::text_of;
use crate::luau::raw::{self, Pen};
use crate::machine::matches::{JOINED, reason_number};

/// Number of entries of a presence, and of a message.
const ROOM: usize = 5;

/// The names of these entries. Machines keep them as texts of Lua, in this order; the constants below are their
/// indexes.
const NAMES: [&str; 10] =
    ["user_id", "session_id", "username", "node", "reason", "sender", "op_code", "data", "reliable", "receive_time_ms"];
const USER_ID: i64 = 1;
const SESSION_ID: i64 = 2;
const USERNAME: i64 = 3;
const NODE: i64 = 4;
const REASON: i64 = 5;
const SENDER: i64 = 6;
const OP_CODE: i64 = 7;
const DATA: i64 = 8;
const RELIABLE: i64 = 9;
const RECEIVE_TIME_MS: i64 = 10;

/// Stack places of the names and of the list of kept presences while a table is written.
const NAMES_AT: i32 = 1;
const KEPT_AT: i32 = 2;

/// A table of the metadata with which a client asks to join.
pub(super) fn metadata(lua: &Lua, pairs: &[(String, String)]) -> Result<LuaValue> {
    let fill = |table: &mut Pen| pairs.iter().for_each(|(name, value)| table.set_text(name, value));
    raw::table(lua, pairs.len(), fill).map(LuaValue::Table)
}

/// The context of a join attempt: a copy of the match's context that also tells of the player's session, as in the
/// original.
pub(super) fn attempt_context(lua: &Lua, context: &Table, presence: &Presence, joiner: &Joiner) -> Result<Table> {
    if joiner.token_expires_at_sec == 0 {
        // A replay of a record without these facts must show the handler what it saw then.
        return Ok(context.clone());
    }
    raw::with_tables(lua, [context], |pen| {
        pen.clone_of(1);
        pen.set_text("user_id", text_of(presence.user_id.0, &mut [0; 36]));
        pen.set_text("username", &*presence.username);
        pen.set_text("session_id", presence.session_id.to_string());
        pen.set("user_session_exp", |pen| pen.number(joiner.token_expires_at_sec as f64));
        if !joiner.vars.is_empty() {
            pen.set("vars", |pen| {
                let write = |vars: &mut Pen| joiner.vars.iter().for_each(|(name, text)| vars.set_text(name, text));
                pen.table(0, joiner.vars.len(), write);
            });
        }
        for (name, text) in [("client_ip", &joiner.client_ip), ("client_port", &joiner.client_port)] {
            if !text.is_empty() {
                pen.set_text(name, text);
            }
        }
    })
}

/// Writes tables of presences and messages in one machine.
pub(super) struct ArgumentTables {
    names: Table,
}

/// The kept presences of the players of a match who have sent messages.
pub(super) struct Senders {
    /// List of tables of Lua, one for each kept presence.
    kept: Table,
    places: RefCell<SenderPlaces>,
}

#[derive(Default)]
struct SenderPlaces {
    /// The index of each session's presence in the list, and the presence from which it was written.
    taken: HashMap<SessionId, (i64, Arc<Presence>)>,
    free: Vec<i64>,
}

impl Senders {
    /// An empty list.
    pub(super) fn new(lua: &Lua) -> Result<Self> {
        Ok(Self { kept: lua.create_table()?, places: RefCell::default() })
    }

    /// Frees the presences of players who left.
    pub(super) fn forget(&self, left: &[Left]) {
        let places = &mut *self.places.borrow_mut();
        for gone in left {
            if let Some((place, _)) = places.taken.remove(&gone.presence.session_id) {
                places.free.push(place);
            }
        }
    }
}

impl SenderPlaces {
    /// The index of a presence in the list, and whether it is written there already. If not, the caller writes it and
    /// calls [`note`](Self::note).
    fn of(&self, presence: &Arc<Presence>) -> (i64, bool) {
        if let Some((place, known)) = self.taken.get(&presence.session_id) {
            return (*place, Arc::ptr_eq(known, presence));
        }
        let next = self.taken.len() + 1;
        (self.free.last().copied().unwrap_or(i64::try_from(next).unwrap_or(i64::MAX)), false)
    }

    /// Notes that a presence was written at an index.
    fn note(&mut self, presence: &Arc<Presence>, place: i64) {
        if self.free.last() == Some(&place) {
            self.free.pop();
        }
        self.taken.insert(presence.session_id, (place, presence.clone()));
    }
}

impl ArgumentTables {
    /// Prepares the names in a machine.
    pub(super) fn new(lua: &Lua) -> Result<Self> {
        Ok(Self { names: lua.create_sequence_from(NAMES)? })
    }

    /// The table of a player's presence.
    pub(super) fn presence(&self, lua: &Lua, presence: &Presence, node: &str) -> Result<LuaValue> {
        self.write(lua, |pen| pen.table(0, ROOM, |pen| fill(pen, presence, node)))
    }

    /// The list of players who joined.
    pub(super) fn presences(&self, lua: &Lua, came: &[Arc<Presence>], node: &str) -> Result<LuaValue> {
        let write = |pen: &mut Pen, who: &Arc<Presence>| fill_with_reason(pen, who, node, JOINED);
        self.write(lua, |pen| pen.list(came, |pen, who| pen.table(0, ROOM, |pen| write(pen, who))))
    }

    /// The list of players who left, with reasons.
    pub(super) fn left_presences(&self, lua: &Lua, left: &[Left], node: &str) -> Result<LuaValue> {
        let write = |pen: &mut Pen, gone: &Left| {
            pen.table(0, ROOM, |pen| fill_with_reason(pen, &gone.presence, node, reason_number(gone.reason)));
        };
        self.write(lua, |pen| pen.list(left, write))
    }

    /// The list of messages that players sent.
    pub(super) fn messages(&self, lua: &Lua, inputs: &[Input], senders: &Senders, node: &str) -> Result<LuaValue> {
        if inputs.is_empty() {
            return lua.create_table().map(LuaValue::Table);
        }
        let mut places = senders.places.borrow_mut();
        raw::with_tables(lua, [&self.names, &senders.kept], |pen| {
            pen.list(inputs, |pen, input| {
                let (place, is_kept) = places.of(&input.sender);
                if !is_kept {
                    pen.put_in(KEPT_AT, place, |pen| pen.table(0, ROOM, |pen| fill(pen, &input.sender, node)));
                    places.note(&input.sender, place);
                }
                pen.table(0, ROOM, |pen| {
                    pen.set_listed(NAMES_AT, SENDER, |pen| pen.clone_of_listed(KEPT_AT, place));
                    pen.set_listed(NAMES_AT, OP_CODE, |pen| pen.number(input.op_code as f64));
                    pen.set_listed(NAMES_AT, DATA, |pen| pen.text(&input.data));
                    pen.set_listed(NAMES_AT, RELIABLE, |pen| pen.flag(input.reliable));
                    let received_ms = input.received_at.0 / 1_000;
                    pen.set_listed(NAMES_AT, RECEIVE_TIME_MS, |pen| pen.number(received_ms as f64));
                });
            });
        })
    }

    fn write(&self, lua: &Lua, write: impl FnOnce(&mut Pen)) -> Result<LuaValue> {
        raw::with_tables(lua, [&self.names], write)
    }
}

/// Writes the entries of a presence.
fn fill(pen: &mut Pen, presence: &Presence, node: &str) {
    let set_text = |pen: &mut Pen, name, text: &str| pen.set_listed(NAMES_AT, name, |pen| pen.text(text.as_bytes()));
    set_text(pen, USER_ID, text_of(presence.user_id.0, &mut [0; 36]));
    set_text(pen, SESSION_ID, &presence.session_id.to_string());
    set_text(pen, USERNAME, &presence.username);
    set_text(pen, NODE, node);
}

/// Writes the entries of a presence that came or went.
fn fill_with_reason(pen: &mut Pen, presence: &Presence, node: &str, reason: u8) {
    fill(pen, presence, node);
    pen.set_listed(NAMES_AT, REASON, |pen| pen.number(reason.into()));
}
