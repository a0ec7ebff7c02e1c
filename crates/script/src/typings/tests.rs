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
                DefaultValue::EmptyList => parameter.is_optional && matches!(parameter.of, Type::List(_)),
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
fn shapes_name_parameters_and_fields_that_there_are() {
    for function in functions() {
        let name = function.name;
        let parameters = names(function.parameters.iter().map(|parameter| parameter.name));
        let results = names(function.results.iter().map(|result| result.name));
        let records = function.results.iter().filter_map(|result| shapes::answered(&result.of));
        let fields = names(records.flat_map(|record| record.fields.iter().map(|field| field.name)));
        for rules in [&function.lua.arguments, &function.javascript.arguments] {
            let lists = [rules.required, rules.not_empty, rules.empty_is_absent, rules.no_numbers, rules.whole];
            let others = rules.ranges.iter().map(|(name, ..)| name).chain(rules.defaults.iter().map(|(name, _)| name));
            let named = names(lists.concat().into_iter().chain(others.copied()));
            assert!(named.is_subset(&parameters), "{name}: {named:?}");
        }
        for shape in [&function.lua.answer, &function.javascript.tables] {
            let spread = Some(shape.spread).filter(|spread| !spread.is_empty());
            let renamed = shape.renamed.iter().map(|(name, _)| *name).chain(spread);
            let named = names([shape.without, shape.boxed].concat().into_iter().chain(renamed));
            assert!(named.is_subset(&fields), "{name}: {named:?}");
            let named = names([shape.blank, shape.no_empty_list].concat().into_iter());
            assert!(named.is_subset(&results), "{name}: {named:?}");
        }
        let repeats = function.javascript.repeats;
        assert!(repeats.is_empty() || parameters.contains(repeats), "{name}: {repeats}");
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

/// The samples in guides and examples, by the endings of their languages: file, language, text.
fn samples() -> Vec<(String, String, String)> {
    const LANGUAGES: [(&str, &str); 6] =
        [("lua", "lua"), ("javascript", "js"), ("js", "js"), ("typescript", "ts"), ("ts", "ts"), ("mjs", "js")];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("docs/guide"), root.join("examples")];
    let mut samples = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.display().to_string();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if path.is_dir() && !path.ends_with("node_modules") {
                folders.push(path);
            } else if ["lua", "ts"].contains(&ending) || ending == "js" && file.contains("javascript") {
                samples.push((file, ending.to_owned(), std::fs::read_to_string(&path).unwrap()));
            } else if ending == "md" {
                let text = std::fs::read_to_string(&path).unwrap();
                for block in text.split("\n```").skip(1).step_by(2) {
                    let (about, code) = block.split_once('\n').unwrap_or((block, ""));
                    let name = about.split_whitespace().next().unwrap_or_default();
                    if let Some((_, language)) = LANGUAGES.iter().find(|(known, _)| *known == name) {
                        samples.push((file.clone(), (*language).to_owned(), code.to_owned()));
                    }
                }
            }
        }
    }
    samples
}

/// The names behind an object's name and a dot.
fn members<'t>(text: &'t str, object: &str) -> Vec<&'t str> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let found = text.match_indices(object).filter(|(at, _)| {
        !text[..*at].ends_with(|letter: char| is_of_name(letter) || matches!(letter, '.' | '/' | '@' | '-'))
    });
    let name = |rest: &'t str| rest.split(|letter: char| !is_of_name(letter)).next().unwrap_or_default();
    found.map(|(at, _)| name(&text[at + object.len()..])).filter(|name| !name.is_empty()).collect()
}

#[test]
fn samples_can_be_read_and_name_only_what_the_declarations_have() {
    let (luau, typescript) = (luau(), typescript());
    let samples = samples();
    assert!(samples.iter().filter(|(_, language, _)| language == "lua").count() > 5, "samples are found");
    for (file, language, text) in samples {
        type Declaration = fn(&str) -> String;
        let objects: [(&str, &str, Declaration); 3] = if language == "lua" {
            let field = |name: &str| format!("\n    {name}: (");
            [("nk.", &luau, field), ("dispatcher.", &luau, field), ("nkruntime.", &luau, field)]
        } else {
            let method = |name: &str| format!("\n    {name}(");
            let exported = |name: &str| format!(" {name}");
            [("nk.", &typescript, method), ("dispatcher.", &typescript, method), ("nkruntime.", &typescript, exported)]
        };
        for (object, declarations, declared) in objects {
            for name in members(&text, object) {
                let is_there = declarations.contains(&declared(name)) || name == "promises";
                assert!(is_there, "{file}: {object}{name} is not in the declarations");
            }
        }
        if language == "lua" {
            let read = mlua::Lua::new().load(&text).into_function().map(drop);
            assert!(read.is_ok(), "{file}: {read:?} in {text}");
        } else {
            let allocator = oxc_allocator::Allocator::default();
            let kind = if language == "ts" { oxc_span::SourceType::ts() } else { oxc_span::SourceType::mjs() };
            let parsed = oxc_parser::Parser::new(&allocator, &text, kind).parse();
            let first = parsed.diagnostics.iter().next();
            assert!(!parsed.panicked && first.is_none(), "{file}: {first:?} in {text}");
        }
    }
}
