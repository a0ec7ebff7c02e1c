//! Game code: where it is, and what each shard is given of it.

mod outgoing;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::{Current, Matches, NoMatches, NoPlayers, Players, Signing};
use muster_script::process::stuck::{StuckModules, StuckPolicy};
use muster_script::process::{Clock, CustomMetrics, Process};
use muster_script::value::Value;
use muster_script::{
    Bundle, Host, JsFunctions, JsMatches, LanguageMatches, Languages, Limits, LuaFunctions, LuaMatches, Program,
    ScriptMetrics,
};

use self::outgoing::Outgoing;
use crate::config::Config;
use crate::settings::live_rules;
use crate::system::{RandomPool, System};

/// The folder of modules in the data folder.
const MODULES: &str = "modules";

/// Where modules that stopped the server are noted, in the data folder.
const STUCK_MODULES: &str = "stuck-modules";

/// What was loaded, for all shards.
#[derive(Clone)]
pub(crate) struct Game {
    program: Arc<Program>,
    bundle: Option<Arc<Bundle>>,
    means: Means,
    /// Of Lua's machines, and of JavaScript's.
    limits: (Limits, Limits),
    /// JavaScript machines that a shard makes when it starts.
    js_machines_min: usize,
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
            ..limits(config)
        };
        let mut process = Process::new(around(config), metrics.clone(), custom);
        process.folder = Some(folder.clone());
        process.config = told(config);
        watch(config, &folder, &mut process)?;
        let means = Means {
            process: Arc::new(process),
            public_node: live_rules(config).node,
            http_strict: config.script.http_strict,
            metrics,
        };
        let host = means.host(store, signing, Rc::new(NoPlayers), Rc::new(NoMatches));
        let failed = |error| format!("cannot load the game code in {}: {error}", folder.display());
        let program = Program::load(&folder, &host, &limits).await.map_err(failed)?;
        let (modules, functions, hooks) = (program.modules_count(), program.functions().len(), program.hooks_count());
        tracing::info!(folder = %folder.display(), modules, functions, hooks, "game code is loaded");
        let js_limits = Limits {
            machines_max: config.runtime.js_max_count.div_ceil(shards),
            js_read_only_globals: config.runtime.js_read_only_globals,
            ..limits
        };
        let entrypoint = config.runtime.js_entrypoint.as_deref();
        let bundle = Bundle::load(&folder, entrypoint, &host, &js_limits).await.map_err(failed)?;
        if let Some(bundle) = &bundle {
            let (functions, hooks, matches) = (bundle.functions().len(), bundle.hooks_count(), bundle.handlers().len());
            tracing::info!(file = bundle.file(), functions, hooks, matches, "game code in JavaScript is loaded");
        }
        let js_machines_min = config.runtime.js_min_count.min(config.runtime.js_max_count).div_ceil(shards);
        let (program, bundle) = (Arc::new(program), bundle.map(Arc::new));
        Ok(Some(Self { program, bundle, means, limits: (limits, js_limits), js_machines_min }))
    }

    /// The functions and hooks as one shard calls them; it runs the matches that are made there.
    pub(crate) fn of_shard(self, store: Rc<dyn Store>, signing: Signing, live: &Rc<Live>) -> Rc<Languages> {
        let Self { program, bundle, means, limits: (lua_limits, js_limits), js_machines_min } = self;
        let host = means.host(store, signing, live.clone(), live.clone());
        let returns = || {
            let plane = Rc::downgrade(live);
            move |id, returned| {
                if let Some(live) = plane.upgrade() {
                    live.step(|plane, now, out| plane.match_returned(now, id, returned, out));
                }
            }
        };
        let counted = || means.metrics.clone();
        let of_lua = LuaMatches::new(program.clone(), host.clone(), lua_limits, counted(), returns());
        let of_script = |bundle: &Arc<Bundle>| {
            Rc::new(JsMatches::new(bundle.clone(), host.clone(), js_limits, counted(), returns()))
        };
        let matches = Rc::new(LanguageMatches::new(Some(Rc::new(of_lua)), bundle.as_ref().map(of_script)));
        let runner = Rc::downgrade(&matches);
        live.on_handler(move |order| {
            if let Some(matches) = runner.upgrade() {
                matches.order(order);
            }
        });
        let lua = LuaFunctions::new(program, host.clone(), lua_limits, counted());
        let javascript = bundle.map(|bundle| Rc::new(JsFunctions::new(bundle, host, js_limits, counted())));
        if let Some(javascript) = javascript.clone() {
            tokio::task::spawn_local(async move { javascript.make_machines(js_machines_min).await });
        }
        Rc::new(Languages::new(Some(lua), javascript, matches))
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

/// What game code may use.
fn limits(config: &Config) -> Limits {
    let script = &config.script;
    let call_time = Duration::from_millis(script.call_cpu_ms);
    Limits {
        call_time,
        tick_time: Duration::from_millis(script.tick_cpu_ms),
        tick_time_max: call_time,
        load_time: Duration::from_millis(script.load_cpu_ms),
        machine_bytes: script.vm_bytes,
        match_bytes: script.match_bytes,
        host_calls_max: script.host_calls,
        log_bytes_max: script.log_bytes,
        ..Limits::default()
    }
}

/// Sees to it that a module which does not come back ends the process, and that it is not loaded again as it is.
fn watch(config: &Config, folder: &Path, process: &mut Process) -> Result<(), String> {
    let path = config.general.data_dir.join(STUCK_MODULES);
    process.stuck = StuckModules::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if config.script.stuck_ms > 0 {
        let after = Duration::from_millis(config.script.stuck_ms);
        process.clock = Clock::with(Some(StuckPolicy::end_process(after, path, folder.to_owned())));
    }
    Ok(())
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
