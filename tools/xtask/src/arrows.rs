//! The rings, as tables: which of our crates may use which, and which may name a heavy dependency at all.
//!
//! Arrows go one way. A dependency that may be named by few crates stays swappable. Checked against what cargo knows,
//! so a line in a `Cargo.toml` is enough to break a rule and nothing else is.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::metadata::{self, Package};

/// Our crate, what it may use in its product code, and what its tests may use besides.
struct Ring {
    name: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
}

const fn ring(name: &'static str, uses: &'static [&'static str], tests_use: &'static [&'static str]) -> Ring {
    Ring { name, uses, tests_use }
}

/// From the inside out. `gateway` and `store` never meet: only `server` joins them.
const RINGS: &[Ring] = &[
    ring("wire", &[], &[]),
    ring("domain", &[], &[]),
    ring("live", &["domain"], &[]),
    ring("store", &["domain"], &["testenv"]),
    ring("cluster", &["wire", "domain", "live"], &["testenv"]),
    ring("api", &["wire", "domain", "live"], &["store"]),
    ring("script", &["api", "live", "domain", "wire"], &["store"]),
    ring("gateway", &["api", "live", "domain", "wire"], &["client"]),
    ring("server", &["wire", "domain", "live", "store", "cluster", "api", "script", "gateway"], &["client", "testenv"]),
    ring("client", &["wire"], &[]),
    ring("bench", &["client", "wire"], &[]),
    ring("sim", &["wire", "live", "domain", "cluster"], &[]),
    ring("testenv", &[], &[]),
    ring("xtask", &["testenv", "wire"], &[]),
    ring("e2e", &["server", "client"], &["testenv"]),
];

/// A dependency, and the crates that may name it.
const NAMED_BY: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("libsqlite3-sys", &["store"]),
    ("tokio-postgres", &["store"]),
    ("postgres-types", &["store"]),
    ("hyper", &["gateway", "bench", "client"]),
    ("hyper-util", &["gateway", "bench", "client"]),
    ("prost", &["wire", "xtask"]),
    ("clap", &["server", "bench", "sim", "xtask"]),
    // The rules are pure: no runtime, no sockets.
    ("async-nats", &["cluster"]),
    ("corosensei", &["script"]),
    ("mlua", &["script"]),
    ("oxc_parser", &["script"]),
    ("oxc_transformer", &["script"]),
    ("rquickjs", &["script"]),
    ("wasmtime", &["script"]),
    ("tokio", &["store", "cluster", "api", "script", "gateway", "server", "client", "bench", "e2e"]),
    (
        "serde_json",
        &["wire", "domain", "api", "store", "script", "gateway", "server", "client", "bench", "xtask", "e2e"],
    ),
    ("anyhow", &["server", "client", "bench", "sim", "testenv", "xtask", "e2e"]),
];

/// Checks both tables.
///
/// # Errors
/// One sentence per broken rule.
pub fn run() -> Result<()> {
    let members = metadata::members()?;
    let mut wrong = Vec::new();
    for package in &members {
        check_rings(package, RINGS, &mut wrong);
        check_named(package, NAMED_BY, &mut wrong);
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{} crates keep to their rings", members.len());
    Ok(())
}

fn check_rings(package: &Package, rings: &[Ring], wrong: &mut Vec<String>) {
    let name = short(&package.name);
    let Some(ring) = rings.iter().find(|ring| ring.name == name) else {
        wrong.push(format!("{name} has no line in the table of arrows (tools/xtask/src/arrows.rs): give it one"));
        return;
    };
    for dependency in &package.dependencies {
        let Some(used) = dependency.name.strip_prefix("muster-") else { continue };
        let in_tests = dependency.kind.as_deref() == Some("dev");
        // A crate's tests may name the crate itself, for instance to switch on a feature of its own.
        let allowed = ring.uses.contains(&used) || (in_tests && (ring.tests_use.contains(&used) || used == name));
        if !allowed {
            let place = if in_tests { "in its tests" } else { "in its product code" };
            let may: BTreeSet<_> = ring.uses.iter().chain(ring.tests_use.iter().filter(|_| in_tests)).collect();
            let may = if may.is_empty() { "none of our crates".to_owned() } else { join(may) };
            wrong.push(format!("{name} may not use {used} {place}: it may use {may}"));
        }
    }
}

fn check_named(package: &Package, named_by: &[(&str, &[&str])], wrong: &mut Vec<String>) {
    let name = short(&package.name);
    for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev")) {
        let Some((heavy, by)) = named_by.iter().find(|(heavy, _)| *heavy == dependency.name) else { continue };
        if !by.contains(&name) {
            wrong.push(format!("{name} may not name {heavy}: that is for {} alone", join(*by)));
        }
    }
}

fn short(name: &str) -> &str {
    name.strip_prefix("muster-").unwrap_or(name)
}

fn join<'a>(names: impl IntoIterator<Item = &'a &'a str>) -> String {
    names.into_iter().copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn check(name: &str, dependency: &str, kind: Option<&str>, expect: &[&str]) {
        let package = Package {
            id: String::new(),
            name: format!("muster-{name}"),
            version: String::new(),
            license: None,
            source: None,
            dependencies: vec![Dependency { name: dependency.to_owned(), kind: kind.map(str::to_owned) }],
        };
        let mut wrong = Vec::new();
        check_rings(&package, RINGS, &mut wrong);
        check_named(&package, NAMED_BY, &mut wrong);
        assert_eq!(wrong, expect);
    }

    #[test]
    fn arrows_go_one_way() {
        check("store", "muster-domain", None, &[]);
        check(
            "domain",
            "muster-wire",
            None,
            &["domain may not use wire in its product code: it may use none of our crates"],
        );
        check("live", "muster-store", Some("dev"), &["live may not use store in its tests: it may use domain"]);
        check("store", "muster-testenv", Some("dev"), &[]);
        check("store", "muster-testenv", None, &["store may not use testenv in its product code: it may use domain"]);
    }

    #[test]
    fn heavy_dependencies_are_named_by_few() {
        check("store", "rusqlite", None, &[]);
        check("api", "rusqlite", None, &["api may not name rusqlite: that is for store alone"]);
        check("api", "rusqlite", Some("dev"), &[]);
    }

    #[test]
    fn a_crate_without_a_line_is_refused() {
        check(
            "new",
            "serde",
            None,
            &["new has no line in the table of arrows (tools/xtask/src/arrows.rs): give it one"],
        );
    }
}
