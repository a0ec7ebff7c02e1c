//! Game code: where it is, and what each shard is given of it.

mod outgoing;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::{Current, Matches, NoMatches, NoPlayers, Players, Signing};
use muster_script::process::{CustomMetrics, Process};
use muster_script::value::Value;
use muster_script::{Host, Limits, LuaFunctions, LuaMatches, Program, ScriptMetrics};

use self::outgoing::Outgoing;
use crate::config::Config;
use crate::settings::live_rules;
use crate::system::{RandomPool, System};

/// The folder of modules in the data folder.
const MODULES: &str = "modules";

/// What was loaded, for all shards.
#[derive(Clone)]
pub(crate) struct Game {
    program: Arc<Program>,
    means: Means,
    limits: Limits,
}

/// What machines of all shards work with.
#[derive(Clone)]
struct Means {
    process: Arc<Process>,
    /// The part of public ids behind the dot.
    public_node: Arc<str>,
    /// `script.http_strict`.
    http_strict: bool,
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
        (metrics, custom): (Arc<ScriptMetrics>, Arc<CustomMetrics>),
    ) -> Result<Option<Self>, String> {
        let Some(folder) = folder(config) else { return Ok(None) };
        let limits = Limits {
            machines_max: config.runtime.lua_max_count.div_ceil(shards),
            deferred_max: config.matches.deferred_queue_size,
            ..Limits::default()
        };
        let mut process = Process::new(around(config), metrics.clone(), custom);
        process.folder = Some(folder.clone());
        process.config = told(config);
        let means = Means {
            process: Arc::new(process),
            public_node: live_rules(config).node,
            http_strict: config.script.http_strict,
            metrics,
        };
        let program =
            Program::load(&folder, &means.host(store, signing, Rc::new(NoPlayers), Rc::new(NoMatches)), &limits)
                .await
                .map_err(|error| format!("cannot load the game code in {}: {error}", folder.display()))?;
        let (modules, functions, hooks) = (program.modules_count(), program.functions().len(), program.hooks_count());
        tracing::info!(folder = %folder.display(), modules, functions, hooks, "game code is loaded");
        Ok(Some(Self { program: Arc::new(program), means, limits }))
    }

    /// The functions and hooks as one shard calls them; it runs the matches that are made there.
    pub(crate) fn of_shard(self, store: Rc<dyn Store>, signing: Signing, live: &Rc<Live>) -> Rc<LuaFunctions> {
        let Self { program, means, limits } = self;
        let host = means.host(store, signing, live.clone(), live.clone());
        let plane = Rc::downgrade(live);
        let returns = move |id, returned| {
            if let Some(live) = plane.upgrade() {
                live.step(|plane, now, out| plane.match_returned(now, id, returned, out));
            }
        };
        let counted = means.metrics.clone();
        let matches = Rc::new(LuaMatches::new(program.clone(), host.clone(), limits, counted, returns));
        let runner = Rc::downgrade(&matches);
        live.on_handler(move |order| {
            if let Some(matches) = runner.upgrade() {
                matches.order(order);
            }
        });
        Rc::new(LuaFunctions::new(program, host, limits, means.metrics).with_matches(matches))
    }
}

impl Means {
    fn host(
        &self,
        store: Rc<dyn Store>,
        signing: Signing,
        players: Rc<dyn Players>,
        matches: Rc<dyn Matches>,
    ) -> Rc<Host> {
        Rc::new(Host {
            clock: Rc::new(System),
            entropy: Rc::new(RandomPool::default()),
            store,
            players,
            matches,
            http: Rc::new(Outgoing::new(self.http_strict, self.metrics.clone())),
            process: self.process.clone(),
            signing,
            node: self.public_node.clone(),
            spawn: |work| drop(tokio::task::spawn_local(work)),
            walks: Rc::default(),
            current: Current::default(),
        })
    }
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
        "shutdown_grace_sec": config.general.shutdown_grace_sec,
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
