//! Damaged statements of game code. The verdict follows from the words, however they are written.

use muster_testenv::fuzz::Fuzz;

use super::permitted::check;
use super::words::{Word, words};

const WORDS: &[&str] = &[
    "SELECT ",
    "INSERT INTO ",
    "UPDATE ",
    "DELETE FROM ",
    "WITH a AS (",
    "CREATE TABLE ",
    "ALTER TABLE ",
    "DROP TABLE ",
    "muster_term",
    "\"muster_term\"",
    "MUSTER_",
    "pg_settings",
    "pg_catalog.",
    "set_config(",
    "setval('",
    "users",
    "'",
    "''",
    "\"",
    "\"\"",
    "$$",
    "$a$",
    "$1",
    "E'",
    "e'\\'",
    "U&'",
    "U&\"",
    "u&\"\\0041\"",
    "N'",
    "B'",
    "--",
    "\n",
    "\r",
    "/*",
    "*/",
    "/*/",
    ";",
    "(",
    ")",
    ",",
    "::",
    "\\",
    "\x0b",
    "\u{a0}",
    "é",
    "a$b",
    "FOR UPDATE",
    "CREATE",
    "GRANT",
];

/// The words as another text that has the same ones.
fn written(words: &[Word<'_>]) -> String {
    let mut text = String::new();
    for word in words {
        text.push_str("/* a /* b */ */\n");
        match word {
            Word::Name(name) => text.push_str(&name.to_ascii_uppercase()),
            Word::Quoted(name) => text.push_str(&format!("\"{}\"", name.replace('"', "\"\""))),
            // A text between dollars may have quotes that are not doubled.
            Word::Text(inner) => text.push_str(&format!("$of_fuzz${inner}$of_fuzz$")),
            Word::Escaped => text.push_str("e'\\''"),
            Word::Number => text.push('1'),
            Word::Sign(sign) => text.push(*sign),
        }
    }
    text
}

#[test]
fn damaged_statements_have_the_verdict_of_their_words() {
    let tried = Fuzz::new("sql-permitted").words(WORDS).input_bytes_max(1_000).run(|input| {
        let statement = String::from_utf8_lossy(input);
        let Ok(found) = words(&statement) else {
            assert!(check(&statement).is_err());
            return false;
        };
        let again = written(&found);
        assert_eq!(words(&again).as_deref(), Ok(&*found), "{again}");
        assert_eq!(check(&again), check(&statement), "{again}");
        let names_ours = |word: &Word<'_>| word.name().is_some_and(|name| name.to_lowercase().starts_with("muster_"));
        let is_permitted = check(&statement).is_ok();
        assert!(!is_permitted || !found.iter().any(names_ours));
        is_permitted
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
