//! Arguments of callbacks as objects of JavaScript.

use std::sync::Arc;

use muster_live::Presence;
use muster_live::matches::{Input, LeaveReason, Left};
use rquickjs::{Array, Ctx, IntoJs, Object, Result, Value as JsValue};

use crate::quickjs::{binary, values};

/// An object of the metadata with which a client asks to join.
pub(super) fn metadata<'js>(ctx: &Ctx<'js>, pairs: &[(String, String)]) -> Result<JsValue<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in pairs {
        values::put(&object, name, value.as_str().into_js(ctx)?)?;
    }
    Ok(object.into_value())
}

/// The object of a presence; `reason` says why its player left.
pub(super) fn presence<'js>(
    ctx: &Ctx<'js>,
    presence: &Presence,
    node: &str,
    reason: Option<LeaveReason>,
) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("userId", presence.user_id.to_string())?;
    object.set("sessionId", presence.session_id.to_string())?;
    object.set("username", &*presence.username)?;
    object.set("node", node)?;
    let reason = match reason {
        None => 1,
        Some(LeaveReason::Left | LeaveReason::Kicked) => 3,
        Some(LeaveReason::Disconnected) => 4,
    };
    object.set("reason", reason)?;
    Ok(object)
}

/// The array of players who joined.
pub(super) fn presences<'js>(ctx: &Ctx<'js>, came: &[Arc<Presence>], node: &str) -> Result<JsValue<'js>> {
    list(ctx, came, |who| presence(ctx, who, node, None))
}

/// The array of players who left, with reasons.
pub(super) fn left_presences<'js>(ctx: &Ctx<'js>, left: &[Left], node: &str) -> Result<JsValue<'js>> {
    list(ctx, left, |left| presence(ctx, &left.presence, node, Some(left.reason)))
}

/// The array of messages that players sent.
pub(super) fn messages<'js>(ctx: &Ctx<'js>, inputs: &[Input], node: &str) -> Result<JsValue<'js>> {
    list(ctx, inputs, |input| {
        let object = Object::new(ctx.clone())?;
        object.set("sender", presence(ctx, &input.sender, node, None)?)?;
        object.set("opCode", input.op_code as f64)?;
        object.set("data", binary::write(ctx, &input.data)?)?;
        object.set("reliable", input.reliable)?;
        object.set("receiveTimeMs", (input.received_at.0 / 1_000) as f64)?;
        Ok(object)
    })
}

fn list<'js, T>(ctx: &Ctx<'js>, values: &[T], write: impl Fn(&T) -> Result<Object<'js>>) -> Result<JsValue<'js>> {
    let array = Array::new(ctx.clone())?;
    for (index, value) in values.iter().enumerate() {
        array.set(index, write(value)?)?;
    }
    Ok(array.into_value())
}
