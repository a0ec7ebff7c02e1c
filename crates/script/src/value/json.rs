//! Values as JSON, read and written without a tree of another type in between.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::{Value, whole};

/// Writes JSON as the original does: names are sorted, bytes that are no UTF-8 become the replacement character, whole
/// numbers have no fraction, and numbers that JSON cannot express become null.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => to.serialize_unit(),
            Self::Flag(flag) => to.serialize_bool(*flag),
            Self::Number(number) => match whole(*number) {
                Some(number) => to.serialize_i64(number),
                None => to.serialize_f64(*number),
            },
            Self::Bytes(bytes) => to.serialize_str(&String::from_utf8_lossy(bytes)),
            Self::List(values) | Self::Results(values) => to.collect_seq(values),
            Self::Map(entries) => {
                write_object(entries.iter().map(|(name, value)| (name.as_str(), value)).collect(), to)
            }
            Self::Record(entries) => write_object(entries.iter().map(|(name, value)| (*name, value)).collect(), to),
        }
    }
}

fn write_object<S: Serializer>(mut entries: Vec<(&str, &Value)>, to: S) -> Result<S::Ok, S::Error> {
    entries.sort_by_key(|(name, _)| *name);
    let mut map = to.serialize_map(Some(entries.len()))?;
    for (index, (name, value)) in entries.iter().enumerate() {
        // Two keys of a Lua table may have the same name, such as the number 1 and the text 1. The last of them is
        // written.
        if entries.get(index + 1).is_none_or(|(next, _)| next != name) {
            map.serialize_entry(name, value)?;
        }
    }
    map.end()
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = from.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = from.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_original_writes_them_and_read_back() {
        let entries = [("b", Value::Number(1.0)), ("a", Value::Number(0.5)), ("b", Value::Number(-2.0))];
        let map = Value::Map(entries.map(|(name, value)| (name.to_owned(), value)).into());
        let value = Value::List(vec![Value::Nil, Value::Flag(true), Value::Bytes(vec![b'x', 0xff]), map]);
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(text, "[null,true,\"x\u{fffd}\",{\"a\":0.5,\"b\":-2}]");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let numbers = Value::List([f64::NAN, f64::INFINITY, 1e300, 9e15].map(Value::Number).into());
        assert_eq!(serde_json::to_string(&numbers).unwrap(), "[null,null,1e+300,9000000000000000]");
    }
}
