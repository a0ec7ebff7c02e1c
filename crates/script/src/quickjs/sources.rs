//! The files of a program: the one that is run, and what it imports. They are found and compiled before anything runs, so
//! that a name that leads nowhere is an error of the load, with its place.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::compile::{Compiled, compile};
use super::places::Lines;
use crate::machine::LoadError;
use crate::process::stuck::Digest;

/// What is run if nothing is named: the first that is there.
const ENTRYPOINTS: [&str; 4] = ["index.js", "index.mjs", "index.ts", "index.mts"];

/// Larger files are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// More files are refused.
const FILES_MAX: usize = 1_000;

/// Of the thread that compiles. Its pages are taken as they are needed, so this bounds how deep code may be nested.
const STACK_BYTES: usize = 1 << 30;

/// What is put behind a name that is not the whole name of a file.
const ENDINGS: [&str; 5] = [".js", ".mjs", ".ts", ".mts", ".json"];

/// A file.
pub(super) struct File {
    pub(super) text: Arc<[u8]>,
    /// What it imports, by what it calls it.
    imports: BTreeMap<String, Arc<str>>,
    pub(super) lines: Option<Lines>,
}

/// See the module. Without files there is nothing to run.
#[derive(Default)]
pub(super) struct Sources {
    /// The name of the file that is run. Names are paths below the folder of modules.
    pub(super) entry: Arc<str>,
    /// Whether that is a module.
    pub(super) is_module: bool,
    /// Of all files as they were read.
    pub(super) digest: String,
    files: BTreeMap<Arc<str>, File>,
}

impl Sources {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// A file by its name.
    pub(super) fn get(&self, name: &str) -> Option<&File> {
        self.files.get(name)
    }

    /// What a file means by a name that it imports.
    pub(super) fn import(&self, from: &str, name: &str) -> Option<&Arc<str>> {
        self.files.get(from)?.imports.get(name)
    }

    /// Whether lines are not everywhere those that their author wrote.
    pub(super) fn are_translated(&self) -> bool {
        self.files.values().any(|file| file.lines.is_some())
    }

    /// The files of a folder's program; none if none is named and there is none.
    ///
    /// # Errors
    /// For a file that cannot be read or compiled, and an import that leads nowhere.
    pub(super) fn collect(folder: &Path, entrypoint: Option<&Path>) -> Result<Self, LoadError> {
        let path = match entrypoint {
            Some(path) => folder.join(path),
            None => {
                let mut there = ENTRYPOINTS.iter().filter(|name| folder.join(name).is_file());
                let Some(first) = there.next() else { return Ok(Self::default()) };
                if let Some(second) = there.next() {
                    tracing::warn!(
                        run = first,
                        beside = second,
                        "there are two scripts to begin with: the first is run"
                    );
                }
                folder.join(first)
            }
        };
        let entry: Arc<str> = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into();
        let mut sources = Self { entry: entry.clone(), ..Self::default() };
        let thread = std::thread::Builder::new().name("compile".to_owned()).stack_size(STACK_BYTES);
        std::thread::scope(|scope| {
            let work = || sources.add_all(folder, &path).map(|()| sources);
            let started = thread.spawn_scoped(scope, work);
            let running = started.map_err(|error| LoadError(format!("{entry}: no thread to compile it: {error}")))?;
            running.join().unwrap_or_else(|_| Err(LoadError(format!("{entry}: cannot be compiled"))))
        })
    }

    fn add_all(&mut self, folder: &Path, path: &Path) -> Result<(), LoadError> {
        let entry = self.entry.clone();
        let mut digest = Digest::default();
        let mut read = |path: &Path| read(path).inspect(|bytes| digest.add(bytes));
        let compiled = compile(&entry, read(path)?, true)?;
        self.is_module = compiled.is_module;
        let mut waiting = self.add(folder, entry, compiled)?;
        while let Some(name) = waiting.pop() {
            if self.files.contains_key(&name) {
                continue;
            }
            if self.files.len() >= FILES_MAX {
                return Err(LoadError(format!("{name}: more than {FILES_MAX} files are imported")));
            }
            let compiled = compile(&name, read(&folder.join(&*name))?, false)?;
            waiting.extend(self.add(folder, name, compiled)?);
        }
        self.digest = digest.end();
        Ok(())
    }

    /// Adds a file. Answers what it imports.
    fn add(&mut self, folder: &Path, name: Arc<str>, compiled: Compiled) -> Result<Vec<Arc<str>>, LoadError> {
        let mut imports = BTreeMap::new();
        for (wanted, place) in compiled.imports {
            let found = find(folder, &name, &wanted)
                .map_err(|why| LoadError(format!("{name}:{place}: cannot import '{wanted}': {why}")))?;
            imports.insert(wanted, Arc::from(found));
        }
        let names = imports.values().cloned().collect();
        self.files.insert(name, File { text: compiled.text.into(), imports, lines: compiled.lines });
        Ok(names)
    }
}

/// Which file is meant by a name in another file. Links are followed wherever they lead: who may make one may write files.
fn find(folder: &Path, from: &str, wanted: &str) -> Result<String, String> {
    if !wanted.starts_with("./") && !wanted.starts_with("../") {
        let told = "files begin with ./ or ../, and there are no packages: a bundler puts them into one file";
        return Err(told.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in wanted.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.pop().is_none() => return Err("it lies outside of the folder of modules".to_owned()),
            ".." => {}
            part => parts.push(part),
        }
    }
    if from.starts_with('/') {
        return Err("the file that imports it lies outside of the folder of modules".to_owned());
    }
    let path = parts.join("/");
    // TypeScript has it that files are imported under the names that they have when they are compiled.
    let twin = path.strip_suffix("js").filter(|stem| stem.ends_with(['.', 'm'])).map(|stem| format!("{stem}ts"));
    let with = |ending: &&str| format!("{path}{ending}");
    let below = |ending: &&str| format!("{path}/index{ending}");
    let known = ENDINGS.iter().any(|ending| path.ends_with(ending)).then(|| path.clone());
    let candidates = known.into_iter().chain(twin).chain(ENDINGS.iter().map(with)).chain(ENDINGS.iter().map(below));
    let mut candidates = candidates.filter(|name| folder.join(name).is_file());
    candidates.next().ok_or_else(|| format!("there is no file {path}, with or without {}", ENDINGS.join(", ")))
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |error: &dyn std::fmt::Display| LoadError(format!("cannot read {}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(failed(&format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    std::fs::read(path).map_err(|error| failed(&error))
}
