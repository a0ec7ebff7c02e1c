//! Declarations for TypeScript: the namespace `nkruntime`, by the names of the original's own declarations.

use std::fmt::Write as _;

use muster_api::hooks::HookSubject;

use super::payloads::{of_operation, payloads};
use super::shapes::{fields, shape_of};
use super::types::records;
use super::wrapped;
use crate::host::{Field, HostFunction, Type};
use crate::quickjs::{AnswerForm, FORMS, JavaScriptFunction, camel_case};

/// The declarations that do not follow from the host table: contexts, the types of functions that game code registers,
/// matches.
const HEAD: &str = include_str!("head.d.ts");

/// The largest number of characters in a line of a comment.
const WIDTH: usize = 116;

/// All declarations, as the text of one file.
pub fn typescript() -> String {
    let mut written = format!("{HEAD}\n");
    for record in records() {
        let _ = writeln!(written, "  interface {} {{", record.name);
        let shape = shape_of(record, |function| &function.javascript.tables);
        for (name, field) in fields(record, shape) {
            let mark = if field.is_optional { "?" } else { "" };
            let of = field.of.in_typescript();
            let of = if shape.boxed.contains(&field.name) { format!("{{ Value: {of} }}") } else { of };
            let _ = writeln!(written, "    {}{mark}: {of};", camel_case(name));
        }
        written.push_str("  }\n\n");
    }
    written.push_str("  /** The functions of the server. */\n  interface Nakama {\n");
    written.push_str(
        "    binaryToString(data: ArrayBuffer | Uint8Array): string;\n    stringToBinary(text: string): ArrayBuffer;\n",
    );
    written.push_str("    /** The functions that may have to wait, as promises: for functions that are `async`. */\n");
    written.push_str("    promises: NakamaPromises;\n");
    FORMS.iter().for_each(|form| declare(&mut written, form, str::to_owned));
    written
        .push_str("  }\n\n  /** The functions of the server that may have to wait. */\n  interface NakamaPromises {\n");
    let waiting = FORMS.iter().filter(|form| form.function.may_wait());
    waiting.for_each(|form| declare(&mut written, form, |answer| format!("Promise<{answer}>")));
    written.push_str("  }\n\n");
    written.push_str(&payloads(&is_taken));
    written.push_str("  interface HookRegistrations {\n");
    for subject in HookSubject::operations() {
        let HookSubject::Operation(operation) = subject else { continue };
        let name = subject.name();
        let (request, answer) = of_operation(operation, &is_taken);
        let _ = writeln!(written, "    registerBefore{name}(fn: BeforeHookFunction<{request}>): void;");
        let _ = writeln!(written, "    registerAfter{name}(fn: AfterHookFunction<{answer}, {request}>): void;");
    }
    written.push_str("  }\n}\n");
    written
}

/// Whether a type that is no message of the protocol has the name.
fn is_taken(name: &str) -> bool {
    let declared = |kind: &str| HEAD.contains(&format!("\n  {kind} {name} "));
    declared("interface") || declared("type") || records().iter().any(|record| record.name == name)
}

/// Declares a method. `wrap` turns the type of the answer into that of a promise, for methods that answer promises.
fn declare(written: &mut String, form: &JavaScriptFunction, wrap: impl Fn(&str) -> String) {
    for line in comment(form.function) {
        let _ = writeln!(written, "    {line}");
    }
    let (parameters, answer) = (parameters(form), wrap(&answer(form)));
    for name in &form.names {
        let _ = writeln!(written, "    {name}({parameters}): {answer};");
    }
}

fn comment(function: &HostFunction) -> Vec<String> {
    let told = match function.answers {
        "" => function.doc.to_owned(),
        answers => format!("{} Answers {answers}.", function.doc),
    };
    let mut lines: Vec<_> = wrapped(&told, WIDTH).into_iter().map(|line| format!(" * {line}")).collect();
    lines.insert(0, "/**".to_owned());
    lines.push(" */".to_owned());
    lines
}

/// The parameters in JavaScript's order. A parameter that may be left out, but stands before one that may not, is
/// declared to take `null`.
fn parameters(form: &JavaScriptFunction) -> String {
    let placed = form.arguments();
    let rules = &form.function.javascript.arguments;
    let last_needed = placed.iter().rposition(|parameter| !rules.is_optional(parameter));
    let written = placed.iter().enumerate().map(|(place, parameter)| {
        // `default` is a reserved word of TypeScript.
        let name = if parameter.name == "default" { "defaultValue".to_owned() } else { camel_case(parameter.name) };
        let of = parameter.of.in_typescript();
        match (rules.is_optional(parameter), last_needed.is_some_and(|last| place < last)) {
            (false, _) => format!("{name}: {of}"),
            (true, true) => format!("{name}: {of} | null | undefined"),
            (true, false) => format!("{name}?: {of} | null"),
        }
    });
    written.collect::<Vec<_>>().join(", ")
}

fn answer(form: &JavaScriptFunction) -> String {
    let results = form.function.results;
    let plain = |result: &Field| match result.of {
        Type::Bytes => "string".to_owned(),
        of => of.in_typescript(),
    };
    let first = || results.first().map_or_else(|| "void".to_owned(), plain);
    let object = |names: &[String], of: fn(&Field, String) -> String| {
        let mark = |result: &Field| if result.is_optional { "?" } else { "" };
        let fields = names.iter().zip(results);
        let fields = fields.map(|(name, result)| format!("{name}{}: {}", mark(result), of(result, plain(result))));
        // An argument that is answered, too, is a text.
        let repeated = Some(form.function.javascript.repeats).filter(|name| !name.is_empty());
        let repeated = repeated.map(|name| format!("{}: string", camel_case(name)));
        format!("{{ {} }}", fields.chain(repeated).collect::<Vec<_>>().join("; "))
    };
    match &form.answer {
        AnswerForm::Plain | AnswerForm::Base64 => first(),
        AnswerForm::OrNull => format!("{} | null", first()),
        AnswerForm::Binary => "ArrayBuffer".to_owned(),
        AnswerForm::Named(names) => object(names, |_, of| of),
        AnswerForm::Response(names) => object(names, |result, of| match result.of {
            Type::Map(header) => format!("{{ [key: string]: {}[] }}", header.in_typescript()),
            _ => of,
        }),
    }
}
