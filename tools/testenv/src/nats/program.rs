//! The nats-server program: built once from its published source, and kept in the user's cache folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::programs::{on_path, output_of};

/// Version that tests run against.
const VERSION: &str = "v2.12.14";

/// Variable that names a nats-server program to use instead.
const PROGRAM_VARIABLE: &str = "MUSTER_TEST_NATS_SERVER";

/// Default path of Go, for machines where it is not on `PATH`.
const GO: &str = "/usr/local/go/bin/go";

/// The nats-server program. If it does not exist it is built first, which takes minutes, once per version and machine.
///
/// # Errors
/// When Go is not installed, or cannot build it; the message says what to do.
pub fn nats_server() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os(PROGRAM_VARIABLE).filter(|program| !program.is_empty()) {
        let program = PathBuf::from(program);
        ensure!(program.is_file(), "{PROGRAM_VARIABLE} names {}, which is no file", program.display());
        return Ok(program);
    }
    let folder = cache_folder()?.join(format!("nats-server-{VERSION}"));
    let program = folder.join("nats-server");
    if !program.is_file() {
        build(&folder)?;
    }
    Ok(program)
}

/// Builds in another folder and moves the result to its place when it is complete: other processes may build, or be
/// killed, at the same time.
fn build(folder: &Path) -> Result<()> {
    let unfinished = folder.with_extension(crate::unique());
    std::fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    let mut go = Command::new(go()?);
    go.args(["install", "-trimpath", &format!("github.com/nats-io/nats-server/v2@{VERSION}")]);
    go.env("GOBIN", &unfinished).env("CGO_ENABLED", "0").env_remove("GOFLAGS").current_dir(&unfinished);
    let built = output_of(&mut go).and_then(|_| {
        std::fs::create_dir_all(folder)?;
        Ok(std::fs::rename(unfinished.join("nats-server"), folder.join("nats-server"))?)
    });
    // The error above matters more; an empty folder in a cache harms nobody.
    let _ = std::fs::remove_dir_all(&unfinished);
    built.with_context(|| {
        format!("cannot build nats-server {VERSION}; a program that is there can be named in {PROGRAM_VARIABLE}")
    })
}

fn go() -> Result<OsString> {
    if on_path("go").is_some() {
        return Ok("go".into());
    }
    ensure!(
        Path::new(GO).is_file(),
        "the tests of clusters need nats-server {VERSION}, which is built with Go, and Go is not installed: install \
         Go 1.25 or newer from https://go.dev/dl, or name a nats-server program in {PROGRAM_VARIABLE}"
    );
    Ok(GO.into())
}

/// The folder `$XDG_CACHE_HOME/muster`, or the system's folder for caches of users.
fn cache_folder() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let caches = named.or_else(|| {
        let below_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        Some(PathBuf::from(std::env::var_os("HOME")?).join(below_home))
    });
    Ok(caches.context("no cache folder: set HOME or XDG_CACHE_HOME")?.join("muster"))
}
