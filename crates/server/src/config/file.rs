//! Configuration files: turns the tree of a YAML file into settings of known keys.

use std::{fs, io::Read as _, path::Path};

use super::{
    key::{Key, Kind},
    keys,
    problem::Problem,
    setting::{Entry, Setting, Source},
    yaml::{self, Node, Pair, Value},
};

/// Largest configuration file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Top-level names with this prefix hold anchors and are no keys.
const ANCHOR_PREFIX: &str = "x-";

/// Reads the settings of a file. Every fault is recorded, and the rest is read all the same.
pub(crate) fn read(path: &Path, problems: &mut Vec<Problem>) -> Vec<Setting> {
    match read_text(path) {
        Ok(text) => parse(path, &text, problems),
        Err(error) => {
            problems.push(Problem::Unreadable { path: path.to_owned(), error });
            Vec::new()
        }
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE_BYTES { Err(format!("it has more than {MAX_FILE_BYTES} bytes")) } else { Ok(text) }
}

/// Reads the settings of a text as if it were the file at `path`.
pub(crate) fn parse(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut flat = Flat { path, settings: Vec::new(), problems };
    match yaml::read_map(text) {
        Ok(pairs) => flat.group("", pairs.into_iter().filter(|pair| !pair.name.starts_with(ANCHOR_PREFIX)).collect()),
        Err(error) => flat.problems.push(yaml::problem(path, error)),
    }
    flat.settings
}

/// Flattens nested groups to dotted names.
struct Flat<'a> {
    path: &'a Path,
    settings: Vec<Setting>,
    problems: &'a mut Vec<Problem>,
}

impl Flat<'_> {
    fn group(&mut self, prefix: &str, pairs: Vec<Pair>) {
        for Pair { name, line, node } in pairs {
            let name = format!("{prefix}{name}");
            match (keys::find(&name), node.value) {
                (Some(key), value) => self.key(key, line, Node { line: node.line, value }),
                (None, Value::Map(pairs)) => self.group(&format!("{name}."), pairs),
                (None, Value::Null) if keys::is_group(&name) => {}
                (None, _) if keys::is_group(&name) => {
                    self.fault(line, format!("`{name}` is a group of keys: it takes no value of its own"));
                }
                (None, _) => self.problems.push(Problem::unknown_key(&name, &self.source(line))),
            }
        }
    }

    fn key(&mut self, key: &'static Key, line: usize, node: Node) {
        if let Some(earlier) = self.settings.iter().find(|setting| setting.key.name == key.name) {
            let message = format!("`{}` is set a second time, after {}", key.name, earlier.source());
            return self.fault(line, message);
        }
        if key.name == super::CONFIG_KEY {
            return self.fault(line, "`config` cannot stand in a file: give further files by --config".to_owned());
        }
        let entries = match node.value {
            Value::Null => return,
            Value::Scalar(text) => vec![Entry { text, source: self.source(line) }],
            Value::List(items) if key.kind.is_list() => self.items(key, items),
            Value::Map(pairs) if key.kind.has_names() => self.pairs(key, pairs),
            Value::Map(records) if key.kind == Kind::Templates => self.records(key, records),
            Value::List(_) => return self.fault(line, format!("`{}` takes one value, not a list", key.name)),
            Value::Map(_) => {
                return self.fault(line, format!("`{}` takes {}, not a map", key.name, key.kind.expected()));
            }
        };
        self.settings.push(Setting { key, entries });
    }

    fn items(&mut self, key: &'static Key, items: Vec<Node>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for Node { line, value } in items {
            match value {
                Value::Scalar(text) => entries.push(Entry { text, source: self.source(line) }),
                Value::Null => {}
                _ => self.fault(line, format!("an entry of `{}` must be a text", key.name)),
            }
        }
        entries
    }

    fn pairs(&mut self, key: &'static Key, pairs: Vec<Pair>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for Pair { name, line, node } in pairs {
            match node.value {
                Value::Scalar(text) => {
                    entries.push(Entry { text: format!("{name}={text}"), source: self.source(line) })
                }
                Value::Null => entries.push(Entry { text: format!("{name}="), source: self.source(line) }),
                _ => self.fault(line, format!("`{name}` of `{}` must be a text", key.name)),
            }
        }
        entries
    }

    /// Reads maps by name. Each becomes one text, in the form of flags.
    fn records(&mut self, key: &'static Key, records: Vec<Pair>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for Pair { name, line, node } in records {
            let fields = match node.value {
                Value::Null => String::new(),
                Value::Scalar(text) => text,
                Value::Map(fields) => fields.into_iter().filter_map(field).collect::<Vec<_>>().join(" "),
                Value::List(_) => {
                    self.fault(line, format!("`{name}` of `{}` must be a map", key.name));
                    continue;
                }
            };
            entries.push(Entry { text: format!("{name}={fields}"), source: self.source(line) });
        }
        entries
    }

    fn source(&self, line: usize) -> Source {
        Source::File { path: self.path.to_owned(), line }
    }

    fn fault(&mut self, line: usize, message: String) {
        self.problems.push(Problem::Yaml { path: self.path.to_owned(), line, message });
    }
}

/// A field of a record. A field that is not a text gets no value, and the reader of the record reports it.
fn field(Pair { name, node, .. }: Pair) -> Option<String> {
    match node.value {
        Value::Null => None,
        Value::Scalar(text) => Some(format!("{name}={text}")),
        Value::List(_) | Value::Map(_) => Some(name),
    }
}
