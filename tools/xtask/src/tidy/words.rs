//! Rules on the words of comments and documents, and on the length of lines.
//!
//! A machine cannot tell whether a comment is understood. It can tell that a comment begins with a word that points to
//! something else, such as "What" or "By which": then the noun that the comment is about has to be guessed.

use std::path::Path;

/// Files and folders with long lines. Lines may only be removed.
const LONG_LINES: &[&str] = &[
    "BENCHMARKS.md",
    "COMPAT.md",
    "README.md",
    "changelog.d",
    // Texts and game code in strings.
    "crates/script/src/host",
    "crates/script/src/luau/matches/state.rs",
    "crates/script/src/process/stuck.rs",
    "crates/script/src/quickjs/places.rs",
    "crates/script/src/typings/page.rs",
    "crates/script/tests",
    "docs",
    "examples",
    "sdk/typescript",
    "tests/fuzz",
];

/// The longest line, in characters.
const LINE_LEN_MAX: usize = 120;

/// Words that are not English. Split in two, so that this file does not hold them itself.
const NO_WORDS: &[(&str, &str)] = &[("mani", "eth")];

/// Words that a comment must not begin with, alone or after a preposition.
const POINTERS: &[&str] = &["what", "which", "whom", "whose"];
const PREPOSITIONS: &[&str] = &["as", "at", "by", "for", "from", "in", "of", "on", "to", "with"];

/// Mark of something that does not exist, split in two.
const PLANNED: (&str, &str) = ("(plan", "ned)");

/// A kind of file with rules of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Text {
    Rust,
    Markdown,
}

/// Checks a file, and reports the number of each wrong line with a sentence.
pub fn check(file: &Path, kind: Text, text: &str, mut report: impl FnMut(usize, String)) {
    let may_be_long = LONG_LINES.iter().any(|path| file.starts_with(path));
    let mut before = "";
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_code ^= kind == Text::Markdown && line.trim_start().starts_with("```");
        if is_too_long(kind, line) && !is_code && !may_be_long {
            report(number, format!("longer than {LINE_LEN_MAX} characters"));
        }
        for (first, second) in NO_WORDS {
            let word = [*first, *second].concat();
            if line.contains(&word) {
                report(number, format!("`{word}` is not a word"));
            }
        }
        if kind == Text::Markdown && line.contains(&[PLANNED.0, PLANNED.1].concat()) {
            report(number, "documents tell what exists: leave out what does not".to_owned());
        }
        if kind == Text::Rust {
            if let Some(beginning) = riddle(before, line) {
                report(number, format!("a comment begins with the noun that it is about, not with `{beginning}`"));
            }
            if hides_defaults(line) {
                report(number, "give each variable its own `let`, so that its type can be seen".to_owned());
            }
        }
        before = line;
    }
}

/// Whether a line should be broken. Rows of tables, texts in quotes, and lines without a place to break them do not
/// count.
fn is_too_long(kind: Text, line: &str) -> bool {
    let is_row = kind == Text::Markdown && line.trim_start().starts_with('|');
    let words = line.split_whitespace().filter(|word| !matches!(*word, "//" | "///" | "//!" | "-" | ">"));
    !is_row && words.count() > 1 && line.chars().count() - quoted_len(kind, line) > LINE_LEN_MAX
}

/// Length of the texts in quotes within a line of code.
fn quoted_len(kind: Text, line: &str) -> usize {
    let quotes = line.find('"').zip(line.rfind('"')).filter(|_| kind == Text::Rust && comment(line).is_none());
    quotes.map_or(0, |(first, last)| line[first..last].chars().count())
}

/// The marker and the words of a line that is a comment.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    ["///", "//!", "//"].into_iter().find_map(|marker| {
        let words = line.strip_prefix(marker)?;
        (words.is_empty() || words.starts_with(' ')).then_some((marker, words.trim()))
    })
}

/// The first words of a comment, if the comment begins in this line and does not begin with a noun.
fn riddle(before: &str, line: &str) -> Option<String> {
    let (marker, words) = comment(line)?;
    let goes_on = comment(before).is_some_and(|(other, words)| other == marker && !words.is_empty());
    if goes_on {
        return None;
    }
    let mut words = words.split_whitespace();
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let is = |word: &str, of: &[&str]| of.contains(&word.trim_matches(',').to_lowercase().as_str());
    let is_capital = first.starts_with(char::is_uppercase);
    if is_capital && is(first, POINTERS) {
        return Some(first.to_owned());
    }
    (is_capital && is(first, PREPOSITIONS) && is(second, POINTERS)).then(|| format!("{first} {second}"))
}

/// Whether a line gives several variables their defaults at once, which hides their types.
fn hides_defaults(line: &str) -> bool {
    let line = line.trim();
    let is_tuple = line.starts_with("let (") && !line.starts_with("let ()");
    is_tuple && (line.ends_with("= Default::default();") || line.ends_with(".unwrap_or_default();"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Text, text: &str, expect: &[usize]) {
        let mut found = Vec::new();
        super::check(Path::new("a"), kind, text, |number, _| found.push(number));
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn exceptions_name_what_exists() {
        let root = crate::repository::root();
        for path in LONG_LINES {
            assert!(root.join(path).exists(), "{path} is gone: remove it from the list");
        }
    }

    #[test]
    fn comments_begin_with_a_noun() {
        check(Text::Rust, "/// What it was told.\n", &[1]);
        check(Text::Rust, "    // By which it is known.\n", &[1]);
        check(Text::Rust, "//! Of whom nobody knows.\n", &[1]);
        check(Text::Rust, "/// Which, if any.\n", &[1]);
        check(Text::Rust, "/// Whatever comes.\n/// Whether it comes.\n", &[]);
        check(Text::Rust, "/// By name.\n", &[]);
        check(Text::Rust, "let a = \"/// What\";\n", &[]);
    }

    #[test]
    fn only_the_beginning_of_a_paragraph_counts() {
        check(Text::Rust, "/// Messages tell\n/// What happened.\n", &[]);
        check(Text::Rust, "/// Sends.\n///\n/// What is sent.\n", &[3]);
        check(Text::Rust, "/// Sends.\nfn send();\n/// What is sent.\n", &[3]);
        check(Text::Rust, "/// Sends.\n// What is sent.\n", &[2]);
    }

    #[test]
    fn lines_end_in_time() {
        let word = "a".repeat(LINE_LEN_MAX);
        check(Text::Rust, &word, &[]);
        check(Text::Rust, &format!("{word} b"), &[1]);
        check(Text::Rust, &format!("/// {word}b"), &[]);
        check(Text::Rust, &"ä ".repeat(LINE_LEN_MAX / 2), &[]);
        check(Text::Rust, &format!("let a = \"{word} b\";"), &[]);
        check(Text::Rust, &format!("/// \"{word} b\""), &[1]);
        check(Text::Markdown, &format!("| {word} b |"), &[]);
        check(Text::Markdown, &format!("{word} b\n```\n{word} b\n```\n{word} b"), &[1, 5]);
    }

    #[test]
    fn words_are_english_and_documents_tell_what_exists() {
        let text = ["the so mani", "eth, (plan", "ned)"].concat();
        check(Text::Rust, &text, &[1]);
        check(Text::Markdown, &text, &[1, 1]);
    }

    #[test]
    fn defaults_are_given_one_by_one() {
        check(Text::Rust, "    let (a, b) = Default::default();\n", &[1]);
        check(Text::Rust, "let (a, b) = find().unwrap_or_default();\n", &[1]);
        check(Text::Rust, "let a = Default::default();\nlet (a, b) = find();\n", &[]);
    }
}
