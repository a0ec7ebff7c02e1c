//! Declarations for TypeScript of the messages that hooks get: requests and answers of operations, and messages of
//! sockets. Their form is that of JSON with names in camel case, in which every member stands.

use std::fmt::Write as _;

use muster_api::hooks::HookSubject;
use muster_wire::operations::Operation;
use muster_wire::realtime_variants::Variant;

use super::messages::MESSAGES;
use crate::quickjs::camel_case;

/// A message of the protocol.
pub(super) struct Message {
    /// The name with the package, as the schema has it: `api.Session`.
    pub path: &'static str,
    pub members: &'static [Member],
}

/// A member of a message.
pub(super) struct Member {
    pub name: &'static str,
    pub kind: Kind,
    pub count: Count,
}

/// The kind of a member's values.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A text. Numbers of 64 bits, moments and bytes are texts, too.
    Text,
    Number,
    Flag,
    /// The message with this path.
    Message(&'static str),
}

/// The number of values that a member has.
#[derive(Clone, Copy)]
pub(super) enum Count {
    One,
    OneOrNull,
    /// One, in a member that is not there while another member has the value.
    Alternative,
    List,
    ByName,
}

/// The request and the answer of an operation, as TypeScript names them.
pub(super) fn of_operation(operation: Operation, is_taken: &dyn Fn(&str) -> bool) -> (String, String) {
    let row = operation.row();
    let named = |message: &str| match message {
        "Empty" => "void".to_owned(),
        message => type_name(&format!("api.{message}"), is_taken),
    };
    (named(row.request), named(row.response))
}

/// The declarations of all messages. A message whose name is taken by a table of functions begins with `Api`.
pub(super) fn payloads(is_taken: &dyn Fn(&str) -> bool) -> String {
    let mut found = Vec::new();
    for subject in HookSubject::operations().chain(HookSubject::messages()) {
        match subject {
            HookSubject::Operation(operation) => {
                let row = operation.row();
                [row.request, row.response].iter().for_each(|name| collect(&format!("api.{name}"), &mut found));
            }
            HookSubject::Message(variant) => collect(&format!("realtime.{}", variant.title), &mut found),
        }
    }
    let mut written = String::new();
    for message in found {
        let _ = writeln!(written, "  interface {} {{", type_name(message.path, is_taken));
        for Member { name, kind, count } in message.members {
            let of = match kind {
                Kind::Text => "string".to_owned(),
                Kind::Number => "number".to_owned(),
                Kind::Flag => "boolean".to_owned(),
                Kind::Message(path) => type_name(path, is_taken),
            };
            let (mark, of) = match count {
                Count::One => ("", of),
                Count::OneOrNull => ("", format!("{of} | null")),
                Count::Alternative => ("?", of),
                Count::List => ("", format!("{of}[]")),
                Count::ByName => ("", format!("{{ [key: string]: {of} }}")),
            };
            let _ = writeln!(written, "    {name}{mark}: {of};");
        }
        written.push_str("  }\n\n");
    }
    written.push_str(&envelopes(is_taken));
    written
}

/// The declarations of envelopes, by the names under which hooks are registered.
fn envelopes(is_taken: &dyn Fn(&str) -> bool) -> String {
    let variants: Vec<&Variant> = HookSubject::messages()
        .filter_map(|subject| match subject {
            HookSubject::Message(variant) => Some(variant),
            HookSubject::Operation(_) => None,
        })
        .collect();
    let mut written = String::new();
    for Variant { name, title, .. } in &variants {
        let of = type_name(&format!("realtime.{title}"), is_taken);
        let member = camel_case(name);
        let _ = writeln!(written, "  interface Envelope{title} {{\n    cid?: string;\n    {member}: {of};\n  }}\n");
    }
    written
        .push_str("  /** The messages of sockets that take hooks, by the names under which hooks are registered. */\n");
    written.push_str("  interface RtEnvelopes {\n");
    for Variant { title, .. } in &variants {
        let _ = writeln!(written, "    {title}: Envelope{title};");
    }
    written.push_str("  }\n\n");
    written
}

/// Finds a message and the messages in it, each once. The messages in it stand before it.
fn collect(path: &str, found: &mut Vec<&'static Message>) {
    let message = MESSAGES.iter().find(|message| message.path == path);
    let Some(message) = message.filter(|message| found.iter().all(|known| known.path != message.path)) else { return };
    for member in message.members {
        if let Kind::Message(inner) = member.kind {
            collect(inner, found);
        }
    }
    found.push(message);
}

/// The name of a message in TypeScript. The name of a nested message begins with that of the outer one.
fn type_name(path: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let name: String = path.split('.').skip(1).collect();
    if is_taken(&name) { format!("Api{name}") } else { name }
}
