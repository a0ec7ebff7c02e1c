//! Rules for external packages: licences, doubled versions, sources; and advisories if their database can be reached.
//!
//! The rules stand in `deny.toml`, in cargo-deny's own format, so that developers can also run cargo-deny. It is not
//! built here: that takes several minutes of a cold CI run, and everything but the advisories follows from what cargo
//! knows offline.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::metadata::{self, Package};
use crate::repository;
use crate::run;
use crate::summary::Outcome;

/// Cargo's name of the public registry, which is the only source.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Deserialize)]
struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

/// A version that is allowed beside another of the same crate.
#[derive(Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    package: String,
    reason: Option<String>,
}

/// Same as [`check`], for the command line.
///
/// # Errors
/// One line per broken rule.
pub fn run() -> Result<()> {
    if let Outcome::Skipped(text) = check()? {
        println!("skipped: {text}");
    }
    Ok(())
}

/// Checks all rules.
///
/// # Errors
/// One line per broken rule.
pub fn check() -> Result<Outcome> {
    let text = std::fs::read_to_string(repository::root().join("deny.toml")).context("cannot read deny.toml")?;
    let rules: Rules = toml::from_str(&text).context("deny.toml has a shape we do not know")?;
    let packages = packages(&rules.graph.targets)?;
    let mut wrong = Vec::new();
    check_licences(&packages, &rules.licenses.allow, &mut wrong)?;
    check_versions(&packages, &rules.bans.skip, &mut wrong);
    check_sources(&packages, &mut wrong);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("licences, versions and sources of {} packages keep to deny.toml", packages.len());
    advisories()
}

/// All packages that are used on any of the platforms.
fn packages(targets: &[String]) -> Result<Vec<Package>> {
    let mut all = BTreeMap::new();
    for target in targets {
        all.extend(metadata::resolved(target)?);
    }
    Ok(all.into_values().collect())
}

fn check_licences(packages: &[Package], allow: &[String], wrong: &mut Vec<String>) -> Result<()> {
    let allowed: Vec<spdx::Licensee> = allow
        .iter()
        .map(|name| spdx::Licensee::parse(name).with_context(|| format!("deny.toml: `{name}` is no SPDX licence")))
        .collect::<Result<_>>()?;
    for Package { name, version, license, .. } in packages {
        let Some(license) = license else {
            wrong.push(format!("{name} {version} names no licence"));
            continue;
        };
        // The mode is lax because older packages write `MIT/Apache-2.0`.
        match spdx::Expression::parse_mode(license, spdx::ParseMode::LAX) {
            Ok(expression) => {
                let is_allowed = expression.evaluate(|needed| allowed.iter().any(|one| one.satisfies(needed)));
                if !is_allowed {
                    wrong.push(format!("{name} {version} is under `{license}`, which deny.toml does not allow"));
                }
            }
            Err(error) => wrong.push(format!("{name} {version} has a licence we cannot read, `{license}`: {error}")),
        }
    }
    Ok(())
}

fn check_versions(packages: &[Package], skip: &[Skip], wrong: &mut Vec<String>) {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let mut unused: BTreeSet<&str> = skip.iter().map(|skip| &*skip.package).collect();
    for (name, versions) in versions {
        let kept: Vec<&str> = versions
            .into_iter()
            .filter(|version| {
                let exact = format!("{name}@{version}");
                let is_skipped = skip.iter().any(|skip| skip.package == exact || skip.package == name);
                unused.remove(&*exact);
                unused.remove(name);
                !is_skipped
            })
            .collect();
        if kept.len() > 1 {
            wrong.push(format!(
                "{name} comes in {} versions, {}: `cargo tree --invert {name}@VERSION` shows who asks; bring them \
                 together or add to `skip` in deny.toml with a reason",
                kept.len(),
                kept.join(" and ")
            ));
        }
    }
    wrong.extend(unused.into_iter().map(|name| format!("deny.toml skips {name}, which does not come in: remove it")));
    let silent = skip.iter().filter(|skip| skip.reason.as_ref().is_none_or(String::is_empty));
    wrong.extend(silent.map(|skip| format!("deny.toml skips {} without a reason", skip.package)));
}

fn check_sources(packages: &[Package], wrong: &mut Vec<String>) {
    for Package { name, version, source, .. } in packages {
        if let Some(source) = source.as_deref().filter(|source| *source != REGISTRY) {
            wrong.push(format!("{name} {version} comes from {source}: only the public registry may be a source"));
        }
    }
}

/// Known vulnerabilities. cargo-deny fetches their database from the network, so this part may have to be skipped.
fn advisories() -> Result<Outcome> {
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    if !quiet(run::cargo().args(["deny", "--version"])) {
        let how = "`cargo install --locked cargo-deny`, then run this again";
        return Ok(Outcome::Skipped(format!("advisories only: cargo-deny is not installed ({how})")));
    }
    if !quiet(run::cargo().args(["deny", "fetch", "db"]).current_dir(repository::root())) {
        return Ok(Outcome::Skipped("advisories only: their database could not be reached".to_owned()));
    }
    run::check(run::cargo().args(["deny", "check", "advisories"]))?;
    Ok(Outcome::Passed(String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, license: &str, source: &str) -> Package {
        Package {
            id: format!("{name}@{version}"),
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some(license.to_owned()),
            source: Some(source.to_owned()),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn licences_are_read_as_expressions() {
        let check = |license: &str, expect: bool| {
            let mut wrong = Vec::new();
            let allow = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
            check_licences(&[package("a", "1.0.0", license, REGISTRY)], &allow, &mut wrong).expect("the list is valid");
            assert_eq!(wrong.is_empty(), expect, "{license}: {wrong:?}");
        };
        check("MIT OR Apache-2.0", true);
        check("MIT/Apache-2.0", true);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("Apache-2.0", false);
        check("MIT AND GPL-3.0-only", false);
        check("whatever", false);
    }

    #[test]
    fn doubled_versions_and_stale_exceptions_are_told() {
        let packages = [package("a", "1.0.0", "MIT", REGISTRY), package("a", "2.0.0", "MIT", REGISTRY)];
        let check = |skip: &[&str], expect: usize| {
            let skip: Vec<Skip> = skip
                .iter()
                .map(|name| Skip { package: (*name).to_owned(), reason: Some("waits for b".to_owned()) })
                .collect();
            let mut wrong = Vec::new();
            check_versions(&packages, &skip, &mut wrong);
            assert_eq!(wrong.len(), expect, "{wrong:?}");
        };
        check(&[], 1);
        check(&["a@1.0.0"], 0);
        check(&["a@1.0.0", "c@1.0.0"], 1);
    }

    #[test]
    fn only_the_public_registry_is_a_source() {
        let mut wrong = Vec::new();
        check_sources(&[package("a", "1.0.0", "MIT", "git+https://example.org/a")], &mut wrong);
        assert_eq!(wrong.len(), 1);
    }
}
