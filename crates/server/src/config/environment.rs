//! Environment variables as settings: `MUSTER_` and the key in upper case, each dot as two underscores
//! (`MUSTER_SOCKET__PORT`).
//!
//! Container platforms that link services set names such as `MUSTER_CONSOLE_PORT=tcp://…` for a service called
//! `muster-console`. With single underscores these would be taken for keys.

use std::ffi::OsString;

use super::{
    keys,
    problem::Problem,
    setting::{Entry, Setting, Source},
    yaml,
};

const PREFIX: &str = "MUSTER_";

/// Prefixes of variables for the tests and the bench; the server ignores them.
const RESERVED_PREFIXES: [&str; 3] = ["MUSTER_TEST_", "MUSTER_BENCH_", "MUSTER_BIN"];

/// The settings among the variables. A variable with our prefix that names no key is a fault.
pub(crate) fn read(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    problems: &mut Vec<Problem>,
) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let Some(value) = value.to_str() else {
            problems.push(Problem::Contradiction(format!("environment variable {name}: its value is no UTF-8 text")));
            continue;
        };
        let source = Source::Environment(name.to_owned());
        let dotted = name[PREFIX.len()..].to_ascii_lowercase().replace("__", ".");
        match keys::find(&dotted).filter(|key| key.environment_name() == name) {
            Some(key) => settings.push(Setting { key, entries: entries(key.kind.is_list(), value, &source) }),
            None if is_foreign(name, value) => {}
            None => problems.push(unknown(&dotted, &source)),
        }
    }
    settings
}

/// The entries of a value. A list is written as in YAML, `[a, b]`; any other text is one entry.
fn entries(is_list: bool, value: &str, source: &Source) -> Vec<Entry> {
    let texts = if is_list { yaml::read_flow_list(value) } else { None };
    texts
        .unwrap_or_else(|| vec![value.to_owned()])
        .into_iter()
        .map(|text| Entry { text, source: source.clone() })
        .collect()
}

fn unknown(dotted: &str, source: &Source) -> Problem {
    let near = keys::nearest(dotted).or_else(|| keys::nearest(&dotted.replacen('_', ".", 1))).and_then(keys::find);
    let hint = match near {
        Some(key) => format!("; did you mean {}?", key.environment_name()),
        None => "; `muster check --keys` lists all keys".to_owned(),
    };
    Problem::UnknownKey { name: dotted.to_owned(), source_text: source.to_string(), hint }
}

/// Whether a variable was set by a container platform for a linked service whose name begins with `muster`, or is one
/// of our own tools'.
fn is_foreign(name: &str, value: &str) -> bool {
    RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.ends_with("_PORT") && value.contains("://"))
        || (name.contains("_PORT_") && (name.contains("_TCP") || name.contains("_UDP")))
}
