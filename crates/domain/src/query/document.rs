//! Documents that queries are asked about: fields with texts and numbers, which nothing here interprets.

use serde_json::Value as Json;
use smol_str::SmolStr;

use super::DOCUMENT_VALUES_MAX;
use crate::error::Error;

/// A document with no more values is looked through in order.
const FEW: usize = 12;
/// Steps of finding a field among many values.
const SEARCH_STEPS: usize = 12;
/// Bytes of field names that are compared in one step.
const NAME_BYTES_PER_STEP: usize = 64;

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text, compared whole.
    Text(SmolStr),
    /// A number. Those that are none (NaN) are never stored.
    Number(f64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// Booleans are the texts `T` and `F`, as queries write them.
impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::from(if truth { "T" } else { "F" })
    }
}

/// A JSON value has more than [`DOCUMENT_VALUES_MAX`] values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("It has more than {DOCUMENT_VALUES_MAX} values: leave out those that nobody searches for.")]
pub struct TooManyValues;

impl From<TooManyValues> for Error {
    fn from(error: TooManyValues) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Why a text is no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoObject {
    /// The text is not JSON, or no object.
    #[error("It must be a JSON object.")]
    NotJson,
    /// See [`TooManyValues`].
    #[error(transparent)]
    TooManyValues(#[from] TooManyValues),
}

/// Fields, each with one or more values, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Values with the names of their fields, by name; those of one field in the order they came in.
    entries: Vec<(SmolStr, Value)>,
}

/// The values of a field.
pub type Values<'a> = std::iter::Map<std::slice::Iter<'a, (SmolStr, Value)>, fn(&(SmolStr, Value)) -> &Value>;

pub(super) fn values_of(entries: &[(SmolStr, Value)]) -> Values<'_> {
    entries.iter().map(|(_, value)| value)
}

impl Document {
    /// A document without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// The members of a JSON object, as [`Self::push_json`] adds them.
    ///
    /// # Errors
    /// When the text is no JSON object, or holds too much.
    pub fn of_object(prefix: &str, text: &str) -> Result<Self, NoObject> {
        let json: Json = serde_json::from_str(text).map_err(|_| NoObject::NotJson)?;
        if !json.is_object() {
            return Err(NoObject::NotJson);
        }
        let mut document = Self::new();
        document.push_json(prefix, &json).map_err(NoObject::TooManyValues)?;
        Ok(document)
    }

    /// Whether it has no field.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a value to a field. NaN adds nothing.
    pub fn push(&mut self, field: &str, value: impl Into<Value>) {
        let value = value.into();
        if matches!(value, Value::Number(number) if number.is_nan()) {
            return;
        }
        let place = self.entries.partition_point(|(name, _)| **name <= *field);
        self.entries.insert(place, (field.into(), value));
    }

    /// The same with a value more, to write documents in one expression.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.push(field, value);
        self
    }

    /// Adds what a JSON value holds: members of objects under `prefix.name`, elements of arrays as further values of
    /// the
    /// same field, true and false as `T` and `F`. Null adds nothing. An object's members stand without a dot before
    /// them if `prefix` is empty.
    ///
    /// # Errors
    /// When the document would hold more than [`DOCUMENT_VALUES_MAX`] values; it then holds some of them.
    pub fn push_json(&mut self, prefix: &str, json: &Json) -> Result<(), TooManyValues> {
        let mut left = DOCUMENT_VALUES_MAX.saturating_sub(self.entries.len());
        self.flatten(prefix, json, &mut left)
    }

    /// The same with JSON as text. What is no JSON adds nothing.
    ///
    /// # Errors
    /// See [`Self::push_json`].
    pub fn push_json_text(&mut self, prefix: &str, json: &str) -> Result<(), TooManyValues> {
        serde_json::from_str(json).map_or(Ok(()), |json| self.push_json(prefix, &json))
    }

    fn flatten(&mut self, field: &str, json: &Json, left: &mut usize) -> Result<(), TooManyValues> {
        let value = match json {
            Json::Null => return Ok(()),
            Json::Array(elements) => {
                return elements.iter().try_for_each(|element| self.flatten(field, element, left));
            }
            Json::Object(members) => {
                let separator = if field.is_empty() { "" } else { "." };
                return members.iter().try_for_each(|(name, member)| {
                    self.flatten(&[field, separator, name.as_str()].concat(), member, left)
                });
            }
            Json::Bool(truth) => Value::from(*truth),
            Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Value::from(text.as_str()),
        };
        *left = left.checked_sub(1).ok_or(TooManyValues)?;
        self.push(field, value);
        Ok(())
    }

    /// The values of a field.
    pub fn values(&self, field: &str) -> Values<'_> {
        // Most of a few names differ in length: looking at each is cheaper than comparing letters.
        let start = if self.entries.len() <= FEW {
            self.entries.iter().position(|(name, _)| name == field).unwrap_or(self.entries.len())
        } else {
            self.entries.partition_point(|(name, _)| **name < *field)
        };
        let len = self.entries[start..].iter().take_while(|(name, _)| **name == *field).count();
        values_of(&self.entries[start..start + len])
    }

    /// The values of a field, and the steps that finding them took.
    pub(super) fn find(&self, field: &str) -> (Values<'_>, usize) {
        let values = self.values(field);
        let names = if self.entries.len() <= FEW { self.entries.len() } else { SEARCH_STEPS };
        // Other names may begin as this one does.
        let steps = (names + values.len()) * (1 + field.len() / NAME_BYTES_PER_STEP);
        (values, steps)
    }

    /// Memory that the document takes, roughly.
    pub fn bytes(&self) -> usize {
        let value = |value: &Value| if let Value::Text(text) = value { text.len() } else { 0 };
        let entries = self.entries.iter();
        entries.map(|(name, found)| size_of::<(SmolStr, Value)>() + name.len() + value(found)).sum()
    }

    /// The values of all fields.
    pub(super) fn all_values(&self) -> Values<'_> {
        values_of(&self.entries)
    }

    /// Values with the names of their fields, by name.
    pub(super) fn entries(&self) -> &[(SmolStr, Value)] {
        &self.entries
    }

    /// Every field with its values, in the order of names.
    pub fn fields(&self) -> impl Iterator<Item = (&str, Values<'_>)> {
        let fields = self.entries.chunk_by(|(name, _), (next, _)| name == next);
        fields.filter_map(|entries| Some((&*entries.first()?.0, values_of(entries))))
    }
}
