//! Values as bytes in MessagePack, for messages between nodes and for logs.

use muster_domain::{Error, Result};
use rmpv::Value as Packed;

use super::{DEPTH_MAX, Value, names};

/// Deepest nesting of a packed value. It is deeper than that of game code's values, because the host nests these in
/// records and results.
const PACKED_DEPTH_MAX: usize = 2 * DEPTH_MAX;

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
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::Nil);
        }
        unpack(read(bytes, PACKED_DEPTH_MAX)?, PACKED_DEPTH_MAX)
    }
}

/// Reads a packed value that nests at most `left` levels.
fn read(mut bytes: &[u8], left: usize) -> Result<Packed> {
    // For the MessagePack library, a list and the values in it are two levels.
    let packed = rmpv::decode::read_value_with_max_depth(&mut bytes, 2 * left + 1);
    packed.map_err(|error| Error::invalid(format!("no value: {error}")))
}

/// The levels that are left within a list, a map, or an extension type, whose bytes are read anew.
fn within(left: usize) -> Result<usize> {
    left.checked_sub(1).ok_or_else(|| Error::invalid("a value is nested too deeply"))
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
fn unmarked(mark: i8, bytes: &[u8], left: usize) -> Result<Value> {
    match (mark, read(bytes, left)?) {
        (RESULTS, Packed::Array(values)) => Ok(Value::Results(unpack_all(values, left)?)),
        (RECORD, Packed::Map(entries)) => {
            let entries = unpack_entries(entries, left)?.into_iter();
            Ok(Value::Record(entries.map(|(name, value)| Ok((names::known(&name)?, value))).collect::<Result<_>>()?))
        }
        _ => Err(Error::invalid("a value of an unknown kind")),
    }
}

fn unpack(packed: Packed, left: usize) -> Result<Value> {
    Ok(match packed {
        Packed::Nil => Value::Nil,
        Packed::Boolean(flag) => Value::Flag(flag),
        Packed::F64(number) => Value::Number(number),
        Packed::Binary(bytes) => Value::Bytes(bytes),
        Packed::Array(values) => Value::List(unpack_all(values, left)?),
        Packed::Map(entries) => Value::Map(unpack_entries(entries, left)?),
        Packed::Ext(mark, bytes) => unmarked(mark, &bytes, left)?,
        _ => return Err(Error::invalid("a value of an unknown kind")),
    })
}

fn unpack_all(values: Vec<Packed>, left: usize) -> Result<Vec<Value>> {
    let left = within(left)?;
    values.into_iter().map(|value| unpack(value, left)).collect()
}

fn unpack_entries(entries: Vec<(Packed, Packed)>, left: usize) -> Result<Vec<(String, Value)>> {
    let left = within(left)?;
    let entry = |(name, value): (Packed, Packed)| match name {
        Packed::String(name) => {
            let name = name.into_str().ok_or_else(|| Error::invalid("a name is no text"))?;
            Ok((name, unpack(value, left)?))
        }
        _ => Err(Error::invalid("a name is no text")),
    };
    entries.into_iter().map(entry).collect()
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

    #[test]
    fn nesting_of_every_kind_counts() {
        let nested = |depth, mark| {
            (0..depth).fold(vec![0xc0], |inner: Vec<u8>, _| {
                let list = [&[0x91], &*inner].concat();
                [&[0xc9], &(list.len() as u32).to_be_bytes()[..], &[mark], &list].concat()
            })
        };
        let results = |depth| Value::decode(&nested(depth, RESULTS.cast_unsigned()));
        assert!(results(PACKED_DEPTH_MAX).is_ok());
        for depth in [PACKED_DEPTH_MAX + 1, 20_000] {
            assert!(results(depth).is_err(), "{depth}");
        }
        // An extension type directly within another one is no value.
        let bare = (0..20_000).fold(vec![0xc0], |inner: Vec<u8>, _| {
            [&[0xc9], &(inner.len() as u32).to_be_bytes()[..], &[1], &inner].concat()
        });
        assert!(Value::decode(&bare).is_err());
        let studio = (0..DEPTH_MAX).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
        let host = Value::Results(vec![Value::List(vec![Value::Record(vec![("value", studio)])])]);
        assert_eq!(Value::decode(&host.clone().encode()).unwrap(), host);
    }
}
