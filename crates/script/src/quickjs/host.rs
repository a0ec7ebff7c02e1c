//! The object `nk`, by whose methods JavaScript calls host functions.

use std::rc::{Rc, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_wire::code::Code;
use rquickjs::function::{Func, Opt, Rest};
use rquickjs::{Ctx, Function, IntoJs as _, Object, Promise, Result, Value as JsValue};

use super::binary;
use super::errors::{throw, throw_refusal, throw_unreadable};
use super::promises::Promises;
use super::slips;
use super::surface::{AnswerForm, FORMS, JavaScriptFunction, camel_case, names};
use super::values::{self, kind};
use crate::host::{Host, HostAnswer, HostFunction, Type, Unfit, UnfitMember, pending as pending_functions};
use crate::machine::budget::{Budget, OVER, Step};
use crate::machine::fiber::Fiber;
use crate::value::Value;
use crate::value::allowance::Allowance;

/// The parts of a machine that host functions work with.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) host: Rc<Host>,
    pub(super) fiber: Rc<Fiber>,
    pub(super) budget: Rc<Budget>,
    pub(super) promises: Weak<Promises>,
}

impl Means {
    /// Looks at the budget of the running call. The call may be put aside here while others have their turn, or fail
    /// because it must end.
    pub(super) fn take_a_step(&self, ctx: &Ctx<'_>) -> Result<()> {
        match self.budget.look() {
            Step::GoOn => {}
            Step::TakeTurns => self.fiber.take_turns(),
            Step::End => return Err(throw(ctx, Code::DeadlineExceeded, OVER)),
            Step::GiveUp => {
                self.fiber.give_up();
                return Err(throw(ctx, Code::DeadlineExceeded, OVER));
            }
        }
        if self.fiber.is_abandoned() {
            return Err(throw(ctx, Code::Unavailable, "the call was given up"));
        }
        Ok(())
    }

    /// Counts a call of a function that is not in the host table as a host call, since the host works for it too.
    pub(super) fn count(&self, ctx: &Ctx<'_>) -> Result<()> {
        self.take_a_step(ctx)?;
        self.host.current.count(&self.host.process.metrics).map_err(|error| throw_refusal(ctx, &error))
    }
}

/// Makes `nk`.
pub(super) fn nk<'js>(ctx: &Ctx<'js>, means: &Means) -> Result<Object<'js>> {
    let nk = Object::new(ctx.clone())?;
    let put = |to: &Object<'js>, names: &[String], function: Function<'js>| -> Result<()> {
        names.iter().try_for_each(|name| to.set(name.as_str(), function.clone().with_name(name)?))
    };
    let promises = Object::new(ctx.clone())?;
    for form in FORMS.iter() {
        put(&nk, &form.names, host_function(ctx, means.clone(), form)?)?;
        if form.function.may_wait() {
            put(&promises, &form.names, promising_function(ctx, means.clone(), form)?)?;
        }
    }
    // Lua's functions that register others are methods of the initializer here.
    for function in pending_functions().filter(|function| !function.name.starts_with("register_")) {
        put(&nk, &names(function), pending(ctx, format!("nk.{}", camel_case(function.name)))?)?;
    }
    nk.set("promises", promises)?;
    let its = means.clone();
    nk.set(
        "binaryToString",
        Func::from(move |ctx: Ctx<'js>, data: Opt<JsValue<'js>>| binary_to_string(ctx, &its, data)),
    )?;
    let its = means.clone();
    nk.set(
        "stringToBinary",
        Func::from(move |ctx: Ctx<'js>, text: Opt<JsValue<'js>>| string_to_binary(ctx, &its, text)),
    )?;
    slips::watch(ctx, &nk, "nk")?;
    Ok(nk)
}

/// Names of all functions of `nk`.
pub(super) fn all_names() -> Vec<String> {
    let built = FORMS.iter().flat_map(|form| form.names.clone());
    let pending = pending_functions().filter(|function| !function.name.starts_with("register_")).flat_map(names);
    built.chain(pending).chain(["binaryToString", "stringToBinary"].map(str::to_owned)).collect()
}

/// A function that throws an error, which says that the function is not available yet.
fn pending<'js>(ctx: &Ctx<'js>, name: String) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, _: Rest<JsValue<'js>>| {
        let told = format!("{name} is not available on this server yet.");
        Err::<(), _>(throw(&ctx, Code::Unimplemented, &told))
    })
}

fn binary_to_string<'js>(ctx: Ctx<'js>, means: &Means, Opt(data): Opt<JsValue<'js>>) -> Result<JsValue<'js>> {
    means.count(&ctx)?;
    let bytes = data.and_then(|data| data.into_object()).and_then(|object| binary::read(&object));
    let Some(bytes) = bytes else { return Err(throw(&ctx, Code::InvalidArgument, "expects an ArrayBuffer")) };
    match String::from_utf8(bytes) {
        Ok(text) => text.into_js(&ctx),
        Err(_) => Err(throw(&ctx, Code::InvalidArgument, "expects bytes that are UTF-8")),
    }
}

fn string_to_binary<'js>(ctx: Ctx<'js>, means: &Means, Opt(text): Opt<JsValue<'js>>) -> Result<JsValue<'js>> {
    means.count(&ctx)?;
    let Some(text) = text.and_then(|text| text.into_string()) else {
        return Err(throw(&ctx, Code::InvalidArgument, "expects a string"));
    };
    binary::write(&ctx, values::text(&text)?.as_bytes())
}

/// A host function in the form that JavaScript calls.
struct BoundHostFunction {
    form: &'static JavaScriptFunction,
    means: Means,
}

impl BoundHostFunction {
    /// Calls the function, and waits for its result.
    fn wait<'js>(&self, ctx: &Ctx<'js>, given: &[JsValue<'js>]) -> Result<JsValue<'js>> {
        let Self { form, means } = self;
        let function = form.function;
        means.take_a_step(ctx)?;
        let arguments = read(ctx, form, given)?;
        let written = AnswerWriter::new(form, &arguments);
        let answer = function.start(&means.host, arguments).and_then(|started| match started {
            HostAnswer::Ready(value) => Ok(value),
            HostAnswer::Pending(awaited) => means.fiber.wait(awaited),
        });
        match answer {
            Ok(value) => written.write(ctx, value),
            Err(error) => Err(throw_refusal(ctx, &HostFunction::named(&form.names[0], error))),
        }
    }

    /// Calls the function, and returns a promise of its result. If no other call may run while this one waits, the
    /// function is waited for, and the promise is settled already.
    fn promise<'js>(&self, ctx: &Ctx<'js>, given: &[JsValue<'js>]) -> Result<Promise<'js>> {
        let Self { form, means } = self;
        let promises = means.promises.upgrade().filter(|promises| promises.may_wait());
        let Some(promises) = promises else { return settled(ctx, self.wait(ctx, given)) };
        means.take_a_step(ctx)?;
        let arguments = match read(ctx, form, given) {
            Ok(arguments) => arguments,
            Err(error) => return settled(ctx, Err(error)),
        };
        let written = AnswerWriter::new(form, &arguments);
        match form.function.start(&means.host, arguments) {
            Ok(HostAnswer::Pending(awaited)) => promises.expect(ctx, &means.host, awaited, written),
            Ok(HostAnswer::Ready(value)) => settled(ctx, written.write(ctx, value)),
            Err(error) => settled(ctx, Err(throw_refusal(ctx, &HostFunction::named(&form.names[0], error)))),
        }
    }
}

/// A promise that is already fulfilled, or rejected with the exception.
fn settled<'js>(ctx: &Ctx<'js>, result: Result<JsValue<'js>>) -> Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    match result {
        Ok(value) => resolve.call::<_, ()>((value,))?,
        Err(error) if error.is_exception() => reject.call::<_, ()>((ctx.catch(),))?,
        Err(error) => return Err(error),
    }
    Ok(promise)
}

fn host_function<'js>(ctx: &Ctx<'js>, means: Means, form: &'static JavaScriptFunction) -> Result<Function<'js>> {
    let bound = BoundHostFunction { form, means };
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, given: Rest<JsValue<'js>>| bound.wait(&ctx, &given.0))
}

fn promising_function<'js>(ctx: &Ctx<'js>, means: Means, form: &'static JavaScriptFunction) -> Result<Function<'js>> {
    let bound = BoundHostFunction { form, means };
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, given: Rest<JsValue<'js>>| bound.promise(&ctx, &given.0))
}

/// Reads the arguments in the host's order, and checks their types.
fn read<'js>(ctx: &Ctx<'js>, form: &JavaScriptFunction, given: &[JsValue<'js>]) -> Result<Vec<Value>> {
    let function = form.function;
    let rules = &function.javascript.arguments;
    let called = form.names.first().map_or(function.name, String::as_str);
    let refuse = |told: String| throw(ctx, Code::InvalidArgument, &told);
    let mut arguments = Vec::with_capacity(function.parameters.len());
    let mut left = Allowance::new();
    for (index, (parameter, &position)) in function.parameters.iter().zip(&form.positions).enumerate() {
        let what = || format!("{called}: argument {} ({})", position + 1, camel_case(parameter.name));
        let Some(value) = given.get(position).filter(|value| !value.is_null() && !value.is_undefined()) else {
            if rules.is_optional(parameter) {
                arguments.push(Value::Nil);
                continue;
            }
            return Err(refuse(format!("{} is missing", what())));
        };
        let read = if matches!(parameter.of, Type::Any) { values::read_within } else { values::read_argument };
        let argument = read(value, &mut left).map_err(|unreadable| throw_unreadable(ctx, &what(), unreadable))?;
        // Unlike Lua, JavaScript takes no number and no buffer for a text.
        let is_unfit = match parameter.of {
            Type::Text => !value.is_string(),
            Type::Bytes => !matches!(argument, Value::Bytes(_)),
            of => !of.takes(&argument),
        };
        if is_unfit {
            let expected = parameter.of.expected("array or object");
            return Err(refuse(format!("{} must be of type {expected}, not {}", what(), kind(value))));
        }
        if let Some(unfit) = parameter.of.unfit_member(&argument, rules) {
            let UnfitMember { name, expected } = unfit;
            return Err(refuse(format!("{}: {} must be {expected}", what(), camel_case(name))));
        }
        arguments.push(match (index, function.javascript.takes_base64, argument) {
            (0, true, Value::Bytes(text)) => match STANDARD.decode(text) {
                Ok(bytes) => Value::Bytes(bytes),
                Err(_) => return Err(refuse(format!("{} is not base 64", what()))),
            },
            (_, _, argument) => argument,
        });
    }
    rules.apply(function, &mut arguments).map_err(|Unfit { index, expected }| {
        let (position, name) = (form.positions[index] + 1, camel_case(function.parameters[index].name));
        refuse(format!("{called}: argument {position} ({name}) must be {expected}"))
    })?;
    Ok(arguments)
}

/// Writes the answer of one call for JavaScript.
pub(super) struct AnswerWriter {
    form: &'static JavaScriptFunction,
    /// The argument that stands in the answer, too.
    repeated: Option<Value>,
}

impl AnswerWriter {
    fn new(form: &'static JavaScriptFunction, arguments: &[Value]) -> Self {
        let repeats = form.function.javascript.repeats;
        let named = form.function.parameters.iter().zip(arguments).find(|(parameter, _)| parameter.name == repeats);
        Self { form, repeated: named.map(|(_, value)| value.clone()) }
    }

    /// Converts a result of the host.
    pub(super) fn write<'js>(self, ctx: &Ctx<'js>, value: Value) -> Result<JsValue<'js>> {
        let javascript = &self.form.function.javascript;
        let shaped = javascript.tables.apply(self.form.function, value, camel_case);
        let written = write(ctx, &self.form.answer, shaped)?;
        if let (Some(repeated), Some(object)) = (self.repeated, written.as_object()) {
            object.set(camel_case(javascript.repeats), values::write(ctx, repeated)?)?;
        }
        Ok(written)
    }
}

fn write<'js>(ctx: &Ctx<'js>, answer: &AnswerForm, value: Value) -> Result<JsValue<'js>> {
    match (answer, value) {
        (AnswerForm::Named(names), Value::Results(results)) => object(ctx, names, results),
        (AnswerForm::Named(names), single) => object(ctx, names, vec![single]),
        (AnswerForm::Response(names), Value::Results(mut results)) => {
            if let Some(Value::Map(headers)) = results.get_mut(1) {
                for (_, header) in headers {
                    *header = Value::List(vec![std::mem::replace(header, Value::Nil)]);
                }
            }
            object(ctx, names, results)
        }
        (AnswerForm::Binary, Value::Bytes(bytes)) => binary::write(ctx, &bytes),
        (AnswerForm::Base64, Value::Bytes(bytes)) => STANDARD.encode(bytes).into_js(ctx),
        (AnswerForm::Plain, Value::Nil) => Ok(JsValue::new_undefined(ctx.clone())),
        (_, value) => values::write(ctx, value),
    }
}

/// An object of results by their names.
fn object<'js>(ctx: &Ctx<'js>, names: &[String], results: Vec<Value>) -> Result<JsValue<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in names.iter().zip(results) {
        object.set(name.as_str(), values::write(ctx, value)?)?;
    }
    Ok(object.into_value())
}
