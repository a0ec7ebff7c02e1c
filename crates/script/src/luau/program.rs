//! The modules of a folder, compiled once for all machines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use mlua::chunk::Compiler;

use super::limits::Limits;
use super::registry::{Names, Point};
use super::vm::Vm;
use crate::host::Host;

const EXTENSION: &str = "lua";
/// Larger files are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Why game code was not loaded: a sentence with file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(super) String);

impl LoadError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A file of Lua.
pub(super) struct Module {
    /// What `require` calls it: its path without the ending, folders separated by dots.
    pub(super) name: String,
    /// How errors call it.
    pub(super) file: String,
    pub(super) code: Vec<u8>,
}

/// Modules that were compiled and ran once without an error.
pub struct Program {
    pub(super) modules: Arc<[Module]>,
    names: Names,
}

impl Program {
    /// Reads, compiles and runs all modules below a folder.
    ///
    /// # Errors
    /// For a file that cannot be read, does not compile, or fails when it runs.
    pub async fn load(folder: &Path, host: &Rc<Host>, limits: &Limits) -> Result<Self, LoadError> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        files.sort();
        let modules = files.iter().map(|file| compile(folder, file)).collect::<Result<_, _>>()?;
        let mut program = Self { modules, names: Names::default() };
        program.names = Vm::start(&program, host, limits).await?.names();
        for Point { when, subject } in program.names.hooks().filter(|point| !point.subject.is_built()) {
            let (hook, when) = (subject.name(), when.name());
            tracing::warn!(hook, when, "a hook is registered for what this server does not have yet: nothing calls it");
        }
        Ok(program)
    }

    /// The ids of functions that the modules register, in lower case.
    pub fn functions(&self) -> &BTreeSet<String> {
        &self.names.functions
    }

    /// How many hooks the modules register.
    pub fn hooks_count(&self) -> usize {
        self.names.hooks().count()
    }

    pub(crate) fn has_hook(&self, point: Point) -> bool {
        self.names.has_hook(point)
    }

    /// Whether there is something to do before the server stops.
    pub(crate) fn has_farewell(&self) -> bool {
        self.names.has_farewell
    }

    /// How many modules there are.
    pub fn modules_count(&self) -> usize {
        self.modules.len()
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let failed = |error| LoadError(format!("cannot read {}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    Ok(())
}

fn compile(folder: &Path, path: &Path) -> Result<Module, LoadError> {
    let failed = |error: &dyn std::fmt::Display| LoadError(format!("cannot read {}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(failed(&format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    let source = std::fs::read(path).map_err(|error| failed(&error))?;
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let file = relative.display().to_string();
    let compiler = Compiler::new().set_optimization_level(2).set_debug_level(1);
    let code = compiler.compile(source).map_err(|error| LoadError(format!("{file}: {error}")))?;
    let parts: Vec<_> = relative.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    Ok(Module { name: parts.join("."), file, code })
}
