//! Values as given by their sources: text with its source, and the layering of sources.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use super::{
    key::{Key, Kind},
    keys,
};

/// Source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The default of the key.
    Default,
    /// The default of `muster dev`.
    Development,
    /// The file of generated keys in the data folder.
    KeysFile(PathBuf),
    /// A YAML file; lines count from 1.
    File { path: PathBuf, line: usize },
    /// An environment variable, by name.
    Environment(String),
    /// A command line flag.
    Flag,
}

impl Source {
    /// Whether a person set the value.
    pub fn is_given(&self) -> bool {
        matches!(self, Source::File { .. } | Source::Environment(_) | Source::Flag)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::Development => f.write_str("muster dev"),
            Source::KeysFile(path) => write!(f, "generated, in {}", path.display()),
            Source::File { path, line } => write!(f, "{}:{line}", path.display()),
            Source::Environment(name) => write!(f, "environment variable {name}"),
            Source::Flag => f.write_str("command line"),
        }
    }
}

/// One text with its source. The type has no `Debug`, since only the key knows whether the text may be shown.
#[derive(Clone)]
pub struct Entry {
    /// The value as text.
    pub text: String,
    /// The source of the text.
    pub source: Source,
}

/// A key with its entries: one, or any number for lists.
#[derive(Clone)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Its entries, in order.
    pub entries: Vec<Entry>,
}

impl Setting {
    /// A setting with one entry.
    pub(crate) fn one(key: &'static Key, text: impl Into<String>, source: Source) -> Self {
        Setting { key, entries: vec![Entry { text: text.into(), source }] }
    }

    /// The value for showing, with secrets masked.
    pub fn shown(&self) -> String {
        let texts: Vec<String> = self.entries.iter().map(|entry| self.key.shown(&entry.text)).collect();
        texts.join(", ")
    }

    /// The source of the last entry, which is the one that counts; the default for an empty list.
    pub fn source(&self) -> &Source {
        self.entries.last().map_or(&Source::Default, |entry| &entry.source)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({})", self.key.name, self.shown(), self.source())
    }
}

/// Every key with its effective entries.
#[derive(Clone, Debug)]
pub struct Settings(BTreeMap<&'static str, Setting>);

impl Settings {
    /// The defaults of the table.
    pub(crate) fn defaults() -> Self {
        let default = |key: &'static Key| {
            if key.kind.is_list() && key.default.is_empty() {
                Setting { key, entries: Vec::new() }
            } else {
                Setting::one(key, key.default, Source::Default)
            }
        };
        Settings(keys::all().map(|key| (key.name, default(key))).collect())
    }

    /// Lays one source over the settings so far: lists are replaced as a whole, pairs are joined by name, everything
    /// else is replaced.
    pub(crate) fn lay_over(&mut self, layer: &[Setting]) {
        for setting in join(layer) {
            match (setting.key.kind, self.0.get_mut(setting.key.name)) {
                (kind, Some(below)) if kind.has_names() || kind == Kind::Templates => {
                    let names: Vec<&str> = setting.entries.iter().map(pair_name).collect();
                    below.entries.retain(|entry| !names.contains(&pair_name(entry)));
                    below.entries.extend(setting.entries.iter().cloned());
                }
                _ => {
                    self.0.insert(setting.key.name, setting);
                }
            }
        }
    }

    /// The setting of a key of the table.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.get(name)
    }

    /// The text of a key that is no list; empty when it has none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).and_then(|setting| setting.entries.last()).map_or("", |entry| &entry.text)
    }

    /// All settings by name.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.values()
    }
}

/// Joins several entries of one source for the same key: lists and pairs grow, and of anything else the last counts.
fn join(layer: &[Setting]) -> Vec<Setting> {
    let mut joined: Vec<Setting> = Vec::new();
    for setting in layer {
        match joined.iter_mut().find(|known| known.key.name == setting.key.name) {
            Some(known) if setting.key.kind.is_list() => known.entries.extend(setting.entries.iter().cloned()),
            Some(known) => known.entries.clone_from(&setting.entries),
            None => joined.push(setting.clone()),
        }
    }
    joined
}

fn pair_name(entry: &Entry) -> &str {
    entry.text.split_once('=').map_or(entry.text.as_str(), |(name, _)| name)
}
