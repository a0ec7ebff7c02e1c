//! Types of arguments and results, as the rows of the host table name them.

use super::records::is_name;
use super::shape::{ArgumentRules, UnfitMember};
use crate::value::Value;

/// The type of an argument, of a result or of a record's field.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// A text. Numbers are taken as their text.
    Text,
    /// A text of any bytes. JavaScript may hand in a buffer.
    Bytes,
    /// A number.
    Number,
    /// A truth value.
    Flag,
    /// Any value.
    Any,
    /// Values by names that the studio chose.
    Object,
    /// Values of one type, in order.
    List(&'static Self),
    /// Values of one type, by names that the studio chose.
    Map(&'static Self),
    /// Values by names that the server defines.
    Record(&'static RecordType),
    /// A value of the first type or of the second. The function finds out which of them it is.
    Either(&'static Self, &'static Self),
}

/// A list of texts.
pub(super) const TEXTS: Type = Type::List(&Type::Text);

/// Amounts of a wallet: whole numbers by name.
pub(super) const AMOUNTS: Type = Type::Map(&Type::Number);

/// A table whose names the server defines.
#[derive(Debug)]
pub struct RecordType {
    /// Name of the type in declarations.
    pub name: &'static str,
    /// Fields of the table, in the order in which they are documented.
    pub fields: &'static [Field],
}

/// A named value: a field of a record, or a result of a function.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name of the value. The only result of a function has an empty name, unless JavaScript gets the result inside an
    /// object.
    pub name: &'static str,
    pub of: Type,
    /// Whether the value may be missing.
    pub is_optional: bool,
}

/// A field that is always there.
pub(super) const fn field(name: &'static str, of: Type) -> Field {
    Field { name, of, is_optional: false }
}

/// A field that may be missing.
pub(super) const fn maybe(name: &'static str, of: Type) -> Field {
    Field { name, of, is_optional: true }
}

/// The only result of a function.
pub(super) const fn only(of: Type) -> Field {
    field("", of)
}

impl Type {
    /// Whether an argument of this type may be such a value. The elements of a table are not looked at: the function
    /// checks them as it reads them.
    pub(crate) fn takes(&self, value: &Value) -> bool {
        match self {
            Self::Text | Self::Bytes => matches!(value, Value::Bytes(_) | Value::Number(_)),
            Self::Number => matches!(value, Value::Number(_)),
            Self::Flag => matches!(value, Value::Flag(_)),
            Self::Object | Self::List(_) | Self::Map(_) | Self::Record(_) => {
                matches!(value, Value::List(_) | Value::Map(_))
            }
            Self::Any | Self::Either(..) => true,
        }
    }

    /// The first member of tables in an argument that is there, but null, or an empty text where none may stand.
    pub(crate) fn unfit_member(&self, value: &Value, rules: &ArgumentRules) -> Option<UnfitMember> {
        match (self, value) {
            (Self::List(of), Value::List(items)) => items.iter().find_map(|item| of.unfit_member(item, rules)),
            // A table in place of a list is a list of one.
            (Self::List(of), Value::Map(_)) => of.unfit_member(value, rules),
            (Self::Record(RecordType { fields, .. }), Value::Map(entries)) => fields.iter().find_map(|field| {
                let (_, value) = entries.iter().find(|(key, _)| is_name(key, field.name))?;
                let unfit = |expected| Some(UnfitMember { name: field.name, expected });
                match value {
                    Value::Nil if rules.null_is_absent.contains(&field.name) => None,
                    Value::Nil => unfit(field.of.expected_with_article()),
                    Value::Bytes(text) if text.is_empty() && rules.members_not_empty.contains(&field.name) => {
                        unfit("given, and not empty")
                    }
                    value => field.of.unfit_member(value, rules),
                }
            }),
            _ => None,
        }
    }

    /// Name of this type in refusals. `table` is the word for tables in the language of the game code.
    pub(crate) fn expected(&self, table: &'static str) -> &'static str {
        match self {
            Self::Text | Self::Bytes => "string",
            Self::Number => "number",
            Self::Flag => "boolean",
            Self::Object | Self::List(_) | Self::Map(_) | Self::Record(_) => table,
            Self::Any | Self::Either(..) => "value",
        }
    }

    /// Name of this type with its article, in refusals of JavaScript.
    fn expected_with_article(&self) -> &'static str {
        match self {
            Self::Text | Self::Bytes => "a string",
            Self::Number => "a number",
            Self::Flag => "a boolean",
            Self::List(_) => "an array",
            Self::Object | Self::Map(_) | Self::Record(_) => "an object",
            Self::Any | Self::Either(..) => "a value",
        }
    }
}
