//! Encoding of the frames between the host and an instance, field by field: numbers in little endian, texts and lists
//! behind their length. `sdk/go/wire.go` is the other side.

use crate::value::allowance::Allowance;
use crate::value::{DEPTH_MAX, Value};

/// Bytes of the length that stands before each frame to the instance.
const LENGTH_BYTES: usize = 4;

const NIL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NUMBER: u8 = 3;
const BYTES: u8 = 4;
const LIST: u8 = 5;
const RECORD: u8 = 6;
const JSON: u8 = 7;

/// Writes a frame for an instance.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Begins a frame of this kind.
    pub(super) fn new(kind: u8) -> Self {
        let mut out = Vec::with_capacity(256);
        out.extend([0; LENGTH_BYTES]);
        out.push(kind);
        Self(out)
    }

    /// The finished frame.
    pub(super) fn finish(mut self) -> Vec<u8> {
        // A frame whose length does not fit would exceed every limit on values that cross.
        let length = u32::try_from(self.0.len() - LENGTH_BYTES).unwrap_or(u32::MAX);
        self.0[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        self.0
    }

    pub(super) fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    pub(super) fn flag(&mut self, flag: bool) -> &mut Self {
        self.byte(u8::from(flag))
    }

    pub(super) fn u32(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn u64(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn i64(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn length(&mut self, length: usize) -> &mut Self {
        self.u32(u32::try_from(length).unwrap_or(u32::MAX))
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len());
        self.0.extend(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Writes a text that may be missing; a missing one is written as an empty one.
    pub(super) fn text_or_none(&mut self, text: Option<&str>) -> &mut Self {
        self.text(text.unwrap_or_default())
    }

    pub(super) fn pairs<'a>(&mut self, pairs: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> &mut Self {
        self.length(pairs.len());
        for (name, value) in pairs {
            self.text(name).text(value);
        }
        self
    }

    /// Writes a value. Maps, whose names a studio chose, cross as JSON, since most of them become texts of JSON in Go.
    pub(super) fn value(&mut self, value: Value) -> &mut Self {
        match value {
            Value::Nil => self.byte(NIL),
            Value::Flag(false) => self.byte(FALSE),
            Value::Flag(true) => self.byte(TRUE),
            Value::Number(number) => self.byte(NUMBER).u64(number.to_bits()),
            Value::Bytes(bytes) => self.byte(BYTES).bytes(&bytes),
            Value::List(values) | Value::Results(values) => {
                self.byte(LIST).length(values.len());
                values.into_iter().for_each(|value| {
                    self.value(value);
                });
                self
            }
            Value::Record(entries) => {
                self.byte(RECORD).length(entries.len());
                for (name, value) in entries {
                    self.text(name).value(value);
                }
                self
            }
            map @ Value::Map(_) => self.byte(JSON).text(&map.into_json().to_string()),
        }
    }
}

/// Reads a frame of an instance.
pub(super) struct Reader<'a>(&'a [u8]);

/// The reason why a frame cannot be read.
pub(super) type Unreadable = String;

type Read<T> = Result<T, Unreadable>;

impl<'a> Reader<'a> {
    pub(super) fn new(frame: &'a [u8]) -> Self {
        Self(frame)
    }

    fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("a frame ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| "a frame ends too early".to_owned())
    }

    pub(super) fn byte(&mut self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn flag(&mut self) -> Read<bool> {
        Ok(self.byte()? != 0)
    }

    pub(super) fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Read<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Reads the length of a list, whose elements take at least one byte each.
    pub(super) fn length(&mut self) -> Read<usize> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return Err("a frame ends too early".to_owned());
        }
        Ok(length)
    }

    pub(super) fn bytes(&mut self) -> Read<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// Reads a text. Bytes that are no UTF-8 become replacement characters.
    pub(super) fn text(&mut self) -> Read<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Reads a list of values, which share one allowance.
    pub(super) fn values(&mut self) -> Read<Vec<Value>> {
        let mut left = Allowance::new();
        let length = self.length()?;
        (0..length).map(|_| self.value(&mut left, 0)).collect()
    }

    fn value(&mut self, left: &mut Allowance, depth: usize) -> Read<Value> {
        if depth > DEPTH_MAX {
            return Err(format!("values nested deeper than {DEPTH_MAX}"));
        }
        let kind = self.byte()?;
        Ok(match kind {
            BYTES => {
                let bytes = self.bytes()?;
                left.take(bytes.len())?;
                Value::Bytes(bytes.to_vec())
            }
            JSON => {
                let json = self.bytes()?;
                left.take_json(json)?;
                serde_json::from_slice(json).map(Value::from_json).map_err(|error| format!("no JSON: {error}"))?
            }
            LIST => {
                left.take(0)?;
                let length = self.length()?;
                Value::List((0..length).map(|_| self.value(left, depth + 1)).collect::<Read<_>>()?)
            }
            RECORD => {
                left.take(0)?;
                let length = self.length()?;
                let mut entry = || Ok((self.text()?, self.value(left, depth + 1)?));
                Value::Map((0..length).map(|_| entry()).collect::<Read<_>>()?)
            }
            _ => {
                left.take(0)?;
                match kind {
                    NIL => Value::Nil,
                    FALSE => Value::Flag(false),
                    TRUE => Value::Flag(true),
                    NUMBER => Value::Number(f64::from_bits(self.u64()?)),
                    _ => return Err(format!("a value of an unknown kind {kind}")),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Vec<Value>, Unreadable> {
        let mut writer = Writer::new(1);
        writer.length(1).value(value);
        let frame = writer.finish();
        assert_eq!(frame.len() - 4, u32::from_le_bytes(frame[..4].try_into().unwrap()) as usize);
        Reader::new(&frame[5..]).values()
    }

    #[test]
    fn values_come_back_with_what_is_the_studios_as_json() {
        let inner = || Value::Map(vec![("a".into(), Value::Nil), ("b".into(), Value::Number(1.0))]);
        let given = Value::List(vec![
            Value::Record(vec![("user_id", Value::text("x")), ("metadata", inner())]),
            Value::Flag(true),
            Value::Number(-0.5),
            Value::Bytes(vec![0xff]),
        ]);
        let expect = Value::List(vec![
            Value::Map(vec![("user_id".into(), Value::text("x")), ("metadata".into(), inner())]),
            Value::Flag(true),
            Value::Number(-0.5),
            Value::Bytes(vec![0xff]),
        ]);
        assert_eq!(read(given).unwrap(), [expect]);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for frame in [&[][..], &[1, 0, 0, 0], &[1, 0, 0, 0, 9], &[1, 0, 0, 0, BYTES, 9, 0, 0, 0, 1], &[255; 4]] {
            assert!(Reader::new(frame).values().is_err(), "{frame:?}");
        }
        let mut nested = Vec::from([1, 0, 0, 0]);
        nested.extend([LIST, 1, 0, 0, 0].repeat(DEPTH_MAX + 2));
        nested.push(NIL);
        assert!(Reader::new(&nested).values().unwrap_err().contains("nested"));
    }
}
