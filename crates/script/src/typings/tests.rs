//! Tests: the rows of the host table are complete, and the files that are generated from them are up to date.

use std::collections::BTreeSet;

use super::types::records;
use super::*;
use crate::host::{DefaultValue, HostFunction, Type, functions, pending};

fn names(of: impl Iterator<Item = &'static str>) -> BTreeSet<&'static str> {
    of.collect()
}

fn all() -> impl Iterator<Item = &'static HostFunction> {
    functions().chain(pending())
}

#[test]
fn every_function_has_one_row() {
    assert_eq!(names(all().map(|function| function.name)).len(), all().count());
}

#[test]
fn rows_of_built_functions_say_what_they_are_for_and_what_they_answer() {
    for function in functions() {
        let name = function.name;
        assert!(function.doc.ends_with('.'), "{name}");
        assert_eq!(function.results.is_empty(), function.answers.is_empty(), "{name}: {}", function.answers);
        let unnamed = function.results.iter().filter(|result| result.name.is_empty()).count();
        assert!(unnamed == 0 || function.results.len() == 1, "{name}: several results have names");
    }
}

#[test]
fn defaults_fit_their_parameters() {
    for function in functions() {
        for parameter in function.parameters {
            let fits = match parameter.default {
                DefaultValue::Nothing => true,
                DefaultValue::Flag(_) => parameter.is_optional && matches!(parameter.of, Type::Flag),
                DefaultValue::Number(_) => parameter.is_optional && matches!(parameter.of, Type::Number),
            };
            assert!(fits, "{}: {}", function.name, parameter.name);
        }
    }
}

#[test]
fn languages_differ_in_parameters_that_there_are() {
    for function in functions() {
        let parameters = names(function.parameters.iter().map(|parameter| parameter.name));
        let ordered = function.javascript.order;
        assert!(ordered.is_empty() || names(ordered.iter().copied()) == parameters, "{}", function.name);
        for (renamed, _) in function.go.arguments {
            assert!(parameters.contains(renamed), "{}: {renamed}", function.name);
        }
        let takes_bytes = matches!(function.parameters, [first, ..] if matches!(first.of, Type::Bytes));
        assert!(takes_bytes || !function.javascript.takes_base64, "{}", function.name);
    }
}

#[test]
fn records_have_fields_and_names_of_their_own() {
    let records = records();
    assert_eq!(names(records.iter().map(|record| record.name)).len(), records.len());
    assert!(records.iter().all(|record| !record.fields.is_empty()));
}

#[test]
fn the_reference_is_up_to_date() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, text) in [
        ("docs/reference/functions.md", page()),
        ("docs/reference/typings/muster.d.ts", typescript()),
        ("docs/reference/typings/nakama.luau", luau()),
        ("sdk/go/internal/generate/functions.json", go()),
    ] {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(root.join(name), &text).unwrap();
        }
        let committed = std::fs::read_to_string(root.join(name)).unwrap_or_default();
        assert!(committed == text, "{name}: run UPDATE_DOCS=1 cargo test -p muster-script --lib reference");
    }
}

#[test]
fn comments_are_wrapped() {
    assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
    assert_eq!(wrapped("", 8), [""]);
}
