//! Tests of YAML files: their shapes, anchors, and refused features.

use std::path::Path;

use super::{
    super::{Problem, file_settings},
    Case,
};

/// The settings of a text, one a line.
fn read(text: &str) -> String {
    let mut problems: Vec<Problem> = Vec::new();
    let settings = file_settings(Path::new("f"), text, &mut problems);
    let mut lines: Vec<String> = settings.iter().map(|setting| format!("{setting:?}")).collect();
    lines.extend(problems.iter().map(|problem| format!("error {problem}")));
    lines.join("\n")
}

#[test]
fn nested_and_dotted_keys_mean_the_same() {
    let expected = "socket.port = 1 (f:2)\nname = a (f:3)";
    assert_eq!(read("socket:\n  port: 1\nname: a\n"), expected);
    assert_eq!(read("\nsocket.port: 1\nname: a\n"), expected);
    assert_eq!(read("social.steam:\n  app_id: 5\n"), "social.steam.app_id = 5 (f:2)");
    assert_eq!(read("social: {steam.app_id: '5'}"), "social.steam.app_id = 5 (f:1)");
}

#[test]
fn anchors_aliases_and_merge_keys() {
    let text = "x-limits: &limits\n  read_timeout_ms: 5\n  write_timeout_ms: 6\nsocket:\n  <<: *limits\n  write_timeout_ms: 7\nconsole:\n  <<: [*limits]\n";
    assert_eq!(
        read(text),
        "socket.write_timeout_ms = 7 (f:6)\nsocket.read_timeout_ms = 5 (f:2)\n\
         console.read_timeout_ms = 5 (f:2)\nconsole.write_timeout_ms = 6 (f:3)"
    );
    assert_eq!(read("name: &n game\nmetrics.namespace: *n\n"), "name = game (f:1)\nmetrics.namespace = game (f:2)");
}

#[test]
fn nothing_written_leaves_the_default() {
    assert_eq!(read(""), "");
    assert_eq!(read("# only a comment\n"), "");
    assert_eq!(read("socket:\nname: ~\n"), "");
    assert_eq!(read("metrics.prefix: ''\n"), "metrics.prefix =  (f:1)");
    assert_eq!(read("\u{feff}name: a\r\n"), "name = a (f:1)", "as some editors begin and end lines");
}

#[test]
fn lists_and_pairs() {
    assert_eq!(read("database.address:\n  - root@a\n  - root@b\n"), "database.address = root@a, root@b (f:3)");
    assert_eq!(read("database: {address: root@a}"), "database.address = root@a (f:1)");
    assert_eq!(read("runtime.env: {A: 1, B: }"), "runtime.env = A=(secret), B=(secret) (f:1)");
    assert_eq!(read("runtime.env: [A=1]"), "runtime.env = A=(secret) (f:1)");
}

#[test]
fn templates_of_rooms_are_maps_by_name() {
    let text = "rooms:\n  templates:\n    duel: {size: 2, path: a/b}\n    table: size=3-8\n    plain:\n";
    let expect = "rooms.templates = duel=size=2 path=a/b, table=size=3-8, plain= (f:5)";
    assert_eq!(read(text), expect);
    assert_eq!(read("rooms.templates: [duel=size=2]"), "rooms.templates = duel=size=2 (f:1)");
    assert_eq!(
        read("rooms.templates: {duel: [2]}"),
        "rooms.templates =  (default)\nerror f:1: `duel` of `rooms.templates` must be a map"
    );
}

#[test]
fn shapes_that_do_not_fit() {
    assert_eq!(read("socket: 1"), "error f:1: `socket` is a group of keys: it takes no value of its own");
    assert_eq!(read("name: [a]"), "error f:1: `name` takes one value, not a list");
    assert_eq!(read("name: {a: b}"), "error f:1: `name` takes a text, not a map");
    assert_eq!(read("metrics: {prefix: [a]}"), "error f:1: `metrics.prefix` takes one value, not a list");
    assert_eq!(
        read("database.address: [a, [b]]"),
        "database.address = a (f:1)\nerror f:1: an entry of `database.address` must be a text"
    );
    assert_eq!(read("name: a\nname: b"), "error f:2: `name` stands here a second time, after line 1");
    assert_eq!(
        read("socket: {port: 1}\nsocket.port: 2"),
        "socket.port = 1 (f:1)\nerror f:2: `socket.port` is set a second time, after f:1"
    );
    assert_eq!(read("config: other.yml"), "error f:1: `config` cannot stand in a file: give further files by --config");
    assert_eq!(read("- a"), "error f:1: expected keys with values, such as `name: muster`");
    assert_eq!(read("name: a\n---\nname: b\n"), "error f:2: a second document; a configuration file has one");
    for tagged in ["name: !shout a", "name: !!str a", "database.address: !!seq [a]", "runtime.env: !!map {a: b}"] {
        assert_eq!(read(tagged), "error f:1: tags are not used here: every value is read as its key needs it");
    }
    assert!(read("name: [a").starts_with("error f:"), "{}", read("name: [a"));
    assert!(read("name: *nobody").starts_with("error f:1: this is no valid YAML"), "{}", read("name: *nobody"));
}

#[test]
fn bombs_are_refused() {
    let mut text = String::from("x-0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("x-{level}: &a{level} [{aliases}]\n"));
    }
    assert_eq!(read(&text), "error f:5: more values than a configuration file may have");
    let deep = format!("name: {}{}", "[".repeat(100), "]".repeat(100));
    assert!(read(&deep).starts_with("error f:1: "), "{}", read(&deep));
    let large = Case::new().file("large.yml", &"# 567890123456789\n".repeat(70_000));
    assert_eq!(large.faults(), "cannot read the configuration file large.yml: it has more than 1048576 bytes");
}

#[test]
fn a_missing_file_is_a_fault() {
    let case = Case::new().flag("config", "/nowhere/game.yml");
    assert!(case.faults().starts_with("cannot read the configuration file /nowhere/game.yml: "), "{}", case.faults());
}

/// Reads texts whose bytes were replaced, cut off and added to, in the same way in each run. Nothing may panic, hang or
/// grow without bound.
#[test]
fn mutilated_texts_are_read_or_refused() {
    const TEXTS: [&str; 4] = [
        "x-a: &a {port: 1, address: ''}\nsocket: {<<: *a, response_headers: [A=b, 'c=d']}\n",
        "name: >-\n  folded\n  text\nruntime:\n  env:\n    A: \"\\u0041\"\n",
        "? name\n: a\n---\n...\n# end\n",
        "database.address: postgres://u:%41@[::1]:5432/n?sslmode=require\n",
    ];
    const CHARACTERS: &[u8] = b"{}[]&*:-?|>'\"#%@!,\n\t ~<x0\\";
    let mut state = 1u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for round in 0..4_000 {
        let mut bytes = TEXTS[round % TEXTS.len()].as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = CHARACTERS[random(CHARACTERS.len())],
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, CHARACTERS[random(CHARACTERS.len())]),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        assert!(read(&text).len() < 10_000, "for {text:?}");
        let _ = text.parse::<super::super::DatabaseAddress>();
    }
}
