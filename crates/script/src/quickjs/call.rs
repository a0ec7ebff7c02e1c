//! Calls of functions and hooks in JavaScript, and the meaning of their results and errors. An `async` function's call
//! takes several turns on the machine's stack, one whenever a promise that it waits for was settled.

use std::rc::Rc;
use std::time::Duration;

use muster_api::game::{Failure, Invocation, STACK_LINE};
use muster_wire::code::Code;
use muster_wire::json::WriteOptions;
use rquickjs::function::Args;
use rquickjs::{Ctx, Persistent, Promise, Result, Value as JsValue};

use super::binary;
use super::errors::raised;
use super::host::Means;
use super::program::Bundle;
use super::promises::{ConcurrentCall, UNFULFILLED};
use super::register::SavedFunction;
use super::values::{self, kind, text};
use super::vm::{Engine, Vm, enter, settled};
use crate::host::Host;
use crate::machine::budget::OVER;
use crate::machine::call::{Breach, CallArgument, CallInput, CallOutcome, Callee, ResultType};
use crate::machine::limits::Limits;
use crate::machine::matches::is_want_of_memory;
use crate::machine::{LoadError, Machine};

/// The form of messages in JavaScript: names in camel case, with fields at their defaults.
const FORM: WriteOptions = WriteOptions { emit_defaults: true, camel_case: true };

/// Limit on the bytes of a message in JSON. A small value can make a long message, because an object is written at each
/// place that refers to it.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

impl Machine for Vm {
    type Program = Bundle;
    const LANGUAGE: &'static str = "JavaScript";
    const FORM: WriteOptions = FORM;

    async fn start(program: &Bundle, host: &Rc<Host>, limits: &Limits) -> std::result::Result<Self, LoadError> {
        let loaded = Self::load(&program.sources, Some(program.answers.clone()), host, limits).await;
        loaded.map(|(vm, _)| vm)
    }

    async fn call(
        &self,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
        limits: &Limits,
    ) -> CallOutcome {
        let Some(function) = self.engine.registered.borrow().functions.find(callee) else {
            return ended(Err(Failure::new(Code::NotFound, "The game has no function of this id.")));
        };
        let its = self.engine.promises.begin();
        let mut spent = Duration::ZERO;
        let engine = self.engine.clone();
        let begin = move || enter(&engine.context, |ctx| begin(&ctx, &engine, function, input, result_type));
        let mut end = self.turn(&its, limits, &mut spent, begin).await;
        loop {
            if let Some(end) = end {
                return end;
            }
            its.news().await;
            let engine = self.engine.clone();
            let go_on = move |promise| enter(&engine.context, |ctx| go_on(&ctx, &engine, promise, result_type));
            let its_promise = its.take_returned();
            end = self.turn(&its, limits, &mut spent, move || go_on(its_promise)).await;
        }
    }

    fn has_room(&self) -> bool {
        self.engine.has_room()
    }

    fn is_spent(&self) -> bool {
        self.engine.is_spent()
    }
}

/// The end of a call's turn, unless the turn was cut short.
enum TurnEnd {
    Answered(std::result::Result<Option<Vec<u8>>, Failure>),
    /// The call has returned this promise, which is not settled yet.
    Waits(Persistent<Promise<'static>>),
}

impl Vm {
    /// Gives a call a turn, after other calls of the machine have ended theirs. Returns the outcome of the call, if it
    /// has ended.
    async fn turn(
        &self,
        its: &ConcurrentCall<'_>,
        limits: &Limits,
        spent: &mut Duration,
        body: impl FnOnce() -> TurnEnd + 'static,
    ) -> Option<CallOutcome> {
        let Means { fiber, budget, .. } = &self.engine.means;
        let _turn = self.engine.promises.turn.lock().await;
        if self.engine.is_lost() {
            let told = "Another call of the same machine did not end. Try again.";
            return Some(ended(Err(Failure::new(Code::Unavailable, told))));
        }
        its.has_turn(true);
        budget.begin(limits.call_time.saturating_sub(*spent));
        let turned = fiber.run(budget, body).await;
        its.has_turn(false);
        if self.engine.is_lost() {
            self.engine.promises.wake_all();
        }
        *spent += budget.spent();
        if budget.is_over() {
            return Some(CallOutcome { result: Err(Failure::new(Code::Internal, OVER)), breach: Some(Breach::Time) });
        }
        match turned {
            Ok(TurnEnd::Waits(promise)) => {
                its.returned(promise);
                None
            }
            Ok(TurnEnd::Answered(result)) => Some(ended(result)),
            Err(error) => Some(ended(Err(Failure::new(Code::Internal, error.message)))),
        }
    }
}

fn begin(
    ctx: &Ctx<'_>,
    engine: &Engine,
    function: SavedFunction,
    CallInput { invocation, argument }: CallInput,
    result_type: ResultType,
) -> TurnEnd {
    let failed = |error: rquickjs::Error| raised(ctx, &error);
    engine.promises.settle(ctx);
    let called = || {
        let function = function.restore(ctx).map_err(failed)?;
        let arguments = arguments(ctx, engine, &invocation, argument).map_err(failed)?;
        engine.apply(ctx, &function, arguments)
    };
    turned(ctx, engine, called(), result_type)
}

fn go_on(
    ctx: &Ctx<'_>,
    engine: &Engine,
    promise: Option<Persistent<Promise<'static>>>,
    result_type: ResultType,
) -> TurnEnd {
    let failed = |error: rquickjs::Error| raised(ctx, &error);
    engine.promises.settle(ctx);
    let promised = || {
        engine.run_jobs(ctx)?;
        match promise {
            Some(promise) => promise.restore(ctx).map(Promise::into_value).map_err(failed),
            None => Ok(JsValue::new_undefined(ctx.clone())),
        }
    };
    turned(ctx, engine, promised(), result_type)
}

/// The end of a turn, given the value or promise that the function has returned.
fn turned<'js>(
    ctx: &Ctx<'js>,
    engine: &Engine,
    returned: std::result::Result<JsValue<'js>, Failure>,
    result_type: ResultType,
) -> TurnEnd {
    engine.promises.wake(ctx);
    let value = match returned {
        Ok(returned) => match returned.as_promise() {
            Some(promise) => match settled(ctx, promise) {
                Some(result) => {
                    engine.promises.handled(ctx, promise);
                    result
                }
                None if engine.promises.is_awaited() => return TurnEnd::Waits(Persistent::save(ctx, promise.clone())),
                None => Err(Failure::new(Code::Internal, UNFULFILLED)),
            },
            None => Ok(returned),
        },
        Err(failure) => Err(failure),
    };
    engine.warn_of_rejections(ctx);
    let unfit = |failure: Failure| failure.with_stack(STACK_LINE);
    TurnEnd::Answered(value.and_then(|value| meaning(ctx, value, result_type).map_err(unfit)))
}

fn arguments<'js>(
    ctx: &Ctx<'js>,
    engine: &Engine,
    invocation: &Invocation,
    argument: CallArgument,
) -> Result<Args<'js>> {
    let mut arguments = Args::new_unsized(ctx.clone());
    arguments.push_arg(engine.contexts.of_invocation(ctx, invocation)?)?;
    arguments.push_arg(engine.logger.clone())?;
    arguments.push_arg(engine.nk.clone())?;
    match argument {
        CallArgument::Text(text) => arguments.push_arg(text)?,
        CallArgument::Number(number) => arguments.push_arg(number)?,
        CallArgument::Value(value) => arguments.push_arg(values::write(ctx, value)?)?,
        CallArgument::Request(request, body) => {
            let request = values::write(ctx, request)?;
            if let Some(request) = request.as_object() {
                request.set("body", binary::write(ctx, &body)?)?;
            }
            arguments.push_arg(request)?;
        }
        CallArgument::Messages(messages) => {
            for message in messages {
                let message = match message {
                    Some(json) => ctx.json_parse(json)?,
                    None => JsValue::new_null(ctx.clone()),
                };
                arguments.push_arg(message)?;
            }
        }
    }
    Ok(arguments)
}

/// A function's result in the form that its caller wants.
fn meaning<'js>(
    ctx: &Ctx<'js>,
    value: JsValue<'js>,
    result_type: ResultType,
) -> std::result::Result<Option<Vec<u8>>, Failure> {
    let unfit = |told: String| Failure::new(Code::Internal, told);
    let failed = |error: rquickjs::Error| raised(ctx, &error);
    if result_type == ResultType::Nothing || value.is_null() || value.is_undefined() {
        return Ok(None);
    }
    if result_type == ResultType::Value {
        let read = values::read(&value).map_err(|why| match why {
            values::Unreadable::Told(told) => unfit(told),
            values::Unreadable::Thrown(error) => failed(error),
        })?;
        return Ok(Some(read.encode()));
    }
    match (result_type, value.as_string()) {
        (ResultType::Text, Some(string)) => return Ok(Some(text(string).map_err(failed)?.into_bytes())),
        (ResultType::Text, None) => {
            let kind = kind(&value);
            return Err(unfit(format!(
                "The function returned a value of type {kind}; it may return a string or nothing."
            )));
        }
        _ if !value.is_object() || value.is_array() || value.is_function() => {
            return Err(unfit(format!("The hook returned no message: {} instead of an object.", kind(&value))));
        }
        _ => {}
    }
    let Some(json) = ctx.json_stringify(value).map_err(failed)? else {
        return Err(unfit("The hook returned no message.".to_owned()));
    };
    let json = text(&json).map_err(failed)?.into_bytes();
    if json.len() > MESSAGE_BYTES_MAX {
        return Err(unfit(format!("The hook returned no message: it has more than {MESSAGE_BYTES_MAX} bytes.")));
    }
    Ok(Some(json))
}

fn ended(result: std::result::Result<Option<Vec<u8>>, Failure>) -> CallOutcome {
    let is_memory = |failure: &Failure| is_want_of_memory(&failure.message);
    let breach = result.as_ref().err().filter(|failure| is_memory(failure)).map(|_| Breach::Memory);
    CallOutcome { result, breach }
}
