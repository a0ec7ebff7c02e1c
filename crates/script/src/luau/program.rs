//! The modules of a folder, compiled once for all machines. Loading runs them once, to check them and to learn what
//! they register; no call is served here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use mlua::chunk::Compiler;
use muster_live::matches::Chain;

use super::dialect;
use super::run_once::{KeptRun, OnceRole};
use super::slips::Slips;
use super::uses::Uses;
use super::vm::{HOST_MODULE, Vm, host_names};
use crate::host::{Host, Meter};
use crate::machine::limits::Limits;
use crate::machine::registered::Names;
use crate::machine::{LoadError, LoadedProgram};
use crate::process::Process;
use crate::process::stuck::digest;

const EXTENSION: &str = "lua";
/// A file with this line among its first comments allows calls of its functions to be under way at once in one machine.
const CONCURRENT: &[u8] = b"--!concurrent";
/// Part of Luau's error for a write to a library that instances share.
const READONLY: &str = "attempt to modify a readonly table";
/// Most bytes of a file; larger ones are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A compiled file of Lua.
pub(super) struct Module {
    /// The name for `require`: the path without the ending, folders separated by dots.
    pub(super) name: String,
    /// The name in errors: the path below the folder of modules.
    pub(super) file: String,
    pub(super) code: Vec<u8>,
    /// Whether calls of the file's functions may be under way at once in one machine.
    pub(super) is_concurrent: bool,
}

/// Modules that were compiled and ran once without an error; by default no modules.
#[derive(Default)]
pub struct Program {
    pub(super) modules: Arc<[Module]>,
    pub(super) uses: Uses,
    /// The function that the modules give to `run_once`.
    kept_run: Option<KeptRun>,
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
        let sources = files.iter().filter_map(|file| read(folder, file, &host.process).transpose());
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let mut uses = Uses::default();
        sources.iter().for_each(|source| uses.add(&source.text));
        let texts = sources.iter().map(|source| (source.file.as_str(), source.text.as_slice()));
        uses.slips = Arc::new(Slips::find(texts, host_names));
        match Self::run(&sources, uses.clone(), host, limits).await {
            // Not every write to a library can be seen in the source: the modules run once more, each with its own.
            Err(why) if why.0.contains(READONLY) => Self::run(&sources, uses.with_all_written(), host, limits).await,
            result => result,
        }
    }

    /// Compiles and runs modules.
    async fn run(sources: &[Source], uses: Uses, host: &Rc<Host>, limits: &Limits) -> Result<Self, LoadError> {
        let modules = sources.iter().map(|source| source.compile(&uses)).collect::<Result<_, _>>()?;
        let meter = Meter::new(Chain::default(), limits);
        let loading = Vm::load(&modules, &uses, OnceRole::FINDS, host, limits);
        let vm = host.current.during(meter, loading).await?;
        let (names, kept_run) = (vm.names(&modules), vm.kept_run());
        names.warn();
        uses.slips.told().for_each(|told| tracing::warn!(told, "a mistake in game code"));
        Ok(Self { modules, names, uses, kept_run })
    }

    /// The part of this program's machines in `run_once`.
    pub(super) fn once(&self) -> OnceRole {
        OnceRole::Repeats(self.kept_run.clone())
    }

    /// The ids of functions that the modules register, in lower case.
    pub fn functions(&self) -> &BTreeSet<String> {
        &self.names.functions
    }

    /// Names of the files.
    pub(super) fn files(&self) -> Vec<String> {
        self.modules.iter().map(|module| module.file.clone()).collect()
    }
}

impl LoadedProgram for Program {
    fn names(&self) -> &Names {
        &self.names
    }

    fn handlers(&self) -> BTreeSet<String> {
        self.names.handlers.clone()
    }

    fn has_handler(&self, name: &str) -> bool {
        self.modules.iter().any(|module| module.name == name)
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

/// A file of Lua.
struct Source {
    /// The name for `require`.
    name: String,
    /// The name in errors.
    file: String,
    text: Vec<u8>,
}

impl Source {
    fn compile(&self, uses: &Uses) -> Result<Module, LoadError> {
        let Self { name, file, text } = self;
        let code = compile_source(text, uses).map_err(|why| LoadError(format!("{file}:{why}")))?;
        Ok(Module { name: name.clone(), file: file.clone(), code, is_concurrent: is_concurrent(text) })
    }
}

/// Reads a file. `None` for a file that stopped the server when it ran before.
fn read(folder: &Path, path: &Path, process: &Process) -> Result<Option<Source>, LoadError> {
    let failed = |error: &dyn std::fmt::Display| LoadError(format!("cannot read {}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(failed(&format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let file = relative.display().to_string();
    if !process.may_load(&file, digest(&text)) {
        tracing::error!(file, "a module is not loaded since it stopped the server: change its file");
        return Ok(None);
    }
    let parts: Vec<_> = relative.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    Ok(Some(Source { name: parts.join("."), file, text }))
}

/// Compiles source in the original's dialect.
///
/// Errors: a sentence that begins with the number of the line.
pub(super) fn compile_source(source: &[u8], uses: &Uses) -> Result<Vec<u8>, String> {
    let refused = |refusal: dialect::Refusal| format!("{}: {}", refusal.line, refusal.message);
    let translated = dialect::translate(source).map_err(refused)?;
    // Luau binds a global for good when code is loaded, unless the code assigns to the global somewhere.
    let assigned = uses.written.iter().filter(|library| **library != HOST_MODULE);
    let mut text: Vec<u8> =
        assigned.flat_map(|name| format!("if false then {name} = {name} end ").into_bytes()).collect();
    text.extend_from_slice(translated.as_deref().unwrap_or(source));
    // In durable matches `next` is replaced, so loops over it must call the global instead of Luau's builtin.
    let compiler = Compiler::new().set_optimization_level(2).set_debug_level(1).add_mutable_global("next");
    compiler.compile(text).map_err(|error| match error {
        // The message begins with the line number.
        mlua::Error::SyntaxError { message, .. } => message,
        other => other.to_string(),
    })
}

/// Whether [`CONCURRENT`] is among the comments with which a file begins.
fn is_concurrent(source: &[u8]) -> bool {
    let lines = source.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut comments = lines.take_while(|line| line.is_empty() || line.starts_with(b"--"));
    comments.any(|line| line == CONCURRENT)
}
