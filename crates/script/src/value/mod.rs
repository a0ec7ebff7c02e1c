//! The values that game code and the host exchange, the same for every language.

pub mod allowance;
mod bytes;
#[cfg(test)]
pub(crate) mod fuzz;
mod json;
mod names;
pub(crate) mod original_json;

use serde_json::{Map, Number, Value as Json};

/// Deepest nesting of a value; reading or writing a deeper one is an error.
pub const DEPTH_MAX: usize = 100;

/// A value. Texts of game code may hold any bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Nil,
    /// A truth value.
    Flag(bool),
    /// A number; whole numbers up to 2^53 are exact.
    Number(f64),
    /// A text.
    Bytes(Vec<u8>),
    /// Values in order.
    List(Vec<Value>),
    /// Values by name, in the order in which game code gave them.
    Map(Vec<(String, Value)>),
    /// Values by names of the host, which have underscores. A language that writes names in another way renames these
    /// names and no others.
    Record(Vec<(&'static str, Value)>),
    /// Several results of one function. Lists, maps and records never hold such a value.
    Results(Vec<Value>),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }

    /// The type of the value, as Lua calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Flag(_) => "boolean",
            Self::Number(_) => "number",
            Self::Bytes(_) => "string",
            Self::List(_) | Self::Map(_) | Self::Record(_) | Self::Results(_) => "table",
        }
    }

    /// Approximate number of bytes of memory that the value takes.
    pub fn bytes(&self) -> usize {
        let held = match self {
            Self::Nil | Self::Flag(_) | Self::Number(_) => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::List(values) | Self::Results(values) => values.iter().map(Self::bytes).sum(),
            Self::Map(entries) => {
                entries.iter().map(|(name, value)| size_of::<String>() + name.len() + value.bytes()).sum()
            }
            Self::Record(entries) => entries.iter().map(|(_, value)| size_of::<&str>() + value.bytes()).sum(),
        };
        size_of::<Self>() + held
    }

    /// Converts to JSON. Bytes that are no UTF-8 become the replacement character, and numbers that JSON cannot express
    /// become null.
    pub fn into_json(self) -> Json {
        match self {
            Self::Nil => Json::Null,
            Self::Flag(flag) => Json::Bool(flag),
            Self::Number(number) => json_number(number),
            Self::Bytes(bytes) => Json::String(String::from_utf8_lossy(&bytes).into_owned()),
            Self::List(values) | Self::Results(values) => {
                Json::Array(values.into_iter().map(Self::into_json).collect())
            }
            Self::Map(entries) => {
                Json::Object(entries.into_iter().map(|(name, value)| (name, value.into_json())).collect::<Map<_, _>>())
            }
            Self::Record(entries) => Json::Object(
                entries.into_iter().map(|(name, value)| (name.to_owned(), value.into_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// Converts from JSON.
    pub fn from_json(json: Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(flag) => Self::Flag(flag),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::text(text),
            Json::Array(values) => Self::List(values.into_iter().map(Self::from_json).collect()),
            Json::Object(entries) => {
                Self::Map(entries.into_iter().map(|(name, value)| (name, Self::from_json(value))).collect())
            }
        }
    }
}

/// The number as an integer, if it is whole and within ±2^53, where every whole number is exact.
pub(crate) fn whole(number: f64) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
}

/// Converts a number to JSON. Whole numbers have no fraction, as in the original.
fn json_number(number: f64) -> Json {
    if let Some(number) = whole(number) {
        return Json::from(number);
    }
    Number::from_f64(number).map_or(Json::Null, Json::Number)
}
