//! The callbacks of a match, and the meaning of their returns.

use std::sync::Arc;

use muster_live::matches::{Callback, Outcome, TICK_RATES};
use rquickjs::{Ctx, Object, Persistent, Value as JsValue};

use super::MatchResult;
use crate::quickjs::errors::raised;
use crate::quickjs::register::{CALLBACKS, TIMER};
use crate::quickjs::values::{kind, text};

/// The properties of the object that `matchInit` returned.
pub(super) struct InitReturn {
    pub(super) state: Persistent<JsValue<'static>>,
    pub(super) tick_rate: u32,
    pub(super) label: Arc<str>,
}

/// The index of a callback in [`CALLBACKS`] and its name. The callback for timers is optional and has no index.
pub(super) fn callback(callback: &Callback) -> (Option<usize>, &'static str) {
    let index = match callback {
        Callback::Init { .. } => 0,
        Callback::JoinAttempt { .. } => 1,
        Callback::Join(_) => 2,
        Callback::Leave(_) => 3,
        Callback::Loop(_) => 4,
        Callback::Terminate { .. } => 5,
        Callback::Signal(_) => 6,
        Callback::Timer { .. } => return (None, TIMER),
    };
    (Some(index), CALLBACKS[index])
}

/// Reads the object that `matchInit` returned: `{ state, tickRate, label }`.
///
/// # Errors
/// A sentence that says so, when it returned another value.
pub(super) fn begun<'js>(ctx: &Ctx<'js>, returned: JsValue<'js>) -> MatchResult<InitReturn> {
    let Some(object) = returned.as_object() else {
        let got = kind(&returned);
        return Err(
            format!("matchInit must return an object with state, tickRate and label, but returned {got}").into()
        );
    };
    let state = get(ctx, object, "state")?;
    if state.is_null() || state.is_undefined() {
        return Err("matchInit returned no state".into());
    }
    let whole = |number: &f64| number.fract() == 0.0 && *number > 0.0;
    let Some(tick_rate) = get(ctx, object, "tickRate")?.as_number().filter(whole) else {
        let (least, most) = (TICK_RATES.start(), TICK_RATES.end());
        return Err(format!("matchInit must return a whole number from {least} to {most} as tickRate").into());
    };
    let label = text_of(ctx, object, "matchInit", "label")?;
    Ok(InitReturn { state: Persistent::save(ctx, state), tick_rate: tick_rate as u32, label })
}

/// The outcome that a callback's return stands for. `null` ends the match; with `{ state }` the match goes on with that
/// state, which is passed to `keep`.
///
/// # Errors
/// A sentence that says so, when the return is of a wrong type.
pub(super) fn outcome<'js>(
    ctx: &Ctx<'js>,
    callback: &Callback,
    name: &str,
    returned: JsValue<'js>,
    keep: impl FnOnce(JsValue<'js>),
) -> MatchResult<Outcome> {
    if returned.is_null() || returned.is_undefined() {
        return Ok(Outcome::Over);
    }
    let Some(object) = returned.as_object() else {
        let got = kind(&returned);
        return Err(format!("{name} must return an object with the state, or null to end the match, not {got}").into());
    };
    let state = get(ctx, object, "state")?;
    if state.is_undefined() {
        return Err(format!("{name} must return an object with a property state").into());
    }
    if state.is_null() {
        return Ok(Outcome::Over);
    }
    keep(state);
    match callback {
        Callback::JoinAttempt { .. } => {
            let accept = get(ctx, object, "accept")?;
            match accept.as_bool() {
                Some(true) => Ok(Outcome::Decided(Ok(()))),
                Some(false) => Ok(Outcome::Decided(Err(text_of(ctx, object, name, "rejectMessage")?))),
                None => {
                    let got = kind(&accept);
                    Err(format!("{name} must return true or false as accept, not {got}").into())
                }
            }
        }
        Callback::Signal(_) => Ok(Outcome::Signalled(text_of(ctx, object, name, "data")?)),
        _ => Ok(Outcome::GoesOn),
    }
}

fn get<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> MatchResult<JsValue<'js>> {
    object.get(name).map_err(|error| raised(ctx, &error).message.into())
}

/// A property that must be a string; empty if it is missing. `of` names the callback in errors.
fn text_of<'js>(ctx: &Ctx<'js>, object: &Object<'js>, of: &str, name: &str) -> MatchResult<Arc<str>> {
    let value = get(ctx, object, name)?;
    if value.is_null() || value.is_undefined() {
        return Ok(Arc::default());
    }
    let Some(string) = value.as_string() else {
        return Err(format!("{of} returned {} as {name}, which must be a string", kind(&value)).into());
    };
    text(string).map(Arc::from).map_err(|error| raised(ctx, &error).message.into())
}
