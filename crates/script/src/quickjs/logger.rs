//! Loggers of JavaScript: lines by a format, with fields.

use std::rc::Rc;

use rquickjs::function::{Func, Rest};
use rquickjs::object::Filter;
use rquickjs::{Ctx, Function, Object, Result, String as JsString, Value as JsValue};

use super::errors::throw;
use super::format::fill;
use super::host::Means;
use super::values::{self, text};
use crate::value::Value;
use muster_wire::code::Code;

/// Longer lines are cut.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// Most fields of one logger.
const FIELDS_MAX: usize = 32;

type Fields = Rc<Vec<(String, String)>>;

#[derive(Clone, Copy)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A logger. While a machine repeats what `InitModule` did once, nothing is written.
pub(super) fn logger<'js>(ctx: &Ctx<'js>, means: &Means) -> Result<Object<'js>> {
    with_fields(ctx, means, Fields::default())
}

fn with_fields<'js>(ctx: &Ctx<'js>, means: &Means, fields: Fields) -> Result<Object<'js>> {
    let logger = Object::new(ctx.clone())?;
    for (name, level) in
        [("debug", Level::Debug), ("info", Level::Info), ("warn", Level::Warn), ("error", Level::Error)]
    {
        logger.set(name, writes(ctx, name, level, means.clone(), fields.clone())?)?;
    }
    let (its, known) = (means.clone(), fields.clone());
    let one = move |ctx: Ctx<'js>, name: JsString<'js>, value: JsString<'js>| {
        with_fields(&ctx, &its, joined(&ctx, &known, vec![(text(&name)?, text(&value)?)])?)
    };
    logger.set("withField", Func::from(one))?;
    let (its, known) = (means.clone(), fields.clone());
    let several = move |ctx: Ctx<'js>, pairs: Object<'js>| {
        let mut added = Vec::new();
        for pair in pairs.own_props::<JsString<'js>, JsValue<'js>>(Filter::new().string().enum_only()) {
            let (name, value) = pair?;
            added.push((text(&name)?, fill("%v", vec![of(&ctx, &value)?])));
        }
        with_fields(&ctx, &its, joined(&ctx, &known, added)?)
    };
    logger.set("withFields", Func::from(several))?;
    let get = move |ctx: Ctx<'js>| {
        let object = Object::new(ctx.clone())?;
        for (name, value) in fields.iter() {
            values::put(&object, name, values::write(&ctx, Value::text(value.as_str()))?)?;
        }
        Ok::<_, rquickjs::Error>(object)
    };
    logger.set("getFields", Func::from(get))?;
    Ok(logger)
}

fn joined(ctx: &Ctx<'_>, known: &Fields, added: Vec<(String, String)>) -> Result<Fields> {
    let is_known = |name: &String| added.iter().any(|(other, _)| other == name);
    let mut fields: Vec<_> = known.iter().filter(|(name, _)| !is_known(name)).cloned().collect();
    fields.extend(added);
    if fields.len() > FIELDS_MAX {
        return Err(throw(ctx, Code::InvalidArgument, &format!("a logger has at most {FIELDS_MAX} fields")));
    }
    Ok(Rc::new(fields))
}

fn writes<'js>(ctx: &Ctx<'js>, name: &str, level: Level, means: Means, fields: Fields) -> Result<Function<'js>> {
    let function =
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, format: JsString<'js>, rest: Rest<JsValue<'js>>| {
            if means.init.is_repeated() {
                return Ok(());
            }
            let arguments = rest.0.iter().map(|value| of(&ctx, value)).collect::<Result<_>>()?;
            let line = fill(&text(&format)?, arguments);
            let host = &means.host;
            if host.current.may_log(line.len().min(LINE_BYTES_MAX), &host.process.metrics) {
                write(level, line, &fields);
            }
            Ok::<_, rquickjs::Error>(())
        })?;
    function.with_name(name)
}

/// A value as a log shows it. An error is its line.
fn of<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> Result<Value> {
    if value.is_error() || value.is_function() {
        let string: Function<'js> = ctx.globals().get("String")?;
        let written: JsString<'js> = string.call((value.clone(),))?;
        return Ok(Value::text(text(&written)?));
    }
    match values::read(value) {
        Ok(value) => Ok(value),
        Err(values::Unreadable::Told(why)) => Ok(Value::text(format!("({why})"))),
        Err(values::Unreadable::Thrown(error)) => Err(error),
    }
}

fn write(level: Level, mut line: String, fields: &Fields) {
    let end = line.floor_char_boundary(LINE_BYTES_MAX);
    line.truncate(end);
    let named: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let fields = (!named.is_empty()).then(|| named.join(" "));
    let fields = fields.as_deref();
    match level {
        Level::Debug => tracing::debug!(message = line, runtime = "javascript", fields),
        Level::Info => tracing::info!(message = line, runtime = "javascript", fields),
        Level::Warn => tracing::warn!(message = line, runtime = "javascript", fields),
        Level::Error => tracing::error!(message = line, runtime = "javascript", fields),
    }
}
