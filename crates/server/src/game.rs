//! Game code: where it is, and what each shard is given of it.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::GameFunctions;
use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::{NoPlayers, Players, Signing};
use muster_script::{Host, Limits, LuaFunctions, Program, ScriptMetrics};

use crate::config::Config;
use crate::settings::live_rules;
use crate::system::{RandomPool, System};

/// The folder of modules in the data folder.
const MODULES: &str = "modules";

/// What was loaded, for all shards.
#[derive(Clone)]
pub(crate) struct Game {
    program: Arc<Program>,
    around: Surroundings,
    public_node: Arc<str>,
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
        signing: Signing,
        metrics: Arc<ScriptMetrics>,
    ) -> Result<Option<Self>, String> {
        let Some(folder) = folder(config) else { return Ok(None) };
        let limits = Limits { machines_max: config.runtime.lua_max_count.div_ceil(shards), ..Limits::default() };
        let program =
            Program::load(&folder, &host(store, signing, Rc::new(NoPlayers), live_rules(config).node), &limits)
                .await
                .map_err(|error| format!("cannot load the game code in {}: {error}", folder.display()))?;
        let (modules, functions) = (program.modules_count(), program.functions().len());
        tracing::info!(folder = %folder.display(), modules, functions, "game code is loaded");
        let env = config.runtime.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let around = Surroundings {
            node: config.general.name.as_str().into(),
            version: env!("CARGO_PKG_VERSION").into(),
            env: env.collect(),
        };
        let public_node = live_rules(config).node;
        Ok(Some(Self { program: Arc::new(program), around, public_node, limits, metrics }))
    }

    /// The functions as one shard calls them.
    pub(crate) fn functions(self, store: Rc<dyn Store>, signing: Signing, live: Rc<Live>) -> Rc<dyn GameFunctions> {
        Rc::new(LuaFunctions::new(
            self.program,
            host(store, signing, live, self.public_node),
            self.around,
            self.limits,
            self.metrics,
        ))
    }
}

fn host(store: Rc<dyn Store>, signing: Signing, players: Rc<dyn Players>, node: Arc<str>) -> Rc<Host> {
    let (clock, entropy) = (Rc::new(System), Rc::new(RandomPool::default()));
    let spawn = |work| drop(tokio::task::spawn_local(work));
    Rc::new(Host { clock, entropy, store, players, signing, node, spawn, walks: Rc::default() })
}

fn folder(config: &Config) -> Option<PathBuf> {
    let named = config.runtime.path.clone();
    named.or_else(|| Some(config.general.data_dir.join(MODULES)).filter(|folder| folder.is_dir()))
}
