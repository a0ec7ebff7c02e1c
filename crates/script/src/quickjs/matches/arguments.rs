//! Arguments of callbacks as objects of JavaScript.

use std::sync::Arc;

use muster_live::Presence;
use muster_live::matches::{Input, Joiner, Left};
use rquickjs::{Array, Ctx, IntoJs, Object, Result, Value as JsValue};

use crate::machine::matches::{JOINED, reason_number};
use crate::quickjs::{binary, values};

/// An object of the metadata with which a client asks to join.
pub(super) fn metadata<'js>(ctx: &Ctx<'js>, pairs: &[(String, String)]) -> Result<JsValue<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in pairs {
        values::put(&object, name, value.as_str().into_js(ctx)?)?;
    }
    Ok(object.into_value())
}

/// The context of a join attempt: a copy of the match's context that also tells of the player's session, as in the
/// original.
pub(super) fn attempt_context<'js>(
    ctx: &Ctx<'js>,
    context: Object<'js>,
    presence: &Presence,
    joiner: &Joiner,
) -> Result<Object<'js>> {
    if joiner.token_expires_at_sec == 0 {
        // A replay of a record without these facts must show the handler what it saw then.
        return Ok(context);
    }
    let copy = Object::new(ctx.clone())?;
    for property in context.props::<String, JsValue<'js>>() {
        let (name, value) = property?;
        values::put(&copy, &name, value)?;
    }
    copy.set("userId", presence.user_id.to_string())?;
    copy.set("username", &*presence.username)?;
    copy.set("sessionId", presence.session_id.to_string())?;
    copy.set("userSessionExp", joiner.token_expires_at_sec as f64)?;
    if !joiner.vars.is_empty() {
        copy.set("vars", metadata(ctx, &joiner.vars)?)?;
    }
    for (name, text) in [("clientIp", &joiner.client_ip), ("clientPort", &joiner.client_port)] {
        if !text.is_empty() {
            copy.set(name, &**text)?;
        }
    }
    Ok(copy)
}

/// The object of a presence.
pub(super) fn presence<'js>(ctx: &Ctx<'js>, presence: &Presence, node: &str) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("userId", presence.user_id.to_string())?;
    object.set("sessionId", presence.session_id.to_string())?;
    object.set("username", &*presence.username)?;
    object.set("node", node)?;
    Ok(object)
}

/// The object of a presence that came or went.
fn presence_with_reason<'js>(ctx: &Ctx<'js>, who: &Presence, node: &str, reason: u8) -> Result<Object<'js>> {
    let object = presence(ctx, who, node)?;
    object.set("reason", reason)?;
    Ok(object)
}

/// The array of players who joined.
pub(super) fn presences<'js>(ctx: &Ctx<'js>, came: &[Arc<Presence>], node: &str) -> Result<JsValue<'js>> {
    list(ctx, came, |who| presence_with_reason(ctx, who, node, JOINED))
}

/// The array of players who left, with reasons.
pub(super) fn left_presences<'js>(ctx: &Ctx<'js>, left: &[Left], node: &str) -> Result<JsValue<'js>> {
    list(ctx, left, |left| presence_with_reason(ctx, &left.presence, node, reason_number(left.reason)))
}

/// The array of messages that players sent.
pub(super) fn messages<'js>(ctx: &Ctx<'js>, inputs: &[Input], node: &str) -> Result<JsValue<'js>> {
    list(ctx, inputs, |input| {
        let object = Object::new(ctx.clone())?;
        object.set("sender", presence(ctx, &input.sender, node)?)?;
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
