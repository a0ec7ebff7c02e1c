//! `cargo xtask protocol-check`: compares our schema with the published one, name by name and number by number.
//!
//! The command is for developers: it asks the Go module proxy for the published protocol, which no build and no test
//! does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};

const MODULE: &str = "github.com/heroiclabs/nakama-common@v1.47.0";
const PUBLISHED_FILES: [&str; 2] = ["api/api.proto", "rtapi/realtime.proto"];

/// Downloads the published schema and compares it with ours.
///
/// # Errors
/// Fails when the download fails or any message, enum, field, number or type differs.
pub fn run() -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("muster-protocol-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = download(&folder).and_then(|module| compare(&module));
    let _ = Command::new("chmod").args(["-R", "u+w"]).arg(&folder).status();
    std::fs::remove_dir_all(&folder)?;
    result
}

fn download(folder: &Path) -> anyhow::Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .current_dir(folder)
        .env("GOMODCACHE", folder.join("modules"))
        .output()
        .context("start go (is it installed?)")?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).context("answer of go mod download")?;
    match answer["Dir"].as_str() {
        Some(path) => Ok(PathBuf::from(path)),
        None => bail!("go mod download failed: {}", answer["Error"]),
    }
}

fn compare(module: &Path) -> anyhow::Result<()> {
    let published = facts(&protox::compile(PUBLISHED_FILES, [module]).context("compile the published schema")?);
    let ours = facts(&super::descriptors(&super::workspace_root()?)?);
    let mut differences = Vec::new();
    for (name, fact) in &published {
        match ours.get(name) {
            None => differences.push(format!("{name}: missing here ({fact})")),
            Some(our_fact) if our_fact != fact => {
                differences.push(format!("{name}: {fact} published, {our_fact} here"))
            }
            Some(_) => {}
        }
    }
    differences
        .extend(ours.keys().filter(|name| !published.contains_key(*name)).map(|name| format!("{name}: only here")));
    if !differences.is_empty() {
        bail!("{} differences from {MODULE}:\n{}", differences.len(), differences.join("\n"));
    }
    report(&format!("{} messages, enums, fields and values equal to {MODULE}", ours.len()));
    Ok(())
}

#[allow(clippy::print_stdout)] // the result of a command for people
fn report(line: &str) {
    println!("{line}");
}

/// Every message, field, enum and enum value by full name, with its number and type.
fn facts(set: &FileDescriptorSet) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for file in set.file.iter().filter(|file| file.package().starts_with("nakama.")) {
        for message in &file.message_type {
            add_message(&mut facts, file.package(), message);
        }
        for enumeration in &file.enum_type {
            add_enum(&mut facts, file.package(), enumeration);
        }
    }
    facts
}

fn add_message(facts: &mut BTreeMap<String, String>, outer: &str, message: &DescriptorProto) {
    let name = format!("{outer}.{}", message.name());
    for field in &message.field {
        let oneof = field
            .oneof_index
            .and_then(|index| message.oneof_decl.get(usize::try_from(index).ok()?))
            .map_or("", |oneof| oneof.name());
        let fact = format!(
            "{} {:?} {:?} {} {} oneof={oneof}",
            field.number(),
            field.label(),
            field.r#type(),
            field.type_name(),
            field.json_name()
        );
        facts.insert(format!("{name}.{}", field.name()), fact);
    }
    for nested in &message.nested_type {
        add_message(facts, &name, nested);
    }
    for enumeration in &message.enum_type {
        add_enum(facts, &name, enumeration);
    }
    facts.insert(name, "message".to_owned());
}

fn add_enum(facts: &mut BTreeMap<String, String>, outer: &str, enumeration: &EnumDescriptorProto) {
    let name = format!("{outer}.{}", enumeration.name());
    for value in &enumeration.value {
        facts.insert(format!("{name}.{}", value.name()), value.number().to_string());
    }
    facts.insert(name, "enum".to_owned());
}
