//! This server as a node of a cluster. The server joins before it accepts players. Then it tells its shards of each
//! view, and passes messages between its shards and those of other nodes.
//!
//! The node runs on a thread of its own, so that a busy shard delays no lease, and a lease no shard.

pub mod clock;
mod joining;
mod load;
mod recovery;
mod thread;
mod traffic;

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_cluster::link::LinkConfig;
use muster_cluster::membership::{Compatibility, NodeConfig, Roles, View};
use muster_cluster::nats::{NatsLogin, NatsOptions, NodeCertificate};
use muster_cluster::node::{NodeClock, NodeCommand, NodeOptions};
use muster_cluster::seal::{Seal, SealUse};
use muster_gateway::rim::{ClusterCommand, LaneSenders};
use muster_gateway::shard::ShardHandle;
use muster_live::place::Epoch;
use muster_live::{Millis, ShardIndex};
use tokio::sync::{mpsc, oneshot, watch};

use crate::config::groups::cluster::Seals;
use crate::config::{Cluster as ClusterConfig, Config};
use crate::jobs::Jobs;
use crate::keys;
use crate::telemetry::cluster::ClusterTelemetry;
use load::Load;

/// Time limit of leaving: more than the node itself waits for its sent batches to arrive.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// Time that the other nodes have to take over everything that a draining node owns.
const DRAIN_WAIT: Duration = Duration::from_secs(3);
/// Time limit of a request to NATS.
const REQUEST_WAIT: Duration = Duration::from_secs(2);

/// Relation of this node to its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterState {
    /// The node is a member.
    Member,
    /// The others voted the node out, and own everything that it owned.
    VotedOut,
    /// The node has left, or its connection to the cluster has ended for good.
    Ended,
    /// The node is a member, and gives everything that it owns to others.
    Draining,
    /// The node is a member, and owns nothing any more.
    Drained,
}

impl ClusterState {
    fn is_member(self) -> bool {
        matches!(self, Self::Member | Self::Draining | Self::Drained)
    }
}

/// A node that has joined.
pub struct Cluster {
    /// Outgoing messages of the shards to the node's thread.
    pub far: mpsc::UnboundedSender<ClusterCommand>,
    telemetry: ClusterTelemetry,
    state: watch::Receiver<ClusterState>,
    attach: Option<oneshot::Sender<AttachedShards>>,
    commands: mpsc::Sender<NodeCommand>,
    thread: JoinHandle<()>,
}

/// Facts about the database that a node tells its cluster.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseFacts {
    /// Identity of the database, which all nodes must share.
    pub identity: u64,
    /// The highest epoch in the database.
    pub latest_epoch: u64,
}

/// The shards of this server, given to the node's thread once they run.
struct AttachedShards {
    lanes: LaneSenders,
    shards: Arc<[ShardHandle]>,
    done: oneshot::Sender<()>,
}

/// Handles of a node that has joined.
struct NodeHandles {
    telemetry: ClusterTelemetry,
    commands: mpsc::Sender<NodeCommand>,
}

/// The thread's ends of the channels between it and the [`Cluster`].
struct ThreadChannels {
    far: mpsc::UnboundedReceiver<ClusterCommand>,
    attach: oneshot::Receiver<AttachedShards>,
    view: watch::Sender<Arc<View>>,
    state: watch::Sender<ClusterState>,
    joined: oneshot::Sender<Result<NodeHandles, String>>,
}

impl Cluster {
    /// Joins the cluster that the configuration names, or founds it.
    ///
    /// # Errors
    /// A sentence that says why the node cannot join, and what to do.
    #[expect(clippy::disallowed_methods, reason = "the plane's credits bound what is under way on each lane")]
    pub async fn join(config: &Config, shards: ShardIndex, database: DatabaseFacts) -> Result<Self, String> {
        let options = nats_options(&config.cluster);
        let patience = Duration::from_secs(config.general.start_wait_sec);
        let node = node_options(config, shards, database);
        let load = Load::new(shards, config.cluster.busy_percent);
        let (far, far_out) = mpsc::unbounded_channel();
        let (attach, attached) = oneshot::channel();
        let view = watch::Sender::new(Arc::new(View::empty(Epoch::default())));
        let (state_in, state) = watch::channel(ClusterState::Member);
        let (joined_in, joined) = oneshot::channel();
        let channels = ThreadChannels { far: far_out, attach: attached, view, state: state_in, joined: joined_in };
        let thread = Builder::new()
            .name("cluster".to_owned())
            .spawn(move || thread::run((&options, patience), node, load, channels))
            .map_err(|error| format!("cannot start the thread of the cluster: {error}"))?;
        let joined = joined.await.map_err(|_| "the thread of the cluster ended while it joined".to_owned())??;
        let NodeHandles { telemetry, commands } = joined;
        Ok(Self { far, telemetry, state, attach: Some(attach), commands, thread })
    }

    /// Connects the shards to the other nodes. When the future resolves, the shards follow the cluster's view.
    ///
    /// # Errors
    /// When a shard or the thread has ended.
    pub async fn attach(&mut self, lanes: LaneSenders, shards: Arc<[ShardHandle]>) -> Result<(), String> {
        let (done, is_done) = oneshot::channel();
        let ended = || "the cluster was lost while the server started: see the log above".to_owned();
        let attach = self.attach.take().ok_or_else(ended)?;
        attach.send(AttachedShards { lanes, shards, done }).map_err(|_| ended())?;
        is_done.await.map_err(|_| ended())
    }

    /// The visible state of the node.
    pub fn telemetry(&self) -> &ClusterTelemetry {
        &self.telemetry
    }

    /// The jobs that this node runs.
    pub fn jobs(&self) -> Jobs {
        let ClusterTelemetry { number, authority, view, .. } = self.telemetry.clone();
        Jobs::of_node(Arc::new(move |job| {
            let view = view.borrow().clone();
            (authority.is_online() && view.job_runner(job) == Some(number)).then_some(view.epoch.0)
        }))
    }

    /// Resolves when this node is not a member any more, with the reason.
    pub async fn lost(&self) -> ClusterState {
        let mut state = self.state.clone();
        match state.wait_for(|state| !state.is_member()).await {
            Ok(state) => *state,
            Err(_) => ClusterState::Ended,
        }
    }

    /// Resolves when this node drains because an operator told it to.
    pub async fn told_to_drain(&self) {
        let mut state = self.state.clone();
        if state.wait_for(|state| matches!(state, ClusterState::Draining | ClusterState::Drained)).await.is_err() {
            std::future::pending().await
        }
    }

    /// Gives everything that this node owns to others. Resolves when it owns nothing any more, or when the others take
    /// nothing more.
    pub async fn drain(&self) {
        let mut state = self.state.clone();
        if self.commands.send(NodeCommand::Drain).await.is_ok() {
            let drained = state.wait_for(|state| !matches!(state, ClusterState::Member | ClusterState::Draining));
            if tokio::time::timeout(DRAIN_WAIT, drained).await.is_err() {
                tracing::warn!("others did not take all that this node owns: they take the rest when it has left");
            }
        }
    }

    /// Leaves the cluster: the others own everything at once. The players of this node must have gone before.
    pub async fn leave(self) {
        if self.state.borrow().is_member() && self.commands.send(NodeCommand::Leave).await.is_ok() {
            let _ = tokio::time::timeout(LEAVE_WAIT, self.lost()).await;
        }
        // The thread ends when the senders of its channels are gone.
        drop((self.far, self.commands));
        if tokio::task::spawn_blocking(move || self.thread.join()).await.is_ok_and(|ended| ended.is_err()) {
            tracing::error!("the thread of the cluster ended by a panic");
        }
    }
}

/// Options of the connection to the cluster of a configuration.
pub fn nats_options(config: &ClusterConfig) -> NatsOptions {
    let login = if let Some(file) = &config.nats_credentials_file {
        NatsLogin::CredentialsFile(file.clone())
    } else if let Some(file) = &config.nats_nkey_file {
        NatsLogin::NkeyFile(file.clone())
    } else if !config.nats_token.is_empty() {
        NatsLogin::Token(config.nats_token.expose().to_owned())
    } else if !config.nats_user.is_empty() {
        NatsLogin::Password { user: config.nats_user.clone(), password: config.nats_password.expose().to_owned() }
    } else {
        NatsLogin::None
    };
    let files = config.nats_certificate_file.clone().zip(config.nats_private_key_file.clone());
    let certificate =
        files.map(|(certificate_file, private_key_file)| NodeCertificate { certificate_file, private_key_file });
    NatsOptions {
        urls: config.nats.clone(),
        login,
        ca_file: config.nats_ca_file.clone(),
        certificate,
        cluster: config.name.clone(),
        replicas: config.nats_replicas.count(),
        request_wait: REQUEST_WAIT,
    }
}

/// The seals of the cluster of a configuration with keys.
pub fn seal(config: &Config) -> Seal {
    Seal::new(&keys::cluster_key(config), seal_use(config))
}

fn seal_use(config: &Config) -> SealUse {
    match config.cluster.seals {
        Seals::Require => SealUse::Require,
        Seals::Accept => SealUse::Accept,
        Seals::Off => SealUse::Off,
    }
}

/// The seals for a command that speaks to a cluster from outside.
///
/// # Errors
/// A sentence, if the command has not found the keys of the cluster.
pub fn seal_of_command(config: &Config) -> Result<Seal, String> {
    if config.session.encryption_key.is_empty() || config.session.refresh_encryption_key.is_empty() {
        return Err(format!(
            "the nodes of a cluster listen only to who has their keys, and there is no {} in {}: copy it there from a \
             node, or name the folder where it is by --data_dir",
            keys::FILE_NAME,
            config.general.data_dir.display()
        ));
    }
    Ok(seal(config))
}

fn node_options(config: &Config, shards: ShardIndex, database: DatabaseFacts) -> NodeOptions {
    let cluster = &config.cluster;
    let roles =
        Roles { gateway: cluster.has_role("gateway"), live: cluster.has_role("live"), jobs: cluster.has_role("jobs") };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as Millis;
    NodeOptions {
        node: NodeConfig {
            name: config.general.name.as_str().into(),
            shards,
            weight: cluster.weight,
            roles,
            compatibility: Compatibility {
                wire_version: muster_wire::batch::VERSION,
                readable_from: muster_wire::batch::READABLE_FROM,
                keys: keys::fingerprint(config),
                database: database.identity,
                recovers_parties: Some(cluster.recover_parties),
                seals: Some(seal_use(config)),
            },
            epoch_floor: now.max(database.latest_epoch),
        },
        links: LinkConfig::default(),
        clock: NodeClock::of_system(),
        seal: seal(config),
    }
}
