//! Words about the game code of one language that was loaded, for the log and for `muster check`.

use std::fmt::{Display, Formatter, Result};

use crate::machine::registered::Names;

/// Limit on the names of files that one line shows.
const FILES_SHOWN: usize = 20;

/// The game code of one language that was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedCode {
    pub language: &'static str,
    /// Names of the files, as paths below the folder of modules.
    pub files: Vec<String>,
    /// Count of functions that clients may call.
    pub functions: usize,
    pub hooks: usize,
    /// Count of match handlers.
    pub matches: usize,
    /// A sentence on files of the language that are not loaded.
    pub left_out: Option<String>,
    /// Sentences on mistakes in the code that do not keep it from loading.
    pub mistakes: Vec<String>,
}

impl LoadedCode {
    /// Code of these files, which has registered these names.
    pub(crate) fn new(language: &'static str, files: Vec<String>, names: &Names, matches: usize) -> Self {
        let (functions, hooks) = (names.functions.len(), names.hooks().count());
        Self { language, files, functions, hooks, matches, left_out: None, mistakes: names.mistakes().to_vec() }
    }

    /// The names of the files, with commas; of many files the first ones, and a count of the others.
    pub(crate) fn file_list(&self) -> String {
        shown(&self.files)
    }
}

impl Display for LoadedCode {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let counted =
            |count: usize, what: &str, plural: &str| format!("{count} {}", if count == 1 { what } else { plural });
        let Self { language, files, functions, hooks, matches, .. } = self;
        let files = counted(files.len(), "file", "files");
        let functions = counted(*functions, "function", "functions");
        let (hooks, matches) = (counted(*hooks, "hook", "hooks"), counted(*matches, "match handler", "match handlers"));
        write!(out, "{language}: {files} ({}): {functions}, {hooks}, {matches}", self.file_list())
    }
}

/// Names with commas; of many names the first ones, and a count of the others.
pub(crate) fn shown(names: &[String]) -> String {
    let first = names[..names.len().min(FILES_SHOWN)].join(", ");
    match names.len().saturating_sub(FILES_SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_counted() {
        let files = |count: usize| (1..=count).map(|number| format!("{number}.lua")).collect();
        let code = |count| LoadedCode { language: "Lua", files: files(count), functions: 2, ..LoadedCode::default() };
        assert_eq!(code(1).to_string(), "Lua: 1 file (1.lua): 2 functions, 0 hooks, 0 match handlers");
        assert!(code(22).to_string().starts_with("Lua: 22 files (1.lua, 2.lua, "));
        assert!(code(22).to_string().contains(", 20.lua and 2 more): "));
    }
}
