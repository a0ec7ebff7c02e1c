//! The reference page of functions that game code may call.

use std::fmt::Write as _;

use super::signatures::RECORDS;
use super::types::field;
use super::{Signature, signature};
use crate::host::{Effect, PENDING, functions};
use crate::quickjs::{argument_order, names_in_javascript};

const HEAD: &str = "\
# Functions of the server

<!-- Generated from the host table. To rewrite it: UPDATE_DOCS=1 cargo test -p muster-script --lib reference -->

What game code may call: in Lua of `require(\"nakama\")`, in JavaScript and TypeScript of `nk`. `muster types FOLDER` writes declarations of \
all this for editors and compilers.

Every function refuses arguments that are of another type with code 3. What may be left out is in *italics*; a `null` or `nil` counts as left \
out. Names in tables are written as here in Lua (`user_id`), in camel case in JavaScript (`userId`), which may use both. Moments are seconds since 1970. \
Bytes are a string in Lua; in JavaScript an `ArrayBuffer`, and a string may be given instead. Where Lua gets several results, JavaScript gets \
them as one object.
";

/// The page.
pub fn page() -> String {
    let mut written = HEAD.to_owned();
    written.push_str("\n## Functions\n");
    for function in functions() {
        let signature = signature(function);
        let _ = write!(written, "\n### {}\n\n{}\n\n", function.name, function.doc);
        let _ = writeln!(written, "- Lua: `nk.{}({})`", function.name, in_lua(&signature));
        for name in names_in_javascript(function.name) {
            let _ = writeln!(written, "- JavaScript: `nk.{name}({})`", in_javascript(&signature));
        }
        let _ = writeln!(written, "- Answers: {}", function.result);
        let _ = writeln!(written, "- {}", effect(function.effect));
        if !signature.parameters.is_empty() {
            written.push_str("\n| argument | is |\n|---|---|\n");
            for (parameter, of) in &signature.parameters {
                let mark = if parameter.is_optional { "*" } else { "" };
                let _ = writeln!(written, "| {mark}{}{mark} | {} |", parameter.name, of.in_words());
            }
        }
    }
    written.push_str("\n## Tables\n");
    for (name, fields) in RECORDS {
        let _ = write!(written, "\n### {name}\n\n| field | is |\n|---|---|\n");
        for (name, of, is_optional) in fields.iter().map(|written| field(written)) {
            let mark = if is_optional { "*" } else { "" };
            let _ = writeln!(written, "| {mark}{name}{mark} | {} |", of.in_words());
        }
    }
    written.push_str("\n## Not there yet\n\nThese are errors with code 12:\n\n");
    for name in PENDING {
        let _ = writeln!(written, "- `{name}`");
    }
    written
}

fn in_lua(signature: &Signature) -> String {
    signature.parameters.iter().map(|(parameter, _)| parameter.name).collect::<Vec<_>>().join(", ")
}

fn in_javascript(signature: &Signature) -> String {
    let order = argument_order(signature.function.name);
    let mut names: Vec<_> = signature.parameters.iter().enumerate().collect();
    names.sort_by_key(|(index, _)| order.get(*index).copied().unwrap_or(*index));
    let names = names.into_iter().map(|(_, (parameter, _))| crate::quickjs::camel_case(parameter.name));
    names.collect::<Vec<_>>().join(", ")
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "Always answers the same.",
        Effect::Chance => "Draws from the clock or from chance.",
        Effect::Log => "Writes to the log.",
        Effect::Tells => "Tells functions that want to hear of it.",
        Effect::Reads => "Reads what others may change.",
        Effect::Asks => "Asks another server, where that may change something.",
        Effect::Writes => "Changes what others may read.",
    }
}
