//! Turns a configuration into a running server: a named step starts each part, and only here do the parts meet.

mod running;
mod shards;
mod trial;

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use muster_api::keys::{KeyTexts, Keys};
use muster_api::metrics::ApiMetrics;
use muster_domain::account::AccountEnding;
use muster_domain::admission::SharedAdmission;
use muster_domain::answers::SharedAnswers;
use muster_domain::barred::Barred;
use muster_domain::budget::BudgetConfig;
use muster_domain::chat::DirectRequests;
use muster_domain::friends::FriendNotices;
use muster_domain::guessing::SharedGuessing;
use muster_domain::ids::UserIdForm;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_gateway::listener::ConnectionLimits;
use muster_gateway::metrics::GatewayMetrics;
use muster_gateway::shard::ShardHandle;
use muster_gateway::{listener, text_page};
use muster_live::ShardIndex;
use muster_script::ScriptMetrics;
use muster_script::host::Signing;
use muster_script::process::CustomMetrics;
use muster_store::sqlite::backup;
use muster_store::{Address, StoreMetrics, postgres};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::cluster::{Cluster, DatabaseFacts, clock};
use crate::config::groups::live::cores;
use crate::config::{Config, Protocol};
use crate::database::{self, Database};
use crate::game::{Game, MatchLogs, Reload, ReloadRequest};
use crate::jobs::Jobs;
use crate::limits;
use crate::offenders;
use crate::passwords::{PasswordMetrics, PasswordPool, Scheme};
use crate::pruning;
use crate::revocation_feed::{self, Mailbox};
use crate::settings::{
    admission, answers, budgets, friend_notice_limits, gateway_config, guessing, request_limits, session_rules,
};
use crate::system::System;
use crate::telemetry::Telemetry;
pub use running::Running;
use shards::{StartedShards, start_shards};
pub(crate) use trial::{player, rehearse};

/// The content type of the Prometheus text format.
const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Explains why a server did not start, and says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

impl StartError {
    fn because<E: std::fmt::Display>(action: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self(format!("{action}: {cause}"))
    }
}

/// State that all shards share.
#[derive(Clone)]
struct Shared {
    config: Config,
    database: Database,
    passwords: PasswordPool,
    keys: Arc<Keys>,
    revocations: Arc<Revocations>,
    guessing: Arc<SharedGuessing>,
    admission: Arc<SharedAdmission>,
    answers: Arc<SharedAnswers>,
    budgets: Arc<BudgetConfig>,
    barred: Arc<Barred>,
    direct_requests: Arc<DirectRequests>,
    friend_notices: Arc<FriendNotices>,
    user_ids: UserIdForm,
}

/// Counters of all parts.
struct Metrics {
    store: Arc<StoreMetrics>,
    script: Arc<ScriptMetrics>,
    custom: Arc<CustomMetrics>,
    passwords: Arc<PasswordMetrics>,
    gateway: Arc<GatewayMetrics>,
    /// Counters of operations, one value for each shard.
    api: Vec<Arc<ApiMetrics>>,
}

impl Metrics {
    fn new(config: &Config) -> Self {
        Self {
            store: Arc::default(),
            script: Arc::default(),
            custom: Arc::new(CustomMetrics::new(config.metrics.custom_scope_limit)),
            passwords: Arc::default(),
            gateway: Arc::default(),
            api: (0..config.live.shard_count()).map(|_| Arc::default()).collect(),
        }
    }
}

/// Starts a server on the calling runtime, which must drive a `LocalSet`. `lost_log_lines` is shown as a metric.
///
/// # Errors
/// Anything that keeps the server from starting: a port in use, a database that cannot be opened, keys that clash.
pub async fn start(config: &Config, lost_log_lines: Arc<AtomicU64>) -> Result<Running, StartError> {
    // This raises the limit of open files, before the database and the shards open theirs.
    let connections_max = limits::connections_max(config);
    let metrics = Metrics::new(config);
    check_restored(config)?;
    let (database, store, is_database_new) = open_database(config, &metrics).await?;
    let mailbox = Arc::new(Mailbox::default());
    let admission = Arc::new(SharedAdmission::new(admission(config, connections_max)));
    let revocations = Revocations::new(mailbox.observer());
    let shared = share(config, database, &*store, (revocations, admission), &metrics).await?;
    let (mut game, reload) = load_game(&shared, store.clone(), &metrics).await?;
    read_revocations(&shared, &*store).await?;
    void_bans_of_others(&shared, &*store).await?;
    let gateway = Arc::new(gateway_config(config, connections_max).map_err(StartError)?);
    // A port that is in use is known before the other nodes give anything to this one. Clients who come before the
    // start is over wait in the system's queue.
    let listener = listen(config)?;
    let address = listener.local_addr().map_err(StartError::because("cannot tell the address listened on"))?;
    let mut cluster = join_cluster(config, &*store).await?;
    let jobs = cluster.as_ref().map_or_else(Jobs::of_one_server, Cluster::jobs);
    let match_logs = match_logs(config, cluster.as_ref())?;
    game.set_jobs(jobs.clone());
    game.set_logs(match_logs.clone());
    let StartedShards { handles: shards, threads } =
        start_shards(&shared, &game, &gateway, &metrics, cluster.as_mut()).await?;

    let mut tasks = JoinSet::new();
    let telemetry = telemetry(&shared, &metrics, lost_log_lines, cluster.as_ref(), match_logs);
    let metrics_address = serve_metrics(config, telemetry, &mut tasks)?;
    let limits = ConnectionLimits {
        connections_max,
        proxy_count: gateway.proxy_count,
        admission: shared.admission.clone(),
        clock: System,
    };
    accept_players(&mut tasks, listener, limits, shards.clone(), metrics.gateway.clone());
    tasks.spawn(mailbox.deliver(shards.clone()));
    tasks.spawn(offenders::tell(shared.admission.clone()));
    let reload = start_reloading(&mut tasks, reload);
    if let Some(cluster) = &cluster {
        let measured = cluster.telemetry().clock_skew_ms.clone();
        tasks.spawn_local(clock::watch(store.clone(), measured, config.cluster.clock_skew_max_ms));
    }
    start_upkeep(&mut tasks, store, shared.revocations, jobs);
    Ok(Running {
        address,
        metrics_address,
        is_database_new,
        shard_count: shards.len(),
        shards,
        threads,
        tasks,
        drain: Duration::from_secs(config.general.shutdown_drain_sec),
        grace: Duration::from_millis(gateway.resume.grace_ms),
        metrics: metrics.gateway,
        matches_grace_sec: config.general.shutdown_grace_sec,
        script: metrics.script,
        cluster,
        reload,
    })
}

/// Checks that no restore was interrupted in the data folder.
fn check_restored(config: &Config) -> Result<(), StartError> {
    match database::address(config) {
        Ok(Address::Sqlite(path)) => {
            let checked = backup::check_not_interrupted(&path, &config.general.data_dir);
            checked.map_err(|error| StartError(error.0))
        }
        // An address that is missing is refused when the database is opened.
        Ok(Address::Postgres(_)) | Err(_) => Ok(()),
    }
}

/// Opens the database, once it answers. Answers it, a store for this thread, and whether the database is new.
async fn open_database(config: &Config, metrics: &Metrics) -> Result<(Database, Rc<dyn Store>, bool), StartError> {
    if let Ok(Address::Postgres(servers)) = database::address(config) {
        postgres::wait_until_there(&servers, Duration::from_secs(config.general.start_wait_sec)).await;
    }
    let opened = Database::open(config, config.live.database_users(), metrics.store.clone()).await;
    let (database, is_new) = opened.map_err(|error| StartError(error.0))?;
    let store = database.store().await.map_err(StartError::because("cannot reach the database"))?;
    Ok((database, store, is_new))
}

/// Makes the state that all shards share.
async fn share(
    config: &Config,
    database: Database,
    store: &dyn Store,
    (revocations, admission): (Revocations, Arc<SharedAdmission>),
    metrics: &Metrics,
) -> Result<Shared, StartError> {
    // The original must be able to take its database back, so that going back locks nobody out.
    let is_adopted = store.ping().await.map_err(StartError::because("cannot use the database"))?.adopted;
    Ok(Shared {
        config: config.clone(),
        passwords: start_passwords(config, is_adopted, metrics.passwords.clone())?,
        keys: Arc::new(keys(config)?),
        revocations: Arc::new(revocations),
        guessing: Arc::new(SharedGuessing::new(guessing(config))),
        admission,
        answers: Arc::new(SharedAnswers::new(answers(config))),
        budgets: Arc::new(budgets(config)),
        barred: Arc::default(),
        direct_requests: Arc::new(DirectRequests::new(request_limits(config))),
        friend_notices: Arc::new(FriendNotices::new(friend_notice_limits(config))),
        user_ids: if is_adopted { UserIdForm::Random } else { UserIdForm::TimeOrdered },
        database,
    })
}

async fn load_game(shared: &Shared, store: Rc<dyn Store>, metrics: &Metrics) -> Result<(Game, Reload), StartError> {
    let config = &shared.config;
    let (script, custom) = (metrics.script.clone(), metrics.custom.clone());
    Game::load(config, config.live.shard_count(), store, signing(shared), script, custom).await.map_err(StartError)
}

/// Reads which tokens are revoked, so that a server accepts no revoked token from its first request on.
async fn read_revocations(shared: &Shared, store: &dyn Store) -> Result<(), StartError> {
    let read = shared.revocations.refresh(store, &System).await;
    read.map_err(StartError::because("cannot read which tokens are revoked"))?;
    Ok(())
}

/// Voids the tokens of accounts that somebody else banned on this database while no server of ours knew.
async fn void_bans_of_others(shared: &Shared, store: &dyn Store) -> Result<(), StartError> {
    let sessions = session_rules(&shared.config);
    let ending = AccountEnding { sessions: &sessions, revocations: &shared.revocations, clock: &System };
    let voided = ending.void_bans_of_others(store).await;
    let accounts = voided.map_err(StartError::because("cannot read which accounts were banned meanwhile"))?;
    if accounts > 0 {
        tracing::info!(accounts, "tokens of accounts that another program banned are void now");
    }
    Ok(())
}

/// The logs of durable matches: the cluster's, or files on a server on its own.
fn match_logs(config: &Config, cluster: Option<&Cluster>) -> Result<MatchLogs, StartError> {
    match cluster {
        Some(cluster) => Ok(MatchLogs::Cluster(cluster.telemetry().match_logs.clone())),
        None => MatchLogs::open(&config.general.data_dir).map_err(StartError),
    }
}

fn telemetry(
    shared: &Shared,
    metrics: &Metrics,
    lost_log_lines: Arc<AtomicU64>,
    cluster: Option<&Cluster>,
    match_logs: MatchLogs,
) -> Telemetry {
    let config = &shared.config;
    Telemetry {
        prefix: config.metrics.prefix.clone(),
        node_name: config.general.name.clone(),
        namespace: config.metrics.namespace.clone(),
        started: Instant::now(),
        lost_log_lines,
        api: metrics.api.clone(),
        gateway: metrics.gateway.clone(),
        store: metrics.store.clone(),
        passwords: metrics.passwords.clone(),
        script: metrics.script.clone(),
        custom: metrics.custom.clone(),
        custom_prefix: config.metrics.custom_prefix.clone(),
        guessing: shared.guessing.clone(),
        admission: shared.admission.clone(),
        answers: shared.answers.clone(),
        direct_requests: shared.direct_requests.clone(),
        friend_notices: shared.friend_notices.clone(),
        revocations: shared.revocations.clone(),
        cluster: cluster.map(|cluster| cluster.telemetry().clone()),
        match_logs,
    }
}

/// Begins to accept connections of players and to hand them to the shards.
fn accept_players(
    tasks: &mut JoinSet<()>,
    listener: TcpListener,
    limits: ConnectionLimits<System>,
    shards: Arc<[ShardHandle]>,
    metrics: Arc<GatewayMetrics>,
) {
    let accepting = listener::accept(listener, limits, shards, metrics);
    tasks.spawn(async move {
        if let Err(error) = accepting.await {
            tracing::error!(%error, "accepting ended");
        }
    });
}

/// Starts to reload game code on request and when its files change. Answers the handle for requests.
fn start_reloading(tasks: &mut JoinSet<()>, reload: Reload) -> ReloadRequest {
    let request = ReloadRequest::default();
    tasks.spawn_local(reload.run(request.clone()));
    request
}

/// Starts the tasks that remove expired data, and that learn of revocations by other servers.
fn start_upkeep(tasks: &mut JoinSet<()>, store: Rc<dyn Store>, revocations: Arc<Revocations>, jobs: Jobs) {
    tasks.spawn_local(pruning::prune(store.clone(), revocations.clone(), jobs));
    tasks.spawn_local(revocation_feed::follow(store, revocations));
}

fn start_passwords(
    config: &Config,
    is_adopted: bool,
    metrics: Arc<PasswordMetrics>,
) -> Result<PasswordPool, StartError> {
    // The original server can read bcrypt only.
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

async fn join_cluster(config: &Config, store: &dyn Store) -> Result<Option<Cluster>, StartError> {
    if !config.cluster.is_joined() {
        return Ok(None);
    }
    let latest = store.latest_epoch().await.map_err(StartError::because("cannot read what owners of jobs wrote"))?;
    let compared = clock::compare(store).await;
    let (origin, skew_ms) = compared.map_err(StartError::because("cannot read the database's clock"))?;
    if let Some(complaint) = clock::complaint(skew_ms, config.cluster.clock_skew_max_ms) {
        return Err(StartError(complaint));
    }
    let database = DatabaseFacts { identity: origin.identity, latest_epoch: u64::try_from(latest).unwrap_or_default() };
    Cluster::join(config, config.live.shard_count() as ShardIndex, database).await.map(Some).map_err(StartError)
}

/// Everything that game code needs to sign players in and out.
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

fn bind(config: &Config, address: SocketAddr) -> std::io::Result<TcpListener> {
    listener::bind(address, config.socket.protocol == Protocol::Tcp6)
}

fn listen(config: &Config) -> Result<TcpListener, StartError> {
    let address = config.socket.listen_address();
    let bound = match bind(config, address) {
        // A machine without IPv6 can still listen on all of IPv4.
        Err(_) if config.socket.address.is_none() && config.socket.protocol == Protocol::Tcp => {
            bind(config, SocketAddr::from((Ipv4Addr::UNSPECIFIED, config.socket.port)))
        }
        bound => bound,
    };
    let hint = "another server may be running there: choose a free port with --socket.port";
    bound.map_err(StartError::because(format!("cannot listen on {address} ({hint})")))
}

fn serve_metrics(
    config: &Config,
    telemetry: Telemetry,
    tasks: &mut JoinSet<()>,
) -> Result<Option<SocketAddr>, StartError> {
    if config.metrics.prometheus_port == 0 {
        return Ok(None);
    }
    let address = config.metrics.listen_address();
    let listener = bind(config, address)
        .map_err(StartError::because(format!("cannot listen on {address} for metrics (metrics.prometheus_port)")))?;
    let bound = listener.local_addr().map_err(StartError::because("cannot tell the address of metrics"))?;
    let token = Some(config.metrics.token.expose()).filter(|token| !token.is_empty());
    let page = text_page::Page {
        content_type: METRICS_CONTENT_TYPE,
        authorization: token.map(|token| format!("Bearer {token}")),
        text: Box::new(move || telemetry.render()),
    };
    tasks.spawn(text_page::serve(listener, page));
    Ok(Some(bound))
}
