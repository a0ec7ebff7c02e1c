//! Contexts: the first argument of every function, an object that tells for whom the function is called, and by which
//! server.

use muster_api::game::{Invocation, Multimap};
use rquickjs::function::Args;
use rquickjs::{Array, Ctx, Function, IntoJs, Object, Persistent, Result};

use super::values::put;
use crate::functions::ServerFacts;

/// A context with the properties that all contexts have. `mode` is its execution mode.
pub(super) fn context_of<'js>(ctx: &Ctx<'js>, mode: &str, facts: &ServerFacts) -> Result<Object<'js>> {
    let context = Object::new(ctx.clone())?;
    context.set("env", texts(ctx, facts.env.iter().map(|(name, value)| (name, value)))?)?;
    context.set("executionMode", mode)?;
    context.set("node", &*facts.node)?;
    context.set("version", &*facts.version)?;
    Ok(context)
}

/// Makes the contexts of a machine's calls, by a function of JavaScript.
pub(super) struct Contexts(Persistent<Function<'static>>);

/// Source of a function that takes a context's common properties and returns the maker of contexts.
const MAKE_CONTEXT: &str = include_str!("context.js");

impl Contexts {
    /// Makes the maker of contexts of a machine. Modules must not have run yet, since they may change the prototypes of
    /// objects.
    pub(super) fn new(ctx: &Ctx<'_>, facts: &ServerFacts) -> Result<Self> {
        let over: Function<'_> = ctx.eval(MAKE_CONTEXT)?;
        let maker: Function<'_> = over.call((context_of(ctx, "", facts)?,))?;
        Ok(Self(Persistent::save(ctx, maker)))
    }

    /// The context of a call. Its properties have the names of the original.
    pub(super) fn of_invocation<'js>(&self, ctx: &Ctx<'js>, invocation: &Invocation) -> Result<Object<'js>> {
        let user = invocation.user.as_ref();
        let client = &invocation.client;
        let mut arguments = Args::new(ctx.clone(), 12);
        arguments.push_arg(invocation.mode.name())?;
        // Over a socket there are no headers and parameters of the call.
        let request = Some(invocation).filter(|invocation| invocation.session_id.is_none());
        arguments.push_arg(request.map(|request| multimap(ctx, &request.headers)).transpose()?)?;
        arguments.push_arg(request.map(|request| multimap(ctx, &request.query)).transpose()?)?;
        arguments.push_arg(user.map(|claims| claims.user_id.to_string()))?;
        arguments.push_arg(user.map(|claims| claims.username.as_str()))?;
        arguments.push_arg(user.map(|claims| claims.expires_at_sec as f64))?;
        let vars = user.map(|claims| &claims.vars).filter(|vars| !vars.is_empty());
        arguments.push_arg(vars.map(|vars| texts(ctx, vars)).transpose()?)?;
        arguments.push_arg(invocation.session_id.as_deref())?;
        arguments.push_arg(client.address.map(|address| address.to_string()))?;
        // The port is a text, as in the original.
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

/// An object that holds the list of values of each name.
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
