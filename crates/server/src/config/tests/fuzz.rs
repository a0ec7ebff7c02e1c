//! Damaged configuration files. Every fault is told with a line of the file, and a value that its key accepts is read.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use http::{HeaderName, HeaderValue};
use muster_domain::address::Network;
use muster_domain::ladder::Ladder;
use muster_testenv::fuzz::Fuzz;

use super::super::address::DatabaseAddress;
use super::super::file_settings;
use super::super::key::Kind;
use super::super::read::FromEntries;
use super::super::setting::{Entry, Source};
use super::super::template::RoomTemplate;

const WORDS: &[&str] = &[
    ":",
    "- ",
    "\n",
    "  ",
    "&a ",
    "*a",
    "<<: *a",
    "<<: [*a, *a]",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "# ",
    "---\n",
    "...\n",
    "!!str ",
    "? ",
    "~",
    "null",
    "true",
    "\t",
    "\0",
    "é",
    "socket:",
    "port: ",
    "database.address:",
    "sqlite:a",
    "postgres://u:p@h:5/d?sslmode=require",
    "[::1]",
    "%41",
    "10.0.0.0/8",
    "runtime.env:",
    "a=b",
    "headers:",
    "x-a: &a",
    "18446744073709551616",
    "-1",
    "0x1f",
    "matches:",
    "rooms:",
    "templates:",
];

/// Whether the type that a kind of keys is read as takes a text; `None` for kinds without a type of their own.
fn is_read(kind: Kind, entry: &Entry) -> Option<bool> {
    fn of<T: FromEntries>(entry: &Entry) -> Option<bool> {
        Some(T::from_entries(std::slice::from_ref(entry)).is_some())
    }
    match kind {
        Kind::Flag => of::<bool>(entry),
        Kind::Interface => of::<Option<IpAddr>>(entry),
        Kind::Pairs { .. } => of::<BTreeMap<String, String>>(entry),
        Kind::Headers => of::<Vec<(HeaderName, HeaderValue)>>(entry),
        Kind::Addresses => of::<Vec<DatabaseAddress>>(entry),
        Kind::Networks => of::<Vec<Network>>(entry),
        Kind::Ladders => of::<Vec<Ladder>>(entry),
        Kind::Templates => of::<Vec<RoomTemplate>>(entry),
        _ => None,
    }
}

#[test]
fn damaged_files_are_read_or_their_faults_told_with_lines() {
    let tried = Fuzz::new("configuration").words(WORDS).input_bytes_max(500).runs(1_000).run(|input| {
        let text = String::from_utf8_lossy(input);
        let lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count() + 1;
        let mut problems = Vec::new();
        let settings = file_settings(Path::new("f"), &text, &mut problems);
        for entry in settings.iter().flat_map(|setting| &setting.entries) {
            assert!(matches!(&entry.source, Source::File { line, .. } if (1..=lines).contains(line)), "{}", entry.text);
        }
        for setting in &settings {
            for entry in &setting.entries {
                let fits = setting.key.kind.check(&entry.text).is_ok();
                assert!(is_read(setting.key.kind, entry).is_none_or(|is_read| is_read || !fits), "{}", entry.text);
            }
        }
        assert!(problems.iter().all(|problem| !problem.to_string().is_empty()));
        !settings.is_empty()
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

#[test]
fn damaged_addresses_of_databases_are_refused_or_have_one_url() {
    let tried = Fuzz::new("database-address").words(WORDS).input_bytes_max(300).runs(5_000).run(|input| {
        let text = String::from_utf8_lossy(input);
        let Ok(DatabaseAddress::Postgres(address)) = text.parse() else { return false };
        let url = address.url();
        assert_eq!(url.expose().parse().as_ref(), Ok(&DatabaseAddress::Postgres(address)));
        true
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
