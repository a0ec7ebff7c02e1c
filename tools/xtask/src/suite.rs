//! All tests in one command, with everything that they need: PostgreSQL, NATS, strace, npm packages, a built server.
//!
//! A part that executed no test has failed. PostgreSQL ends with this process, however this process ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use muster_testenv::{Nats, NatsSettings, Postgres, Programs, URL_VARIABLE};
use serde_json::Value;

use crate::summary::{Outcome, Summary};
use crate::{repository, run};

/// Variable that names the server program for the end-to-end tests.
const BINARY_VARIABLE: &str = "MUSTER_BIN";

/// Variable that names the NATS server for the end-to-end tests of clusters.
const NATS_VARIABLE: &str = "MUSTER_TEST_NATS";

/// Default folder of Go, for machines where it is not on `PATH`.
const GO_FOLDER: &str = "/usr/local/go/bin";

/// Time limit of a file of end-to-end tests: a file that takes longer hangs and is stopped.
const FILE_LIMIT_MS: u32 = 600_000;

/// The tests to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Tests of cargo and of node.
    All,
    /// Tests of cargo.
    Rust,
    /// Tests with the official JavaScript client.
    EndToEnd,
}

/// Runs the tests; `rest` goes to cargo or, as file names, to node.
///
/// # Errors
/// When a test failed, or something that tests need could not be had.
pub fn run(parts: Parts, rest: &[String]) -> Result<()> {
    let mut summary = Summary::default();
    run_parts(&mut summary, parts, rest);
    summary.finish()
}

/// Same as [`run`], as parts of a longer list.
pub fn run_parts(summary: &mut Summary, parts: Parts, rest: &[String]) {
    let mut server = None;
    summary.part("postgres", || -> Result<Outcome> {
        let started = postgres()?;
        let place = started.url().to_owned();
        server = Some(started);
        Ok(Outcome::Passed(place))
    });
    // Without a server, every test would start one of its own and fail for the same reason.
    let Some(server) = server else { return };

    summary.part("nats", || Ok(Outcome::Passed(muster_testenv::nats_server()?.display().to_string())));
    if parts != Parts::EndToEnd {
        summary.part("strace", strace);
        summary.part("systemd unit", systemd_unit);
        summary.part("go", || go(&server));
        let mut counted = Counts::default();
        summary.part("cargo test", || cargo_test(&server, rest, &mut counted));
        summary.count_tests(counted.passed, counted.failed);
        summary.part("simulation", || simulation(&["--seeds", "200", "--fresh", "50"]));
        summary.part("simulation of links", || simulation(&["links", "--seeds", "500", "--fresh", "100"]));
        summary.part("simulation of freight", || simulation(&["freight", "--seeds", "500", "--fresh", "100"]));
        summary.part("simulation of nodes", || simulation(&["nodes", "--seeds", "150", "--fresh", "50"]));
    }
    if parts != Parts::Rust {
        let files = if parts == Parts::EndToEnd { rest } else { &[] };
        let mut counted = Counts::default();
        summary.part("e2e", || end_to_end(&server, files, &mut counted));
        summary.count_tests(counted.passed, counted.failed);
        if files.is_empty() {
            let mut counted = Counts::default();
            summary.part("conformance", || conformance(&server, &mut counted));
            summary.count_tests(counted.passed, counted.failed);
        }
    }
}

/// Starts a server, unless the caller named one. PostgreSQL is installed first where that is allowed.
fn postgres() -> Result<Postgres> {
    if let Some(url) = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty()) {
        return Postgres::at(url);
    }
    if let Err(missing) = Programs::find() {
        println!("{missing}");
        muster_testenv::install("postgresql").context(missing)?;
    }
    Postgres::start()
}

/// Makes strace available, with which tests watch writes and syncs; installs it where that is allowed.
fn strace() -> Result<()> {
    if let Err(missing) = muster_testenv::check_strace() {
        println!("{missing:#}");
        muster_testenv::install("strace").context(missing)?;
        muster_testenv::check_strace()?;
    }
    Ok(())
}

/// Checks the unit of systemd. The program that it starts need not be installed here.
fn systemd_unit() -> Result<Outcome> {
    const UNIT: &str = "examples/systemd/muster.service";
    const PROGRAM: &str = "/usr/local/bin/muster";
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return Ok(Outcome::Skipped("systemd-analyze is not installed".to_owned()));
    }
    let unit = std::fs::read_to_string(repository::root().join(UNIT)).context(UNIT)?;
    ensure!(unit.contains(PROGRAM), "{UNIT} does not start {PROGRAM}");
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("muster.service");
    let present = std::env::current_exe()?;
    std::fs::write(&copy, unit.replace(PROGRAM, &present.display().to_string()))?;
    run::check(Command::new("systemd-analyze").arg("verify").arg(&copy))?;
    Ok(Outcome::Passed(String::new()))
}

/// Checks Go, which compiles game code in Go. The code must also compile outside of WebAssembly, for editors.
fn go(server: &Postgres) -> Result<()> {
    for arguments in [["vet", "./..."], ["test", "./..."]] {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(repository::root().join("sdk/go"));
        go.env("PATH", path_with(server.programs_folder())?);
        run::check(&mut go).context("the tests need Go 1.26 or newer: https://go.dev/dl")?;
    }
    Ok(())
}

fn cargo_test(server: &Postgres, rest: &[String], counted: &mut Counts) -> Result<Outcome> {
    let mut cargo = run::cargo();
    // Every crate's tests run, whatever the result of another's: one run shows all that needs repair.
    cargo.args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(rest).env(URL_VARIABLE, server.url());
    cargo.env("PATH", path_with(server.programs_folder())?);
    let succeeded = run::watch(&mut cargo, |line| counted.read_cargo(line))?;
    counted.verdict(succeeded)
}

/// Simulates seeds that every run has in common, and some random ones: failing seeds are printed.
fn simulation(which: &[&str]) -> Result<Outcome> {
    let mut cargo = run::cargo();
    cargo.args(["run", "--quiet", "--locked", "--package", "muster-sim", "--"]).args(which);
    let mut seeds = Vec::new();
    let is_clean = run::watch(&mut cargo, |line| {
        seeds.extend(
            line.strip_prefix("seeds ").and_then(|line| line.split_once(':')).map(|(range, _)| range.to_owned()),
        );
    })?;
    ensure!(is_clean, "a seed failed: replay it with the command above");
    Ok(Outcome::Passed(format!("seeds {}", seeds.join(" and "))))
}

fn end_to_end(server: &Postgres, files: &[String], counted: &mut Counts) -> Result<Outcome> {
    let folder = repository::root().join("tests/e2e");
    install_packages(&folder)?;
    build_helper()?;
    node_tests(server, &folder, files, counted)
}

/// Plays the scenarios that were recorded from the original. They use helpers of the end-to-end tests.
fn conformance(server: &Postgres, counted: &mut Counts) -> Result<Outcome> {
    install_packages(&repository::root().join("tests/e2e"))?;
    let folder = repository::root().join("tests/conformance");
    install_packages(&folder)?;
    node_tests(server, &folder, &[], counted)
}

/// Runs the test files of a folder, or those that are named, against a server that is built first.
fn node_tests(server: &Postgres, folder: &Path, files: &[String], counted: &mut Counts) -> Result<Outcome> {
    let binary = build_server()?;
    let nats = Nats::start(NatsSettings::default())?;
    // The client leaves timers behind that would keep a test process for half a minute, hence the forced exit.
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec", "--test-force-exit", &format!("--test-timeout={FILE_LIMIT_MS}")])
        .args(if files.is_empty() { test_files(folder)? } else { files.to_vec() })
        .current_dir(folder)
        .env(BINARY_VARIABLE, binary)
        .env(NATS_VARIABLE, nats.url())
        .env("PATH", path_with(server.programs_folder())?)
        .env(URL_VARIABLE, server.url());
    let succeeded = run::watch(&mut node, |line| counted.read_node(line))?;
    counted.verdict(succeeded)
}

/// `PATH` with `folder` in front and Go's folder at the end.
fn path_with(folder: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let folders = folders.chain([PathBuf::from(GO_FOLDER)]);
    std::env::join_paths(folders).context("the folder of PostgreSQL's programs does not fit into PATH")
}

/// Compiles the helper for the official client, which the tests use as a game would.
fn build_helper() -> Result<()> {
    let folder = repository::root().join("sdk/typescript");
    install_packages(&folder)?;
    run::check(Command::new("npm").args(["run", "--silent", "build"]).current_dir(folder))
}

/// Runs `npm ci`, unless the installed packages are those of the lock file. Packages' own scripts never run.
fn install_packages(folder: &Path) -> Result<()> {
    let lock = std::fs::read(folder.join("package-lock.json"))
        .with_context(|| format!("{} has no package-lock.json", folder.display()))?;
    let stamp = folder.join("node_modules/.muster-installed");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
    run::check(&mut npm).context("the end-to-end tests need node 20 or newer with npm")?;
    std::fs::write(stamp, lock).context("cannot note what npm installed")
}

/// Builds the server and answers its path. Features and profile are those of `cargo test`, so that nothing is built
/// twice.
fn build_server() -> Result<PathBuf> {
    let mut cargo = run::cargo();
    let format = "--message-format=json-render-diagnostics";
    cargo.args(["build", "--workspace", "--locked", "--bins", "--tests", format]);
    println!("$ cargo build --workspace --locked --bins --tests");
    let messages = run::output(&mut cargo)?;
    let binary = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|message| {
        let is_server = message["target"]["name"] == "muster" && message["target"]["kind"][0] == "bin";
        let is_test = message["profile"]["test"] == true;
        let file = message["executable"].as_str().filter(|_| is_server && !is_test)?;
        Some(PathBuf::from(file))
    });
    binary.context("cargo built no program named `muster`")
}

fn test_files(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") {
            files.push(name);
        }
    }
    ensure!(!files.is_empty(), "{} holds no *.test.mjs", folder.display());
    files.sort();
    Ok(files)
}

/// Counts from the closing lines of test runners.
#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Reads `test result: ok. 5 passed; 0 failed; 0 ignored; …`, which comes once per test program.
    fn read_cargo(&mut self, line: &str) {
        let line = without_colours(line);
        let Some(result) = line.strip_prefix("test result: ") else { return };
        for piece in result.split(['.', ';']) {
            let mut words = piece.split_whitespace();
            let (Some(Ok(number)), Some(word)) = (words.next().map(str::parse::<u64>), words.next()) else { continue };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Reads `ℹ pass 5` and similar lines, which come once per run.
    fn read_node(&mut self, line: &str) {
        let line = without_colours(line);
        let mut words = line.strip_prefix("ℹ ").unwrap_or_default().split_whitespace();
        let (Some(word), Some(Ok(number))) = (words.next(), words.next().map(str::parse::<u64>)) else { return };
        match word {
            "pass" => self.passed += number,
            "fail" | "cancelled" => self.failed += number,
            "skipped" | "todo" => self.skipped += number,
            _ => {}
        }
    }

    fn verdict(&self, succeeded: bool) -> Result<Outcome> {
        let Self { passed, failed, skipped } = self;
        ensure!(succeeded || *passed > 0 || *failed > 0, "the tests could not be built or started");
        ensure!(succeeded && *failed == 0, "{passed} passed, {failed} failed");
        ensure!(*passed > 0, "no test ran");
        ensure!(*skipped == 0, "{skipped} tests were skipped: a test runs or goes");
        Ok(Outcome::Passed(format!("{passed} tests")))
    }
}

/// `line` without terminal escape sequences.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A colour is `ESC [ numbers m`.
            characters.by_ref().find(|character| *character == 'm');
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_runners_print() {
        let mut counts = Counts::default();
        counts.read_cargo(
            "test result: \u{1b}[32mok\u{1b}[0m. 5 passed; 0 failed; 1 ignored; 0 measured; 9 filtered out",
        );
        counts.read_cargo("test result: FAILED. 1 passed; 2 failed; 0 ignored");
        counts.read_node("\u{1b}[34mℹ pass 7\u{1b}[39m");
        counts.read_node("ℹ cancelled 1");
        assert_eq!((counts.passed, counts.failed, counts.skipped), (13, 3, 1));
    }

    #[test]
    fn nothing_passes_by_not_running() {
        let check = |passed, failed, skipped, succeeded| Counts { passed, failed, skipped }.verdict(succeeded).is_ok();
        assert!(check(1, 0, 0, true));
        assert!(!check(0, 0, 0, true));
        assert!(!check(1, 0, 1, true));
        assert!(!check(1, 1, 0, true));
        assert!(!check(1, 0, 0, false));
    }
}
