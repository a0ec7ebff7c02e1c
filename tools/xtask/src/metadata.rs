//! Cargo's knowledge of packages: ours, and all that they depend on.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::run;

/// The part of `cargo metadata` that the checks read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    /// The graph; absent if only our own packages were asked for.
    resolve: Option<Resolve>,
}

#[derive(Clone, Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    /// Licence, as an SPDX expression.
    pub license: Option<String>,
    /// Origin of the package; `None` for a folder of this repository.
    pub source: Option<String>,
    pub dependencies: Vec<Dependency>,
}

#[derive(Clone, Deserialize)]
pub struct Dependency {
    pub name: String,
    /// Kind of the dependency: `None` for a normal one, otherwise `dev` or `build`.
    pub kind: Option<String>,
}

/// The dependency graph for one platform.
#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

/// Our own packages.
pub fn members() -> Result<Vec<Package>> {
    Ok(read(&["--no-deps"])?.packages)
}

/// Our packages and everything that comes in with them on one platform, by id.
pub fn resolved(platform: &str) -> Result<BTreeMap<String, Package>> {
    let metadata = read(&["--filter-platform", platform])?;
    let nodes = metadata.resolve.context("cargo metadata without a graph")?.nodes;
    let is_in_graph: BTreeSet<String> = nodes.into_iter().map(|node| node.id).collect();
    let packages = metadata.packages.into_iter().filter(|package| is_in_graph.contains(&package.id));
    Ok(packages.map(|package| (package.id.clone(), package)).collect())
}

fn read(arguments: &[&str]) -> Result<Metadata> {
    let mut cargo = run::cargo();
    cargo.args(["metadata", "--format-version=1", "--locked"]).args(arguments);
    serde_json::from_str(&run::output(&mut cargo)?).context("cargo metadata in a shape we do not know")
}
