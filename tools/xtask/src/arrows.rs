//! The rings, as two tables: our crates with those that each may use, and heavy dependencies with the crates that may
//! name them.
//!
//! Arrows go one way. A dependency that few crates may name stays swappable. The tables are compared with the
//! manifests, in both directions: a dependency without permission is wrong, and so is a permission without use.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::metadata::{self, Package};

/// One of our crates, the crates that its product code may use, and those that its tests may use besides.
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
    ring("wire", &[], &["testenv"]),
    ring("domain", &[], &["testenv"]),
    ring("live", &["domain"], &[]),
    ring("store", &["domain"], &["testenv"]),
    ring("cluster", &["wire", "domain", "live"], &["testenv"]),
    ring("api", &["wire", "domain", "live"], &["store"]),
    ring("script", &["api", "live", "domain", "wire"], &["store", "testenv"]),
    ring("gateway", &["api", "live", "domain", "wire"], &["testenv"]),
    ring("server", &["wire", "domain", "live", "store", "cluster", "api", "script", "gateway"], &["client", "testenv"]),
    ring("client", &["wire"], &[]),
    ring("bench", &["wire"], &[]),
    ring("sim", &["wire", "live", "domain", "cluster"], &[]),
    ring("testenv", &[], &[]),
    ring("xtask", &["testenv"], &[]),
];

/// Heavy dependencies, with the crates whose product code may name them.
const NAMED_BY: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("tokio-postgres", &["store"]),
    ("tokio-rustls", &["gateway", "store"]),
    ("rustls-native-certs", &["gateway", "store"]),
    ("hyper", &["gateway", "client"]),
    ("hyper-util", &["gateway", "client"]),
    ("prost", &["wire"]),
    ("clap", &["bench", "sim", "xtask"]),
    ("async-nats", &["cluster"]),
    ("corosensei", &["script"]),
    ("mlua", &["script"]),
    ("oxc_parser", &["script"]),
    ("oxc_transformer", &["script"]),
    ("rquickjs", &["script"]),
    ("wasmtime", &["script"]),
    // The rules are pure, so `domain` and `live` have no runtime.
    ("tokio", &["store", "cluster", "api", "script", "gateway", "server", "client", "bench"]),
    ("serde_json", &["domain", "api", "store", "script", "server", "client", "bench", "xtask"]),
    ("anyhow", &["bench", "sim", "testenv", "xtask"]),
];

/// Checks both tables against the manifests.
///
/// # Errors
/// One sentence per broken rule or unused permission.
pub fn run() -> Result<()> {
    let members = metadata::members()?;
    let mut wrong = Vec::new();
    for package in &members {
        check_rings(package, RINGS, &mut wrong);
        check_named(package, NAMED_BY, &mut wrong);
    }
    check_use(&members, RINGS, NAMED_BY, &mut wrong);
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
        // A crate's tests may name the crate itself, for instance to turn a feature of it on.
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

/// Finds rows without a crate, and permissions that no manifest uses.
fn check_use(members: &[Package], rings: &[Ring], named_by: &[(&str, &[&str])], wrong: &mut Vec<String>) {
    let unused = "remove that from the tables of arrows (tools/xtask/src/arrows.rs)";
    let names = |name: &str, dependency: &str, is_test: bool| {
        let package = members.iter().find(|package| short(&package.name) == name);
        let dependencies = package.into_iter().flat_map(|package| &package.dependencies);
        dependencies
            .filter(|named| (named.kind.as_deref() == Some("dev")) == is_test)
            .any(|named| short(&named.name) == dependency)
    };
    for ring in rings {
        if !members.iter().any(|package| short(&package.name) == ring.name) {
            wrong.push(format!("there is no crate {}: {unused}", ring.name));
            continue;
        }
        for used in ring.uses.iter().filter(|used| !names(ring.name, used, false)) {
            wrong.push(format!("{} may use {used} in its product code and does not: {unused}", ring.name));
        }
        for used in ring.tests_use.iter().filter(|used| !names(ring.name, used, true)) {
            wrong.push(format!("{} may use {used} in its tests and does not: {unused}", ring.name));
        }
    }
    for (heavy, by) in named_by {
        for name in by.iter().filter(|name| !names(name, heavy, false)) {
            wrong.push(format!("{name} may name {heavy} and does not: {unused}"));
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

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        };
        Package {
            id: String::new(),
            name: format!("muster-{name}"),
            version: String::new(),
            license: None,
            source: None,
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    fn check(name: &str, dependency: &str, kind: Option<&str>, expect: &[&str]) {
        let package = package(name, &[(dependency, kind)]);
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
    fn rows_without_a_crate_and_permissions_without_use_are_refused() {
        let rings = [ring("one", &["two"], &["three"]), ring("two", &[], &[])];
        let named_by: &[(&str, &[&str])] = &[("heavy", &["one"])];
        let check = |members: &[Package], expect: &[&str]| {
            let mut wrong = Vec::new();
            check_use(members, &rings, named_by, &mut wrong);
            let found: Vec<&str> = wrong.iter().map(|line| line.split(": ").next().unwrap_or_default()).collect();
            assert_eq!(found, expect);
        };
        let used = [("muster-two", None), ("muster-three", Some("dev")), ("heavy", None)];
        check(&[package("one", &used), package("two", &[])], &[]);
        check(&[package("one", &used)], &["there is no crate two"]);
        check(
            &[package("one", &[("muster-two", Some("dev")), ("heavy", Some("dev"))]), package("two", &[])],
            &[
                "one may use two in its product code and does not",
                "one may use three in its tests and does not",
                "one may name heavy and does not",
            ],
        );
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
