//! What game code may call, written for those who write it: the reference page, and declarations for the editors and
//! compilers of each language. All of it follows from the host table; what it does not say of tables stands in `signatures`.

mod luau;
mod page;
mod signatures;
mod types;
mod typescript;

pub use luau::luau;
pub use page::page;
pub use typescript::typescript;

use crate::host::{HostFunction, Kind, Parameter};
use signatures::SIGNATURES;
use types::Type;

/// What a function takes, and what it answers.
struct Signature {
    function: &'static HostFunction,
    parameters: Vec<(&'static Parameter, Type)>,
    results: Vec<Type>,
}

/// The signature of a function of the host table.
fn signature(function: &'static HostFunction) -> Signature {
    let told = SIGNATURES.iter().find(|told| told.of == function.name);
    let parameters = function.parameters.iter().map(|parameter| {
        let written = told.and_then(|told| told.tables.iter().find(|(name, _)| *name == parameter.name));
        let by_kind = match parameter.kind {
            Kind::Text => Type::Text,
            Kind::Flag => Type::Flag,
            Kind::Number => Type::Number,
            Kind::Table => Type::Object,
            Kind::Any => Type::Any,
        };
        (parameter, written.map_or(by_kind, |(_, written)| Type::of(written)))
    });
    let results = told.map_or("", |told| told.results).split(", ").filter(|result| !result.is_empty());
    Signature { function, parameters: parameters.collect(), results: results.map(Type::of).collect() }
}

/// Lines of a comment, at most so wide.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() && line.len() + word.len() >= width {
                lines.push(word.to_owned());
            } else {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::functions;
    use signatures::RECORDS;

    #[test]
    fn signatures_are_of_functions_and_parameters_that_there_are() {
        for told in SIGNATURES {
            let function = functions().find(|function| function.name == told.of);
            let function = function.unwrap_or_else(|| panic!("{} is not in the host table", told.of));
            for (name, written) in told.tables {
                let parameter = function.parameters.iter().find(|parameter| parameter.name == *name);
                let kind = parameter.unwrap_or_else(|| panic!("{}: {name}", told.of)).kind;
                let fits = match Type::of(written) {
                    Type::Text | Type::Bytes => kind == Kind::Text,
                    Type::Number => kind == Kind::Number,
                    Type::Flag => kind == Kind::Flag,
                    Type::Object | Type::List(_) | Type::Map(_) | Type::Record(_) => {
                        matches!(kind, Kind::Table | Kind::Any)
                    }
                    Type::Any | Type::Either(..) => kind == Kind::Any,
                };
                assert!(fits, "{}: {name} is {kind:?}, not {written}", told.of);
            }
        }
    }

    #[test]
    fn what_is_a_table_and_what_is_answered_is_told_of_every_function() {
        for function in functions() {
            let told = SIGNATURES.iter().find(|told| told.of == function.name);
            for parameter in function.parameters.iter().filter(|parameter| parameter.kind == Kind::Table) {
                let is_told = told.is_some_and(|told| told.tables.iter().any(|(name, _)| *name == parameter.name));
                assert!(is_told, "{}: which table is {}?", function.name, parameter.name);
            }
            let answers = told.is_some_and(|told| !told.results.is_empty());
            assert_eq!(answers, function.result != "nothing", "{}: {}", function.name, function.result);
        }
    }

    #[test]
    fn records_are_told_and_used() {
        let written = [typescript(), luau()].concat();
        for (name, fields) in RECORDS {
            assert!(!fields.is_empty());
            assert!(written.matches(name).count() > 2, "{name} is used nowhere");
        }
    }

    #[test]
    fn the_reference_is_up_to_date() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        for (name, text) in
            [("functions.md", page()), ("typings/muster.d.ts", typescript()), ("typings/nakama.luau", luau())]
        {
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::create_dir_all(folder.join("typings")).unwrap();
                std::fs::write(folder.join(name), &text).unwrap();
            }
            let committed = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(committed == text, "{name}: run UPDATE_DOCS=1 cargo test -p muster-script --lib reference");
        }
    }

    #[test]
    fn comments_are_wrapped() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("", 8), [""]);
    }
}
