//! The operations on a field, for messages, options, lists and maps. The module `scalar` has them for single values.

use std::collections::BTreeMap;

use super::error::{JsonError, JsonProblem};
use super::text::{FieldError, FieldPath, SetField};
use super::{JsonMessage, Mode, Reader, Writer};

/// A value of a message's field.
pub trait Field {
    /// Whether the value is the default, which the wire omits.
    fn is_default(&self) -> bool;

    /// Writes the value as JSON.
    fn write(&self, writer: &mut Writer<'_>);

    /// Reads the value from JSON, which is not `null`.
    ///
    /// # Errors
    /// When the JSON value has the wrong form.
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError>;

    /// Sets the value from the text of a query or path parameter. A path names a value inside this one.
    ///
    /// # Errors
    /// When the text does not fit the type, or the path names nothing.
    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError>;
}

/// The names of an enum's values.
pub trait EnumNames {
    /// The number of a value by its name in the schema.
    fn number_of(name: &str) -> Option<i32>;
}

/// Reads a field.
///
/// # Errors
/// The errors of [`Field::read`].
#[inline]
pub fn read<F: Field>(field: &mut F, reader: &mut Reader<'_>) -> Result<(), JsonError> {
    field.read(reader)
}

/// Reads one alternative of a `oneof`.
///
/// # Errors
/// The errors of [`Field::read`], and an error when another alternative was read before.
pub fn read_arm<O, F: Field + Default>(
    holder: &mut Option<O>,
    wrap: impl FnOnce(F) -> O,
    reader: &mut Reader<'_>,
) -> Result<(), JsonError> {
    if holder.is_some() {
        return Err(reader.error(JsonProblem::DuplicateAlternative));
    }
    let mut value = F::default();
    value.read(reader)?;
    *holder = Some(wrap(value));
    Ok(())
}

/// Reads an enum from its number or name. In tolerant mode an unknown name counts as not given.
///
/// # Errors
/// When the value is neither a number nor a known name.
pub fn read_enum<E: EnumNames>(field: &mut i32, reader: &mut Reader<'_>) -> Result<(), JsonError> {
    if reader.peek() != Some(b'"') {
        return field.read(reader);
    }
    let name = reader.string()?;
    match (E::number_of(&name), reader.mode()) {
        (Some(number), _) => *field = number,
        (None, Mode::Tolerant) => {}
        (None, Mode::Strict | Mode::GameCode) => return Err(reader.expected("a value of the enum")),
    }
    Ok(())
}

/// Reads the members of an object into a message.
pub(super) fn read_members<M: JsonMessage>(message: &mut M, reader: &mut Reader<'_>) -> Result<(), JsonError> {
    reader.begin_object()?;
    let (mut first, mut seen) = (true, 0u64);
    while let Some(name) = reader.next_name(&mut first)? {
        read_member(message, &name, &mut seen, reader).map_err(|error| error.inside(&name))?;
    }
    Ok(())
}

fn read_member<M: JsonMessage>(
    message: &mut M,
    name: &str,
    seen: &mut u64,
    reader: &mut Reader<'_>,
) -> Result<(), JsonError> {
    let Some(number) = M::field_number(name) else {
        return reader.unknown(name);
    };
    // Field numbers are at most 63, which the code generator checks.
    let bit = 1u64 << number;
    if *seen & bit != 0 {
        return Err(reader.error(JsonProblem::DuplicateField));
    }
    *seen |= bit;
    if reader.take_null()? {
        return Ok(());
    }
    message.read_field(number, reader)
}

impl<M: JsonMessage + SetField> Field for M {
    fn is_default(&self) -> bool {
        // A message stands in an `Option` or a list, so a message that exists is never left out.
        false
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.object(self);
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        read_members(self, reader)
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        let (name, rest) = path.step().ok_or(FieldError { expected: "the name of a field inside it" })?;
        match M::field_number(name) {
            Some(number) => self.set_field(number, rest, text),
            None => Ok(()),
        }
    }
}

impl<F: Field + Default> Field for Option<F> {
    fn is_default(&self) -> bool {
        self.is_none()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Some(value) => value.write(writer),
            None => writer.raw(b"null"),
        }
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        self.insert(F::default()).read(reader)
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        self.get_or_insert_with(F::default).set_text(path, text)
    }
}

impl<F: Field + Default> Field for Vec<F> {
    fn is_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.array(self);
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        let mut first = true;
        if reader.mode() == Mode::GameCode && reader.peek() == Some(b'{') {
            reader.begin_object()?;
            return match reader.next_name(&mut first)? {
                None => Ok(()),
                Some(_) => Err(reader.expected("a list")),
            };
        }
        reader.begin_array()?;
        while reader.next_element(&mut first)? {
            let mut value = F::default();
            value.read(reader)?;
            self.push(value);
        }
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        path.end()?;
        let mut value = F::default();
        value.set_text(path, text)?;
        self.push(value);
        Ok(())
    }
}

impl<F: Field + Default> Field for BTreeMap<String, F> {
    fn is_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.map(self.iter());
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        reader.begin_object()?;
        let mut first = true;
        while let Some(name) = reader.next_name(&mut first)? {
            if self.contains_key(&*name) {
                return Err(reader.error(JsonProblem::DuplicateField).inside(&name));
            }
            let mut value = F::default();
            value.read(reader).map_err(|error| error.inside(&name))?;
            self.insert(name.into_owned(), value);
        }
        Ok(())
    }

    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
        let key = path.map_key().ok_or(FieldError { expected: "a key in brackets after the name" })?;
        let mut value = F::default();
        value.set_text(FieldPath::default(), text)?;
        self.insert(key.to_owned(), value);
        Ok(())
    }
}
