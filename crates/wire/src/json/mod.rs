//! The JSON dialect of the protocol: snake_case names, numeric enums, 64-bit integers as strings, defaults omitted,
//! wrappers bare, RFC 3339 times. Messages get their code from `cargo xtask codegen`; nothing here reflects.
//!
//! Reading accepts both name cases and everything protojson accepts; see [`Mode`] for unknown members.

mod error;
mod field;
mod number;
mod plain;
mod reader;
mod scalar;
mod text;
mod writer;

pub use error::{JsonError, JsonProblem};
pub use field::{EnumNames, Field, read, read_arm, read_enum};
pub use reader::{Mode, NESTING_DEPTH_MAX, Reader};
pub use text::{FieldError, FieldPath, SetField, set, set_arm, set_enum};
pub use writer::{WriteOptions, Writer};

/// A protobuf message that has a JSON form. Implemented by generated code, and by `()` for the empty message.
pub trait JsonMessage: Default {
    /// Writes the members that are not at their default.
    fn write_fields(&self, writer: &mut Writer<'_>);

    /// The field number of a member name in either case, or `None` if the message has no such field.
    fn field_number(name: &str) -> Option<u32>;

    /// Reads the value of one field; the reader stands before the value, which is not `null`.
    ///
    /// # Errors
    /// Fails when the value has the wrong form for the field.
    fn read_field(&mut self, number: u32, reader: &mut Reader<'_>) -> Result<(), JsonError>;

    /// Writes the message as a JSON object.
    fn write_json(&self, out: &mut Vec<u8>) {
        Writer::new(out, WriteOptions::default()).object(self);
    }

    /// Reads one JSON object; the reader stands before it.
    ///
    /// # Errors
    /// Fails on anything but an object of this message; the error names the member.
    fn read_json(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
        let mut message = Self::default();
        field::read_members(&mut message, reader)?;
        Ok(message)
    }
}

impl JsonMessage for () {
    fn write_fields(&self, _writer: &mut Writer<'_>) {}

    fn field_number(_name: &str) -> Option<u32> {
        None
    }

    fn read_field(&mut self, _number: u32, _reader: &mut Reader<'_>) -> Result<(), JsonError> {
        Ok(())
    }
}

/// The JSON text of a message.
#[must_use]
pub fn to_json<M: JsonMessage>(message: &M) -> Vec<u8> {
    to_json_with(message, WriteOptions::default())
}

/// The JSON text of a message in another style than the wire's, for the console and for game code.
#[must_use]
pub fn to_json_with<M: JsonMessage>(message: &M, options: WriteOptions) -> Vec<u8> {
    /// Fits most answers, so that the buffer grows once at most.
    const CAPACITY: usize = 512;
    let mut out = Vec::with_capacity(CAPACITY);
    Writer::new(&mut out, options).object(message);
    out
}

/// Reads a message from a complete JSON text.
///
/// # Errors
/// Fails on invalid UTF-8, anything but one object of this message, and text after it.
pub fn from_json<M: JsonMessage>(text: &[u8], mode: Mode) -> Result<M, JsonError> {
    let mut reader = Reader::new(text, mode)?;
    let message = M::read_json(&mut reader)?;
    reader.end()?;
    Ok(message)
}
