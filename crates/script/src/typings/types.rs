//! Types of the host table as each language writes them.

use crate::host::{Field, HostFunction, RecordType, Type, functions};

impl Type {
    /// The type as TypeScript writes it.
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
            Self::Record(record) => record.name.to_owned(),
            Self::Either(first, second) => format!("{} | {}", first.in_typescript(), second.in_typescript()),
        }
    }

    /// The type as Luau writes it.
    pub(super) fn in_luau(&self) -> String {
        match self {
            Self::Text | Self::Bytes => "string".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Flag => "boolean".to_owned(),
            Self::Any => "any".to_owned(),
            Self::Object => "{ [string]: any }".to_owned(),
            Self::List(item) => format!("{{ {} }}", item.in_luau()),
            Self::Map(value) => format!("{{ [string]: {} }}", value.in_luau()),
            Self::Record(record) => record.name.to_owned(),
            Self::Either(first, second) => format!("({} | {})", first.in_luau(), second.in_luau()),
        }
    }

    /// The type in words, for a table of the page.
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
            Self::Record(record) => format!("[{}](#{})", record.name, record.name.to_lowercase()),
            Self::Either(first, second) => format!("{}, or {}", first.in_words(), second.in_words()),
        }
    }

    /// The type as the generator of Go's methods reads it.
    pub(super) fn for_go(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Flag => "flag".to_owned(),
            Self::Any => "any".to_owned(),
            Self::Object => "object".to_owned(),
            Self::List(item) => format!("list of {}", item.for_go()),
            Self::Map(value) => format!("map of {}", value.for_go()),
            Self::Record(record) => record.name.to_owned(),
            // A method of Go takes one type for each argument: the first.
            Self::Either(first, _) => first.for_go(),
        }
    }
}

/// The records of all built functions, each once. A record that others hold stands before them.
pub(super) fn records() -> Vec<&'static RecordType> {
    let mut found = Vec::new();
    functions().flat_map(types).for_each(|of| collect(&of, &mut found));
    found
}

fn types(function: &'static HostFunction) -> impl Iterator<Item = Type> {
    let parameters = function.parameters.iter().map(|parameter| parameter.of);
    parameters.chain(function.results.iter().map(|result| result.of))
}

fn collect(of: &Type, found: &mut Vec<&'static RecordType>) {
    match of {
        Type::List(inner) | Type::Map(inner) => collect(inner, found),
        Type::Either(first, second) => [first, second].into_iter().for_each(|of| collect(of, found)),
        Type::Record(record) if found.iter().all(|known| known.name != record.name) => {
            record.fields.iter().for_each(|Field { of, .. }| collect(of, found));
            found.push(record);
        }
        _ => {}
    }
}
