//! From a configuration to a running server: one named step per part, joined here and nowhere else.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::{JoinHandle, available_parallelism};
use std::time::{Duration, Instant};

use futures_util::future::{join_all, select_all};
use muster_api::App;
use muster_api::keys::{KeyTexts, Keys};
use muster_api::live::Live;
use muster_api::metrics::Metrics as ApiMetrics;
use muster_api::tokens::CheckedTokens;
use muster_domain::chat::DirectRequests;
use muster_domain::guessing::SharedGuessing;
use muster_domain::ids::UserIdForm;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_gateway::metrics::GatewayMetrics;
use muster_gateway::rim::LaneEnds;
use muster_gateway::shard::{self, AppFactory, Command, ShardHandle};
use muster_gateway::{GatewayConfig, listener, rim, text_page};
use muster_live::{Routes, ShardIndex};
use muster_script::ScriptMetrics;
use muster_script::host::Signing;
use muster_script::process::CustomMetrics;
use muster_store::StoreMetrics;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::cluster::{Cluster, Standing};
use crate::config::{Config, Protocol};
use crate::database::Database;
use crate::game::{Ask, Game, MatchLogs, Player};
use crate::jobs::Jobs;
use crate::limits;
use crate::passwords::{PasswordMetrics, PasswordPool, Scheme};
use crate::pruning;
use crate::revocation_feed::{self, Mailbox};
use crate::settings::{gateway_config, guessing, live_rules, request_limits, session_rules};
use crate::system::{RandomPool, System};
use crate::telemetry::Telemetry;

/// How long connections have to end if game code took all of the time that there was.
const STOP_MIN: Duration = Duration::from_secs(1);
/// How often a node that drains looks whether its sessions have gone.
const DRAIN_LOOK: Duration = Duration::from_millis(20);
/// How much longer than their grace it waits for them.
const DRAIN_MARGIN: Duration = Duration::from_secs(1);

/// The content type of the Prometheus text format.
const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why a server did not start: a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

impl StartError {
    fn because<E: std::fmt::Display>(action: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self(format!("{action}: {cause}"))
    }
}

/// A server that runs. Dropping it does not stop it: call [`Running::stop`].
pub struct Running {
    /// Where it accepts players.
    pub address: SocketAddr,
    /// Where it shows metrics, if it does.
    pub metrics_address: Option<SocketAddr>,
    /// How many shards it runs.
    pub shard_count: usize,
    shards: Arc<[ShardHandle]>,
    threads: Vec<JoinHandle<()>>,
    tasks: JoinSet<()>,
    drain: Duration,
    /// How long sessions wait for their next socket.
    grace: Duration,
    metrics: Arc<GatewayMetrics>,
    /// How long matches of game code go on after a request to stop, in seconds.
    matches_grace_sec: u32,
    script: Arc<ScriptMetrics>,
    cluster: Option<Cluster>,
    reload: Ask,
}

/// What all shards share.
#[derive(Clone)]
struct Shared {
    config: Config,
    database: Database,
    passwords: PasswordPool,
    keys: Arc<Keys>,
    revocations: Arc<Revocations>,
    guessing: Arc<SharedGuessing>,
    direct_requests: Arc<DirectRequests>,
    user_ids: UserIdForm,
}

/// Starts a server on the calling runtime, which must drive a `LocalSet`. `lost_log_lines` is shown as a metric.
///
/// # Errors
/// Anything that keeps it from serving: a port in use, a database that cannot be opened, keys that clash.
pub async fn start(config: &Config, lost_log_lines: Arc<AtomicU64>) -> Result<Running, StartError> {
    let connections_max = limits::connections_max(config);
    let store_metrics = Arc::new(StoreMetrics::default());
    // The shards, and this thread for revocations and health.
    let store_users = shard_count(config) + 1;
    let database =
        Database::open(config, store_users, store_metrics.clone()).await.map_err(|error| StartError(error.0))?;
    let store = database.store().await.map_err(StartError::because("cannot reach the database"))?;
    // The original must be able to take its database back, so that going back locks nobody out.
    let is_adopted = store.ping().await.map_err(StartError::because("cannot use the database"))?.adopted;
    let script_metrics = Arc::new(ScriptMetrics::default());
    let custom_metrics = Arc::new(CustomMetrics::new(config.metrics.custom_scope_limit));
    let password_metrics = Arc::new(PasswordMetrics::default());
    let mailbox = Arc::new(Mailbox::default());
    let shared = Shared {
        config: config.clone(),
        passwords: start_passwords(config, is_adopted, password_metrics.clone())?,
        keys: Arc::new(keys(config)?),
        revocations: Arc::new(Revocations::new(mailbox.observer())),
        guessing: Arc::new(SharedGuessing::new(guessing(config))),
        direct_requests: Arc::new(DirectRequests::new(request_limits(config))),
        user_ids: if is_adopted { UserIdForm::Random } else { UserIdForm::TimeOrdered },
        database,
    };
    let metrics = (script_metrics.clone(), custom_metrics.clone());
    let loaded = Game::load(config, shard_count(config), store.clone(), signing(&shared), metrics);
    let (mut game, reload) = loaded.await.map_err(StartError)?;
    let read = shared.revocations.refresh(&*store, &System).await;
    read.map_err(StartError::because("cannot read which tokens are revoked"))?;

    let gateway_metrics = Arc::new(GatewayMetrics::default());
    let gateway = Arc::new(gateway_config(config, connections_max).map_err(StartError)?);
    let shard_count = shard_count(config);
    let api_metrics: Vec<_> = (0..shard_count).map(|_| Arc::new(ApiMetrics::default())).collect();
    let mut cluster = join_cluster(config, &*store, shard_count).await?;
    let jobs = cluster.as_ref().map_or_else(Jobs::of_one_server, Cluster::jobs);
    game.set_jobs(jobs.clone());
    let match_logs = match &cluster {
        Some(cluster) => MatchLogs::Cluster(cluster.telemetry().match_logs.clone()),
        None => MatchLogs::open(&config.general.data_dir).map_err(StartError)?,
    };
    game.set_logs(match_logs.clone());
    let lanes = match &cluster {
        Some(cluster) => rim::lanes_of(
            cluster.telemetry().number,
            &Routes::of_newcomer(),
            shard_count as ShardIndex,
            Some(cluster.far.clone()),
        ),
        None => rim::lanes(shard_count as ShardIndex),
    };
    let (shards, threads) = start_shards(&shared, &game, lanes.0, &gateway, &gateway_metrics, &api_metrics).await?;
    if let Some(cluster) = &mut cluster {
        cluster.attach(lanes.1, shards.clone()).await.map_err(StartError)?;
    }

    let listener = listen(config).await?;
    let address = listener.local_addr().map_err(StartError::because("cannot tell the address listened on"))?;
    let mut tasks = JoinSet::new();
    let telemetry = Telemetry {
        prefix: config.metrics.prefix.clone(),
        node_name: config.general.name.clone(),
        namespace: config.metrics.namespace.clone(),
        started: Instant::now(),
        lost_log_lines,
        api: api_metrics,
        gateway: gateway_metrics.clone(),
        store: store_metrics,
        passwords: password_metrics,
        script: script_metrics.clone(),
        custom: custom_metrics,
        custom_prefix: config.metrics.custom_prefix.clone(),
        guessing: shared.guessing.clone(),
        direct_requests: shared.direct_requests.clone(),
        revocations: shared.revocations.clone(),
        cluster: cluster.as_ref().map(|cluster| cluster.telemetry().clone()),
        match_logs,
    };
    let metrics_address = serve_metrics(config, telemetry, &mut tasks).await?;
    let accepting = listener::accept(listener, connections_max, shards.clone(), gateway_metrics.clone());
    tasks.spawn(async move {
        if let Err(error) = accepting.await {
            tracing::error!(%error, "accepting ended");
        }
    });
    tasks.spawn(mailbox.deliver(shards.clone()));
    let asked = Ask::default();
    tasks.spawn_local(reload.run(asked.clone()));
    tasks.spawn_local(pruning::prune(store.clone(), shared.revocations.clone(), jobs));
    tasks.spawn_local(revocation_feed::follow(store, shared.revocations));
    let drain = Duration::from_secs(config.general.shutdown_drain_sec);
    let (grace, metrics) = (Duration::from_millis(gateway.resume.grace_ms), gateway_metrics);
    Ok(Running {
        address,
        metrics_address,
        shard_count,
        shards,
        threads,
        tasks,
        drain,
        grace,
        metrics,
        matches_grace_sec: config.general.shutdown_grace_sec,
        script: script_metrics,
        cluster,
        reload: asked,
    })
}

/// The modules alone, to play recordings of matches with, over an empty database in a folder that goes with what is answered.
///
/// # Errors
/// What keeps the modules from loading.
pub(crate) async fn player(config: &Config) -> Result<(Player, tempfile::TempDir), StartError> {
    let folder = tempfile::tempdir().map_err(StartError::because("cannot make a folder for a moment"))?;
    let address = muster_store::Address::Sqlite(folder.path().join("muster.db"));
    let opened = Database::open_at(address, Default::default(), Arc::new(StoreMetrics::default())).await;
    let database = opened.map_err(|error| StartError(error.0))?;
    let store = database.store().await.map_err(StartError::because("cannot use a database"))?;
    let shared = Shared {
        config: config.clone(),
        passwords: start_passwords(config, false, Arc::new(PasswordMetrics::default()))?,
        keys: Arc::new(keys(config)?),
        revocations: Arc::new(Revocations::new(Box::new(|_| {}))),
        guessing: Arc::new(SharedGuessing::new(guessing(config))),
        direct_requests: Arc::new(DirectRequests::new(request_limits(config))),
        user_ids: UserIdForm::TimeOrdered,
        database,
    };
    let player = Player::load(config, store, signing(&shared)).await.map_err(StartError)?;
    Ok((player, folder))
}

impl Running {
    /// Resolves when a shard has ended by itself, which only a defect makes it do.
    pub async fn failed(&self) {
        let ends = self.shards.iter().map(|shard| Box::pin(shard.ended()));
        select_all(ends).await;
    }

    /// Resolves with how this node stands when it is none of its cluster's any more. A server on its own never is.
    pub async fn lost_cluster(&self) -> Standing {
        match &self.cluster {
            Some(cluster) => cluster.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Has game code loaded anew. What does not load changes nothing; the log says what became of it.
    pub fn reload_game_code(&self) {
        self.reload.ask();
    }

    /// Resolves when an operator has told this node to drain. A server on its own never is.
    pub async fn told_to_drain(&self) {
        match &self.cluster {
            Some(cluster) => cluster.told_to_drain().await,
            None => std::future::pending().await,
        }
    }

    /// Before [`Self::drain`]: tells the code of matches that the server stops, and waits until they have ended or their time
    /// is over. A server on its own that gives them no time just stops.
    pub async fn end_matches(&self) {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        let left = || of(&self.script.matches) - of(&self.script.matches_durable);
        if left() <= 0 || (self.matches_grace_sec == 0 && self.cluster.is_none()) {
            return;
        }
        tracing::info!(matches = left(), seconds = self.matches_grace_sec, "matches of game code have time to end");
        for shard in self.shards.iter() {
            // One that has ended has no matches any more.
            let _ = shard.send(Command::EndMatches(self.matches_grace_sec)).await;
        }
        let ended = async {
            while left() > 0 {
                sleep(DRAIN_LOOK).await;
            }
        };
        let _ = timeout(Duration::from_secs(self.matches_grace_sec.into()) + DRAIN_MARGIN, ended).await;
    }

    /// As a node of a cluster, before [`Self::stop`]: lets nobody new in, waits until sessions that survive their socket
    /// went on at other nodes or their grace is over, and gives what it owns to others. A server on its own does nothing.
    pub async fn drain(&self) {
        let Some(cluster) = &self.cluster else { return };
        for shard in self.shards.iter() {
            // One that has ended lets nobody in.
            let _ = shard.send(Command::Drain).await;
        }
        let left = || self.metrics.sessions_resumable.load(Ordering::Relaxed);
        tracing::info!(resumable_sessions = left(), "draining: sessions that can go on elsewhere do so");
        let went = async {
            while left() > 0 {
                sleep(DRAIN_LOOK).await;
            }
        };
        let _ = timeout(self.grace + DRAIN_MARGIN, went).await;
        tracing::info!(resumable_sessions = left(), "drained of sessions: what this node owns goes to others");
        cluster.drain().await;
    }

    /// Game code that has something to do before the server stops does it, on one shard, while players are still there.
    async fn say_farewell(&self) {
        let Some(shard) = self.shards.first() else { return };
        let within = self.drain;
        // One that has ended does nothing more.
        let _ = shard.ask(|done| Command::Farewell { within, done }).await;
    }

    /// Stops: no new connections, game code told, sockets closed with their reason, requests under way finished, all within
    /// `shutdown_drain_sec`. Durable matches come to rest before: they go on when the server starts again. Answers how many
    /// connections had to be cut.
    pub async fn stop(mut self) -> usize {
        self.tasks.shutdown().await;
        let begun = Instant::now();
        self.say_farewell().await;
        let within = self.drain.saturating_sub(begun.elapsed()).max(STOP_MIN.min(self.drain));
        let rests = self.shards.iter().map(|shard| shard.ask(|done| Command::RestMatches { within, done }));
        join_all(rests).await;
        let within = self.drain.saturating_sub(begun.elapsed()).max(STOP_MIN.min(self.drain));
        let stops = self.shards.iter().map(|shard| shard.ask(|done| Command::Stop { within, done }));
        let left = join_all(stops).await.into_iter().flatten().sum();
        if let Some(cluster) = self.cluster {
            cluster.leave().await;
        }
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a shard ended by a panic");
            }
        }
        left
    }
}

fn start_passwords(
    config: &Config,
    is_adopted: bool,
    metrics: Arc<PasswordMetrics>,
) -> Result<PasswordPool, StartError> {
    // What the original can read.
    let scheme = if is_adopted { Scheme::Bcrypt } else { Scheme::Argon2id };
    let workers = match config.account.password_workers {
        0 => cores().div_ceil(2),
        workers => workers,
    };
    PasswordPool::start(scheme, workers, config.account.password_queue_size, metrics)
        .map_err(StartError::because("cannot start the threads that hash passwords"))
}

fn keys(config: &Config) -> Result<Keys, StartError> {
    let texts = KeyTexts {
        server_key: config.socket.server_key.expose(),
        http_key: config.runtime.http_key.expose(),
        session: config.session.encryption_key.expose(),
        refresh: config.session.refresh_encryption_key.expose(),
    };
    Keys::new(texts).map_err(|error| StartError(error.to_string()))
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn shard_count(config: &Config) -> usize {
    match config.live.shards {
        0 => cores(),
        count => count,
    }
}

async fn join_cluster(config: &Config, store: &dyn Store, shards: usize) -> Result<Option<Cluster>, StartError> {
    if !config.cluster.is_joined() {
        return Ok(None);
    }
    let floor = store.latest_epoch().await.map_err(StartError::because("cannot read what owners of jobs wrote"))?;
    let floor = u64::try_from(floor).unwrap_or_default();
    Cluster::join(config, shards as ShardIndex, floor).await.map(Some).map_err(StartError)
}

async fn start_shards(
    shared: &Shared,
    game: &Game,
    lanes: Vec<LaneEnds>,
    gateway: &Arc<GatewayConfig>,
    gateway_metrics: &Arc<GatewayMetrics>,
    api_metrics: &[Arc<ApiMetrics>],
) -> Result<(Arc<[ShardHandle]>, Vec<JoinHandle<()>>), StartError> {
    let mut handles = Vec::new();
    let mut threads = Vec::new();
    for (ends, metrics) in lanes.into_iter().zip(api_metrics) {
        let factory = app_factory(shared.clone(), game.clone(), metrics.clone());
        let started = shard::start(ends, gateway.clone(), gateway_metrics.clone(), factory).await;
        let (handle, thread) = started.map_err(StartError)?;
        handles.push(handle);
        threads.push(thread);
    }
    let handles: Arc<[ShardHandle]> = handles.into();
    for handle in &*handles {
        let told = handle.send(Command::Peers(handles.clone())).await;
        told.map_err(StartError::because("a shard ended while the server started"))?;
    }
    Ok((handles, threads))
}

fn app_factory(shared: Shared, game: Game, metrics: Arc<ApiMetrics>) -> AppFactory {
    Box::new(move |live: Rc<Live>| -> Pin<Box<dyn Future<Output = Result<Rc<App>, String>>>> {
        Box::pin(async move {
            let store = shared.database.store().await.map_err(|error| error.to_string())?;
            let signing = signing(&shared);
            let game = game.of_shard(store.clone(), signing, &live).await;
            Ok(Rc::new(App {
                store,
                hooks: game.clone(),
                game,
                passwords: Rc::new(shared.passwords),
                clock: Rc::new(System),
                entropy: Rc::new(RandomPool::default()),
                user_ids: shared.user_ids,
                keys: shared.keys,
                tokens: CheckedTokens::default(),
                sessions: session_rules(&shared.config),
                revocations: shared.revocations,
                guessing: shared.guessing,
                direct_requests: shared.direct_requests,
                live,
                live_rules: live_rules(&shared.config),
                metrics,
            }))
        })
    })
}

/// What game code signs players in and out with.
fn signing(shared: &Shared) -> Signing {
    Signing {
        passwords: Rc::new(shared.passwords.clone()),
        user_ids: shared.user_ids,
        guessing: shared.guessing.clone(),
        keys: shared.keys.clone(),
        sessions: session_rules(&shared.config),
        revocations: shared.revocations.clone(),
    }
}

async fn listen(config: &Config) -> Result<TcpListener, StartError> {
    let address = config.socket.listen_address();
    let bound = TcpListener::bind(address).await;
    let bound = match bound {
        // A machine without IPv6 still has all of IPv4.
        Err(_) if config.socket.address.is_none() && config.socket.protocol == Protocol::Tcp => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, config.socket.port)).await
        }
        bound => bound,
    };
    let hint = "another server may be running there: choose a free port with --socket.port";
    bound.map_err(StartError::because(format!("cannot listen on {address} ({hint})")))
}

async fn serve_metrics(
    config: &Config,
    telemetry: Telemetry,
    tasks: &mut JoinSet<()>,
) -> Result<Option<SocketAddr>, StartError> {
    if config.metrics.prometheus_port == 0 {
        return Ok(None);
    }
    let address = SocketAddr::new(config.socket.listen_address().ip(), config.metrics.prometheus_port);
    let listener = TcpListener::bind(address)
        .await
        .map_err(StartError::because(format!("cannot listen on {address} for metrics (metrics.prometheus_port)")))?;
    let bound = listener.local_addr().map_err(StartError::because("cannot tell the address of metrics"))?;
    tasks.spawn(text_page::serve(listener, METRICS_CONTENT_TYPE, Arc::new(move || telemetry.render())));
    Ok(Some(bound))
}
