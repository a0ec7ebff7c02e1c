//! Conversions between the tables of game code and the types of the server: host functions take such tables, and answer
//! them.

use muster_domain::account::parse_user_id;
use muster_domain::ids::UserId;
use muster_domain::ports::wallet::Amounts;
use muster_domain::{Error, Result, Timestamp};

use super::text_of;
use crate::value::Value;

/// A table of named values.
pub(super) struct Record(Vec<(String, Value)>);

impl Record {
    /// Reads a list of tables.
    ///
    /// # Errors
    /// `InvalidArgument` when the list holds anything else.
    pub(super) fn list(value: Value, what: &str) -> Result<Vec<Self>> {
        list(value).into_iter().map(|value| Self::of(value, what)).collect()
    }

    /// Reads one table.
    ///
    /// # Errors
    /// `InvalidArgument` when the value is anything else.
    pub(super) fn of(value: Value, what: &str) -> Result<Self> {
        match value {
            Value::Map(entries) => Ok(Self(entries)),
            Value::List(values) if values.is_empty() => Ok(Self(Vec::new())),
            other => Err(Error::invalid(format!(
                "expects {what} to be a table or object with names, got a {}",
                other.kind()
            ))),
        }
    }

    fn take(&mut self, name: &str) -> Value {
        let found = self.0.iter_mut().find(|(key, _)| is_name(key, name));
        found.map_or(Value::Nil, |(_, value)| std::mem::replace(value, Value::Nil))
    }

    /// A text; empty when it is missing.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        match self.take(name) {
            Value::Nil => Ok(String::new()),
            Value::Bytes(bytes) => text_of(bytes),
            other => Err(unfit(name, "string", &other)),
        }
    }

    /// The whole part of a number; `None` when it is missing.
    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i32>> {
        match self.take(name) {
            Value::Nil => Ok(None),
            Value::Number(number) => Ok(Some(number as i32)),
            other => Err(unfit(name, "number", &other)),
        }
    }

    /// A truth value; `None` when it is missing.
    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(name) {
            Value::Nil => Ok(None),
            Value::Flag(flag) => Ok(Some(flag)),
            other => Err(unfit(name, "boolean", &other)),
        }
    }

    /// A table as JSON; `None` when it is missing.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<String>> {
        object(self.take(name), name)
    }

    /// A player's id. Errors: `InvalidArgument` when it is missing.
    pub(super) fn user_id(&mut self, name: &str) -> Result<UserId> {
        parse_user_id(&self.text(name)?)
    }

    /// Amounts by name.
    pub(super) fn amounts(&mut self, name: &str) -> Result<Amounts> {
        amounts(self.take(name), name)
    }
}

/// The values of a list. Nil and an empty table are an empty list; any other value is a list of one.
pub(super) fn list(value: Value) -> Vec<Value> {
    match value {
        Value::List(values) => values,
        Value::Nil => Vec::new(),
        Value::Map(entries) if entries.is_empty() => Vec::new(),
        other => vec![other],
    }
}

/// The texts of a list, or of a single text.
pub(super) fn texts(value: Value, what: &str) -> Result<Vec<String>> {
    let text = |value| match value {
        Value::Bytes(bytes) => text_of(bytes),
        other => Err(Error::invalid(format!("expects {what} to be strings, got a {}", other.kind()))),
    };
    list(value).into_iter().map(text).collect()
}

/// The entries of a table with names; none for nil and an empty list.
pub(super) fn entries(value: Value, what: &str) -> Result<Vec<(String, Value)>> {
    match value {
        Value::Map(entries) => Ok(entries),
        Value::Nil => Ok(Vec::new()),
        Value::List(values) if values.is_empty() => Ok(Vec::new()),
        other => {
            Err(Error::invalid(format!("expects {what} to be a table or object with names, got a {}", other.kind())))
        }
    }
}

/// Texts by name.
pub(super) fn named_texts(value: Value, what: &str) -> Result<Vec<(String, String)>> {
    let text = |(name, value)| match value {
        Value::Bytes(bytes) => Ok((name, text_of(bytes)?)),
        other => Err(Error::invalid(format!("expects {what} to be strings, got a {}", other.kind()))),
    };
    entries(value, what)?.into_iter().map(text).collect()
}

/// A table as JSON; `None` for nil.
pub(super) fn object(value: Value, what: &str) -> Result<Option<String>> {
    match value {
        Value::Nil => Ok(None),
        Value::Map(_) => Ok(Some(value.to_json_text())),
        other => Err(unfit(what, "table or object", &other)),
    }
}

/// Amounts by name.
pub(super) fn amounts(value: Value, what: &str) -> Result<Amounts> {
    let entries = match value {
        Value::Map(entries) => entries,
        other => return Err(unfit(what, "table or object", &other)),
    };
    let amount = |(name, value): (String, Value)| {
        let got = match value {
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 9.3e18 => {
                return Ok((name, number as i64));
            }
            Value::Number(number) => number.to_string(),
            other => format!("a {}", other.kind()),
        };
        Err(Error::invalid(format!("expects the amounts of {what} to be whole numbers, got {got}")))
    };
    entries.into_iter().map(amount).collect()
}

/// Amounts as a table.
pub(super) fn of_amounts(amounts: Amounts) -> Value {
    Value::Map(amounts.into_iter().map(|(name, amount)| (name, Value::Number(amount as f64))).collect())
}

/// The value of a JSON text that the database holds; nil for a text that is no JSON.
pub(super) fn of_json(text: &str) -> Value {
    serde_json::from_str(text).map_or(Value::Nil, Value::from_json)
}

/// A moment in seconds since 1970.
pub(super) fn of_time(time: Timestamp) -> Value {
    Value::Number(time.seconds() as f64)
}

/// A table of named values, without those that are nil.
pub(super) fn record<const N: usize>(entries: [(&'static str, Value); N]) -> Value {
    Value::Record(entries.into_iter().filter(|(_, value)| *value != Value::Nil).collect())
}

/// Whether a key is a name of the server, as Lua or as JavaScript writes it.
pub(super) fn is_name(key: &str, name: &str) -> bool {
    key == name || is_camel_case_of(key, name)
}

/// Whether a key is a name of the server as JavaScript writes it: `userId` for `user_id`.
fn is_camel_case_of(key: &str, name: &str) -> bool {
    let mut wanted = name.split('_');
    let first = wanted.next().unwrap_or_default();
    let Some(mut rest) = key.strip_prefix(first) else { return false };
    for part in wanted {
        let (Some(head), Some(tail)) = (part.get(..1), part.get(1..)) else { return false };
        let Some(behind) = rest.strip_prefix(&head.to_ascii_uppercase()).and_then(|rest| rest.strip_prefix(tail))
        else {
            return false;
        };
        rest = behind;
    }
    rest.is_empty()
}

/// A text, or nil when there is none.
pub(super) fn some_text(text: String) -> Value {
    if text.is_empty() { Value::Nil } else { Value::text(text) }
}

fn unfit(name: &str, expected: &str, got: &Value) -> Error {
    let got = if matches!(got, Value::List(_)) { "list" } else { got.kind() };
    Error::invalid(format!("expects {name} to be a {expected}, got a {got}"))
}
