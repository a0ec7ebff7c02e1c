//! This server as a node of a cluster: it joins before it serves, tells its shards of each view, and carries what they and
//! other nodes' shards tell each other.
//!
//! All of it runs on a thread of its own, so that a shard with much to do delays no lease, and no lease a shard.

mod arrival;
mod freight;
mod load;
mod recovery;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use muster_cluster::link::LinkConfig;
use muster_cluster::membership::{Compatibility, NodeConfig, Roles, View};
use muster_cluster::nats::{JetLogs, Nats, NatsLogin, NatsOptions};
use muster_cluster::node::{Clock, Node, NodeEvent, NodeOptions, Order};
use muster_gateway::rim::{LaneSenders, Outward};
use muster_gateway::shard::{Command, ShardHandle};
use muster_live::place::Epoch;
use muster_live::{Millis, ShardIndex};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::LocalSet;

use crate::config::{Cluster as ClusterConfig, Config};
use crate::jobs::Jobs;
use crate::keys;
use crate::telemetry::cluster::ClusterTelemetry;
use arrival::{Arrival, arrive};
use freight::Freight;
use load::Load;
use recovery::Keeper;

/// How long joining may take; others may be busy with a view of their own.
const JOIN_WAIT: Duration = Duration::from_secs(60);
/// How long leaving may take: longer than the node itself waits for what it sent to arrive.
const LEAVE_WAIT: Duration = Duration::from_secs(5);
/// How long others may take over what a node gives away.
const DRAIN_WAIT: Duration = Duration::from_secs(3);
/// How long a request to NATS may take.
const REQUEST_WAIT: Duration = Duration::from_secs(2);

/// How this node stands to its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is one of its nodes.
    Member,
    /// It was taken for dead: what it owned is others' now.
    VotedOut,
    /// There is no way to the others any more.
    Ended,
    /// It is one of its nodes, and gives everything that it owns to others.
    Draining,
    /// It is one of its nodes, and everything that it owned is another's.
    Drained,
}

impl Standing {
    fn is_member(self) -> bool {
        matches!(self, Self::Member | Self::Draining | Self::Drained)
    }
}

/// A node that has joined.
pub struct Cluster {
    /// To other nodes.
    pub far: mpsc::UnboundedSender<Outward>,
    telemetry: ClusterTelemetry,
    standing: watch::Receiver<Standing>,
    attach: Option<oneshot::Sender<Attached>>,
    orders: mpsc::Sender<Order>,
    thread: JoinHandle<()>,
}

/// The shards, once they run.
struct Attached {
    lanes: LaneSenders,
    shards: Arc<[ShardHandle]>,
    done: oneshot::Sender<()>,
}

/// What the thread tells when the node has joined.
struct Joined {
    telemetry: ClusterTelemetry,
    orders: mpsc::Sender<Order>,
}

/// What the thread works with.
struct Ends {
    far: mpsc::UnboundedReceiver<Outward>,
    attach: oneshot::Receiver<Attached>,
    view: watch::Sender<Arc<View>>,
    standing: watch::Sender<Standing>,
    joined: oneshot::Sender<Result<Joined, String>>,
}

impl Cluster {
    /// Joins the cluster that the configuration names, or founds it. `epoch_floor` is above all epochs that its database
    /// has seen.
    ///
    /// # Errors
    /// Why it cannot, and what to do.
    #[expect(clippy::disallowed_methods, reason = "the plane's credits bound what is under way on each lane")]
    pub async fn join(config: &Config, shards: ShardIndex, epoch_floor: u64) -> Result<Self, String> {
        let options = nats_options(&config.cluster);
        let node = node_options(config, shards, epoch_floor);
        let load = Load::new(shards, config.cluster.busy_percent);
        let (far, far_out) = mpsc::unbounded_channel();
        let (attach, attached) = oneshot::channel();
        let view = watch::Sender::new(Arc::new(View::empty(Epoch::default())));
        let (standing_in, standing) = watch::channel(Standing::Member);
        let (joined_in, joined) = oneshot::channel();
        let ends = Ends { far: far_out, attach: attached, view, standing: standing_in, joined: joined_in };
        let thread = thread::Builder::new()
            .name("cluster".to_owned())
            .spawn(move || run(&options, node, load, ends))
            .map_err(|error| format!("cannot start the thread of the cluster: {error}"))?;
        let joined = joined.await.map_err(|_| "the thread of the cluster ended while it joined".to_owned())??;
        let Joined { telemetry, orders } = joined;
        Ok(Self { far, telemetry, standing, attach: Some(attach), orders, thread })
    }

    /// Brings the shards together with the other nodes. When it resolves they go by the cluster's view.
    ///
    /// # Errors
    /// When a shard or the thread has ended.
    pub async fn attach(&mut self, lanes: LaneSenders, shards: Arc<[ShardHandle]>) -> Result<(), String> {
        let (done, is_done) = oneshot::channel();
        let ended = || "the cluster was lost while the server started: see the log above".to_owned();
        let attach = self.attach.take().ok_or_else(ended)?;
        attach.send(Attached { lanes, shards, done }).map_err(|_| ended())?;
        is_done.await.map_err(|_| ended())
    }

    /// What there is to see of it.
    pub fn telemetry(&self) -> &ClusterTelemetry {
        &self.telemetry
    }

    /// Which jobs this node does.
    pub fn jobs(&self) -> Jobs {
        let ClusterTelemetry { number, authority, view, .. } = self.telemetry.clone();
        Jobs::of_node(Arc::new(move |job| {
            let view = view.borrow().clone();
            (authority.is_online() && view.job_runner(job) == Some(number)).then_some(view.epoch.0)
        }))
    }

    /// Resolves with how it ended when this node is none of the cluster's any more.
    pub async fn lost(&self) -> Standing {
        let mut standing = self.standing.clone();
        match standing.wait_for(|standing| !standing.is_member()).await {
            Ok(standing) => *standing,
            Err(_) => Standing::Ended,
        }
    }

    /// Resolves when an operator has told this node to drain, or it does so already.
    pub async fn told_to_drain(&self) {
        let mut standing = self.standing.clone();
        if standing.wait_for(|standing| matches!(standing, Standing::Draining | Standing::Drained)).await.is_err() {
            std::future::pending().await
        }
    }

    /// Gives what this node owns to others. Resolves when it owns nothing any more, or nothing that others take.
    pub async fn drain(&self) {
        let mut standing = self.standing.clone();
        if self.orders.send(Order::Drain).await.is_ok() {
            let drained = standing.wait_for(|standing| !matches!(standing, Standing::Member | Standing::Draining));
            if tokio::time::timeout(DRAIN_WAIT, drained).await.is_err() {
                tracing::warn!("others did not take all that this node owns: they take the rest when it has left");
            }
        }
    }

    /// Leaves the cluster: others own at once what this node did. For a node whose players have gone.
    pub async fn leave(self) {
        if self.standing.borrow().is_member() && self.orders.send(Order::Leave).await.is_ok() {
            let _ = tokio::time::timeout(LEAVE_WAIT, self.lost()).await;
        }
        // The thread ends when nobody can send through it any more.
        drop((self.far, self.orders));
        if tokio::task::spawn_blocking(move || self.thread.join()).await.is_ok_and(|ended| ended.is_err()) {
            tracing::error!("the thread of the cluster ended by a panic");
        }
    }
}

/// How the cluster of a configuration is reached.
pub fn nats_options(config: &ClusterConfig) -> NatsOptions {
    let login = if let Some(file) = &config.nats_credentials_file {
        NatsLogin::CredentialsFile(file.clone())
    } else if !config.nats_token.is_empty() {
        NatsLogin::Token(config.nats_token.expose().to_owned())
    } else if !config.nats_user.is_empty() {
        NatsLogin::Password { user: config.nats_user.clone(), password: config.nats_password.expose().to_owned() }
    } else {
        NatsLogin::None
    };
    NatsOptions {
        urls: config.nats.clone(),
        login,
        ca_file: config.nats_ca_file.clone(),
        cluster: config.name.clone(),
        replicas: config.nats_replicas.count(),
        request_wait: REQUEST_WAIT,
    }
}

fn node_options(config: &Config, shards: ShardIndex, epoch_floor: u64) -> NodeOptions {
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
            },
            epoch_floor: now.max(epoch_floor),
        },
        links: LinkConfig::default(),
        clock: Clock::of_system(),
    }
}

fn run(options: &NatsOptions, node: NodeOptions, load: Load, ends: Ends) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ends.joined.send(Err(format!("cannot start a runtime for the cluster: {error}")));
            return;
        }
    };
    LocalSet::new().block_on(&runtime, async move {
        let nats = match Nats::connect(options).await {
            Ok(nats) => Arc::new(nats),
            Err(error) => {
                let _ = ends.joined.send(Err(error.to_string()));
                return;
            }
        };
        let match_logs = match nats.match_logs(options).await {
            Ok(logs) => logs,
            Err(error) => {
                let _ = ends.joined.send(Err(error.to_string()));
                return;
            }
        };
        serve((nats, match_logs), node, load, ends).await;
    });
}

async fn serve((nats, match_logs): (Arc<Nats>, JetLogs), options: NodeOptions, mut load: Load, ends: Ends) {
    let Ends { mut far, attach, view, standing, joined } = ends;
    let (node, mut events) = Node::start(nats.clone(), options);
    let Arrival { number, early } = match tokio::time::timeout(JOIN_WAIT, arrive(&mut events, &view)).await {
        Ok(Ok(arrival)) => arrival,
        outcome => {
            let late = || "nobody lets it in; see the log of the others".to_owned();
            let why = outcome.map_or_else(|_| late(), |joined| joined.err().unwrap_or_default());
            let _ = joined.send(Err(format!("this node could not join the cluster: {why}")));
            return;
        }
    };
    let telemetry = ClusterTelemetry {
        number,
        authority: node.authority().clone(),
        view: view.subscribe(),
        node: node.metrics().clone(),
        decoder: Arc::default(),
        nats: nats.clone(),
        match_logs,
        load_percent: Arc::default(),
    };
    let load_percent = telemetry.load_percent.clone();
    let decoder = telemetry.decoder.clone();
    let told = Joined { telemetry, orders: node.orders().clone() };
    // Others may tell this node something from now on; it waits until there are shards.
    if joined.send(Ok(told)).is_err() {
        return;
    }
    let Ok(Attached { lanes, shards, done }) = attach.await else { return };
    let mut freight = Freight::new(number, node.outbound().clone(), lanes, decoder.clone());
    let mut keeper = Keeper::new(number, nats, shards.clone(), decoder);
    let first = view.borrow().routes();
    keeper.follow(&first);
    tell(&shards, |done| Command::Routes(first.clone(), done)).await;
    early.into_iter().for_each(|(from, bytes)| freight.take_in(from, bytes));
    let _ = done.send(());
    let mut look_at_load = tokio::time::interval(load::SAMPLE_EVERY);
    look_at_load.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = look_at_load.tick() => {
                if let Some(is_busy) = load.look() {
                    tracing::info!(is_busy, load_percent = load.percent(), "this node's share of what is owned changes");
                    // Without a node there is nobody to tell.
                    let _ = node.orders().send(Order::Busy(is_busy)).await;
                }
                load_percent.store(load.percent(), Ordering::Relaxed);
            }
            event = events.recv() => match event {
                Some(NodeEvent::View { new, .. }) => {
                    freight.forget_all_but(&new);
                    let routes = new.routes();
                    keeper.follow(&routes);
                    tell(&shards, |done| Command::Routes(routes.clone(), done)).await;
                    let is_draining = new.node(number).is_some_and(|node| node.is_draining);
                    standing.send_if_modified(|standing| {
                        let begins = is_draining && *standing == Standing::Member;
                        if begins {
                            *standing = Standing::Draining;
                        }
                        begins
                    });
                    view.send_replace(new);
                }
                Some(NodeEvent::Batch { from, bytes }) => freight.take_in(from, bytes),
                Some(NodeEvent::Island) => {
                    tell(&shards, |done| Command::Island(true, done)).await;
                    tracing::warn!("no way to the cluster: this node is an island until it is back, and claims nothing new");
                }
                Some(NodeEvent::Online) => {
                    tell(&shards, |done| Command::Island(false, done)).await;
                    tracing::info!("connected to the cluster again");
                }
                Some(NodeEvent::Drained) => {
                    tracing::info!("everything that this node owned is another's now");
                    standing.send_replace(Standing::Drained);
                }
                Some(NodeEvent::Joined(_)) => {}
                Some(NodeEvent::VotedOut) => {
                    standing.send_replace(Standing::VotedOut);
                    return;
                }
                Some(NodeEvent::Refused(_) | NodeEvent::Left) | None => {
                    standing.send_replace(Standing::Ended);
                    return;
                }
            },
            batch = far.recv() => match batch {
                Some(Outward::Batch(batch)) => freight.send_out(batch),
                Some(Outward::HandedOver(partitions)) => {
                    for (partition, epoch) in partitions {
                        // Without a node there is nobody to tell.
                        let _ = node.orders().send(Order::HandedOver { partition, epoch }).await;
                    }
                }
                Some(Outward::Keep(recoverable)) => keeper.keep(recoverable),
                Some(Outward::Recover(shard, partitions)) => keeper.recover(shard, partitions),
                None => return,
            },
        }
    }
}

/// Tells all shards something, and waits until they go by it, so that nothing of a later moment comes before it. A shard
/// that has ended tells nothing.
async fn tell(shards: &[ShardHandle], command: impl Fn(oneshot::Sender<()>) -> Command) {
    join_all(shards.iter().map(|shard| shard.ask(&command))).await;
}
