//! Builds an operation's request message from the parts of an HTTP request.
//!
//! The body is the message or one field of it. The query sets the other fields, unless the body is the whole message.
//! The path's parameters are set last and override both. Query parameters that the message does not have are ignored.

use std::borrow::Cow;

use super::{Body, Match};
use crate::code::Code;
use crate::json::{FieldError, FieldPath, JsonError, JsonMessage, Mode, Reader, SetField};

/// A request that does not fit its message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body is malformed.
    #[error(transparent)]
    Body(#[from] JsonError),
    /// A parameter of the path or the query is malformed.
    #[error("parameter \"{name}\": expected {expected}")]
    Parameter {
        /// The parameter's name, as the schema or the client writes it.
        name: String,
        /// The values that the field takes.
        expected: &'static str,
    },
}

impl DecodeError {
    /// The code of the answer.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::InvalidArgument
    }

    fn parameter(name: &str, error: FieldError) -> Self {
        Self::Parameter { name: name.to_owned(), expected: error.expected }
    }
}

/// Builds the request message. `query` is the text behind the question mark, or empty. An empty body is the empty
/// message.
///
/// # Errors
/// When the body is not JSON of the right form, or a parameter does not fit its field.
pub fn decode_http<M: JsonMessage + SetField>(matched: &Match<'_>, query: &str, body: &[u8]) -> Result<M, DecodeError> {
    let mut message = M::default();
    match matched.binding.body {
        Body::Absent => set_from_query(&mut message, matched, query)?,
        Body::Whole => read_body(body, |reader| {
            message = M::read_json(reader)?;
            Ok(())
        })?,
        Body::Field(name) => {
            read_body(body, |reader| read_body_field(&mut message, name, reader))?;
            set_from_query(&mut message, matched, query)?;
        }
    }
    set_from_path(&mut message, matched)?;
    Ok(message)
}

/// Sets the field that the body contains, in a message whose other fields are set already.
///
/// # Errors
/// When the body is not JSON of the right form.
pub fn decode_body<M: JsonMessage>(matched: &Match<'_>, body: &[u8], message: &mut M) -> Result<(), DecodeError> {
    match matched.binding.body {
        Body::Absent | Body::Whole => Ok(()),
        Body::Field(name) => read_body(body, |reader| read_body_field(message, name, reader)),
    }
}

fn read_body(body: &[u8], read: impl FnOnce(&mut Reader<'_>) -> Result<(), JsonError>) -> Result<(), DecodeError> {
    let mut reader = Reader::new(body, Mode::Tolerant)?;
    if reader.peek().is_some() {
        read(&mut reader)?;
        reader.end()?;
    }
    Ok(())
}

fn read_body_field<M: JsonMessage>(message: &mut M, name: &str, reader: &mut Reader<'_>) -> Result<(), JsonError> {
    match M::field_number(name) {
        Some(number) if !reader.take_null()? => message.read_field(number, reader).map_err(|error| error.inside(name)),
        _ => Ok(()),
    }
}

fn set_from_query<M: SetField>(message: &mut M, matched: &Match<'_>, query: &str) -> Result<(), DecodeError> {
    let taken = taken_fields::<M>(matched);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = percent_decode(name, true).ok_or_else(|| malformed(name))?;
        let (first, path) = FieldPath::split(&name);
        let Some(number) = M::field_number(first) else { continue };
        if taken & (1 << number) != 0 {
            continue;
        }
        let value = percent_decode(value, true).ok_or_else(|| malformed(&name))?;
        message.set_field(number, path, &value).map_err(|error| DecodeError::parameter(&name, error))?;
    }
    Ok(())
}

/// The parameters of a query in their order, decoded. Malformed ones are left out, because no reader could ask for them
/// by name.
#[must_use]
pub fn query_parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let decoded = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((percent_decode(name, true)?.into_owned(), percent_decode(value, true)?.into_owned()))
    });
    decoded.collect()
}

fn set_from_path<M: SetField>(message: &mut M, matched: &Match<'_>) -> Result<(), DecodeError> {
    for (name, raw) in matched.binding.parameter_names().zip(matched.parameters.as_slice()) {
        let value = percent_decode(raw, false).ok_or_else(|| malformed(name))?;
        if let Some(number) = M::field_number(name) {
            message
                .set_field(number, FieldPath::default(), &value)
                .map_err(|error| DecodeError::parameter(name, error))?;
        }
    }
    Ok(())
}

/// The fields that the path and the body set, one bit for each field number. Field numbers are at most 63.
fn taken_fields<M: JsonMessage>(matched: &Match<'_>) -> u64 {
    let body = match matched.binding.body {
        Body::Field(name) => Some(name),
        Body::Absent | Body::Whole => None,
    };
    let names = matched.binding.parameter_names().chain(body);
    names.filter_map(M::field_number).fold(0, |taken, number| taken | 1 << number)
}

fn malformed(name: &str) -> DecodeError {
    DecodeError::parameter(name, FieldError { expected: "percent-encoded UTF-8" })
}

/// Decodes `%XX`, and in queries `+` as a space. `None` if the text is malformed or not UTF-8.
fn percent_decode(text: &str, query: bool) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| byte == b'%' || (query && byte == b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            b'+' if query => b' ',
            _ => byte,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
