//! Matches that go over to newer code.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use muster_live::matches::{Call, MatchId};
use rquickjs::function::Args;
use rquickjs::{Ctx, Persistent, Result, Value as JsValue};

use super::{Ended, Game, MatchVm};
use crate::machine::budget::OVER;
use crate::machine::matches::Pace;
use crate::machine::migrate::Migrating;
use crate::quickjs::context::context_of;
use crate::quickjs::errors::raised;
use crate::quickjs::init::Answers;
use crate::quickjs::register::MIGRATE;
use crate::quickjs::sources::Sources;
use crate::quickjs::values::{self, Unreadable};
use crate::quickjs::vm::{Engine, enter};
use crate::value::Value;

impl Migrating for MatchVm {
    fn state(&self, _: MatchId) -> Ended<Value> {
        let game = self.game()?;
        self.engine.briefly(self.limits.call_time, |ctx| {
            let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(&ctx, &error).message);
            let state = game.state.borrow().clone().restore(&ctx).map_err(thrown)?;
            values::read(&state).map_err(|why| match why {
                Unreadable::Told(told) => format!("its state: {told}").into(),
                Unreadable::Thrown(error) => thrown(error),
            })
        })
    }

    async fn adopt(&self, call: &Call, state: Value, from_generation: u64) -> Ended<bool> {
        self.is_used.set(true);
        let (fiber, budget) = (&self.engine.means.fiber, &self.engine.means.budget);
        let (engine, sources, answers) = (self.engine.clone(), self.sources.clone(), self.answers.clone());
        let call = call.clone();
        budget.begin(self.limits.load_time);
        let body = move || -> Ended<Option<Game>> {
            let made = enter(&engine.context, |ctx| {
                adopt(&ctx, &engine, (&sources, &answers), &call, (state, from_generation))
            });
            // Only what the match needs of it stays.
            *engine.registered.borrow_mut() = Default::default();
            made
        };
        let ended = fiber.run(budget, body).await;
        if budget.is_over() {
            return Err(OVER.into());
        }
        let game = ended.unwrap_or_else(|error| Err(error.message.as_ref().into()))?;
        let is_taken = game.is_some();
        self.game.replace(game.map(Rc::new));
        Ok(is_taken)
    }
}

/// Runs the modules, and the function of the match that takes it over, if there is one.
fn adopt(
    ctx: &Ctx<'_>,
    engine: &Engine,
    (sources, answers): (&Arc<Sources>, &Answers),
    call: &Call,
    (state, from): (Value, u64),
) -> Ended<Option<Game>> {
    let thrown = |error: rquickjs::Error| Arc::<str>::from(raised(ctx, &error).message);
    engine.load(ctx, sources, Some(answers)).map_err(|error| Arc::from(error.to_string()))?;
    let callbacks = engine.registered.borrow_mut().matches.remove(&*call.handler);
    let Some(callbacks) = callbacks else {
        return Err(format!("InitModule did not register the match '{}' again", call.handler).into());
    };
    let Some(migrate) = callbacks.migrate.clone() else { return Ok(None) };
    let host = &engine.means.host;
    let prepare = || -> Result<_> {
        let shown = context_of(ctx, "match", &host.process.around)?;
        shown.set("matchId", format!("{}.{}", call.id, host.node))?;
        shown.set("matchNode", &*host.node)?;
        shown.set("matchLabel", &*call.label)?;
        shown.set("matchTickRate", call.tick_rate)?;
        let mut arguments = Args::new_unsized(ctx.clone());
        arguments.push_arg(shown.clone())?;
        arguments.push_arg(engine.logger.clone())?;
        arguments.push_arg(engine.nk.clone())?;
        arguments.push_arg(values::write(ctx, state)?)?;
        arguments.push_arg(from as f64)?;
        Ok((shown, migrate.restore(ctx)?, arguments))
    };
    let (shown, function, arguments) = prepare().map_err(thrown)?;
    let returned = engine.call(ctx, &function, arguments).map_err(|failure| Arc::from(failure.message))?;
    let state: Option<JsValue<'_>> = match returned.as_object() {
        Some(object) => Some(object.get("state").map_err(thrown)?),
        None => None,
    };
    let state = state.filter(|state| !state.is_null() && !state.is_undefined());
    let state = state.ok_or_else(|| Arc::from(format!("{MIGRATE} must return an object with a property state")))?;
    let shown = Persistent::save(ctx, shown);
    let state = RefCell::new(Persistent::save(ctx, state));
    Ok(Some(Game { callbacks, shown, state, pace: Pace::default(), calls: Cell::default() }))
}
