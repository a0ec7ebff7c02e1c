//! What callbacks are given, as tables of Lua.

use std::sync::Arc;

use mlua::{Lua, Result, Value as LuaValue};
use muster_live::Presence;
use muster_live::matches::{Input, LeaveReason, Left};

use crate::luau::raw::{self, Pen};

/// Names of a presence, and of a message.
const NAMES: usize = 5;

/// Names and values, as the client said them.
pub(super) fn metadata(lua: &Lua, pairs: &[(String, String)]) -> Result<LuaValue> {
    let fill = |table: &mut Pen| pairs.iter().for_each(|(name, value)| table.set_text(name, value));
    raw::table(lua, pairs.len(), fill).map(LuaValue::Table)
}

/// A presence that is there.
pub(super) fn presence(lua: &Lua, presence: &Presence, node: &str) -> Result<LuaValue> {
    raw::table(lua, NAMES, |table| fill(table, presence, node, None)).map(LuaValue::Table)
}

/// A presence, and why it went if it did.
fn fill(table: &mut Pen, presence: &Presence, node: &str, reason: Option<LeaveReason>) {
    table.set_text("user_id", presence.user_id.to_string());
    table.set_text("session_id", presence.session_id.to_string());
    table.set_text("username", &*presence.username);
    table.set_text("node", node);
    let reason = match reason {
        None => 1,
        Some(LeaveReason::Left) => 3,
        Some(LeaveReason::Disconnected) => 4,
        Some(LeaveReason::Kicked) => 3,
    };
    table.set_number("reason", reason.into());
}

/// Those who came.
pub(super) fn presences(lua: &Lua, came: &[Arc<Presence>], node: &str) -> Result<LuaValue> {
    list(lua, came, |table, who| fill(table, who, node, None))
}

/// Those who went.
pub(super) fn left_presences(lua: &Lua, left: &[Left], node: &str) -> Result<LuaValue> {
    list(lua, left, |table, left| fill(table, &left.presence, node, Some(left.reason)))
}

/// What players sent.
pub(super) fn messages(lua: &Lua, inputs: &[Input], node: &str) -> Result<LuaValue> {
    list(lua, inputs, |table, input| {
        table.set_table("sender", NAMES, |sender| fill(sender, &input.sender, node, None));
        table.set_number("op_code", input.op_code as f64);
        table.set_text("data", &input.data);
        table.set_flag("reliable", input.reliable);
        table.set_number("receive_time_ms", (input.received_at.0 / 1_000) as f64);
    })
}

fn list<T>(lua: &Lua, values: &[T], fill: impl Fn(&mut Pen, &T)) -> Result<LuaValue> {
    raw::table(lua, 0, |table| table.put_tables(values, NAMES, fill)).map(LuaValue::Table)
}
