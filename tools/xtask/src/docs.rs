//! Checks that every relative link in the documents leads to a file, and every `#anchor` to a heading, and that the
//! list of documents names every page of its folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};

use crate::repository;

/// The page that lists all documents of its folder.
const LIST: &str = "docs/README.md";

/// Checks all Markdown files.
///
/// # Errors
/// One line per broken link, and per page that is not listed.
pub fn run() -> Result<()> {
    let files: Vec<PathBuf> = repository::files()?;
    let documents: BTreeMap<&Path, String> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "md"))
        .filter_map(|file| Some((file.as_path(), repository::read_text(file).ok()??)))
        .collect();
    let mut links = 0;
    let mut wrong = Vec::new();
    for (document, text) in &documents {
        for (line, link) in relative_links(text) {
            links += 1;
            if let Some(why) = broken(document, &link, &files, &documents) {
                wrong.push(format!("{}:{line}: {link}: {why}", document.display()));
            }
        }
    }
    let list = documents.get(Path::new(LIST)).map_or("", String::as_str);
    wrong.extend(unlisted(list, documents.keys().copied()).map(|page| format!("{LIST} does not name {page}")));
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{links} relative links in {} documents lead somewhere", documents.len());
    Ok(())
}

/// The pages below the folder of the list to which no link of the list leads. The template of records is one of them.
fn unlisted<'a>(list: &str, pages: impl Iterator<Item = &'a Path>) -> impl Iterator<Item = String> {
    let named: Vec<PathBuf> =
        relative_links(list).iter().filter_map(|(_, link)| resolve(Path::new(LIST), link.split('#').next()?)).collect();
    let folder = Path::new(LIST).parent().unwrap_or(Path::new(""));
    let is_missing = move |page: &&Path| {
        page.starts_with(folder) && *page != Path::new(LIST) && !named.iter().any(|name| name == page)
    };
    pages.filter(is_missing).map(|page| page.display().to_string())
}

fn broken(document: &Path, link: &str, files: &[PathBuf], documents: &BTreeMap<&Path, String>) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { document.to_owned() } else { resolve(document, path)? };
    let is_there = files.iter().any(|file| file == &target || file.starts_with(&target));
    if !is_there {
        return Some("no such file in the repository".to_owned());
    }
    let anchor = anchor?;
    let text = documents.get(target.as_path())?;
    (!headings(text).any(|heading| heading == anchor)).then(|| format!("{} has no heading #{anchor}", target.display()))
}

/// `path` seen from the folder of `document`, without `.` and `..`; `None` when it leaves the repository.
fn resolve(document: &Path, path: &str) -> Option<PathBuf> {
    let mut resolved = document.parent()?.to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => resolved.push(name),
            Component::ParentDir => _ = resolved.pop(),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

/// Targets of `[text](target)` within the repository, with their line numbers. Code is ignored.
fn relative_links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in lines_outside_code(text) {
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for piece in prose.split("](").skip(1) {
            let target = piece.split([')', ' ']).next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !is_elsewhere {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// The anchors of headings: lower case, without punctuation, with hyphens for spaces.
fn headings(text: &str) -> impl Iterator<Item = String> {
    lines_outside_code(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

fn lines_outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_in_prose_only() {
        let text = "[a](b.md) and [c](https://example.org) `[d](e)`\n```\n[f](g)\n```\n[h](i.md#j \"title\")";
        assert_eq!(relative_links(text), [(1, "b.md".to_owned()), (5, "i.md#j".to_owned())]);
    }

    #[test]
    fn tells_which_pages_are_not_listed() {
        let pages = ["README.md", "docs/README.md", "docs/guide/a.md", "docs/guide/b.md"].map(Path::new);
        let missing: Vec<_> = unlisted("[a](guide/a.md#top)", pages.into_iter()).collect();
        assert_eq!(missing, ["docs/guide/b.md"]);
    }

    #[test]
    fn tells_why_a_link_is_broken() {
        let files = [PathBuf::from("docs/a.md"), PathBuf::from("docs/adr/b.md")];
        let text = "# One: two\n".to_owned();
        let documents = BTreeMap::from([(Path::new("docs/adr/b.md"), text)]);
        let check = |link: &str, expect: Option<&str>| {
            assert_eq!(broken(Path::new("docs/a.md"), link, &files, &documents).as_deref(), expect, "{link}");
        };
        check("adr/b.md", None);
        check("../docs/adr", None);
        check("adr/b.md#one-two", None);
        check("adr/b.md#three", Some("docs/adr/b.md has no heading #three"));
        check("c.md", Some("no such file in the repository"));
    }
}
