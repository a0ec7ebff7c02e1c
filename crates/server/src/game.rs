//! Game code: where it is, and what each shard is given of it.

mod outgoing;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::GameFunctions;
use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::{NoPlayers, Players};
use muster_script::process::{CustomMetrics, Process};
use muster_script::value::Value;
use muster_script::{Host, Limits, LuaFunctions, Program, ScriptMetrics};

use self::outgoing::Outgoing;
use crate::config::Config;
use crate::system::{RandomPool, System};

/// The folder of modules in the data folder.
const MODULES: &str = "modules";

/// What was loaded, for all shards.
#[derive(Clone)]
pub(crate) struct Game {
    program: Arc<Program>,
    process: Arc<Process>,
    limits: Limits,
    metrics: Arc<ScriptMetrics>,
    /// `script.http_strict`.
    http_strict: bool,
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
        custom: Arc<CustomMetrics>,
    ) -> Result<Option<Self>, String> {
        let Some(folder) = folder(config) else { return Ok(None) };
        let limits = Limits { machines_max: config.runtime.lua_max_count.div_ceil(shards), ..Limits::default() };
        let mut process = Process::new(around(config), metrics.clone(), custom);
        process.folder = Some(folder.clone());
        process.config = told(config);
        let process = Arc::new(process);
        let http_strict = config.script.http_strict;
        let host = host(store, Rc::new(NoPlayers), &process, &metrics, http_strict);
        let program = Program::load(&folder, &host, &limits)
            .await
            .map_err(|error| format!("cannot load the game code in {}: {error}", folder.display()))?;
        let (modules, functions) = (program.modules_count(), program.functions().len());
        tracing::info!(folder = %folder.display(), modules, functions, "game code is loaded");
        Ok(Some(Self { program: Arc::new(program), process, limits, metrics, http_strict }))
    }

    /// The functions as one shard calls them.
    pub(crate) fn functions(self, store: Rc<dyn Store>, live: Rc<Live>) -> Rc<dyn GameFunctions> {
        let host = host(store, live, &self.process, &self.metrics, self.http_strict);
        let around = self.process.around.clone();
        Rc::new(LuaFunctions::new(self.program, host, around, self.limits, self.metrics))
    }
}

fn host(
    store: Rc<dyn Store>,
    players: Rc<dyn Players>,
    process: &Arc<Process>,
    metrics: &Arc<ScriptMetrics>,
    http_strict: bool,
) -> Rc<Host> {
    Rc::new(Host {
        clock: Rc::new(System),
        entropy: Rc::new(RandomPool::default()),
        store,
        players,
        http: Rc::new(Outgoing::new(http_strict, metrics.clone())),
        process: process.clone(),
    })
}

fn folder(config: &Config) -> Option<PathBuf> {
    let named = config.runtime.path.clone();
    named.or_else(|| Some(config.general.data_dir.join(MODULES)).filter(|folder| folder.is_dir()))
}

fn around(config: &Config) -> Surroundings {
    let env = config.runtime.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    Surroundings {
        node: config.general.name.as_str().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        env: env.collect(),
    }
}

/// What game code is told of the configuration, under the original's names. Keys are not among it.
fn told(config: &Config) -> Value {
    let (session, socket) = (&config.session, &config.socket);
    let env = config.runtime.env.iter().map(|(name, value)| format!("{name}={}", value.expose()));
    let address = socket.address.map(|address| address.to_string()).unwrap_or_default();
    Value::from_json(serde_json::json!({
        "name": config.general.name,
        "shutdown_grace_sec": 0,
        "logger": { "level": config.logger.level.word() },
        "session": {
            "token_expiry_sec": session.token_expiry_sec,
            "refresh_token_expiry_sec": session.refresh_token_expiry_sec,
            "single_socket": session.single_socket,
            "single_match": session.single_match,
            "single_party": session.single_party,
            "single_session": session.single_session,
        },
        "socket": { "port": socket.port, "address": address, "protocol": socket.protocol.word() },
        "runtime": { "env": env.collect::<Vec<_>>() },
    }))
}
