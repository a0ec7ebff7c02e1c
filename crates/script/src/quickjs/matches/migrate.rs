//! Moves a match to a newer generation of its code: reads its state in the old machine, and gives it to `matchMigrate`
//! in the new one.

use std::rc::Rc;
use std::sync::Arc;

use muster_live::matches::{Call, MatchId};
use rquickjs::function::Args;
use rquickjs::{Ctx, Persistent, Result, Value as JsValue};

use super::{LoadedMatch, MatchResult, MatchVm, Script};
use crate::machine::budget::LOADS_TOO_LONG;
use crate::machine::migrate::Migrating;
use crate::quickjs::context::context_of;
use crate::quickjs::errors::raised;
use crate::quickjs::register::MIGRATE;
use crate::quickjs::values::{self, Unreadable};
use crate::quickjs::vm::{Engine, enter};
use crate::value::Value;

impl Migrating for MatchVm {
    fn state(&self, _: MatchId) -> MatchResult<Value> {
        let loaded = self.loaded()?;
        self.engine.briefly(self.limits.call_time, |ctx| {
            let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(&ctx, &error).message);
            let state = loaded.state.borrow().clone().restore(&ctx).map_err(thrown)?;
            values::read(&state).map_err(|why| match why {
                Unreadable::Told(told) => format!("its state: {told}").into(),
                Unreadable::Thrown(error) => thrown(error),
            })
        })
    }

    async fn adopt(&self, call: &Call, state: Value, from_generation: u64) -> MatchResult<bool> {
        self.is_used.set(true);
        let (fiber, budget) = (&self.engine.means.fiber, &self.engine.means.budget);
        let (engine, script) = (self.engine.clone(), self.script.clone());
        let call = call.clone();
        budget.begin(self.limits.load_time);
        let body = move || -> MatchResult<Option<LoadedMatch>> {
            let made = enter(&engine.context, |ctx| adopt(&ctx, &engine, &script, &call, state, from_generation));
            // Only the match's own callbacks are kept.
            *engine.registered.borrow_mut() = Default::default();
            made
        };
        let ended = fiber.run(budget, body).await;
        if budget.is_over() {
            return Err(LOADS_TOO_LONG.into());
        }
        let loaded = ended.unwrap_or_else(|error| Err(error.message.as_ref().into()))?;
        let is_taken = loaded.is_some();
        self.loaded.replace(loaded.map(Rc::new));
        Ok(is_taken)
    }
}

/// Runs the modules, and the handler's `matchMigrate`. `None` if there is no such function.
fn adopt(
    ctx: &Ctx<'_>,
    engine: &Engine,
    script: &Script,
    call: &Call,
    state: Value,
    from: u64,
) -> MatchResult<Option<LoadedMatch>> {
    let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(ctx, &error).message);
    script.run(ctx, engine)?;
    let callbacks = engine.registered.borrow_mut().matches.remove(&*call.handler);
    let Some(callbacks) = callbacks else {
        return Err(format!("InitModule did not register the match '{}' again", call.handler).into());
    };
    let Some(migrate) = callbacks.migrate.clone() else { return Ok(None) };
    let host = &engine.means.host;
    let prepare = || -> Result<_> {
        let context = context_of(ctx, "match", &host.process.facts)?;
        context.set("matchId", format!("{}.{}", call.id, host.node))?;
        context.set("matchNode", &*host.node)?;
        context.set("matchLabel", &*call.label)?;
        context.set("matchTickRate", call.tick_rate)?;
        let mut arguments = Args::new_unsized(ctx.clone());
        arguments.push_arg(context.clone())?;
        arguments.push_arg(engine.logger.clone())?;
        arguments.push_arg(engine.nk.clone())?;
        arguments.push_arg(values::write(ctx, state)?)?;
        arguments.push_arg(from as f64)?;
        Ok((context, migrate.restore(ctx)?, arguments))
    };
    let (context, function, arguments) = prepare().map_err(thrown)?;
    let returned = engine.call(ctx, &function, arguments).map_err(|failure| Arc::from(failure.in_full()))?;
    let state: Option<JsValue<'_>> = match returned.as_object() {
        Some(object) => Some(object.get("state").map_err(thrown)?),
        None => None,
    };
    let state = state.filter(|state| !state.is_null() && !state.is_undefined());
    let state = state.ok_or_else(|| Arc::from(format!("{MIGRATE} must return an object with a property state")))?;
    let (context, state) = (Persistent::save(ctx, context), Persistent::save(ctx, state));
    Ok(Some(LoadedMatch::new(callbacks, context, state)))
}
