//! The first argument of everything that is called: who asks, and what it is asked for.

use muster_api::game::{Invocation, Multimap};
use rquickjs::{Array, Ctx, IntoJs, Object, Result};

use super::values::put;
use crate::functions::Surroundings;

/// What every context has.
pub(super) fn context_of<'js>(ctx: &Ctx<'js>, mode: &str, around: &Surroundings) -> Result<Object<'js>> {
    let context = Object::new(ctx.clone())?;
    let env = Object::new(ctx.clone())?;
    for (name, value) in around.env.iter() {
        put(&env, name, value.as_str().into_js(ctx)?)?;
    }
    context.set("env", env)?;
    context.set("executionMode", mode)?;
    context.set("node", &*around.node)?;
    context.set("version", &*around.version)?;
    Ok(context)
}

/// The context of a call, with the original's names.
pub(super) fn of_invocation<'js>(
    ctx: &Ctx<'js>,
    invocation: &Invocation,
    around: &Surroundings,
) -> Result<Object<'js>> {
    let context = context_of(ctx, invocation.mode.name(), around)?;
    context.set("headers", multimap(ctx, &invocation.headers)?)?;
    context.set("queryParams", multimap(ctx, &invocation.query)?)?;
    if let Some(claims) = &invocation.user {
        context.set("userId", claims.user_id.to_string())?;
        context.set("username", claims.username.as_str())?;
        context.set("userSessionExp", claims.expires_at_sec as f64)?;
        let vars = Object::new(ctx.clone())?;
        for (name, value) in &claims.vars {
            put(&vars, name, value.as_str().into_js(ctx)?)?;
        }
        context.set("vars", vars)?;
    }
    let client = &invocation.client;
    let texts = [
        ("sessionId", invocation.session_id.clone()),
        ("clientIp", client.address.map(|address| address.to_string())),
        // A text, as in the original.
        ("clientPort", client.port.map(|port| port.to_string())),
        ("lang", client.lang.clone()),
        ("traceId", invocation.trace_id.map(|id| id.to_string())),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            context.set(name, text)?;
        }
    }
    Ok(context)
}

/// Each name with the list of its values.
fn multimap<'js>(ctx: &Ctx<'js>, values: &Multimap) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, values) in values {
        let list = Array::new(ctx.clone())?;
        for (index, value) in values.iter().enumerate() {
            list.set(index, value.as_str())?;
        }
        put(&object, name, list.into_value())?;
    }
    Ok(object)
}
