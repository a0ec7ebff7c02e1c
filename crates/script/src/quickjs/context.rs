//! The first argument of everything that is called: who asks, and what it is asked for.

use muster_api::game::{Invocation, Multimap};
use rquickjs::function::Args;
use rquickjs::{Array, Ctx, Function, IntoJs, Object, Persistent, Result};

use super::values::put;
use crate::functions::Surroundings;

/// What every context has.
pub(super) fn context_of<'js>(ctx: &Ctx<'js>, mode: &str, around: &Surroundings) -> Result<Object<'js>> {
    let context = Object::new(ctx.clone())?;
    context.set("env", texts(ctx, around.env.iter().map(|(name, value)| (name, value)))?)?;
    context.set("executionMode", mode)?;
    context.set("node", &*around.node)?;
    context.set("version", &*around.version)?;
    Ok(context)
}

/// Makes the contexts of a machine's calls.
pub(super) struct Contexts(Persistent<Function<'static>>);

/// How, over what every context has.
const MAKING: &str = include_str!("context.js");

impl Contexts {
    /// Before modules run, which may change what all objects have.
    pub(super) fn new(ctx: &Ctx<'_>, around: &Surroundings) -> Result<Self> {
        let over: Function<'_> = ctx.eval(MAKING)?;
        let maker: Function<'_> = over.call((context_of(ctx, "", around)?,))?;
        Ok(Self(Persistent::save(ctx, maker)))
    }

    /// The context of a call, with the original's names.
    pub(super) fn of_invocation<'js>(&self, ctx: &Ctx<'js>, invocation: &Invocation) -> Result<Object<'js>> {
        let user = invocation.user.as_ref();
        let client = &invocation.client;
        let mut arguments = Args::new(ctx.clone(), 12);
        arguments.push_arg(invocation.mode.name())?;
        arguments.push_arg(multimap(ctx, &invocation.headers)?)?;
        arguments.push_arg(multimap(ctx, &invocation.query)?)?;
        arguments.push_arg(user.map(|claims| claims.user_id.to_string()))?;
        arguments.push_arg(user.map(|claims| claims.username.as_str()))?;
        arguments.push_arg(user.map(|claims| claims.expires_at_sec as f64))?;
        arguments.push_arg(user.map(|claims| texts(ctx, &claims.vars)).transpose()?)?;
        arguments.push_arg(invocation.session_id.as_deref())?;
        arguments.push_arg(client.address.map(|address| address.to_string()))?;
        // A text, as in the original.
        arguments.push_arg(client.port.map(|port| port.to_string()))?;
        arguments.push_arg(client.lang.as_deref())?;
        arguments.push_arg(invocation.trace_id.map(|id| id.to_string()))?;
        arguments.apply(&self.0.clone().restore(ctx)?)
    }
}

fn texts<'a, 'js>(ctx: &Ctx<'js>, texts: impl IntoIterator<Item = (&'a String, &'a String)>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, text) in texts {
        put(&object, name, text.as_str().into_js(ctx)?)?;
    }
    Ok(object)
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
