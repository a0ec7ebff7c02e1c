//! The registry of engines. Each engine runs game code of one language.
//!
//! An engine implements [`Language`] in its own folder; its functions and matches then follow from [`Functions`] and
//! [`GameMatches`], which the rest of the crate sees only as [`EngineFunctions`] and [`EngineMatches`]. A new language
//! is such a folder, and a line in [`ENGINES`].

mod functions;
pub(crate) mod loaded;
mod matches;

use std::any::Any;
use std::ffi::OsStr;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

pub use functions::EngineFunctions;
pub use loaded::LoadedCode;
pub use matches::{EngineDurableMatches, EngineMatches};

use crate::functions::Functions;
use crate::host::Host;
use crate::luau::language::Lua;
use crate::machine::limits::Limits;
use crate::machine::{LoadError, LoadedProgram, Machine, MatchMachine};
use crate::matches::{GameMatches, ShardParts};
use crate::metrics::ScriptMetrics;
use crate::quickjs::language::JavaScript;
use crate::wasm::language::Go;

/// All engines in their order of precedence, which is the original's. If several languages register one name, the
/// function of the first of them is called.
static ENGINES: [&dyn Engine; 3] = [&Go, &Lua, &JavaScript];

/// Whether a file with this extension belongs to the game code of any language.
pub(crate) fn is_game_code(extension: &OsStr) -> bool {
    ENGINES.iter().any(|engine| engine.extensions().iter().any(|known| extension == *known))
}

/// A program of one language. Only the engine of that language knows the program's type.
pub(crate) type AnyProgram = Arc<dyn Any + Send + Sync>;

type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A language with its types, its limits and the way to load its modules. The folder of each engine implements it once.
pub(crate) trait Language: Sync + 'static {
    /// Modules that were checked, and ran once without an error. The default has no modules.
    type Program: LoadedProgram;
    /// A machine for functions and hooks.
    type Machine: Machine<Program = Self::Program>;
    /// A machine for matches.
    type MatchMachine: MatchMachine<Program = Self::Program>;
    /// Extensions of the files of this language, without the dot.
    const EXTENSIONS: &'static [&'static str];

    /// The limits of one shard for this language.
    fn limits(settings: &EngineSettings) -> Limits;

    /// Reads and checks the modules of a folder.
    ///
    /// # Errors
    /// For a module that cannot be read, does not compile, or fails when it runs.
    async fn load(folder: &Path, host: &Rc<Host>, settings: &EngineSettings) -> Result<Self::Program, LoadError>;

    /// The code that a program has. Its list of files is empty if there are no modules.
    fn code(program: &Self::Program) -> LoadedCode;
}

/// Settings of the operator for game code.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Limits of one shard. They hold for every language, except where a setting below replaces one.
    pub limits: Limits,
    /// Count of shards of the server. The counts of machines below are for all shards together.
    pub shards: usize,
    /// Limit of machines of Lua: `runtime.lua_max_count`.
    pub lua_machines_max: usize,
    /// Limit of machines of JavaScript: `runtime.js_max_count`.
    pub js_machines_max: usize,
    /// Count of machines of JavaScript that are started before calls need them: `runtime.js_min_count`.
    pub js_machines_min: usize,
    /// Whether global objects of JavaScript cannot be changed once the scripts are loaded:
    /// `runtime.js_read_only_globals`.
    pub js_read_only_globals: bool,
    /// The script of JavaScript to run instead of the one with the usual name: `runtime.js_entrypoint`.
    pub js_entrypoint: Option<PathBuf>,
    /// Limit of the memory of an instance of Go, in bytes: `script.go_bytes`.
    pub go_bytes: usize,
}

/// Game code of all languages, as it was loaded at one time.
#[derive(Clone)]
pub struct Programs(Vec<LanguageProgram>);

/// The game code of one language.
#[derive(Clone)]
struct LanguageProgram {
    engine: &'static dyn Engine,
    program: AnyProgram,
    limits: Limits,
}

impl Programs {
    /// Programs without any modules.
    pub fn none(settings: &EngineSettings) -> Self {
        let none = |engine: &&'static dyn Engine| LanguageProgram {
            engine: *engine,
            program: engine.no_program(),
            limits: engine.limits(settings),
        };
        Self(ENGINES.iter().map(none).collect())
    }

    /// Loads the modules of a folder, in machines that exist only for that. `generation` is the serial number of the
    /// programs in this process, for the log.
    ///
    /// # Errors
    /// For the first module that cannot be read, does not compile, or fails when it runs: a sentence with file and
    /// line.
    pub async fn load(
        folder: &Path,
        host: &Rc<Host>,
        settings: &EngineSettings,
        generation: u64,
    ) -> Result<Self, LoadError> {
        let (mut programs, mut loaded) = (Vec::new(), Vec::new());
        for engine in ENGINES {
            let begun = Instant::now();
            let program = engine.load(folder, host, settings).await;
            let program = program.map_err(|error| error.with_line(&host.process))?;
            let (code, ms) = (engine.code(&program), begun.elapsed().as_millis());
            programs.push(LanguageProgram { engine, program, limits: engine.limits(settings) });
            loaded.push((code, u64::try_from(ms).unwrap_or(u64::MAX)));
        }
        loaded.iter().for_each(|(code, ms)| log(code, folder, generation, *ms));
        Ok(Self(programs))
    }

    /// The code of each language that has any, and of each whose files are not loaded.
    pub fn code(&self) -> Vec<LoadedCode> {
        let all = self.0.iter().map(|loaded| loaded.engine.code(&loaded.program));
        all.filter(|code| !code.files.is_empty() || code.left_out.is_some()).collect()
    }

    /// The functions and hooks of one shard, by language.
    pub fn functions(&self, host: &Rc<Host>, metrics: &Arc<ScriptMetrics>) -> Vec<Box<dyn EngineFunctions>> {
        let functions = |loaded: &LanguageProgram| {
            loaded.engine.functions(loaded.program.clone(), host.clone(), loaded.limits, metrics.clone())
        };
        self.0.iter().map(functions).collect()
    }

    /// The matches of one shard, by language.
    pub fn matches(&self, shard: &ShardParts) -> Vec<Rc<dyn EngineMatches>> {
        let matches =
            |loaded: &LanguageProgram| loaded.engine.matches(loaded.program.clone(), loaded.limits, shard.clone());
        self.0.iter().map(matches).collect()
    }

    /// The programs in the order of their engines.
    pub(crate) fn all(&self) -> impl Iterator<Item = &AnyProgram> {
        self.0.iter().map(|loaded| &loaded.program)
    }
}

/// Writes to the log what was loaded of one language.
fn log(code: &LoadedCode, folder: &Path, generation: u64, ms: u64) {
    let LoadedCode { language, functions, hooks, matches, left_out, .. } = code;
    let (folder, files) = (folder.display(), code.file_list());
    if !files.is_empty() {
        tracing::info!(%folder, language, generation, files, functions, hooks, matches, ms, "game code is loaded");
    }
    if let Some(told) = left_out {
        tracing::warn!(%folder, language, "{told}");
    }
}

/// A [`Language`] without type parameters, so that one list can hold all languages.
trait Engine: Sync {
    fn extensions(&self) -> &'static [&'static str];

    fn limits(&self, settings: &EngineSettings) -> Limits;

    fn no_program(&self) -> AnyProgram;

    fn load<'a>(
        &'a self,
        folder: &'a Path,
        host: &'a Rc<Host>,
        settings: &'a EngineSettings,
    ) -> LocalFuture<'a, Result<AnyProgram, LoadError>>;

    fn code(&self, program: &AnyProgram) -> LoadedCode;

    fn functions(
        &self,
        program: AnyProgram,
        host: Rc<Host>,
        limits: Limits,
        metrics: Arc<ScriptMetrics>,
    ) -> Box<dyn EngineFunctions>;

    fn matches(&self, program: AnyProgram, limits: Limits, shard: ShardParts) -> Rc<dyn EngineMatches>;
}

impl<L: Language> Engine for L {
    fn extensions(&self) -> &'static [&'static str] {
        L::EXTENSIONS
    }

    fn limits(&self, settings: &EngineSettings) -> Limits {
        L::limits(settings)
    }

    fn no_program(&self) -> AnyProgram {
        Arc::new(L::Program::default())
    }

    fn load<'a>(
        &'a self,
        folder: &'a Path,
        host: &'a Rc<Host>,
        settings: &'a EngineSettings,
    ) -> LocalFuture<'a, Result<AnyProgram, LoadError>> {
        Box::pin(async move { Ok(Arc::new(L::load(folder, host, settings).await?) as AnyProgram) })
    }

    fn code(&self, program: &AnyProgram) -> LoadedCode {
        L::code(&typed(program))
    }

    fn functions(
        &self,
        program: AnyProgram,
        host: Rc<Host>,
        limits: Limits,
        metrics: Arc<ScriptMetrics>,
    ) -> Box<dyn EngineFunctions> {
        Box::new(Functions::<L::Machine>::new(typed(&program), host, limits, metrics))
    }

    fn matches(&self, program: AnyProgram, limits: Limits, shard: ShardParts) -> Rc<dyn EngineMatches> {
        Rc::new(GameMatches::<L::MatchMachine>::of_shard(typed(&program), limits, shard))
    }
}

/// The program as the type of its language. Programs stand in the order of [`ENGINES`], so each engine gets its own.
pub(crate) fn typed<P: LoadedProgram>(program: &AnyProgram) -> Arc<P> {
    let program = program.clone().downcast();
    debug_assert!(program.is_ok(), "a program was given to another language's engine");
    program.unwrap_or_default()
}
