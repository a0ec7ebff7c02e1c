//! Batches as each version of the format wrote them: nodes of that release may still run when a newer one joins.
//!
//! `golden/v1.hex` holds a batch for each kind of message: its name, and a line for each field of the batch. Lines of
//! released kinds never change. `v1.txt` is the result of reading it with this release. `UPDATE_GOLDEN=1 cargo test -p
//! muster-cluster --test codec` adds new kinds to the first file and rewrites the second: its difference shows how this
//! release reads older nodes' messages. A new version of the format gets files of its own in the same way.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use bytes::Bytes;
use muster_live::plane::Message;
use muster_wire::batch::VERSION;

use crate::messages::every_message;
use crate::random::Random;
use crate::round_trip::{encode, one};

fn path(version: u32, extension: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/codec/golden/v{version}.{extension}"))
}

fn text(version: u32, extension: &str) -> String {
    let path = path(version, extension);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_update() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

/// The batches of a file, by the kinds of their messages.
fn batches(hex: &str) -> Vec<(&str, Bytes)> {
    let bytes = |line: &str| {
        let digits = line.split_ascii_whitespace();
        digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect::<Vec<_>>()
    };
    let batch = |part: &'_ str| part.lines().skip(1).flat_map(bytes).collect();
    hex.split("# ").skip(1).map(|part| (part.lines().next().unwrap(), batch(part))).collect()
}

/// Appends a batch, one line for each of its fields.
fn append(hex: &mut String, kind: &str, batch: &[u8]) {
    writeln!(hex, "# {kind}").unwrap();
    let mut rest = batch;
    while let [key, behind @ ..] = rest {
        let digits = 1 + behind.iter().take_while(|byte| **byte >= 0x80).count();
        let number = behind[..digits].iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7F));
        let content = if key & 7 == 2 { number } else { 0 };
        let (field, behind) = rest.split_at(1 + digits + content);
        let pairs: Vec<String> = field.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(hex, "{}", pairs.join(" ")).unwrap();
        rest = behind;
    }
}

/// Adds the kinds of messages that the file does not have yet.
fn add_new_kinds() {
    let mut hex = std::fs::read_to_string(path(VERSION, "hex")).unwrap_or_default();
    for (kind, message) in missing(&hex) {
        append(&mut hex, &kind, &encode(&[(1, 2, message)]));
    }
    std::fs::write(path(VERSION, "hex"), hex).unwrap();
}

fn missing(hex: &str) -> Vec<(String, Message)> {
    let known: BTreeSet<&str> = batches(hex).iter().map(|(kind, _)| *kind).collect();
    let mut messages = every_message(&mut Random::new(VERSION.into()));
    messages.retain(|(kind, _)| !known.contains(kind.as_str()));
    messages
}

#[test]
fn batches_of_every_version_are_read_and_every_kind_of_message_is_among_them() {
    if is_update() {
        add_new_kinds();
    }
    let missing: Vec<String> = missing(&text(VERSION, "hex")).into_iter().map(|(kind, _)| kind).collect();
    assert!(missing.is_empty(), "this file's header says how to add {missing:?}");
    for version in 1..=VERSION {
        check(version);
    }
}

fn check(version: u32) {
    let mut shown = String::new();
    for (kind, batch) in batches(&text(version, "hex")) {
        let received = one(&batch);
        let content = received.content.unwrap_or_else(|unread| panic!("version {version}, {kind}: {unread:?}"));
        writeln!(shown, "{kind}, {:?} > {:?}: {content:?}", received.from, received.to).unwrap();
    }
    if is_update() {
        std::fs::write(path(version, "txt"), &shown).unwrap();
    }
    let expected = text(version, "txt");
    for (line, (shown, expected)) in shown.lines().zip(expected.lines()).enumerate() {
        assert_eq!(shown, expected, "version {version}, line {}", line + 1);
    }
    assert_eq!(shown.lines().count(), expected.lines().count());
}
