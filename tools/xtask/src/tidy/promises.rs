//! Checks that the page on security names tests for each of its promises, and that these tests exist.

use std::path::{Path, PathBuf};

/// The page.
pub const PAGE: &str = "SECURITY.md";

const PROMISES: &str = "## What Muster promises";
const TESTS: &str = "## Tests of these promises";

/// Checks the page. `read` answers the text of a file of the repository.
pub fn check(page: &str, read: impl Fn(&Path) -> Option<String>, mut wrong: impl FnMut(String)) {
    let rows: Vec<(&str, &str)> = section(page, TESTS).filter_map(row).collect();
    let promises: Vec<&str> = section(page, PROMISES).filter_map(promise).collect();
    for promise in &promises {
        if !rows.iter().any(|(title, _)| title == promise) {
            wrong(format!("{PAGE}: no test is named for the promise \"{promise}\""));
        }
    }
    for (title, tests) in rows {
        if !promises.contains(&title) {
            wrong(format!("{PAGE}: tests are named for \"{title}\", which is no promise"));
        }
        let links = links(tests);
        if links.is_empty() {
            wrong(format!("{PAGE}: no test is named for the promise \"{title}\""));
        }
        for (test, file) in links {
            match read(&file) {
                None => wrong(format!("{PAGE}: {} does not exist", file.display())),
                Some(text) if !has(&text, test) => wrong(format!("{PAGE}: {} has no test `{test}`", file.display())),
                Some(_) => {}
            }
        }
    }
}

/// The lines of a section.
fn section<'a>(page: &'a str, heading: &'a str) -> impl Iterator<Item = &'a str> {
    page.lines().skip_while(move |line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "))
}

/// The first words of an entry of the list, which are bold, without a full stop.
fn promise(line: &str) -> Option<&str> {
    let (title, _) = line.strip_prefix("- **")?.split_once("**")?;
    Some(title.trim_end_matches('.'))
}

/// Title and tests of a row of the table.
fn row(line: &str) -> Option<(&str, &str)> {
    let (title, tests) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    (title != "promise").then_some((title, tests))
}

/// The names of tests with their files: links whose text is code.
fn links(cell: &str) -> Vec<(&str, PathBuf)> {
    let link = |part: &'_ str| -> Option<(usize, usize)> { Some((part.find("`](")?, part.find(')')?)) };
    let parts = cell.split("[`").skip(1);
    parts
        .filter_map(|part| {
            let (name_end, link_end) = link(part)?;
            Some((&part[..name_end], PathBuf::from(part.get(name_end + 3..link_end)?)))
        })
        .collect()
}

/// Whether a file of Rust has a function of this name, or one of JavaScript a test with this title.
fn has(text: &str, test: &str) -> bool {
    [format!("fn {test}("), format!("fn {test}<"), format!("test(\"{test}\"")].iter().any(|form| text.contains(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(promises: &str, rows: &str) -> Vec<String> {
        let page = format!("{PROMISES}\n\n{promises}\n\n{TESTS}\n\n| promise | tests |\n|---|---|\n{rows}\n");
        let read = |file: &Path| match file.to_str()? {
            "a.rs" => Some("fn holds() {}\nasync fn waits<N>(ground: N) {}".to_owned()),
            "b.mjs" => Some("test(\"a title\", () => {});".to_owned()),
            _ => None,
        };
        let mut wrong = Vec::new();
        check(&page, read, |fault| wrong.push(fault));
        wrong
    }

    #[test]
    fn each_promise_has_tests_that_exist() {
        let promises = "- **One.** It is so.\n- **Two** are kept so:\n  and so on.";
        let good = "| One | [`holds`](a.rs), [`a title`](b.mjs) |\n| Two | [`waits`](a.rs) |";
        assert_eq!(faults(promises, good), Vec::<String>::new());
        let without = "| One | [`holds`](a.rs) |";
        assert_eq!(faults(promises, without), ["SECURITY.md: no test is named for the promise \"Two\""]);
        let wrong = "| One | [`is_gone`](a.rs) |\n| Two | [`waits`](c.rs) |\n| Three | none |";
        let told = faults(promises, wrong);
        assert_eq!(
            told,
            [
                "SECURITY.md: a.rs has no test `is_gone`",
                "SECURITY.md: c.rs does not exist",
                "SECURITY.md: tests are named for \"Three\", which is no promise",
                "SECURITY.md: no test is named for the promise \"Three\"",
            ]
        );
    }
}
