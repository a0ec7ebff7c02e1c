//! Arguments of a call of a host function. They are checked against the function's row, then read one after the other.

use muster_domain::{Error, Result};

use super::row::HostFunction;
use super::types::Type;
use crate::value::Value;

/// The arguments of a call, each of the type that the function's row names. Arguments that were left out have their
/// defaults.
pub struct Arguments(std::vec::IntoIter<Value>);

impl Arguments {
    /// Checks arguments against a function's parameters.
    ///
    /// # Errors
    /// `InvalidArgument` for an argument of another type, in the words of Lua's own functions.
    pub fn check(function: &HostFunction, mut values: Vec<Value>) -> Result<Self> {
        values.resize(function.parameters.len(), Value::Nil);
        for (index, (parameter, value)) in function.parameters.iter().zip(&mut values).enumerate() {
            match (parameter.of, &*value) {
                (_, Value::Nil) if parameter.is_optional => *value = parameter.default.value(),
                (Type::Text | Type::Bytes, Value::Number(number)) => *value = Value::text(number.to_string()),
                (of, value) if of.takes(value) => {}
                (of, value) => {
                    let (number, name, expected, got) = (index + 1, function.name, of.expected("table"), value.kind());
                    let why = format!("bad argument #{number} to {name} ({expected} expected, got {got})");
                    return Err(Error::invalid(why));
                }
            }
        }
        Ok(Self(values.into_iter()))
    }

    /// The next argument.
    pub fn any(&mut self) -> Value {
        self.0.next().unwrap_or(Value::Nil)
    }

    /// The next argument, a text of any bytes; empty when it was left out.
    pub fn bytes(&mut self) -> Vec<u8> {
        match self.any() {
            Value::Bytes(bytes) => bytes,
            _ => Vec::new(),
        }
    }

    /// The next argument, a text that may be missing.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are no UTF-8.
    pub fn text_or_none(&mut self) -> Result<Option<String>> {
        match self.any() {
            Value::Bytes(bytes) => text_of(bytes).map(Some),
            _ => Ok(None),
        }
    }

    /// The next argument, a text; empty when it was left out.
    ///
    /// # Errors
    /// As [`Arguments::text_or_none`].
    pub fn text(&mut self) -> Result<String> {
        Ok(self.text_or_none()?.unwrap_or_default())
    }

    /// The next argument, a number that may be missing. Its digits behind the point are cut off.
    pub fn integer(&mut self) -> Option<i32> {
        match self.any() {
            Value::Number(number) => Some(number as i32),
            _ => None,
        }
    }

    /// The next argument, a moment in seconds since 1970 that may be missing.
    pub fn seconds(&mut self) -> Option<i64> {
        match self.any() {
            Value::Number(number) => Some(number as i64),
            _ => None,
        }
    }

    /// The next argument, a truth value that may be missing.
    pub fn flag_or_none(&mut self) -> Option<bool> {
        match self.any() {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// The next argument, a truth value. A parameter that may be left out has a default in the row, and is false
    /// without one.
    pub fn flag(&mut self) -> bool {
        self.flag_or_none().unwrap_or_default()
    }
}

/// Bytes as a text.
///
/// # Errors
/// `InvalidArgument` for bytes that are no UTF-8.
pub(super) fn text_of(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::invalid("A text must be valid UTF-8."))
}
