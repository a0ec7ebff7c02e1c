//! Conversion of errors between JavaScript and the host.

use std::rc::Rc;

use muster_api::game::Failure;
use muster_api::http::code;
use muster_domain::Error;
use muster_domain::storage::VERSION_CHECK_FAILED;
use muster_wire::code::Code;
use rquickjs::function::Constructor;
use rquickjs::object::Property;
use rquickjs::{Ctx, Exception, Function, JsLifetime, Object, String as JsString, Value as JsValue};

use super::memory::Memory;
use super::slips;
use super::values::{self, Unreadable, text};
use crate::machine::matches::OUT_OF_MEMORY;

/// The property of an error that holds its code.
const CODE: &str = "code";

/// The memory of a context's machine, which the context keeps so that its errors can be told.
struct KnownMemory(Rc<Memory>);

#[expect(unsafe_code, reason = "the library cannot see that a type has no lifetime of JavaScript")]
// SAFETY: the type holds no value of JavaScript.
unsafe impl<'js> JsLifetime<'js> for KnownMemory {
    type Changed<'to> = KnownMemory;
}

/// Lets a context know the memory of its machine.
///
/// # Errors
/// Never for a new context.
pub(super) fn know_memory(ctx: &Ctx<'_>, memory: &Rc<Memory>) -> rquickjs::Result<()> {
    ctx.store_userdata(KnownMemory(memory.clone())).map(drop).map_err(|_| rquickjs::Error::Unknown)
}

/// The name of the original's errors that are no fault of the arguments.
const HOST_ERROR: &str = "GoError";

/// Throws an error with a code. The property is not enumerable, so an uncaught error of the host reaches callers as an
/// internal error, as in the original; game code has to pass the error's code on itself.
pub(super) fn throw(ctx: &Ctx<'_>, code: Code, message: &str) -> rquickjs::Error {
    match error(ctx, code, message) {
        Ok(error) => ctx.throw(error),
        Err(error) => error,
    }
}

/// An error of the host. As in the original it is a `TypeError` if the arguments are wrong. Any other is an `Error` of
/// the name `GoError` with the property `value`, which shows the message as a text.
fn error<'js>(ctx: &Ctx<'js>, code: Code, message: &str) -> rquickjs::Result<JsValue<'js>> {
    let is_of_arguments = code == Code::InvalidArgument && !message.contains(VERSION_CHECK_FAILED);
    let error: Constructor<'js> = ctx.globals().get(if is_of_arguments { "TypeError" } else { "Error" })?;
    let error: Object<'js> = error.construct((message,))?;
    error.prop(CODE, Property::from(f64::from(code.number())).writable().configurable())?;
    if !is_of_arguments {
        let wrap: Constructor<'js> = ctx.globals().get("String")?;
        let value: Object<'js> = wrap.construct((message,))?;
        error.prop("name", Property::from(HOST_ERROR).writable().configurable())?;
        error.prop("value", Property::from(value).writable().configurable().enumerable())?;
    }
    Ok(error.into_value())
}

/// Throws an error with which the host refused a call.
pub(super) fn throw_refusal(ctx: &Ctx<'_>, error: &Error) -> rquickjs::Error {
    throw(ctx, code(error.kind), &error.message)
}

/// An error with which the host refused a call, as an `Error` of JavaScript.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn refusal<'js>(ctx: &Ctx<'js>, refused: &Error) -> rquickjs::Result<JsValue<'js>> {
    error(ctx, code(refused.kind), &refused.message)
}

/// Throws the reason why a value cannot be read. `what` names the value at the beginning of the message.
pub(super) fn throw_unreadable(ctx: &Ctx<'_>, what: &str, unreadable: Unreadable) -> rquickjs::Error {
    match unreadable {
        Unreadable::Told(why) => throw(ctx, Code::InvalidArgument, &format!("{what}: {why}")),
        Unreadable::Thrown(error) => error,
    }
}

/// The failure that an error of the library stands for. If the error says that JavaScript threw an exception, the
/// failure is that of the thrown value.
pub(super) fn raised(ctx: &Ctx<'_>, error: &rquickjs::Error) -> Failure {
    if error.is_exception() {
        return thrown(ctx, ctx.catch());
    }
    Failure::new(Code::Internal, error.to_string())
}

/// The failure that a thrown value stands for. The value may be an error, an object with a message and a code, or any
/// other value.
pub(super) fn thrown<'js>(ctx: &Ctx<'js>, value: JsValue<'js>) -> Failure {
    let failure = value.as_object().and_then(|object| told_by_author(ctx, object));
    let failure = failure.unwrap_or_else(|| Failure::new(Code::Internal, line(ctx, &value)));
    // Exceptions that were thrown while the value was read are discarded.
    drop(ctx.catch());
    failure
}

/// The failure that the author of the code meant callers to see: the message and the code that are enumerable
/// properties of the thrown object.
fn told_by_author<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> Option<Failure> {
    let listed = |name: &str| {
        let descriptor: Function<'js> =
            ctx.globals().get::<_, Object<'js>>("Object").ok()?.get("getOwnPropertyDescriptor").ok()?;
        let described: JsValue<'js> = descriptor.call((object.clone(), name)).ok()?;
        let described = described.into_object()?;
        described.get::<_, bool>("enumerable").ok()?.then(|| object.get::<_, JsValue<'js>>(name).ok())?
    };
    let message = listed("message").and_then(|message| message.as_string().and_then(|message| text(message).ok()));
    let number = listed(CODE).and_then(|code| code.as_number()).filter(|code| code.fract() == 0.0);
    if message.is_none() && number.is_none() {
        return None;
    }
    let message = message.unwrap_or_else(|| line(ctx, object.as_value()));
    Some(match number {
        Some(number) => Failure::numbered(number as i32, message),
        None => Failure::new(Code::Internal, message),
    })
}

/// A thrown value as a line, such as `Error: the message`.
fn line<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> String {
    let string = |value: &JsValue<'js>| {
        let string: Function<'js> = ctx.globals().get("String").ok()?;
        let written: JsString<'js> = string.call((value.clone(),)).ok()?;
        text(&written).ok()
    };
    let is_plain = value.is_object() && !value.is_error();
    if value.is_null() && ctx.userdata::<KnownMemory>().is_some_and(|known| known.0.take_refused()) {
        // QuickJS throws null when it has no memory left for an error.
        return OUT_OF_MEMORY.to_owned();
    }
    let json = if is_plain { values::read(value).ok().map(|value| value.into_json().to_string()) } else { None };
    let told = json.or_else(|| string(value)).unwrap_or_else(|| "an error that cannot be shown".to_owned());
    if value.is_error() { slips::with_remedy(ctx, value, told) } else { told }
}

/// The stack of an error, for the log; `None` if the value is no error.
pub(super) fn stack(value: &JsValue<'_>) -> Option<String> {
    Exception::from_object(value.as_object()?.clone())?.stack()
}

/// The stack of the code that called a function of the server.
pub(super) fn stack_here(ctx: &Ctx<'_>) -> Option<String> {
    Exception::from_message(ctx.clone(), "").ok()?.stack()
}

/// Gives an error of the host the stack of the code that asked the host.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn set_stack(error: &JsValue<'_>, stack: Option<String>) -> rquickjs::Result<()> {
    match (error.as_object(), stack) {
        (Some(error), Some(stack)) => error.prop("stack", Property::from(stack).writable().configurable()),
        _ => Ok(()),
    }
}

/// The place where an error was thrown, from its stack, for the log.
pub(super) fn place(value: &JsValue<'_>) -> Option<String> {
    let stack = stack(value)?;
    let first = stack.lines().map(str::trim).find(|line| !line.contains("(native)"))?;
    Some(first.strip_prefix("at ").unwrap_or(first).to_owned())
}
