//! Tests of the configuration as a whole: layers, faults, files, the table, and what is never shown.

mod faults;
mod files;
mod fuzz;
mod layers;
mod secrets;
mod table;

use std::{ffi::OsString, fs};

use tempfile::TempDir;

use super::{KeyFile, Loaded, Problems, ServerMode, from_pairs, load};

/// A folder with configuration files, and the other inputs of a command.
struct Case {
    folder: TempDir,
    flags: Vec<(String, String)>,
    variables: Vec<(OsString, OsString)>,
    mode: ServerMode,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data_dir = folder.path().join("data").display().to_string();
        let flags = vec![("data_dir".to_owned(), data_dir)];
        Case { folder, flags, variables: Vec::new(), mode: ServerMode::Serve }
    }

    fn dev(mut self) -> Self {
        self.mode = ServerMode::Dev;
        self
    }

    fn flag(mut self, name: &str, text: &str) -> Self {
        self.flags.push((name.to_owned(), text.to_owned()));
        self
    }

    fn variable(mut self, name: &str, text: &str) -> Self {
        self.variables.push((name.into(), text.into()));
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("a temporary file");
        let path = path.display().to_string();
        self.flag("config", &path)
    }

    fn load(&self) -> Result<Loaded, Problems> {
        let flags = from_pairs(self.flags.iter().map(|(name, text)| (name.as_str(), text.as_str())))?;
        load(self.mode, KeyFile::Create, &flags, self.variables.clone())
    }

    #[track_caller]
    fn loaded(&self) -> Loaded {
        self.load().unwrap_or_else(|problems| panic!("must load, and: {problems}"))
    }

    /// The faults, with the temporary folder's path left out.
    #[track_caller]
    fn faults(&self) -> String {
        let problems = self.load().expect_err("must not load");
        problems.to_string().replace(&format!("{}/", self.folder.path().display()), "")
    }
}
