//! The report of `muster check`: the effective configuration with its sources, the keys that are not honoured and why,
//! and all faults of keys and values. Secrets are masked. What the configuration names is loaded by the command.

use std::{ffi::OsString, fmt::Write as _};

use super::{KeyFile, Loaded, Problems, ServerMode, Setting, Status, load};

/// Result of a check.
#[derive(Debug)]
pub struct Report {
    /// The text to print, with its line ends.
    pub text: String,
    /// The configuration, for loading what it names; `None` if it has errors.
    pub loaded: Option<Loaded>,
}

/// Checks a configuration without changing anything: no folder, file or key is created.
pub fn check(mode: ServerMode, flags: &[Setting], variables: impl IntoIterator<Item = (OsString, OsString)>) -> Report {
    match load(mode, KeyFile::Read, flags, variables) {
        Ok(loaded) => Report { text: describe(&loaded), loaded: Some(loaded) },
        Err(problems) => Report { text: describe_problems(&problems), loaded: None },
    }
}

fn describe(loaded: &Loaded) -> String {
    let mut text = String::from("configuration (honoured keys):\n");
    for setting in loaded.settings.iter().filter(|setting| setting.key.status == Status::Honoured) {
        let value = shown_value(setting, loaded.config.dev);
        line(&mut text, &format!("  {} = {value}  [{}]", setting.key.name, setting.source()));
    }
    if loaded.notices.is_empty() {
        line(&mut text, "\nevery key that is set is honoured");
    } else {
        line(&mut text, "\nto know:");
    }
    for notice in &loaded.notices {
        line(&mut text, &format!("  {} [{}]: {}", notice.key, notice.source, notice.text));
    }
    text
}

fn shown_value(setting: &Setting, dev: bool) -> String {
    let shown = setting.shown();
    let generated = crate::keys::GENERATED.iter().any(|one| one.name == setting.key.name);
    if shown.is_empty() && generated && !dev { "(generated at first start)".to_owned() } else { shown }
}

fn describe_problems(problems: &Problems) -> String {
    let mut text = String::new();
    for problem in &problems.0 {
        line(&mut text, &format!("error: {problem}"));
    }
    let count = problems.0.len();
    line(&mut text, &format!("\n{count} {} in the configuration", if count == 1 { "error" } else { "errors" }));
    text
}

fn line(text: &mut String, content: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{content}");
}
