//! Loads game code, and makes the part of it that each shard runs.

mod durable;
mod outgoing;
mod recordings;
mod reload;
mod schedules;

use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use muster_api::game::GameFunctions as _;
use muster_api::live::Live;
use muster_domain::ports::store::Store;
use muster_gateway::outgoing::{OutgoingOptions, Trust};
use muster_live::{Epoch, Partition};
use muster_script::durable::logs::Logs;
use muster_script::durable::recorded_call::{MatchClock, MatchEntropy};
use muster_script::durable::recording::Recorder;
use muster_script::functions::ServerFacts;
use muster_script::host::{Current, Handlers, Matches, NoMatches, NoPlayers, Players, Signing};
use muster_script::process::stuck::{StuckModules, StuckPolicy};
use muster_script::process::{CustomMetrics, Process, SliceClock};
use muster_script::value::Value;
use muster_script::watch::{FolderState, folder_state};
use muster_script::{
    EngineSettings, Host, LanguageMatches, Languages, Limits, LoadError, LoadedCode, Programs, ScriptMetrics,
    ShardParts, returns_to,
};
use tokio::sync::{mpsc, watch};

pub(crate) use self::durable::MATCHES;
pub use self::durable::MatchLogs;
use self::durable::Owner;
use self::outgoing::Outgoing;
use self::recordings::Folder;
pub(crate) use self::recordings::{RecordingPlayer, read as read_recording};
use self::reload::Shards;
pub(crate) use self::reload::{Reload, ReloadRequest};
use crate::config::Config;
use crate::jobs::Jobs;
use crate::settings::live_rules;
use crate::system::{RandomPool, System};

/// The folder of modules in the data folder.
const MODULES: &str = "modules";

/// Folder of compiled modules, in the data folder.
const COMPILED: &str = "compiled";

/// File that lists modules which made the server end, in the data folder.
pub(crate) const STUCK_MODULES: &str = "stuck-modules";

/// The folder of game code for a configuration that names none, if it exists.
pub(crate) fn default_folder(config: &Config) -> Option<PathBuf> {
    Some(config.general.data_dir.join(MODULES)).filter(|folder| folder.is_dir())
}

/// Game code as loaded at one time.
#[derive(Clone)]
pub(crate) struct Generation {
    /// Serial number of the generation in this process.
    number: u64,
    programs: Programs,
}

/// The game code of a server, in its current generation.
#[derive(Clone)]
pub(crate) struct Game {
    generations: watch::Receiver<Generation>,
    /// Each shard sends the number of a generation here once it has gone over to it.
    taken: mpsc::Sender<u64>,
    loader: Loader,
    jobs: Jobs,
    /// Logs of durable matches; without them no match is durable.
    logs: Option<MatchLogs>,
    /// Folder into which durable matches are recorded: `match.record_dir`.
    record_dir: Option<PathBuf>,
}

/// Loads game code.
#[derive(Clone)]
struct Loader {
    folder: PathBuf,
    /// Whether the configuration names the folder, which then must exist.
    is_named: bool,
    resources: MachineResources,
    settings: EngineSettings,
}

/// The resources that the machines of all shards use.
#[derive(Clone)]
struct MachineResources {
    process: Arc<Process>,
    /// The part of public ids after the dot.
    public_node: Arc<str>,
    /// Options of each shard's HTTP client: `script.http_strict`, and a share of `script.http_requests`.
    http: OutgoingOptions,
    metrics: Arc<ScriptMetrics>,
}

impl Game {
    /// Loads the folder that the configuration names, or the default folder if it exists. Answers the game code, and
    /// the task that will reload it.
    ///
    /// # Errors
    /// A sentence with file and line.
    pub(crate) async fn load(
        config: &Config,
        shards: usize,
        store: Rc<dyn Store>,
        signing: Signing,
        metrics: Arc<ScriptMetrics>,
        custom: Arc<CustomMetrics>,
    ) -> Result<(Self, Reload), String> {
        let loader = Loader::new(config, shards, metrics, custom)?;
        // The files are looked at before they are read: a file that changes meanwhile is loaded again.
        let files = loader.look();
        let first = loader.load(1, store.clone(), signing.clone()).await?;
        loader.resources.metrics.generation.store(1, Ordering::Relaxed);
        let (generations_in, generations) = watch::channel(first);
        let (taken, takes) = mpsc::channel(shards);
        let shards = Shards { count: shards, generations: generations_in, takes };
        let watched_files = config.script.reload.then_some(files);
        let reload = Reload::new(loader.clone(), store, signing, shards, watched_files);
        let record_dir = config.matches.record_dir.clone();
        Ok((Self { generations, taken, loader, jobs: Jobs::of_one_server(), logs: None, record_dir }, reload))
    }

    /// The code of each language that was loaded.
    pub(crate) fn code(&self) -> Vec<LoadedCode> {
        self.generations.borrow().programs.code()
    }

    /// Sets which scheduled functions this node runs.
    pub(crate) fn set_jobs(&mut self, jobs: Jobs) {
        self.jobs = jobs;
    }

    /// Sets the logs of durable matches.
    pub(crate) fn set_logs(&mut self, logs: MatchLogs) {
        self.logs = Some(logs);
    }

    /// The functions and hooks for one shard, which also runs the matches that are made there. On a server on its own,
    /// durable matches of the last run go on.
    pub(crate) async fn of_shard(self, store: Rc<dyn Store>, signing: Signing, live: &Rc<Live>) -> Rc<Languages> {
        let Self { mut generations, taken, loader: Loader { resources, .. }, jobs, logs, record_dir } = self;
        let recorder = record_dir.map(|folder| Rc::new(Folder(folder)) as Rc<dyn Recorder>);
        let programs = generations.borrow_and_update().programs.clone();
        let host = resources.host(store, signing, live.clone(), live.clone());
        let match_logs = logs.as_ref().map(|logs| Logs::new(logs.of_shard(), recorder));
        let matches = matches(&programs, &host, &resources.metrics, match_logs, live);
        let is_own = |partition: &Partition| live.look(|plane| plane.is_owner(*partition));
        let to_go_on: Vec<Partition> = logs.iter().flat_map(MatchLogs::to_go_on).filter(is_own).collect();
        matches.take_over(to_go_on.iter().map(|partition| (*partition, Epoch::default())).collect()).await;
        if let Some(MatchLogs::Files(_)) = logs {
            matches.tell_of_lost_logs(|partition| is_own(&partition) && !to_go_on.contains(&partition)).await;
        }
        let functions = Rc::new(Languages::new(programs.functions(&host, &resources.metrics), matches.clone()));
        let warm = functions.clone();
        tokio::task::spawn_local(async move { warm.warm_up().await });
        let shard_code = ShardCode {
            functions: Rc::downgrade(&functions),
            matches: Rc::downgrade(&matches),
            live: Rc::downgrade(live),
            taken,
        };
        tokio::task::spawn_local(shard_code.follow(generations));
        // One shard of the node runs schedules, so that the node has one list of them.
        if live.place().shard() == 0 {
            tokio::task::spawn_local(schedules::keep(Rc::downgrade(&functions), jobs));
        }
        functions
    }
}

/// The matches of a shard.
fn matches(
    programs: &Programs,
    host: &Rc<Host>,
    metrics: &Arc<ScriptMetrics>,
    logs: Option<Rc<Logs>>,
    live: &Rc<Live>,
) -> Rc<LanguageMatches> {
    let (host, metrics) = (host.clone(), metrics.clone());
    let shard = ShardParts { host, metrics, returns: returns_to(live), logs };
    let mut matches = LanguageMatches::new(programs.matches(&shard));
    if let Some(logs) = shard.logs {
        let owner = Box::new(Owner(Rc::downgrade(live)));
        matches = matches.with_durable(&shard.host, shard.metrics.clone(), logs, owner);
    }
    let matches = Rc::new(matches);
    shard.host.handlers.set(&matches);
    matches
}

/// The game code of one shard.
struct ShardCode {
    functions: Weak<Languages>,
    matches: Weak<LanguageMatches>,
    live: Weak<Live>,
    taken: mpsc::Sender<u64>,
}

impl ShardCode {
    /// Goes over to each new generation.
    async fn follow(self, mut generations: watch::Receiver<Generation>) {
        while generations.changed().await.is_ok() {
            let Generation { number, programs } = generations.borrow_and_update().clone();
            let (Some(functions), Some(matches), Some(live)) =
                (self.functions.upgrade(), self.matches.upgrade(), self.live.upgrade())
            else {
                return;
            };
            functions.renew(&programs, number).await;
            matches.renew(&programs, number);
            let is_asked = functions.has_matched_function();
            live.step(|plane, _, _| plane.ask_of_matches(is_asked));
            // An error means that nobody counts the shards any more: the wait for them has timed out.
            let _ = self.taken.try_send(number);
        }
    }
}

impl Loader {
    /// A loader for the folder that the configuration names, or for the default folder.
    ///
    /// Errors: a sentence that says which file cannot be read.
    fn new(
        config: &Config,
        shards: usize,
        metrics: Arc<ScriptMetrics>,
        custom: Arc<CustomMetrics>,
    ) -> Result<Self, String> {
        let named = config.runtime.path.clone();
        let is_named = named.is_some();
        let folder = named.unwrap_or_else(|| config.general.data_dir.join(MODULES));
        let process = Arc::new(process(config, &folder, metrics.clone(), custom)?);
        let http = OutgoingOptions {
            is_strict: config.script.http_strict,
            requests_max: config.script.http_requests.div_ceil(shards),
            trust: Trust::default(),
        };
        let resources = MachineResources { process, public_node: live_rules(config).node, http, metrics };
        Ok(Self { folder, is_named, resources, settings: settings(config, shards) })
    }

    /// The current state of the files.
    fn look(&self) -> FolderState {
        folder_state(&self.folder)
    }

    /// Loads the files in machines of their own.
    ///
    /// Errors: a sentence with file and line.
    async fn load(&self, number: u64, store: Rc<dyn Store>, signing: Signing) -> Result<Generation, String> {
        let Self { folder, is_named, resources, settings } = self;
        if !is_named && !folder.is_dir() {
            return Ok(Generation { number, programs: Programs::none(settings) });
        }
        let host = resources.host(store, signing, Rc::new(NoPlayers), Rc::new(NoMatches));
        let failed = |error: LoadError| format!("cannot load the game code in {}: {error}", folder.display());
        let programs = Programs::load(folder, &host, settings, number).await.map_err(failed)?;
        Ok(Generation { number, programs })
    }
}

impl MachineResources {
    fn host(
        &self,
        store: Rc<dyn Store>,
        signing: Signing,
        players: Rc<dyn Players>,
        matches: Rc<dyn Matches>,
    ) -> Rc<Host> {
        let current = Current::default();
        Rc::new(Host {
            clock: Rc::new(MatchClock::new(Rc::new(System), current.clone())),
            entropy: Rc::new(MatchEntropy::new(Rc::new(RandomPool::default()), current.clone())),
            store,
            players,
            matches,
            http: Rc::new(Outgoing::new(self.http.clone(), self.metrics.clone())),
            process: self.process.clone(),
            signing,
            node: self.public_node.clone(),
            reporter: Rc::default(),
            spawn: |work| drop(tokio::task::spawn_local(work)),
            sends_to_all: Rc::default(),
            current,
            handlers: Handlers::default(),
        })
    }
}

/// The state of game code that all shards of this process share, by the configuration.
fn process(
    config: &Config,
    folder: &Path,
    metrics: Arc<ScriptMetrics>,
    custom: Arc<CustomMetrics>,
) -> Result<Process, String> {
    let compiled = config.script.compiled_dir.clone();
    let mut process = Process::new(server_facts(config), metrics, custom);
    process.folder = Some(folder.to_owned());
    process.compiled = Some(compiled.unwrap_or_else(|| config.general.data_dir.join(COMPILED)));
    process.config = readable_configuration(config);
    process.is_dev = config.dev;
    guard(config, &mut process)?;
    Ok(process)
}

/// The settings of the engines, by the configuration.
fn settings(config: &Config, shards: usize) -> EngineSettings {
    let runtime = &config.runtime;
    EngineSettings {
        limits: limits(config, shards),
        shards,
        lua_machines_max: runtime.lua_max_count,
        js_machines_max: runtime.js_max_count,
        js_machines_min: runtime.js_min_count,
        js_read_only_globals: runtime.js_read_only_globals,
        js_entrypoint: runtime.js_entrypoint.clone(),
        go_bytes: config.script.go_bytes,
    }
}

/// The limits of game code of any language on one shard, by the configuration.
fn limits(config: &Config, shards: usize) -> Limits {
    let (script, runtime) = (&config.script, &config.runtime);
    let call_time = Duration::from_millis(script.call_cpu_ms);
    Limits {
        concurrent_max: script.concurrent_calls.div_ceil(shards),
        events_max: runtime.event_queue_size.div_ceil(shards),
        event_workers: runtime.event_queue_workers.div_ceil(shards),
        deferred_max: config.matches.deferred_queue_size,
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

/// Makes the server end, and note the module, when a module does not return from an uninterruptible call; a noted
/// module is not loaded again.
fn guard(config: &Config, process: &mut Process) -> Result<(), String> {
    let path = config.general.data_dir.join(STUCK_MODULES);
    process.stuck = StuckModules::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if config.script.stuck_ms > 0 {
        let after = Duration::from_millis(config.script.stuck_ms);
        process.clock = SliceClock::with(Some(StuckPolicy::end_process(after, path)));
    }
    Ok(())
}

/// The facts about the server that the context of every call holds, by the configuration.
fn server_facts(config: &Config) -> ServerFacts {
    let env = config.runtime.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    ServerFacts {
        node: config.general.name.as_str().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        env: env.collect(),
    }
}

/// The part of the configuration that game code can read, under the original's names. Keys are left out.
fn readable_configuration(config: &Config) -> Value {
    let (session, socket) = (&config.session, &config.socket);
    let env = config.runtime.env.iter().map(|(name, value)| format!("{name}={}", value.expose()));
    let address = socket.address.map(|address| address.to_string()).unwrap_or_default();
    let number = |number: u64| Value::Number(number as f64);
    Value::Record(vec![
        ("name", Value::text(config.general.name.clone())),
        ("shutdown_grace_sec", number(config.general.shutdown_grace_sec.into())),
        ("logger", Value::Record(vec![("level", Value::text(config.logger.level.word()))])),
        (
            "session",
            Value::Record(vec![
                ("token_expiry_sec", number(session.token_expiry_sec)),
                ("refresh_token_expiry_sec", number(session.refresh_token_expiry_sec)),
                ("single_socket", Value::Flag(session.single_socket)),
                ("single_match", Value::Flag(session.single_match)),
                ("single_party", Value::Flag(session.single_party)),
                ("single_session", Value::Flag(session.single_session)),
            ]),
        ),
        (
            "socket",
            Value::Record(vec![
                ("port", number(socket.port.into())),
                ("address", Value::text(address)),
                ("protocol", Value::text(socket.protocol.word())),
            ]),
        ),
        ("runtime", Value::Record(vec![("env", Value::List(env.map(Value::text).collect()))])),
    ])
}
