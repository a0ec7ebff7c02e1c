//! Setting fields from the text of query and path parameters.

use super::JsonMessage;
use super::field::{EnumNames, Field};

/// A message whose fields can be set from text. Implemented by generated code.
pub trait SetField: JsonMessage {
    /// Sets the field with this number. A path names a value inside the field. A list gets one more value.
    ///
    /// # Errors
    /// When the text does not fit the type, or the path names nothing.
    fn set_field(&mut self, number: u32, path: FieldPath<'_>, text: &str) -> Result<(), FieldError>;
}

impl SetField for () {
    fn set_field(&mut self, _number: u32, _path: FieldPath<'_>, _text: &str) -> Result<(), FieldError> {
        Ok(())
    }
}

/// A parameter that does not fit its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct FieldError {
    /// The values that the field takes.
    pub expected: &'static str,
}

/// The rest of a parameter's name behind a field: `b.c` in `a.b.c`, `[k]` in `a[k]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldPath<'a> {
    dotted: Option<&'a str>,
    map_key: Option<&'a str>,
}

impl<'a> FieldPath<'a> {
    /// Splits a parameter's name into its first field and the path behind it.
    #[must_use]
    pub fn split(name: &'a str) -> (&'a str, Self) {
        let (dotted, map_key) = match name.strip_suffix(']').and_then(|open| open.split_once('[')) {
            Some((dotted, key)) => (dotted, Some(key)),
            None => (name, None),
        };
        match dotted.split_once('.') {
            Some((first, rest)) => (first, Self { dotted: Some(rest), map_key }),
            None => (dotted, Self { dotted: None, map_key }),
        }
    }

    /// The next field's name and the path behind it.
    pub(super) fn step(self) -> Option<(&'a str, Self)> {
        let dotted = self.dotted?;
        Some(match dotted.split_once('.') {
            Some((first, rest)) => (first, Self { dotted: Some(rest), ..self }),
            None => (dotted, Self { dotted: None, ..self }),
        })
    }

    /// The key in brackets, if nothing stands before it.
    pub(super) fn map_key(self) -> Option<&'a str> {
        self.map_key.filter(|_| self.dotted.is_none())
    }

    /// Checks that the path is empty.
    pub(super) fn end(self) -> Result<(), FieldError> {
        if self == Self::default() { Ok(()) } else { Err(FieldError { expected: "no further name after this field" }) }
    }
}

/// Sets a field.
///
/// # Errors
/// The errors of [`Field::set_text`].
#[inline]
pub fn set<F: Field>(field: &mut F, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
    field.set_text(path, text)
}

/// Sets an enum from its number or name.
///
/// # Errors
/// When the text is neither.
pub fn set_enum<E: EnumNames>(field: &mut i32, path: FieldPath<'_>, text: &str) -> Result<(), FieldError> {
    path.end()?;
    let number = E::number_of(text).or_else(|| text.parse().ok());
    *field = number.ok_or(FieldError { expected: "a name or number of the enum" })?;
    Ok(())
}

/// Sets one alternative of a `oneof`. If several are given, the last one counts.
///
/// # Errors
/// The errors of [`Field::set_text`].
pub fn set_arm<O, F: Field + Default>(
    holder: &mut Option<O>,
    wrap: impl FnOnce(F) -> O,
    path: FieldPath<'_>,
    text: &str,
) -> Result<(), FieldError> {
    let mut value = F::default();
    value.set_text(path, text)?;
    *holder = Some(wrap(value));
    Ok(())
}
