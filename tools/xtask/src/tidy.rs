//! House rules that no other tool checks: module headers, file sizes, texts that must not be committed, and the wording
//! of comments. Files are only checked, never rewritten.

mod promises;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::repository;

/// Longest file, in lines: a reader should be able to read a file whole.
const LINES_MAX: usize = 800;

/// Length from which on files are listed.
const LINES_AIM: usize = 400;

/// A text that lines of some files must not contain.
struct Ban {
    /// The text, split in two so that this file does not contain it.
    text: (&'static str, &'static str),
    scope: Scope,
    reason: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Rust code.
    Code,
    /// Test code, Rust and JavaScript.
    Tests,
    /// Every text file.
    Everything,
    /// npm's lock files.
    PackageLock,
}

const fn ban(text: (&'static str, &'static str), scope: Scope, reason: &'static str) -> Ban {
    Ban { text, scope, reason }
}

const UNFINISHED: &str = "finish it, or file it and leave it out";
const SLEEP: &str = "a test waits for the event itself, or moves a paused clock";
const MACHINE: &str = "a path of one machine";
const HOST: &str = "a registry's host: whoever builds has a registry configured already";

const BANS: &[Ban] = &[
    ban(("todo", "!("), Scope::Code, UNFINISHED),
    ban(("unimplemented", "!("), Scope::Code, UNFINISHED),
    ban(("dbg", "!("), Scope::Code, "use tracing"),
    ban(("#[ig", "nore"), Scope::Code, "a test runs or goes"),
    // The sleep of std::thread is banned by clippy, with exceptions that give a reason.
    ban(("time::", "sleep"), Scope::Tests, SLEEP),
    ban(("timers/", "promises"), Scope::Tests, SLEEP),
    ban(("test.", "skip("), Scope::Tests, "a test runs or goes"),
    ban(("/ro", "ot/"), Scope::Everything, MACHINE),
    ban(("/wo", "rk/"), Scope::Everything, MACHINE),
    ban(("/ho", "me/"), Scope::Everything, MACHINE),
    ban(("registry.npm", "js."), Scope::Everything, HOST),
    ban(("registry.", "yarn"), Scope::Everything, HOST),
    ban(("index.crates", ".io"), Scope::Everything, HOST),
    ban(("static.crates", ".io"), Scope::Everything, HOST),
    ban(("proxy.gol", "ang.org"), Scope::Everything, HOST),
    ban(("deb.deb", "ian.org"), Scope::Everything, HOST),
    ban(("\"resol", "ved\""), Scope::PackageLock, HOST),
];

/// Checks every file of the repository.
///
/// # Errors
/// One line per broken rule.
pub fn run() -> Result<()> {
    let files = repository::files()?;
    let mut wrong = Vec::new();
    let mut long = Vec::new();
    for file in &files {
        let Some(text) = repository::read_text(file)? else { continue };
        check_file(file, &text, &mut wrong, &mut long);
    }
    let read = |file: &Path| repository::read_text(file).ok().flatten();
    promises::check(&read(Path::new(promises::PAGE)).unwrap_or_default(), read, |fault| wrong.push(fault));
    for (file, lines) in &long {
        println!("{} has {lines} lines; aim under {LINES_AIM}", file.display());
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{} files are tidy", files.len());
    Ok(())
}

fn check_file(file: &Path, text: &str, wrong: &mut Vec<String>, long: &mut Vec<(PathBuf, usize)>) {
    let kind = Kind::of(file, text);
    if kind.is_rust && !text.starts_with("//!") {
        wrong.push(format!("{}:1: a module opens with `//!`: what it is for, what it never does", file.display()));
    }
    let lines = text.lines().count();
    if (kind.is_rust || kind.is_javascript) && lines > LINES_AIM {
        if lines > LINES_MAX {
            wrong.push(format!("{}: {lines} lines; split it, the most is {LINES_MAX}", file.display()));
        }
        long.push((file.to_owned(), lines));
    }
    if let Some(words) = kind.words() {
        words::check(file, words, text, |number, fault| wrong.push(format!("{}:{number}: {fault}", file.display())));
    }
    let mut in_tests = kind.is_test_file;
    for (number, line) in (1..).zip(text.lines()) {
        in_tests |= kind.is_rust && line.trim() == "#[cfg(test)]";
        for Ban { text, scope, reason } in BANS {
            let applies = match scope {
                Scope::Code => kind.is_rust,
                Scope::Tests => in_tests,
                Scope::Everything => true,
                Scope::PackageLock => kind.is_package_lock,
            };
            let banned = [text.0, text.1].concat();
            if applies && holds(line, &banned) {
                wrong.push(format!("{}:{number}: `{banned}`: {reason}", file.display()));
            }
        }
    }
}

/// Properties of a file that the rules depend on. Generated files have none of them.
#[derive(Default)]
struct Kind {
    is_rust: bool,
    is_javascript: bool,
    is_markdown: bool,
    is_test_file: bool,
    is_package_lock: bool,
}

impl Kind {
    fn of(file: &Path, text: &str) -> Self {
        let is_generated = text.lines().take(3).any(|line| line.contains("@generated"));
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_rust = extension == "rs" && !is_generated;
        let is_javascript = matches!(extension, "js" | "mjs" | "ts") && !is_generated;
        let in_tests_folder = file.components().any(|component| component.as_os_str() == "tests");
        let is_tests_module = file.file_stem().is_some_and(|stem| stem == "tests" || stem == "test_support");
        Self {
            is_rust,
            is_javascript,
            is_markdown: extension == "md" && !is_generated,
            is_test_file: (is_rust || is_javascript) && (in_tests_folder || is_tests_module),
            is_package_lock: file.file_name().is_some_and(|name| name == "package-lock.json"),
        }
    }

    /// The rules on words for this file, if it has any.
    fn words(&self) -> Option<words::Text> {
        if self.is_rust {
            return Some(words::Text::Rust);
        }
        self.is_markdown.then_some(words::Text::Markdown)
    }
}

/// Whether `line` contains `banned` as a word of its own: a folder in the middle of a URL is not a machine's path.
fn holds(line: &str, banned: &str) -> bool {
    line.match_indices(banned).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ')'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, text: &str, expect: &[&str]) {
        let mut wrong = Vec::new();
        check_file(Path::new(file), text, &mut wrong, &mut Vec::new());
        let found: Vec<&str> = wrong.iter().map(|line| line.split(": ").next().unwrap_or_default()).collect();
        assert_eq!(found, expect, "{wrong:?}");
    }

    #[test]
    fn a_module_opens_with_its_purpose() {
        check("a.rs", "//! Does a.\n", &[]);
        check("a.rs", "use b;\n", &["a.rs:1"]);
        check("a.rs", "// @generated\nuse b;\n", &[]);
    }

    #[test]
    fn unfinished_code_is_refused() {
        let line = ["//!\nlet a = to", "do!();"].concat();
        check("a.rs", &line, &["a.rs:2"]);
        check("a.md", &line, &[]);
    }

    #[test]
    fn tests_do_not_sleep_but_products_may_wait() {
        let wait = ["tokio::time::", "sleep(a)"].concat();
        check("a.rs", &format!("//!\n{wait}\n"), &[]);
        check("a.rs", &format!("//!\n#[cfg(test)]\n{wait}\n"), &["a.rs:3"]);
        check("a/tests/b.rs", &format!("//!\nlet c = {wait}\n"), &["a/tests/b.rs:2"]);
        check("a/tests/b.rs", "//!\nlet c = time::timeout(a);\n", &[]);
    }

    #[test]
    fn machines_and_registries_are_not_named() {
        check("a.md", &["see /ho", "me/someone"].concat(), &["a.md:1"]);
        check("a.md", &["see https://example.org/ho", "me/someone"].concat(), &[]);
        check("package-lock.json", &["\"resol", "ved\": \"x\""].concat(), &["package-lock.json:1"]);
    }

    #[test]
    fn files_stay_small() {
        check("a.rs", &format!("//!\n{}", "\n".repeat(LINES_MAX)), &["a.rs"]);
    }
}
