//! Calls of functions and hooks in Lua: their arguments, and the meaning of their results and errors.

use std::rc::Rc;

use mlua::{IntoLuaMulti, Lua, MultiValue, Result, Value as LuaValue};
use muster_api::game::{Failure, STACK_LINE};
use muster_wire::code::Code;
use muster_wire::json::WriteOptions;

use super::program::Program;
use super::seat::Seat;
use super::vm::{Vm, plain};
use super::{messages, slips, values};
use crate::host::Host;
use crate::machine::budget::OVER;
use crate::machine::call::{Breach, CallArgument, CallInput, CallOutcome, Callee, ResultType};
use crate::machine::limits::Limits;
use crate::machine::matches::is_want_of_memory;
use crate::machine::{LoadError, Machine};
use crate::value::Value;

/// The frames below game code in the stack of an error, which are those of the machine.
const OUTER_FRAMES: &str = "\n\t[C]: in function 'call'\n\tprelude:";

/// The arguments of a call behind its context. `written` is the argument that was written together with the context;
/// messages are read here.
fn arguments_behind_context(lua: &Lua, argument: CallArgument, written: LuaValue) -> Result<MultiValue> {
    let CallArgument::Messages(messages) = argument else { return written.into_lua_multi(lua) };
    // A hook after an operation gets output and input. As in the original, an output of nothing is an empty table.
    let is_after = messages.len() > 1;
    let read = |(place, json): (usize, Option<Vec<u8>>)| match json {
        Some(json) => messages::read(lua, &json),
        None if is_after && place == 0 => lua.create_table().map(LuaValue::Table),
        None => Ok(LuaValue::Nil),
    };
    messages.into_iter().enumerate().map(read).collect()
}

/// A function's result in the form that its caller wants.
fn meaning(lua: &Lua, value: LuaValue, result_type: ResultType) -> std::result::Result<Option<Vec<u8>>, Failure> {
    let unfit = |told: String| Failure::new(Code::Internal, told);
    match (result_type, value) {
        (ResultType::Nothing, _) | (_, LuaValue::Nil) => Ok(None),
        (ResultType::Text, LuaValue::String(text)) => Ok(Some(text.as_bytes().to_vec())),
        (ResultType::Value, value) => {
            let value = values::read(lua, value).map_err(|error| unfit(plain(&error)))?;
            Ok(Some(value.encode()))
        }
        (ResultType::Text, other) => {
            Err(unfit(format!("The function returned a {}; it may return a string or nothing.", kind(&other))))
        }
        (ResultType::Message, LuaValue::Table(table)) => messages::write(lua, table)
            .map(Some)
            .map_err(|told| unfit(format!("The hook returned no message: {told}."))),
        (ResultType::Message, other) => {
            Err(unfit(format!("The hook returned no message: a {} instead of a table.", kind(&other))))
        }
    }
}

impl Machine for Vm {
    fn has_room(&self) -> bool {
        // Garbage does not count.
        self.lua.gc_collect().is_ok() && self.lua.used_memory() < self.machine_bytes / 4 * 3
    }

    fn is_spent(&self) -> bool {
        self.seats.are_lost()
    }

    type Program = Program;
    const LANGUAGE: &'static str = "Lua";
    /// The first call starts a machine, which takes less than a millisecond.
    const STARTS_EARLY: bool = false;
    const FORM: WriteOptions = messages::FORM;

    async fn start(program: &Program, host: &Rc<Host>, limits: &Limits) -> std::result::Result<Self, LoadError> {
        Self::load(&program.modules, &program.uses, program.once(), host, limits).await
    }

    async fn call(
        &self,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
        limits: &Limits,
    ) -> CallOutcome {
        let Some(function) = self.registered.borrow().find(callee) else {
            return ended(Err(Failure::new(Code::NotFound, "The game has no function of this id.")));
        };
        let seat = match self.seat() {
            Ok(seat) => seat,
            Err(error) => return ended(Err(Failure::new(Code::Internal, plain(&error)))),
        };
        seat.budget.at(self.file_of(&function));
        let (lua, host, contexts) = (self.lua.clone(), self.host.clone(), self.contexts.clone());
        let CallInput { invocation, argument } = input;
        let call = move |seat: &Seat| -> Result<MultiValue> {
            let (context, written) = contexts.of_call(&lua, &invocation, &argument, &host.process.facts)?;
            seat.context.replace(Some(context.clone()));
            let mut arguments = arguments_behind_context(&lua, argument, written)?;
            arguments.push_front(LuaValue::Table(context));
            arguments.push_front(LuaValue::Function(function));
            seat.call(arguments)
        };
        let ran = self.run(seat, limits.call_time, call).await;
        if ran.is_over {
            return CallOutcome { result: Err(Failure::new(Code::Internal, OVER)), breach: Some(Breach::Time) };
        }
        let results = ran.result.map_err(|told| Failure::new(Code::Internal, told));
        let value = results.and_then(|results| last_outcome(&self.lua, results)).map_err(without_place);
        ended(value.and_then(|value| {
            let unfit = |failure: Failure| failure.with_stack(&self.definition_of(callee));
            meaning(&self.lua, value, result_type).map_err(unfit)
        }))
    }
}

impl Vm {
    /// The place at which a function begins, in the form of a stack.
    fn definition_of(&self, callee: Callee<'_>) -> String {
        let info = self.registered.borrow().find(callee).map(|function| function.info());
        let place = info.and_then(|info| Some(format!("\n\t{}:{}", info.short_src?, info.line_defined?)));
        format!("{STACK_LINE}{}", place.unwrap_or_default())
    }
}

/// Lua's name of a value's type.
pub(super) fn kind(value: &LuaValue) -> &'static str {
    if value.is_number() || value.is_integer() { "number" } else { value.type_name() }
}

fn ended(result: std::result::Result<Option<Vec<u8>>, Failure>) -> CallOutcome {
    let is_memory = |failure: &Failure| is_want_of_memory(&failure.message);
    let breach = result.as_ref().err().filter(|failure| is_memory(failure)).map(|_| Breach::Memory);
    CallOutcome { result, breach }
}

/// The last result of a protected call of a function or hook: as in the original, results before it do not count.
fn last_outcome(lua: &Lua, mut results: MultiValue) -> std::result::Result<LuaValue, Failure> {
    if results.len() > 2 && matches!(results.front(), Some(LuaValue::Boolean(true))) {
        results = [LuaValue::Boolean(true), results.pop_back().unwrap_or(LuaValue::Nil)].into_iter().collect();
    }
    outcome(lua, results)
}

/// The result of a protected call, whose values are `true` and a result, or `false` and an error.
pub(super) fn outcome(lua: &Lua, results: MultiValue) -> std::result::Result<LuaValue, Failure> {
    let mut results = results.into_iter();
    let is_done = matches!(results.next(), Some(LuaValue::Boolean(true)));
    let value = results.next().unwrap_or(LuaValue::Nil);
    if is_done { Ok(value) } else { Err(raised_with_stack(lua, value, results.next())) }
}

/// The failure that game code raised. `stack` is the stack of the error, if it is known.
pub(super) fn raised_with_stack(lua: &Lua, value: LuaValue, stack: Option<LuaValue>) -> Failure {
    let failure = raised(lua, value);
    match stack {
        Some(LuaValue::String(stack)) => {
            let stack = stack.to_string_lossy();
            failure.with_stack(stack.split(OUTER_FRAMES).next().unwrap_or_default())
        }
        _ => failure,
    }
}

/// A failure as callers are told it: as in the original, without the place at the beginning of the message.
fn without_place(mut failure: Failure) -> Failure {
    let is_place = |place: &str| {
        let Some((file, line)) = place.rsplit_once(':') else { return false };
        (file.ends_with(".lua") || file.ends_with(']'))
            && !line.is_empty()
            && line.bytes().all(|it| it.is_ascii_digit())
    };
    if let Some((place, told)) = failure.message.split_once(": ")
        && is_place(place)
    {
        failure.message = told.to_owned();
    }
    failure
}

/// The failure that game code raised: a text, or a list of message and code. Other tables say no code, as in the
/// original; a field `message` is told.
pub(super) fn raised(lua: &Lua, value: LuaValue) -> Failure {
    if let LuaValue::Error(error) = &value {
        return Failure::new(Code::Internal, plain(error));
    }
    match values::read(lua, value) {
        Ok(Value::Bytes(text)) => {
            Failure::new(Code::Internal, slips::with_remedy(lua, String::from_utf8_lossy(&text).into_owned()))
        }
        Ok(Value::List(parts)) => {
            let mut parts = parts.into_iter();
            of_parts(parts.next(), parts.next())
        }
        Ok(Value::Map(entries)) => {
            let part = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            match part("message") {
                Some(message) => of_parts(Some(message), None),
                None => Failure::new(Code::Internal, Value::Map(entries).into_json().to_string()),
            }
        }
        Ok(other) => Failure::new(Code::Internal, other.into_json().to_string()),
        Err(error) => Failure::new(Code::Internal, plain(&error)),
    }
}

fn of_parts(message: Option<Value>, code: Option<Value>) -> Failure {
    let message = match message {
        Some(Value::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
        Some(other) => other.into_json().to_string(),
        None => String::new(),
    };
    match code {
        Some(Value::Number(number)) => Failure::numbered(number as i32, message),
        _ => Failure::new(Code::Internal, message),
    }
}
