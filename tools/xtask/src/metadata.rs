//! What cargo knows of the packages: ours, and all that they depend on.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::run;

/// The part of `cargo metadata` that the checks read.
#[derive(Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    pub workspace_members: Vec<String>,
    pub resolve: Resolve,
}

#[derive(Clone, Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub license: Option<String>,
    /// `None`: a folder of this repository.
    pub source: Option<String>,
    pub dependencies: Vec<Dependency>,
}

#[derive(Clone, Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `None`: a normal one; otherwise `dev` or `build`.
    pub kind: Option<String>,
}

/// The dependency graph for one platform.
#[derive(Deserialize)]
pub struct Resolve {
    pub nodes: Vec<Node>,
}

#[derive(Deserialize)]
pub struct Node {
    pub id: String,
}

impl Metadata {
    /// Reads it for one platform triple, or for all together.
    pub fn read(platform: Option<&str>) -> Result<Self> {
        let mut cargo: Command = run::cargo();
        cargo.args(["metadata", "--format-version=1", "--locked"]);
        if let Some(platform) = platform {
            cargo.args(["--filter-platform", platform]);
        }
        serde_json::from_str(&run::output(&mut cargo)?).context("cargo metadata in a shape we do not know")
    }

    /// Our own packages.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The packages that the platform's graph really holds, by id.
    pub fn resolved(&self) -> BTreeMap<&str, &Package> {
        let by_id: BTreeMap<&str, &Package> = self.packages.iter().map(|package| (&*package.id, package)).collect();
        self.resolve.nodes.iter().filter_map(|node| by_id.get_key_value(&*node.id)).map(|(id, &p)| (*id, p)).collect()
    }
}
