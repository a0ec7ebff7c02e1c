//! What a field can do, and how messages, options, lists and maps do it. Single values are in `scalar`.

use std::collections::BTreeMap;

use super::error::{JsonError, JsonProblem};
use super::text::{FieldError, FieldPath, SetField};
use super::{JsonMessage, Mode, Reader, Writer};

/// A value that a message may hold.
pub trait Field {
    /// Whether the wire omits it.
    fn is_default(&self) -> bool;

    /// Writes it as JSON.
    fn write(&self, writer: &mut Writer<'_>);

    /// Reads it from JSON, which is not `null`.
    ///
    /// # Errors
    /// Fails when the JSON value has the wrong form.
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError>;

    /// Sets it, or with a path something inside it, from the text of a query or path parameter.
    ///
    /// # Errors
    /// Fails when the text does not fit the type, or the path leads nowhere.
    fn set_text(&mut self, path: FieldPath<'_>, text: &str) -> Result<(), FieldError>;
}

/// The values of an enum, by name.
pub trait EnumNames {
    /// The number of a name as the schema writes it.
    fn number_of(name: &str) -> Option<i32>;
}

/// Reads a field.
///
/// # Errors
/// As [`Field::read`].
#[inline]
pub fn read<F: Field>(field: &mut F, reader: &mut Reader<'_>) -> Result<(), JsonError> {
    field.read(reader)
}

/// Reads one alternative of a oneof.
///
/// # Errors
/// As [`Field::read`], and when another alternative was read before.
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

/// Reads an enum from its number or name. A tolerant reader takes an unknown name for "not given".
///
/// # Errors
/// Fails on anything else.
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

/// Reads an object's members into a message.
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
    // Field numbers end at 63; the code generator sees to it.
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
        // A message stands in an `Option` or a list; being there is the information.
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
