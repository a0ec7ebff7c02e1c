//! The programs that are compared. A revision is built in a work tree of its own, with a target folder that all
//! revisions share, so that their dependencies are compiled once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{repository, run};

/// The profile that players' servers are built with.
const PROFILE: &str = "dist";

/// Revisions whose manifest has no such profile built their `release` for players.
const BUILD: &[&str] = &[
    "build",
    "--locked",
    "--profile",
    PROFILE,
    "--config",
    "profile.dist.inherits='release'",
    "--config",
    "profile.dist.lto='thin'",
];

/// The built programs.
pub struct Builds {
    /// The earlier server.
    pub before: PathBuf,
    /// The later server.
    pub after: PathBuf,
    /// The load generator, which is the work tree's for both.
    pub bench: PathBuf,
    /// Game code for the servers.
    pub modules: PathBuf,
}

impl Builds {
    /// Builds what is not given as a path.
    pub fn make(before: &str, after: Option<&str>) -> Result<Self> {
        let target = target();
        let before = if Path::new(before).is_file() { PathBuf::from(before) } else { revision(before, &target)? };
        let mut build = run::cargo();
        build.args(BUILD).args(["--package", "muster-bench"]);
        if after.is_none() {
            build.args(["--package", "muster-server"]);
        }
        run::check(build.env("CARGO_TARGET_DIR", &target))?;
        let built = |program: &str| target.join(PROFILE).join(program);
        let after = after.map_or_else(|| built("muster"), PathBuf::from);
        Ok(Self {
            before,
            after,
            bench: built("muster-bench"),
            modules: repository::root().join("tools/bench/modules"),
        })
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository::root().join("target"), PathBuf::from)
}

/// Builds the server of a revision. Answers its path.
fn revision(revision: &str, target: &Path) -> Result<PathBuf> {
    let mut parse = Command::new("git");
    let commit =
        run::output(parse.args(["rev-parse", "--verify", "--short=12"]).arg(format!("{revision}^{{commit}}")))?;
    let folder = target.join("compare").join(commit.trim());
    let program = folder.join("muster");
    if program.is_file() {
        return Ok(program);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let tree = folder.join("tree");
    // The files of a tree must be newer than what was built of another tree: cargo takes one tree's artifacts for the
    // other's if they lie in one folder. So a tree that is left from before is not used.
    if tree.is_dir() {
        let mut remove = Command::new("git");
        run::check(remove.args(["worktree", "remove", "--force"]).arg(&tree))?;
    }
    let mut add = Command::new("git");
    run::check(add.args(["worktree", "add", "--detach"]).arg(&tree).arg(commit.trim()))?;
    let shared = target.join("compare").join("target");
    let mut build = run::cargo();
    build.args(BUILD).args(["--package", "muster-server"]).current_dir(&tree);
    run::check(build.env("CARGO_TARGET_DIR", &shared))?;
    let built = shared.join(PROFILE).join("muster");
    fs::copy(&built, &program).with_context(|| format!("cannot copy {}", built.display()))?;
    let mut remove = Command::new("git");
    run::check(remove.args(["worktree", "remove", "--force"]).arg(&tree))?;
    Ok(program)
}
