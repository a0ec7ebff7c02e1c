//! Loggers of JavaScript: objects that write formatted lines, with fields, to the server's log.

use std::rc::Rc;

use rquickjs::function::{Func, Rest};
use rquickjs::object::Filter;
use rquickjs::{Ctx, Function, Object, Result, String as JsString, Value as JsValue};

use super::errors::throw;
use super::format::fill;
use super::host::Means;
use super::values::{self, text};
use crate::host::{LINE_BYTES_MAX, cut};
use crate::value::Value;
use crate::value::allowance::Allowance;
use muster_wire::code::Code;

/// Limit on the fields of a logger.
const FIELDS_MAX: usize = 32;
/// Limit on the bytes of a field's name. Longer names are cut, since a logger's fields do not count for the machine's
/// memory.
const NAME_BYTES_MAX: usize = 256;
/// Limit on the bytes of a field's value. Longer values are cut.
const FIELD_BYTES_MAX: usize = 1024;

type Fields = Rc<Vec<(String, String)>>;

#[derive(Clone, Copy)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A logger without fields. It writes nothing while its machine repeats `InitModule`.
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
        its.count(&ctx)?;
        with_fields(&ctx, &its, joined(&ctx, &known, vec![(text(&name)?, text(&value)?)])?)
    };
    logger.set("withField", Func::from(one))?;
    let (its, known) = (means.clone(), fields.clone());
    let several = move |ctx: Ctx<'js>, pairs: Object<'js>| {
        its.count(&ctx)?;
        let (mut added, mut left) = (Vec::new(), Allowance::new());
        for pair in pairs.own_props::<JsString<'js>, JsValue<'js>>(Filter::new().string().enum_only()) {
            let (name, value) = pair?;
            added.push((text(&name)?, fill("%v", vec![of(&ctx, &value, &mut left)?])));
            if added.len() > FIELDS_MAX {
                return Err(too_many_fields(&ctx));
            }
        }
        with_fields(&ctx, &its, joined(&ctx, &known, added)?)
    };
    logger.set("withFields", Func::from(several))?;
    logger.set("fields", object_of(ctx, &fields)?)?;
    let get = move |ctx: Ctx<'js>| object_of(&ctx, &fields);
    logger.set("getFields", Func::from(get))?;
    Ok(logger)
}

fn object_of<'js>(ctx: &Ctx<'js>, fields: &Fields) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in fields.iter() {
        values::put(&object, name, values::write(ctx, Value::text(value.as_str()))?)?;
    }
    Ok(object)
}

fn joined(ctx: &Ctx<'_>, known: &Fields, added: Vec<(String, String)>) -> Result<Fields> {
    let is_known = |name: &String| added.iter().any(|(other, _)| other == name);
    let mut fields: Vec<_> = known.iter().filter(|(name, _)| !is_known(name)).cloned().collect();
    fields.extend(added.into_iter().map(|(name, value)| (cut(name, NAME_BYTES_MAX), cut(value, FIELD_BYTES_MAX))));
    if fields.len() > FIELDS_MAX {
        return Err(too_many_fields(ctx));
    }
    Ok(Rc::new(fields))
}

fn too_many_fields(ctx: &Ctx<'_>) -> rquickjs::Error {
    throw(ctx, Code::InvalidArgument, &format!("a logger has at most {FIELDS_MAX} fields"))
}

fn writes<'js>(ctx: &Ctx<'js>, name: &str, level: Level, means: Means, fields: Fields) -> Result<Function<'js>> {
    let function =
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, format: JsString<'js>, rest: Rest<JsValue<'js>>| {
            if means.host.current.repeats_once() {
                return Ok(());
            }
            means.count(&ctx)?;
            let mut left = Allowance::new();
            let arguments = rest.0.iter().map(|value| of(&ctx, value, &mut left)).collect::<Result<_>>()?;
            let line = cut(fill(&text(&format)?, arguments), LINE_BYTES_MAX);
            let fields = written(&fields);
            let (host, bytes) = (&means.host, line.len() + fields.as_ref().map_or(0, String::len));
            if host.current.may_log(bytes, &host.process.metrics) {
                write(level, line, fields.as_deref());
            }
            Ok::<_, rquickjs::Error>(())
        })?;
    function.with_name(name)
}

/// A value for a log line. Errors and functions are shown as JavaScript prints them.
fn of<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>, left: &mut Allowance) -> Result<Value> {
    if value.is_error() || value.is_function() {
        let string: Function<'js> = ctx.globals().get("String")?;
        let written: JsString<'js> = string.call((value.clone(),))?;
        let written = text(&written)?;
        return Ok(Value::text(left.take(written.len()).map_or_else(|why| format!("({why})"), |()| written)));
    }
    match values::read_within(value, left) {
        Ok(value) => Ok(value),
        Err(values::Unreadable::Told(why)) => Ok(Value::text(format!("({why})"))),
        Err(values::Unreadable::Thrown(error)) => Err(error),
    }
}

/// The text of fields behind a line.
fn written(fields: &Fields) -> Option<String> {
    let named: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!named.is_empty()).then(|| named.join(" "))
}

fn write(level: Level, line: String, fields: Option<&str>) {
    match level {
        Level::Debug => tracing::debug!(message = line, runtime = "javascript", fields),
        Level::Info => tracing::info!(message = line, runtime = "javascript", fields),
        Level::Warn => tracing::warn!(message = line, runtime = "javascript", fields),
        Level::Error => tracing::error!(message = line, runtime = "javascript", fields),
    }
}
