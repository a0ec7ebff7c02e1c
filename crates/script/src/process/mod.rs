//! What all machines of a process share, whichever shard they are on.

mod background;
mod cache;
pub(crate) mod clock;
mod custom_metrics;
pub mod stuck;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use background::Background;
pub use cache::LocalCache;
pub use clock::Clock;
pub use custom_metrics::{CustomMetrics, Family, MetricKind, Reading, Series, TIMER_BOUNDS_SEC};

use crate::functions::Surroundings;
use crate::metrics::ScriptMetrics;
use crate::value::Value;

/// What all machines of a process share.
pub struct Process {
    /// What every call is told of the server.
    pub around: Surroundings,
    /// Where the modules are, and what else game code may read.
    pub folder: Option<PathBuf>,
    /// Where compiled modules are kept.
    pub compiled: Option<PathBuf>,
    /// What game code is told of the configuration.
    pub config: Value,
    /// What game code keeps in memory.
    pub cache: LocalCache,
    /// What all shards' code does.
    pub metrics: Arc<ScriptMetrics>,
    /// What game code counts.
    pub custom: Arc<CustomMetrics>,
    /// For work that would hold up a shard.
    pub background: Background,
    /// What tells calls that others have their turn.
    pub clock: Clock,
    /// Modules that are not loaded.
    pub stuck: stuck::StuckModules,
    ran_once: AtomicBool,
}

impl Process {
    /// With nothing in it yet.
    pub fn new(around: Surroundings, metrics: Arc<ScriptMetrics>, custom: Arc<CustomMetrics>) -> Self {
        Self {
            around,
            folder: None,
            compiled: None,
            config: Value::Map(Vec::new()),
            cache: LocalCache::new(metrics.clone()),
            custom,
            background: Background::new(metrics.clone()),
            metrics,
            clock: Clock::default(),
            stuck: stuck::StuckModules::default(),
            ran_once: AtomicBool::new(false),
        }
    }

    /// Whether a module may be loaded, which it is then: it has not stopped the server as it is.
    pub(crate) fn may_load(&self, file: &str, digest: String) -> bool {
        let may = !self.stuck.holds(file, &digest);
        if may {
            self.clock.loaded(file, digest);
        }
        may
    }

    /// Whether this is the first time in the life of the process that it is asked.
    pub(crate) fn is_first_run(&self) -> bool {
        !self.ran_once.swap(true, Ordering::Relaxed)
    }
}
