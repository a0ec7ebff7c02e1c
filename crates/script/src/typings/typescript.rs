//! Declarations for TypeScript: the namespace `nkruntime`, by the names of the original's own declarations.

use std::fmt::Write as _;

use muster_api::hooks::Subject;

use super::signatures::RECORDS;
use super::types::{Type, camel_cased, field};
use super::{Signature, signature, wrapped};
use crate::host::{HostFunction, functions};
use crate::quickjs::{Answered, answered, argument_order, names_in_javascript};

/// What does not follow from tables: contexts, functions that are registered, matches.
const HEAD: &str = include_str!("head.d.ts");

/// Width of comments.
const WIDTH: usize = 116;

/// All declarations, a file by itself.
pub fn typescript() -> String {
    let mut written = format!("{HEAD}\n");
    for (name, fields) in RECORDS {
        let _ = writeln!(written, "  interface {name} {{");
        for (name, of, is_optional) in fields.iter().map(|written| field(written)) {
            let mark = if is_optional { "?" } else { "" };
            let _ = writeln!(written, "    {}{mark}: {};", camel_cased(name), of.in_typescript());
        }
        written.push_str("  }\n\n");
    }
    written.push_str("  /** The functions of the server. */\n  interface Nakama {\n");
    written.push_str(
        "    binaryToString(data: ArrayBuffer | Uint8Array): string;\n    stringToBinary(text: string): ArrayBuffer;\n",
    );
    written.push_str("    /** The functions that may have to wait, as promises: for functions that are `async`. */\n");
    written.push_str("    promises: NakamaPromises;\n");
    functions().for_each(|function| declare(&mut written, function, str::to_owned));
    written
        .push_str("  }\n\n  /** The functions of the server that may have to wait. */\n  interface NakamaPromises {\n");
    let waiting = functions().filter(|function| function.waits());
    waiting.for_each(|function| declare(&mut written, function, |answer| format!("Promise<{answer}>")));
    written.push_str("  }\n\n  interface HookRegistrations {\n");
    for subject in Subject::operations() {
        let name = subject.name();
        let _ = writeln!(written, "    registerBefore{name}(fn: BeforeHookFunction<any>): void;");
        let _ = writeln!(written, "    registerAfter{name}(fn: AfterHookFunction<any, any>): void;");
    }
    written.push_str("  }\n}\n");
    written
}

/// Declares a method, whose result stands in the form.
fn declare(written: &mut String, function: &'static HostFunction, form: impl Fn(&str) -> String) {
    let signature = signature(function);
    for line in comment(&signature) {
        let _ = writeln!(written, "    {line}");
    }
    let (parameters, answer) = (parameters(&signature), form(&answer(&signature)));
    for name in names_in_javascript(function.name) {
        let _ = writeln!(written, "    {name}({parameters}): {answer};");
    }
}

fn comment(signature: &Signature) -> Vec<String> {
    let told = format!("{} Answers {}.", signature.function.doc, signature.function.result);
    let told = if signature.results.is_empty() { signature.function.doc.to_owned() } else { told };
    let mut lines: Vec<_> = wrapped(&told, WIDTH).into_iter().map(|line| format!(" * {line}")).collect();
    lines.insert(0, "/**".to_owned());
    lines.push(" */".to_owned());
    lines
}

/// In JavaScript's order. What may be left out but stands before what may not is given as `null`.
fn parameters(signature: &Signature) -> String {
    let order = argument_order(signature.function.name);
    let mut placed: Vec<_> = signature.parameters.iter().enumerate().collect();
    placed.sort_by_key(|(index, _)| order.get(*index).copied().unwrap_or(*index));
    let last_needed = placed.iter().rposition(|(_, (parameter, _))| !parameter.is_optional);
    let written = placed.iter().enumerate().map(|(place, (_, (parameter, of)))| {
        let name = camel_cased(parameter.name);
        let name = if name == "default" { "defaultValue".to_owned() } else { name };
        let of = of.in_typescript();
        match (parameter.is_optional, last_needed.is_some_and(|last| place < last)) {
            (false, _) => format!("{name}: {of}"),
            (true, true) => format!("{name}: {of} | null | undefined"),
            (true, false) => format!("{name}?: {of} | null"),
        }
    });
    written.collect::<Vec<_>>().join(", ")
}

fn answer(signature: &Signature) -> String {
    let plain = |of: &Type| match of {
        Type::Bytes => "string".to_owned(),
        of => of.in_typescript(),
    };
    let first = signature.results.first().map_or_else(|| "void".to_owned(), plain);
    match answered(signature.function.name) {
        Answered::Plain if signature.function.name == "localcache_get" => "any".to_owned(),
        Answered::Plain => first,
        Answered::OrNull => format!("{first} | null"),
        Answered::Binary => "ArrayBuffer".to_owned(),
        Answered::Base64 => "string".to_owned(),
        Answered::Response => "{ code: number; headers: { [key: string]: string[] }; body: string }".to_owned(),
        Answered::Named(names) => {
            let results = signature.results.iter().map(plain).chain(std::iter::repeat("any".to_owned()));
            // A cursor is missing where there is no further page.
            let mark = |name: &str| if name.to_lowercase().ends_with("cursor") { "?" } else { "" };
            let fields = names.iter().zip(results).map(|(name, of)| format!("{name}{}: {of}", mark(name)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        }
    }
}
