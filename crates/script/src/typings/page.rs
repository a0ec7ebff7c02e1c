//! The reference page of functions that game code may call.

use std::fmt::Write as _;

use muster_api::http::code;

use super::shapes::{in_words, value};
use super::types::records;
use crate::host::{DefaultValue, EffectClass, Field, HostFunction, Parameter, pending};
use crate::quickjs::{FORMS, JavaScriptFunction, camel_case};

const HEAD: &str = "\
# Functions of the server

<!-- Generated from the host table. To rewrite it: UPDATE_DOCS=1 cargo test -p muster-script --lib reference -->

Game code may call these functions: in Lua they belong to `require(\"nakama\")`, in JavaScript and TypeScript to \
`nk`. `muster types FOLDER` writes declarations of the functions for editors and compilers.

Every function refuses arguments that are of another type, or break its rules, with code 3; its other errors are \
listed with it. The code is for game code: in JavaScript it is the error's `code`, in Lua a caught error is a text. A \
client gets code 13 for an error that game code does not catch. Arguments and fields that may be left out are in *italics*; a `null` or `nil` counts as left out. \
Names in tables are written as here in Lua (`user_id`), and in camel case in JavaScript (`userId`), which may use \
both. Moments are seconds since 1970. Bytes are a string in Lua; in JavaScript an `ArrayBuffer`, and a string may be \
given instead. Where Lua gets several results, JavaScript gets them as one object, by their names.
";

/// The text of the page.
pub fn page() -> String {
    let mut written = HEAD.to_owned();
    written.push_str("\n## Functions\n");
    FORMS.iter().for_each(|form| describe(&mut written, form));
    written.push_str("\n## Tables\n");
    for record in records() {
        let _ = write!(written, "\n### {}\n\n| field | is |\n|---|---|\n", record.name);
        record.fields.iter().for_each(|field| line(&mut written, field));
    }
    written.push_str("\n## Not there yet\n\nCalling one of these is an error: a text in Lua, code 12 in JavaScript and Go. Those that register something warn instead:\n\n");
    let mut names: Vec<_> = pending().map(|function| function.name).collect();
    names.sort_unstable();
    for name in names {
        let _ = writeln!(written, "- `{name}`");
    }
    written
}

fn describe(written: &mut String, form: &JavaScriptFunction) {
    let function = form.function;
    let _ = write!(written, "\n### {}\n\n{}\n\n", function.name, function.doc);
    let _ = writeln!(written, "- Lua: `nk.{}({})`", function.name, in_lua(function));
    for name in &form.names {
        let _ = writeln!(written, "- JavaScript: `nk.{name}({})`", in_javascript(form));
    }
    let answers = if function.answers.is_empty() { "nothing" } else { function.answers };
    let _ = writeln!(written, "- Answers: {answers}");
    for (kind, when) in function.errors {
        let _ = writeln!(written, "- Error {}: {when}", code(*kind).number());
    }
    let _ = writeln!(written, "- {}", effect(function.effect));
    for (language, told) in [
        ("Lua", in_words(&function.lua.arguments, &function.lua.answer)),
        ("JavaScript", in_words(&function.javascript.arguments, &function.javascript.tables)),
    ] {
        if !told.is_empty() {
            let _ = writeln!(written, "- In {language}: {told}");
        }
    }
    if !function.javascript.repeats.is_empty() {
        let _ = writeln!(written, "- In JavaScript: answers `{}`, too", function.javascript.repeats);
    }
    if !function.parameters.is_empty() {
        written.push_str("\n| argument | is |\n|---|---|\n");
        for Parameter { name, of, is_optional, default } in function.parameters {
            let default = match default {
                DefaultValue::Nothing => String::new(),
                default => format!("; {} unless given", value(*default)),
            };
            let _ = writeln!(written, "| {} | {}{default} |", marked(name, *is_optional), of.in_words());
        }
    }
    if let [Field { name, .. }, ..] = function.results
        && !name.is_empty()
    {
        written.push_str("\n| result | is |\n|---|---|\n");
        function.results.iter().for_each(|result| line(written, result));
    }
}

/// Writes a line of a table, for a field or a result.
fn line(written: &mut String, Field { name, of, is_optional }: &Field) {
    let _ = writeln!(written, "| {} | {} |", marked(name, *is_optional), of.in_words());
}

/// The name as it stands in a table: in italics if the value may be left out.
fn marked(name: &str, is_optional: bool) -> String {
    if is_optional { format!("*{name}*") } else { name.to_owned() }
}

fn in_lua(function: &HostFunction) -> String {
    function.parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ")
}

fn in_javascript(form: &JavaScriptFunction) -> String {
    form.arguments().iter().map(|parameter| camel_case(parameter.name)).collect::<Vec<_>>().join(", ")
}

fn effect(effect: EffectClass) -> &'static str {
    match effect {
        EffectClass::Pure => "The same arguments always have the same answer.",
        EffectClass::Chance => "Reads the clock or draws random numbers.",
        EffectClass::Log => "Writes to the log.",
        EffectClass::Reports => "Reports to the functions that are registered for events.",
        EffectClass::Reads => "Reads data that others may change.",
        EffectClass::AsksServer => "Sends a request to another server, which may change something there.",
        EffectClass::Writes => "Changes data that others may read.",
        EffectClass::WritesKeyed => "Changes data that others may read. In a durable match the change happens once.",
        EffectClass::Local => "Changes values that this process keeps in memory.",
        EffectClass::Players => "Reaches connected players.",
    }
}
