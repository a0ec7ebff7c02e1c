//! Slips in the names of functions of `nk` and of the initializer: `nk.storageReed`. QuickJS only says that something
//! is no function, so the last name that was looked up in vain is kept with its place, and told in the error.

use std::cell::RefCell;

use rquickjs::function::{Constructor, Func};
use rquickjs::{Ctx, Exception, JsLifetime, Object, Result, Value as JsValue};

use super::errors::place;
use super::{host, register};
use crate::machine::near::{did_you_mean, near};

/// The end of QuickJS's error for a call of something that is no function.
const NO_FUNCTION: &str = "not a function";

/// The name that was last looked up in vain.
struct Missed {
    object: &'static str,
    name: String,
    place: String,
}

/// A context's last name that was looked up in vain.
#[derive(Default)]
struct LastMissed(RefCell<Option<Missed>>);

#[expect(unsafe_code, reason = "the library cannot see that a type has no lifetime of JavaScript")]
// SAFETY: the type holds no value of JavaScript.
unsafe impl<'js> JsLifetime<'js> for LastMissed {
    type Changed<'to> = LastMissed;
}

/// Prepares a context.
///
/// # Errors
/// Never for a new context.
pub(super) fn begin(ctx: &Ctx<'_>) -> Result<()> {
    ctx.store_userdata(LastMissed::default()).map(drop).map_err(|_| rquickjs::Error::Unknown)
}

/// Has names that an object lacks noted. They are looked up in its prototype, which becomes a proxy for that.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn watch<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &'static str) -> Result<()> {
    let handler = Object::new(ctx.clone())?;
    let get = move |ctx: Ctx<'js>, target: Object<'js>, key: JsValue<'js>| -> Result<JsValue<'js>> {
        let found: JsValue<'js> = target.get(key.clone())?;
        if let Some(key) = key.as_string().filter(|_| found.is_undefined()) {
            note(&ctx, name, key.to_string()?);
        }
        Ok(found)
    };
    handler.set("get", Func::from(get))?;
    let proxy: Constructor<'js> = ctx.globals().get("Proxy")?;
    let prototype: Object<'js> = proxy.construct((Object::new(ctx.clone())?, handler))?;
    object.set_prototype(Some(&prototype))
}

fn note(ctx: &Ctx<'_>, object: &'static str, name: String) {
    let Some(place) = place_of_caller(ctx) else { return };
    if let Some(last) = ctx.userdata::<LastMissed>() {
        last.0.replace(Some(Missed { object, name, place }));
    }
}

/// The place of the code that called a function of the server: file, line and column.
pub(super) fn place_of_caller(ctx: &Ctx<'_>) -> Option<String> {
    let error = Exception::from_message(ctx.clone(), "").ok()?;
    place(error.as_value()).map(|place| plain(&place).to_owned())
}

/// A place without the name of the function around it.
fn plain(place: &str) -> &str {
    let inside = place.rsplit_once('(').map_or(place, |(_, inside)| inside);
    inside.trim_end_matches(')')
}

/// File and line of a place.
fn line_of(place: &str) -> &str {
    let place = plain(place);
    let mut colons = place.match_indices(':').map(|(at, _)| at);
    match (colons.next(), colons.next()) {
        (Some(_), Some(second)) => &place[..second],
        _ => place,
    }
}

/// An error's line with the remedy, if a name was looked up in vain where the error was thrown.
pub(super) fn with_remedy(ctx: &Ctx<'_>, value: &JsValue<'_>, told: String) -> String {
    if !told.ends_with(NO_FUNCTION) {
        return told;
    }
    let remedy = || {
        let last = ctx.userdata::<LastMissed>()?;
        let missed = last.0.take()?;
        if line_of(&missed.place) != line_of(&place(value)?) {
            return None;
        }
        let Missed { object, name, .. } = missed;
        let names = if object == "nk" { host::all_names() } else { register::names() };
        let near = near(&name, names.iter().map(String::as_str));
        let near: Vec<String> = near.into_iter().map(|name| format!("{object}.{name}")).collect();
        let remedy = did_you_mean(&near).unwrap_or_else(|| "the server has no such function".to_owned());
        Some(format!("{told} ({object}.{name}: {remedy})"))
    };
    remedy().unwrap_or(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_places() {
        assert_eq!(line_of("f (index.js:3:14)"), "index.js:3");
        assert_eq!(line_of("sub/a.ts:12:1"), "sub/a.ts:12");
        assert_eq!(plain("f (index.js:3:14)"), "index.js:3:14");
    }
}
