//! Game code: where it is, and what each shard is given of it.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::{FunctionFuture, GameFunctions, Invocation};
use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::{Matches, NoMatches, NoPlayers, Players};
use muster_script::{Host, Limits, LuaFunctions, LuaMatches, Program, ScriptMetrics};

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
        let limits = Limits {
            machines_max: config.runtime.lua_max_count.div_ceil(shards),
            deferred_max: config.matches.deferred_queue_size,
            ..Limits::default()
        };
        let program = Program::load(&folder, &host(store, Rc::new(NoPlayers), Rc::new(NoMatches)), &limits)
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
        Ok(Some(Self { program: Arc::new(program), around, limits, metrics }))
    }

    /// The game code of one shard, which runs the matches that the shard owns.
    pub(crate) fn of_shard(self, store: Rc<dyn Store>, live: &Rc<Live>) -> Rc<dyn GameFunctions> {
        let Self { program, around, limits, metrics } = self;
        let host = host(store, live.clone(), live.clone());
        let node = live.look(|plane| plane.node().clone());
        let plane = Rc::downgrade(live);
        let returns = move |id, returned| {
            if let Some(live) = plane.upgrade() {
                live.step(|plane, now, out| plane.match_returned(now, id, returned, out));
            }
        };
        let (of_matches, counted) = (program.clone(), metrics.clone());
        let matches = LuaMatches::new(of_matches, host.clone(), around.clone(), node, limits, counted, returns);
        let matches = Rc::new(matches);
        // The plane must not keep what keeps the plane.
        let runner = Rc::downgrade(&matches);
        live.on_handler(move |order| {
            if let Some(matches) = runner.upgrade() {
                matches.order(order);
            }
        });
        let functions = LuaFunctions::new(program, host, around, limits, metrics);
        Rc::new(ShardGame { functions, _matches: matches })
    }
}

/// What a shard keeps of game code.
struct ShardGame {
    functions: LuaFunctions,
    /// Kept for the plane.
    _matches: Rc<LuaMatches>,
}

impl GameFunctions for ShardGame {
    fn has(&self, id: &str) -> bool {
        self.functions.has(id)
    }

    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a> {
        self.functions.call(id, invocation)
    }
}

fn host(store: Rc<dyn Store>, players: Rc<dyn Players>, matches: Rc<dyn Matches>) -> Rc<Host> {
    Rc::new(Host { clock: Rc::new(System), entropy: Rc::new(RandomPool::default()), store, players, matches })
}

fn folder(config: &Config) -> Option<PathBuf> {
    let named = config.runtime.path.clone();
    named.or_else(|| Some(config.general.data_dir.join(MODULES)).filter(|folder| folder.is_dir()))
}
