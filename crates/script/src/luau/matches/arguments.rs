//! What callbacks are given, as tables of Lua.

use std::sync::Arc;

use mlua::{Lua, Result, Value as LuaValue};
use muster_live::Presence;
use muster_live::matches::{Input, LeaveReason, Left};

/// Names and values, as the client said them.
pub(super) fn metadata(lua: &Lua, pairs: &[(String, String)]) -> Result<LuaValue> {
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    lua.create_table_from(pairs).map(LuaValue::Table)
}

/// A presence, and why it went if it did.
pub(super) fn presence(lua: &Lua, presence: &Presence, node: &str, reason: Option<LeaveReason>) -> Result<LuaValue> {
    let table = lua.create_table_with_capacity(0, 5)?;
    table.raw_set("user_id", presence.user_id.to_string())?;
    table.raw_set("session_id", presence.session_id.to_string())?;
    table.raw_set("username", &*presence.username)?;
    table.raw_set("node", node)?;
    let reason = match reason {
        None => 1,
        Some(LeaveReason::Left) => 3,
        Some(LeaveReason::Disconnected) => 4,
        Some(LeaveReason::Kicked) => 3,
    };
    table.raw_set("reason", reason)?;
    Ok(LuaValue::Table(table))
}

/// Those who came.
pub(super) fn presences(lua: &Lua, came: &[Arc<Presence>], node: &str) -> Result<LuaValue> {
    list(lua, came, |who| presence(lua, who, node, None))
}

/// Those who went.
pub(super) fn left_presences(lua: &Lua, left: &[Left], node: &str) -> Result<LuaValue> {
    list(lua, left, |left| presence(lua, &left.presence, node, Some(left.reason)))
}

/// What players sent.
pub(super) fn messages(lua: &Lua, inputs: &[Input], node: &str) -> Result<LuaValue> {
    list(lua, inputs, |input| {
        let table = lua.create_table_with_capacity(0, 5)?;
        table.raw_set("sender", presence(lua, &input.sender, node, None)?)?;
        table.raw_set("op_code", input.op_code as f64)?;
        table.raw_set("data", lua.create_string(&input.data)?)?;
        table.raw_set("reliable", input.reliable)?;
        table.raw_set("receive_time_ms", (input.received_at.0 / 1_000) as f64)?;
        Ok(LuaValue::Table(table))
    })
}

fn list<T>(lua: &Lua, values: &[T], write: impl Fn(&T) -> Result<LuaValue>) -> Result<LuaValue> {
    let table = lua.create_table_with_capacity(values.len(), 0)?;
    for (index, value) in values.iter().enumerate() {
        table.raw_set(index + 1, write(value)?)?;
    }
    Ok(LuaValue::Table(table))
}
