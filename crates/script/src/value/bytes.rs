//! Values as bytes in MessagePack, for messages between nodes and for logs.

use muster_domain::{Error, Result};
use rmpv::Value as Packed;

use super::{DEPTH_MAX, Value, names};

/// Deepest nesting in the count of the MessagePack library, for which a list and the values in it are two levels.
const PACKED_DEPTH_MAX: usize = 2 * DEPTH_MAX + 1;

/// Extension type of [`Value::Results`].
const RESULTS: i8 = 1;
/// Extension type of [`Value::Record`].
const RECORD: i8 = 2;

impl Value {
    pub fn encode(self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing into memory does not fail.
        let _ = rmpv::encode::write_value(&mut out, &pack(self));
        out
    }

    /// Reads a value from the bytes that [`Value::encode`] wrote; empty bytes are [`Value::Nil`].
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that do not encode a value.
    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::Nil);
        }
        let packed = rmpv::decode::read_value_with_max_depth(&mut bytes, PACKED_DEPTH_MAX);
        unpack(packed.map_err(|error| Error::invalid(format!("no value: {error}")))?)
    }
}

fn pack(value: Value) -> Packed {
    match value {
        Value::Nil => Packed::Nil,
        Value::Flag(flag) => Packed::Boolean(flag),
        Value::Number(number) => Packed::F64(number),
        Value::Bytes(bytes) => Packed::Binary(bytes),
        Value::List(values) => Packed::Array(values.into_iter().map(pack).collect()),
        Value::Map(entries) => {
            Packed::Map(entries.into_iter().map(|(name, value)| (Packed::from(name), pack(value))).collect())
        }
        Value::Record(entries) => {
            let entry = |(name, value): (&str, Value)| (Packed::from(name), pack(value));
            marked(RECORD, &Packed::Map(entries.into_iter().map(entry).collect()))
        }
        Value::Results(values) => marked(RESULTS, &Packed::Array(values.into_iter().map(pack).collect())),
    }
}

/// A packed value with an extension type. Records and results have one, because MessagePack has no types for them.
fn marked(mark: i8, packed: &Packed) -> Packed {
    let mut bytes = Vec::new();
    // Writing into memory does not fail.
    let _ = rmpv::encode::write_value(&mut bytes, packed);
    Packed::Ext(mark, bytes)
}

/// Reads the value of an extension type.
fn unmarked(mark: i8, bytes: &[u8]) -> Result<Value> {
    match (mark, Value::decode(bytes)?) {
        (RESULTS, Value::List(values)) => Ok(Value::Results(values)),
        (RECORD, Value::Map(entries)) => {
            let entries = entries.into_iter().map(|(name, value)| Ok((names::known(&name)?, value)));
            Ok(Value::Record(entries.collect::<Result<_>>()?))
        }
        _ => Err(Error::invalid("a value of an unknown kind")),
    }
}

fn unpack(packed: Packed) -> Result<Value> {
    Ok(match packed {
        Packed::Nil => Value::Nil,
        Packed::Boolean(flag) => Value::Flag(flag),
        Packed::F64(number) => Value::Number(number),
        Packed::Binary(bytes) => Value::Bytes(bytes),
        Packed::Array(values) => Value::List(values.into_iter().map(unpack).collect::<Result<_>>()?),
        Packed::Map(entries) => {
            let entry = |(name, value): (Packed, Packed)| match name {
                Packed::String(name) => {
                    let name = name.into_str().ok_or_else(|| Error::invalid("a name is no text"))?;
                    Ok((name, unpack(value)?))
                }
                _ => Err(Error::invalid("a name is no text")),
            };
            Value::Map(entries.into_iter().map(entry).collect::<Result<_>>()?)
        }
        Packed::Ext(mark, bytes) => unmarked(mark, &bytes)?,
        _ => return Err(Error::invalid("a value of an unknown kind")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_went() {
        let inner = Value::Map(vec![("a".into(), Value::Number(-0.5)), ("\u{e9}".into(), Value::Nil)]);
        let record = Value::Record(vec![("user_id", inner.clone()), ("no_field_of_ours", Value::Record(Vec::new()))]);
        let all = Value::List(vec![inner, Value::Flag(true), Value::Bytes(vec![0xff, 0]), Value::List(Vec::new())]);
        let all = Value::Results(vec![all, record, Value::List(vec![Value::Record(vec![("key", Value::Nil)])])]);
        assert_eq!(Value::decode(&all.clone().encode()).unwrap(), all);
        assert_eq!(Value::decode(&[]).unwrap(), Value::Nil);
        let nested = (0..DEPTH_MAX).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
        assert_eq!(Value::decode(&nested.clone().encode()).unwrap(), nested);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for bytes in
            [&[0xc4_u8, 2, 0][..], &[0x91], &[0x81, 0x01, 0x01], &[0xdd, 0xff, 0xff, 0xff, 0xff], &[0x91; 1_000]]
        {
            assert!(Value::decode(bytes).is_err(), "{bytes:x?}");
        }
    }
}
