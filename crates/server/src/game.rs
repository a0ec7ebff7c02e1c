//! Game code: where it is, and what each shard is given of it.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::{NoPlayers, Players};
use muster_script::{Host, Limits, LuaFunctions, Program, ScriptMetrics};

use crate::config::Config;
use crate::system::{RandomPool, System};

/// The folder of modules in the data folder.
const MODULES: &str = "modules";

/// What was loaded, for all shards.
#[derive(Clone)]
pub(crate) struct Game {
    program: Arc<Program>,
    around: Surroundings,
    limits: Limits,
    metrics: Arc<ScriptMetrics>,
}

impl Game {
    /// Loads what the configuration names; nothing if it names nothing and there is no such folder.
    ///
    /// # Errors
    /// A sentence with file and line.
    pub(crate) async fn load(
        config: &Config,
        shards: usize,
        store: Rc<dyn Store>,
        metrics: Arc<ScriptMetrics>,
    ) -> Result<Option<Self>, String> {
        let Some(folder) = folder(config) else { return Ok(None) };
        let limits = Limits { machines_max: config.runtime.lua_max_count.div_ceil(shards), ..Limits::default() };
        let env = config.runtime.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let around = Surroundings {
            node: config.general.name.as_str().into(),
            version: env!("CARGO_PKG_VERSION").into(),
            env: env.collect(),
        };
        let program = Program::load(&folder, &host(store, Rc::new(NoPlayers)), &around, &limits)
            .await
            .map_err(|error| format!("cannot load the game code in {}: {error}", folder.display()))?;
        let (modules, functions, hooks) = (program.modules_count(), program.functions().len(), program.hooks_count());
        tracing::info!(folder = %folder.display(), modules, functions, hooks, "game code is loaded");
        Ok(Some(Self { program: Arc::new(program), around, limits, metrics }))
    }

    /// The functions and hooks as one shard calls them.
    pub(crate) fn functions(self, store: Rc<dyn Store>, live: Rc<Live>) -> Rc<LuaFunctions> {
        Rc::new(LuaFunctions::new(self.program, host(store, live), self.around, self.limits, self.metrics))
    }
}

fn host(store: Rc<dyn Store>, players: Rc<dyn Players>) -> Rc<Host> {
    Rc::new(Host { clock: Rc::new(System), entropy: Rc::new(RandomPool::default()), store, players })
}

fn folder(config: &Config) -> Option<PathBuf> {
    let named = config.runtime.path.clone();
    named.or_else(|| Some(config.general.data_dir.join(MODULES)).filter(|folder| folder.is_dir()))
}
