//! Single values, written and read as JSON and read from plain text.

use std::io::Write as _;

use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use bytes::Bytes;

use super::error::JsonError;
use super::field::Field;
use super::text::{FieldError, FieldPath};
use super::{Reader, Writer, number};
use crate::Timestamp;

impl Field for String {
    #[inline]
    fn is_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.string(self);
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        *self = reader.string()?.into_owned();
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        path.end()?;
        text.clone_into(self);
        Ok(())
    }
}

impl Field for bool {
    #[inline]
    fn is_default(&self) -> bool {
        !*self
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.raw(if *self { b"true" } else { b"false" });
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        *self = reader.boolean()?;
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        path.end()?;
        *self = match text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
            "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
            _ => return Err(FieldError { expected: "true or false" }),
        };
        Ok(())
    }
}

macro_rules! integer_field {
    ($type:ty, $expected:literal, $quoted:literal) => {
        impl Field for $type {
            #[inline]
            fn is_default(&self) -> bool {
                *self == 0
            }

            fn write(&self, writer: &mut Writer<'_>) {
                let quote: &[u8] = if $quoted { b"\"" } else { b"" };
                writer.raw(quote);
                writer.display(*self);
                writer.raw(quote);
            }

            fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
                let value = read_integer(reader, $expected)?;
                *self = <$type>::try_from(value).map_err(|_| reader.expected($expected))?;
                Ok(())
            }

            fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
                path.end()?;
                *self = text.parse().map_err(|_| FieldError { expected: $expected })?;
                Ok(())
            }
        }
    };
}

integer_field!(i32, "a 32-bit integer", false);
integer_field!(u32, "an unsigned 32-bit integer", false);
integer_field!(i64, "a 64-bit integer", true);

fn read_integer(reader: &mut Reader<'_>, expected: &'static str) -> Result<i64, JsonError> {
    let value = if reader.peek() == Some(b'"') {
        let text = reader.string()?;
        number::is_number(&text).then(|| number::integer(&text)).flatten()
    } else {
        match reader.number() {
            Ok(text) => number::integer(text),
            Err(_) => None,
        }
    };
    value.ok_or_else(|| reader.expected(expected))
}

impl Field for f64 {
    fn is_default(&self) -> bool {
        // The default is positive zero only: negative zero is written.
        self.to_bits() == 0
    }

    fn write(&self, writer: &mut Writer<'_>) {
        if self.is_nan() {
            writer.raw(b"\"NaN\"");
        } else if self.is_infinite() {
            writer.raw(if *self > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
        } else {
            writer.debug(*self);
        }
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        let value = if reader.peek() == Some(b'"') {
            match &*reader.string()? {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                text => finite(text),
            }
        } else {
            finite(reader.number()?)
        };
        *self = value.ok_or_else(|| reader.expected("a number"))?;
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        path.end()?;
        *self = text.parse().map_err(|_| FieldError { expected: "a number" })?;
        Ok(())
    }
}

fn finite(text: &str) -> Option<f64> {
    if !number::is_number(text) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

impl Field for Bytes {
    fn is_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.base64(self);
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        let text = reader.string()?;
        *self = decode_base64(&text).ok_or_else(|| reader.expected("base64"))?;
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        path.end()?;
        *self = decode_base64(text).ok_or(FieldError { expected: "base64" })?;
        Ok(())
    }
}

/// Decodes base64 in either alphabet, with full padding or with none.
fn decode_base64(text: &str) -> Option<Bytes> {
    let url = text.bytes().any(|byte| matches!(byte, b'-' | b'_'));
    let engine = match (url, text.len().is_multiple_of(4)) {
        (false, true) => &STANDARD_PADDED,
        (false, false) => &STANDARD_BARE,
        (true, true) => &URL_PADDED,
        (true, false) => &URL_BARE,
    };
    engine.decode(text).ok().map(Bytes::from)
}

const STANDARD_PADDED: GeneralPurpose = engine(&alphabet::STANDARD, DecodePaddingMode::RequireCanonical);
const STANDARD_BARE: GeneralPurpose = engine(&alphabet::STANDARD, DecodePaddingMode::RequireNone);
const URL_PADDED: GeneralPurpose = engine(&alphabet::URL_SAFE, DecodePaddingMode::RequireCanonical);
const URL_BARE: GeneralPurpose = engine(&alphabet::URL_SAFE, DecodePaddingMode::RequireNone);

/// A decoder that ignores bits behind the last byte, as other servers of the protocol do.
const fn engine(alphabet: &alphabet::Alphabet, padding: DecodePaddingMode) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(padding).with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config)
}

impl Field for Timestamp {
    fn is_default(&self) -> bool {
        false
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.raw(b"\"");
        writer.raw(self.rfc3339().as_bytes());
        writer.raw(b"\"");
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        let text = reader.string()?;
        *self = Timestamp::parse_rfc3339(&text).ok_or_else(|| reader.expected("an RFC 3339 time"))?;
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        path.end()?;
        *self = Timestamp::parse_rfc3339(text).ok_or(FieldError { expected: "an RFC 3339 time" })?;
        Ok(())
    }
}

impl Writer<'_> {
    pub(super) fn display(&mut self, value: impl std::fmt::Display) {
        // Writing to a vector cannot fail.
        let _ = write!(self.buffer(), "{value}");
    }

    fn debug(&mut self, value: f64) {
        // The debug form of a float is the shortest that reads back as the same value.
        let _ = write!(self.buffer(), "{value:?}");
    }

    fn base64(&mut self, value: &[u8]) {
        self.raw(b"\"");
        let out = self.buffer();
        let start = out.len();
        out.resize(start + base64::encoded_len(value.len(), true).unwrap_or_default(), 0);
        // The slice has exactly the encoded length, so this cannot fail.
        let _ = STANDARD.encode_slice(value, &mut out[start..]);
        self.raw(b"\"");
    }
}
