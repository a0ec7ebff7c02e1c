//! Runs `muster` with arguments to its end.

use std::path::Path;
use std::process::{Command, Stdio};

/// Exit status and output of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `muster` with these words.
pub fn muster(words: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_muster")).args(words).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The path as an argument.
pub fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl Ended {
    /// The output of a command that must have succeeded.
    #[track_caller]
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Checks that the command failed with this exit status and a sentence that contains `text`.
    #[track_caller]
    pub fn failed(self, code: i32, text: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.starts_with("muster: ") && self.stderr.contains(text), "no {text:?} in {self:?}");
    }
}
