//! The parts of game code that exist once per process, for the machines of all shards.

mod background;
mod cache;
pub(crate) mod clock;
mod custom_metrics;
mod source;
pub mod stuck;

use std::path::PathBuf;
use std::sync::Arc;

pub use background::Background;
pub use cache::LocalCache;
pub use clock::SliceClock;
pub use custom_metrics::{CustomMetrics, Family, MetricKind, Reading, Series, TIMER_BOUNDS_SEC};

use self::source::place_of;
use crate::functions::ServerFacts;
use crate::machine::once::ProcessOnce;
use crate::metrics::ScriptMetrics;
use crate::value::Value;

/// The parts of game code that exist once per process.
pub struct Process {
    /// The facts about the server that the context of every call holds.
    pub facts: ServerFacts,
    /// The folder of the modules and of other files that game code may read.
    pub folder: Option<PathBuf>,
    /// The folder of compiled modules.
    pub compiled: Option<PathBuf>,
    /// The part of the configuration that game code may see.
    pub config: Value,
    /// Values that game code keeps in memory.
    pub cache: LocalCache,
    /// Counters of game code, over all shards.
    pub metrics: Arc<ScriptMetrics>,
    /// Metrics that game code makes.
    pub custom: Arc<CustomMetrics>,
    /// Threads for work that would hold up a shard.
    pub background: Background,
    /// The clock that ends slices of calls.
    pub clock: SliceClock,
    /// Modules that stopped the server, and are not loaded again.
    pub stuck: stuck::StuckModules,
    /// Whether developers use the server: logs then show the line of source at which game code failed.
    pub is_dev: bool,
    pub(crate) once: ProcessOnce,
}

impl Process {
    /// A process without folders, configuration and stuck modules; these are set by the caller.
    pub fn new(facts: ServerFacts, metrics: Arc<ScriptMetrics>, custom: Arc<CustomMetrics>) -> Self {
        Self {
            facts,
            folder: None,
            compiled: None,
            config: Value::Map(Vec::new()),
            cache: LocalCache::new(metrics.clone()),
            custom,
            background: Background::new(metrics.clone()),
            metrics,
            clock: SliceClock::default(),
            stuck: stuck::StuckModules::default(),
            is_dev: false,
            once: ProcessOnce::default(),
        }
    }

    /// The line of source at the first place in a trace that names a file of the game; `None` unless developers use the
    /// server.
    pub(crate) fn source_line(&self, trace: &str) -> Option<String> {
        let folder = self.folder.as_ref().filter(|_| self.is_dev)?;
        let words = trace.split(|letter: char| letter.is_whitespace() || matches!(letter, '(' | ')'));
        words.filter_map(place_of).find_map(|(file, line)| source::read_line(folder, file, line))
    }

    /// Whether a module may be loaded. A version of a module that has stopped the server may not. The clock notes the
    /// version of a module that may be loaded.
    pub(crate) fn may_load(&self, file: &str, digest: String) -> bool {
        let may = !self.stuck.holds(file, &digest);
        if may {
            self.clock.loaded(file, digest);
        }
        may
    }
}
