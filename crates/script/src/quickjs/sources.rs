//! The files of a program: its entry file, and the files that it imports. All are found and compiled before any code
//! runs, so an import of a file that does not exist is an error of loading, with its place.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::compile::{Compiled, Import, compile};
use super::places::PlaceMap;
use crate::machine::LoadError;
use crate::process::stuck::Digest;
use crate::watch::folder_state;

/// Names of the entry file if none is configured; the first that exists is run.
pub(super) const ENTRYPOINTS: [&str; 4] = ["index.js", "index.mjs", "index.ts", "index.mts"];

/// Limit on the bytes of a file; larger files are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Limit on the files of a program; more are refused.
const FILES_MAX: usize = 1_000;

/// Bytes of the stack of the thread that compiles. They limit how deeply code may be nested. Pages of the stack take
/// memory only when they are used.
const STACK_BYTES: usize = 1 << 30;

/// Endings that an import may leave out.
const ENDINGS: [&str; 5] = [".js", ".mjs", ".ts", ".mts", ".json"];

/// A compiled file.
pub(super) struct File {
    pub(super) text: Arc<[u8]>,
    /// The file that each imported name stands for.
    imports: BTreeMap<String, Arc<str>>,
    pub(super) places: Option<PlaceMap>,
}

/// The compiled files of a program. By default there are none.
#[derive(Default)]
pub(super) struct Sources {
    /// The name of the entry file. Names are paths below the folder of modules.
    pub(super) entry: Arc<str>,
    /// Whether the entry file is a module.
    pub(super) is_module: bool,
    /// Digest of all files before they were compiled.
    pub(super) digest: String,
    files: BTreeMap<Arc<str>, File>,
}

impl Sources {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The file with this name.
    pub(super) fn get(&self, name: &str) -> Option<&File> {
        self.files.get(name)
    }

    /// The names of all files, that of the entry file first.
    pub(super) fn names(&self) -> Vec<String> {
        let others = self.files.keys().filter(|name| **name != self.entry);
        let entry = self.files.contains_key(&self.entry).then_some(&self.entry);
        entry.into_iter().chain(others).map(ToString::to_string).collect()
    }

    /// The file that a name stands for in the file that imports it.
    pub(super) fn import(&self, from: &str, name: &str) -> Option<&Arc<str>> {
        self.files.get(from)?.imports.get(name)
    }

    /// The files that import a file and hold this word.
    pub(super) fn importers<'a>(&'a self, imported: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
        let holds = move |text: &[u8]| text.windows(word.len().max(1)).any(|window| window == word.as_bytes());
        let imports = move |file: &File| file.imports.values().any(|name| &**name == imported) && holds(&file.text);
        self.files.iter().filter(move |(_, file)| imports(file)).map(|(name, _)| &**name)
    }

    /// Whether places in the compiled text of any file differ from those in the author's file.
    pub(super) fn are_translated(&self) -> bool {
        self.files.values().any(|file| file.places.is_some())
    }

    /// Reads and compiles the program of a folder. There are no files if no entry file is configured and none is found.
    ///
    /// # Errors
    /// For a file that cannot be read or compiled, and for an import of a file that does not exist.
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

    /// Adds a file, and returns the names of the files that it imports.
    fn add(&mut self, folder: &Path, name: Arc<str>, compiled: Compiled) -> Result<Vec<Arc<str>>, LoadError> {
        let mut imports = BTreeMap::new();
        for Import { name: wanted, place } in compiled.imports {
            let found = find(folder, &name, &wanted)
                .map_err(|why| LoadError(format!("{name}:{place}: cannot import '{wanted}': {why}")))?;
            imports.insert(wanted, Arc::from(found));
        }
        let names = imports.values().cloned().collect();
        self.files.insert(name, File { text: compiled.text.into(), imports, places: compiled.places });
        Ok(names)
    }
}

/// The file that a name stands for in another file. Symbolic links are followed wherever they lead: whoever may create
/// them may write files too.
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
    // TypeScript imports `a.ts` by the name of its compiled form, `a.js`.
    let twin = path.strip_suffix("js").filter(|stem| stem.ends_with(['.', 'm'])).map(|stem| format!("{stem}ts"));
    let with = |ending: &&str| format!("{path}{ending}");
    let below = |ending: &&str| format!("{path}/index{ending}");
    let known = ENDINGS.iter().any(|ending| path.ends_with(ending)).then(|| path.clone());
    let candidates = known.into_iter().chain(twin).chain(ENDINGS.iter().map(with)).chain(ENDINGS.iter().map(below));
    let mut candidates = candidates.filter(|name| folder.join(name).is_file());
    candidates.next().ok_or_else(|| format!("there is no file {path}, with or without {}", ENDINGS.join(", ")))
}

/// Names of the files in a folder that a script could begin with. Declarations of types are none.
pub(super) fn scripts_in(folder: &Path) -> Vec<String> {
    let name = |path: &Path| Some(path.strip_prefix(folder).ok()?.to_str()?.to_owned());
    let is_script = |name: &String| {
        let is_code = ENDINGS.iter().any(|ending| *ending != ".json" && name.ends_with(ending));
        is_code && !name.ends_with(".d.ts") && !name.ends_with(".d.mts")
    };
    folder_state(folder).keys().filter_map(|path| name(path)).filter(is_script).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |error: &dyn std::fmt::Display| LoadError(format!("cannot read {}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(failed(&format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    std::fs::read(path).map_err(|error| failed(&error))
}
