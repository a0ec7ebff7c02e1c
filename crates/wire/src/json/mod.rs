//! The JSON dialect of the protocol: snake_case names, numeric enums, 64-bit integers as strings, defaults omitted,
//! wrappers as bare values, RFC 3339 times. `cargo xtask codegen` generates the code of each message; nothing is looked
//! up at run time by reflection.
//!
//! Reading accepts both cases of names, and everything else that protojson accepts; see [`Mode`] for unknown members.

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

/// A protobuf message that has a JSON form. Generated code implements it, and `()` is the empty message.
pub trait JsonMessage: Default {
    /// Writes the members whose values are not the default.
    fn write_fields(&self, writer: &mut Writer<'_>);

    /// The number of the field with this name, in snake_case or camelCase; `None` if the message has no such field.
    fn field_number(name: &str) -> Option<u32>;

    /// Reads the value of one field. The reader stands before the value, which is not `null`.
    ///
    /// # Errors
    /// When the value has the wrong form for the field.
    fn read_field(&mut self, number: u32, reader: &mut Reader<'_>) -> Result<(), JsonError>;

    /// Writes the message as a JSON object.
    fn write_json(&self, out: &mut Vec<u8>) {
        Writer::new(out, WriteOptions::default()).object(self);
    }

    /// Reads one JSON object. The reader stands before it.
    ///
    /// # Errors
    /// When the text is not an object of this message; the error names the member.
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

/// The JSON text of a message in another style than the wire's: the styles of the console and of game code.
#[must_use]
pub fn to_json_with<M: JsonMessage>(message: &M, options: WriteOptions) -> Vec<u8> {
    /// Initial bytes of the buffer: enough for most answers.
    const CAPACITY: usize = 512;
    let mut out = Vec::with_capacity(CAPACITY);
    Writer::new(&mut out, options).object(message);
    out
}

/// Reads a message from a complete JSON text.
///
/// # Errors
/// When the text is not UTF-8, is not one object of this message, or goes on after the object.
pub fn from_json<M: JsonMessage>(text: &[u8], mode: Mode) -> Result<M, JsonError> {
    let mut reader = Reader::new(text, mode)?;
    let message = M::read_json(&mut reader)?;
    reader.end()?;
    Ok(message)
}
