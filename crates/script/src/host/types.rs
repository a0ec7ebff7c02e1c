//! Types of arguments and results, as the rows of the host table name them.

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
    /// Values by names that are ours.
    Record(&'static RecordType),
    /// A value of the first type or of the second. The function checks which.
    Either(&'static Self, &'static Self),
}

/// Texts.
pub(super) const TEXTS: Type = Type::List(&Type::Text);

/// Whole numbers by name, of wallets.
pub(super) const AMOUNTS: Type = Type::Map(&Type::Number);

/// A table with names that are ours: what stands behind them are its fields.
#[derive(Debug)]
pub struct RecordType {
    /// Its name in declarations.
    pub name: &'static str,
    /// Its fields, in the order in which they are documented.
    pub fields: &'static [Field],
}

/// A named value: a field of a record, or a result of a function.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name. A function's only result has an empty one, unless JavaScript gets it inside an object.
    pub name: &'static str,
    /// Its type.
    pub of: Type,
    /// Whether it may be missing.
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
    /// Whether an argument of this type may be such a value. Elements of tables are read, and refused, by the function.
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

    /// Name of this type in refusals. `table` is what the language calls one.
    pub(crate) fn expected(&self, table: &'static str) -> &'static str {
        match self {
            Self::Text | Self::Bytes => "string",
            Self::Number => "number",
            Self::Flag => "boolean",
            Self::Object | Self::List(_) | Self::Map(_) | Self::Record(_) => table,
            Self::Any | Self::Either(..) => "value",
        }
    }
}
