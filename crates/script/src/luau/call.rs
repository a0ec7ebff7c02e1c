//! A call of a function: its context, and what its result or error means.

use mlua::{Lua, MultiValue, Result, Table, Value as LuaValue};
use muster_api::game::{Failure, Invocation};
use muster_wire::code::Code;

use super::budget::OVER;
use super::limits::Limits;
use super::once::{context_of, keep_context};
use super::values;
use super::vm::{Vm, plain};
use crate::functions::Surroundings;
use crate::value::Value;

/// What Luau says when a machine's memory is used up.
const NO_MEMORY: &str = "not enough memory";

/// The end of a call.
pub(crate) struct End {
    pub(crate) result: std::result::Result<Option<String>, Failure>,
    /// The limit that it went over.
    pub(crate) breach: Option<Breach>,
}

/// A limit that a call can go over.
pub(crate) enum Breach {
    Time,
    Memory,
}

impl Vm {
    /// Calls a registered function.
    pub(crate) async fn call(&self, id: &str, invocation: Invocation, around: &Surroundings, limits: &Limits) -> End {
        let Some(function) = self.function(id) else {
            return ended(Err(Failure::new(Code::NotFound, "The game has no function of this id.")));
        };
        let (lua, protected) = (self.lua.clone(), self.protected.clone());
        let around = around.clone();
        let call = move || -> Result<MultiValue> {
            let payload = lua.create_string(&invocation.payload)?;
            protected.call((function, context(&lua, &invocation, &around)?, payload))
        };
        self.budget.begin(limits.call_time);
        let results = self.fiber.run(&self.budget, call).await;
        if self.budget.is_over() {
            return End { result: Err(Failure::new(Code::Internal, OVER)), breach: Some(Breach::Time) };
        }
        ended(match results {
            Ok(Ok(results)) => outcome(results),
            Ok(Err(error)) => Err(Failure::new(Code::Internal, plain(&error))),
            Err(error) => Err(Failure::new(Code::Internal, error.message)),
        })
    }
}

/// Luau raises want of memory as a text of its own, which nothing else tells apart.
fn ended(result: std::result::Result<Option<String>, Failure>) -> End {
    let is_memory = |failure: &Failure| failure.message.ends_with(NO_MEMORY);
    let breach = result.as_ref().err().filter(|failure| is_memory(failure)).map(|_| Breach::Memory);
    End { result, breach }
}

/// The context table, with the original's names.
fn context(lua: &Lua, invocation: &Invocation, around: &Surroundings) -> Result<Table> {
    let context = context_of(lua, "rpc", around)?;
    let query = lua.create_table()?;
    for (name, values) in &invocation.query {
        query.raw_set(name.as_str(), lua.create_sequence_from(values.iter().map(String::as_str))?)?;
    }
    context.raw_set("query_params", query)?;
    if let Some(claims) = &invocation.user {
        context.raw_set("user_id", claims.user_id.to_string())?;
        context.raw_set("username", claims.username.as_str())?;
        context.raw_set("user_session_exp", claims.expires_at_sec as f64)?;
        let vars = claims.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        context.raw_set("vars", lua.create_table_from(vars)?)?;
    }
    if let Some(session_id) = &invocation.session_id {
        context.raw_set("session_id", session_id.as_str())?;
    }
    if let Some(address) = invocation.address {
        context.raw_set("client_ip", address.to_string())?;
    }
    keep_context(lua, &context)?;
    Ok(context)
}

/// What a call that ended says: `true` and results, or `false` and what was raised.
fn outcome(results: MultiValue) -> std::result::Result<Option<String>, Failure> {
    let mut results = results.into_iter();
    let is_done = matches!(results.next(), Some(LuaValue::Boolean(true)));
    let value = results.next().unwrap_or(LuaValue::Nil);
    match (is_done, value) {
        (true, LuaValue::Nil) => Ok(None),
        (true, LuaValue::String(text)) => Ok(Some(text.to_string_lossy())),
        (true, other) => {
            let message = format!("The function returned a {}; it may return a string or nothing.", other.type_name());
            Err(Failure::new(Code::Internal, message))
        }
        (false, value) => Err(raised(value)),
    }
}

/// An error as game code raised it: a text, or a table of message and code.
fn raised(value: LuaValue) -> Failure {
    if let LuaValue::Error(error) = &value {
        return Failure::new(Code::Internal, plain(error));
    }
    match values::read(value) {
        Ok(Value::Bytes(text)) => Failure::new(Code::Internal, String::from_utf8_lossy(&text)),
        Ok(Value::List(parts)) => {
            let mut parts = parts.into_iter();
            of_parts(parts.next(), parts.next())
        }
        Ok(Value::Map(entries)) => {
            let part = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            of_parts(part("message"), part("code"))
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
    let code = match code {
        Some(Value::Number(number)) => Code::from_number(number as u8).unwrap_or(Code::Internal),
        _ => Code::Internal,
    };
    Failure::new(code, message)
}
