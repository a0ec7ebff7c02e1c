//! Faults of a configuration. Each names the key, its source and the remedy; none shows a secret.

use std::{fmt, path::PathBuf};

use super::{
    key::Key,
    keys,
    setting::{Entry, Source},
};

/// One fault of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// No key has this name.
    #[error("{source_text}: there is no key `{name}`{hint}")]
    UnknownKey { name: String, source_text: String, hint: String },
    /// A value does not fit its key.
    #[error("{source_text}: `{key}` cannot be `{value}`: expected {expected}")]
    BadValue { key: &'static str, value: String, expected: String, source_text: String },
    /// A key, or a value of a key, that must not be used.
    #[error("{source_text}: `{key}` is refused: {why}")]
    Refused { key: &'static str, source_text: String, why: String },
    /// Keys that contradict each other, or one that contradicts the surroundings.
    #[error("{0}")]
    Contradiction(String),
    /// A configuration file cannot be read.
    #[error("cannot read the configuration file {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: String },
    /// A configuration file is not YAML, or uses a feature that is not supported here.
    #[error("{}:{line}: {message}", path.display())]
    Yaml { path: PathBuf, line: usize, message: String },
    /// The file of generated keys cannot be read, written or understood.
    #[error(transparent)]
    Keys(#[from] crate::keys::KeysError),
}

impl Problem {
    /// An unknown key, with the nearest known name when one is near.
    pub(crate) fn unknown_key(name: &str, source: &Source) -> Self {
        let hint = match keys::nearest(name) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => "; `muster check --keys` lists all keys".to_owned(),
        };
        Problem::UnknownKey { name: name.to_owned(), source_text: source.to_string(), hint }
    }

    /// A value that does not fit, masked if its key is secret.
    pub(crate) fn bad_value(key: &'static Key, entry: Option<&Entry>, expected: &str) -> Self {
        let value = entry.map_or_else(String::new, |entry| key.shown(&entry.text));
        let source = entry.map_or(&Source::Default, |entry| &entry.source);
        Problem::BadValue { key: key.name, value, expected: expected.to_owned(), source_text: source.to_string() }
    }

    /// The key of the problem, if it has one.
    pub(crate) fn key(&self) -> Option<&'static str> {
        match self {
            Problem::BadValue { key, .. } | Problem::Refused { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// All faults of a configuration, one a line.
#[derive(Debug)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems(vec![problem])
    }
}
