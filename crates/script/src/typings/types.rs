//! Types of arguments and results, in each language.

use super::signatures::RECORDS;
use crate::quickjs::camel_case;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    /// A text of any bytes, which JavaScript may hand in as bytes.
    Bytes,
    Number,
    Flag,
    Any,
    /// Values by names that a studio chose.
    Object,
    List(Box<Type>),
    /// Values of one type by names that a studio chose.
    Map(Box<Type>),
    /// One of the records, whose names are ours.
    Record(&'static str),
    Either(Box<Type>, Box<Type>),
}

impl Type {
    /// As it is written in tables: `string`, `bytes`, `number`, `boolean`, `any`, `object`, `T[]`, `{T}`, `T | T`, or a record.
    ///
    /// # Panics
    /// For what is none of these: the tables are ours, and a test writes all of them.
    pub(super) fn of(written: &str) -> Self {
        if let Some((first, second)) = written.split_once(" | ") {
            return Self::Either(Box::new(Self::of(first)), Box::new(Self::of(second)));
        }
        if let Some(item) = written.strip_suffix("[]") {
            return Self::List(Box::new(Self::of(item)));
        }
        if let Some(value) = written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            return Self::Map(Box::new(Self::of(value)));
        }
        match written {
            "string" => Self::Text,
            "bytes" => Self::Bytes,
            "number" => Self::Number,
            "boolean" => Self::Flag,
            "any" => Self::Any,
            "object" => Self::Object,
            name => {
                let record = RECORDS.iter().find(|(known, _)| *known == name);
                Self::Record(record.unwrap_or_else(|| panic!("{name} is no type")).0)
            }
        }
    }

    /// In TypeScript.
    pub(super) fn in_typescript(&self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Bytes => "string | ArrayBuffer | Uint8Array".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Flag => "boolean".to_owned(),
            Self::Any => "any".to_owned(),
            Self::Object => "{ [key: string]: any }".to_owned(),
            Self::List(item) => format!("{}[]", item.in_typescript()),
            Self::Map(value) => format!("{{ [key: string]: {} }}", value.in_typescript()),
            Self::Record(name) => (*name).to_owned(),
            Self::Either(first, second) => format!("{} | {}", first.in_typescript(), second.in_typescript()),
        }
    }

    /// In Luau.
    pub(super) fn in_luau(&self) -> String {
        match self {
            Self::Text | Self::Bytes => "string".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Flag => "boolean".to_owned(),
            Self::Any => "any".to_owned(),
            Self::Object => "{ [string]: any }".to_owned(),
            Self::List(item) => format!("{{ {} }}", item.in_luau()),
            Self::Map(value) => format!("{{ [string]: {} }}", value.in_luau()),
            Self::Record(name) => (*name).to_owned(),
            Self::Either(first, second) => format!("({} | {})", first.in_luau(), second.in_luau()),
        }
    }

    /// In words, for a table of the page.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Any => "anything".to_owned(),
            Self::Object => "table".to_owned(),
            Self::List(item) => format!("list of {}", item.in_words()),
            Self::Map(value) => format!("{} by name", value.in_words()),
            Self::Record(name) => format!("[{name}](#{})", name.to_lowercase()),
            Self::Either(first, second) => format!("{}, or {}", first.in_words(), second.in_words()),
        }
    }
}

/// A field of a record: its name, what it holds, and whether it may be missing.
pub(super) fn field(written: &'static str) -> (&'static str, Type, bool) {
    let (name, of) = written.split_once(": ").unwrap_or((written, "any"));
    let (name, is_optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
    (name, Type::of(of), is_optional)
}

/// A record as JavaScript names its fields.
pub(super) fn camel_cased(name: &str) -> String {
    camel_case(name)
}
