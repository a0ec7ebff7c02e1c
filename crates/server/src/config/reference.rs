//! Texts made from the table of keys: the reference page, `muster check --keys` and `muster help KEY`.

use std::fmt::Write as _;

use super::{
    groups::GROUPS,
    key::{Key, Origin, Status},
    keys,
};

/// The reference page, `docs/reference/configuration.md`.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for group in GROUPS {
        let _ = write!(page, "\n## {}\n\n| Key | Value | Default | What it does |\n|---|---|---|---|\n", group.title);
        for key in group.keys.iter().copied().flatten() {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                key.name,
                cell(&key.kind.expected()),
                default_cell(key),
                cell(&description(key))
            );
        }
    }
    page
}

const HEAD: &str = "\
# Configuration keys

<!-- Generated from the table of keys. To rewrite it: UPDATE_DOCS=1 cargo test -p muster-server reference -->

A value comes from the default, from YAML files (`--config FILE`, repeatable, the last one counts), from the \
environment and from flags; each counts over the one before.

- Flag: `--socket.port 7350`, `--socket.port=7350`, with one dash or two. Flags for lists may be repeated.
- Environment: `MUSTER_` and the key in upper case, each dot as two underscores: `MUSTER_SOCKET__PORT=7350`. \
Lists as in YAML: `MUSTER_CONFIG='[a.yml, b.yml]'`.
- YAML: groups as maps or keys with dots, both mean the same. Anchors and merge keys work; a name that begins with \
`x-` may hold them.

Lists replace what an earlier source says; `NAME=value` pairs are joined by name. A key that nobody knows, or a value \
that does not fit, stops the start. A key that is known and not honoured is reported at start and by \
`muster check`. Names and meanings are those of Nakama 3.40 unless a key is marked as our own.
";

fn default_cell(key: &Key) -> String {
    let ours = match key.kind {
        _ if key.default.is_empty() && is_generated(key) => "generated".to_owned(),
        _ if key.default.is_empty() => String::new(),
        _ => format!("`{}`", key.default),
    };
    match key.origin {
        Origin::Differs { original, why } => cell(&format!("{ours} (original: `{original}`; {why})")).trim().to_owned(),
        Origin::Same | Origin::Ours => ours,
    }
}

fn is_generated(key: &Key) -> bool {
    crate::keys::GENERATED.iter().any(|one| one.name == key.name)
}

/// Text of a table cell; a vertical line would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Documentation of a key, with its status and origin.
fn description(key: &Key) -> String {
    let ours = if key.origin == Origin::Ours { " *Our own.*" } else { "" };
    let status = match key.status {
        Status::Honoured => String::new(),
        Status::NotYet { feature } => format!(" **Not yet**: {feature}."),
        Status::NoMeaning { why } => format!(" **No meaning here**: {why}."),
    };
    format!("{}{ours}{status}", key.doc())
}

/// All keys, one per line, for `muster check --keys`.
pub fn list() -> String {
    let mut text = String::new();
    for key in keys::all() {
        let status = match key.status {
            Status::Honoured => "",
            Status::NotYet { .. } => "  [not yet]",
            Status::NoMeaning { .. } => "  [no meaning here]",
        };
        let default = if is_generated(key) { "generated" } else { key.default };
        let _ = writeln!(text, "{} = {default}{status}", key.name);
    }
    text.push_str("\n`muster help KEY` tells more about one.\n");
    text
}

/// The page of one key, for `muster help KEY`.
pub fn about(key: &Key) -> String {
    let default = default_cell(key).replace('`', "");
    format!(
        "{}\n  {}\n  value:       {}\n  default:     {}\n  flag:        --{}\n  environment: {}\n",
        key.name,
        description(key).replace('*', ""),
        key.kind.expected(),
        if default.is_empty() { "none" } else { &default },
        key.name,
        key.environment_name()
    )
}
