//! The thread of a node: joins the cluster, then serves the node and its shards until the node has left.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use muster_cluster::NodeNumber;
use muster_cluster::arrival::JoinedNode;
use muster_cluster::membership::View;
use muster_cluster::nats::{JetLogs, Nats, NatsError, NatsOptions};
use muster_cluster::node::{NodeCommand, NodeEvent, NodeOptions, RunningNode};
use muster_cluster::seal::Sealed;
use muster_gateway::rim::ClusterCommand;
use muster_gateway::shard::{ShardCommand, ShardHandle};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::LocalSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::joining::wait_until_online;
use super::load::{self, Load};
use super::recovery::RecoveryKeeper;
use super::traffic::NodeTraffic;
use super::{AttachedShards, ClusterState, NodeHandles, ThreadChannels};
use crate::telemetry::cluster::ClusterTelemetry;

/// Time limit of joining; other nodes may be busy with a view of their own.
const JOIN_WAIT: Duration = Duration::from_secs(60);

/// Pause between two attempts to reach a NATS server that is not there yet.
const NATS_PAUSE: Duration = Duration::from_millis(250);

/// The answer of `/readycheck` on an island.
const ISLAND: &str = "This server has no way to its cluster.";
/// The answer of `/readycheck` on a node whose share of the cluster's work still belongs to others.
const OWNERLESS: &str = "This server has no part in its cluster yet.";

/// Runs the node on the calling thread until it has left the cluster.
pub(super) fn run(outside: (&NatsOptions, Duration), node: NodeOptions, load: Load, channels: ThreadChannels) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => LocalSet::new().block_on(&runtime, join_and_serve(outside, node, load, channels)),
        Err(error) => {
            let _ = channels.joined.send(Err(format!("cannot start a runtime for the cluster: {error}")));
        }
    }
}

/// A node that is online in its cluster and has no shards yet.
struct OnlineNode {
    nats: Arc<Sealed<Nats>>,
    match_logs: JetLogs,
    node: RunningNode,
    events: mpsc::Receiver<NodeEvent>,
    number: NodeNumber,
    early_batches: Vec<(NodeNumber, Bytes)>,
}

impl OnlineNode {
    fn telemetry(&self, view: &watch::Sender<Arc<View>>) -> ClusterTelemetry {
        ClusterTelemetry {
            number: self.number,
            authority: self.node.authority().clone(),
            view: view.subscribe(),
            node: self.node.metrics().clone(),
            decoder: Arc::default(),
            nats: self.nats.inner().clone(),
            seals: self.nats.seal().metrics().clone(),
            match_logs: self.match_logs.clone(),
            load_percent: Arc::default(),
            clock_skew_ms: Arc::default(),
        }
    }
}

/// Joins the cluster, waits for the shards of this server, and serves the node and its shards until the node has left.
async fn join_and_serve(outside: (&NatsOptions, Duration), node: NodeOptions, load: Load, channels: ThreadChannels) {
    let ThreadChannels { far, attach, view, state, joined } = channels;
    let online = match join(outside, node, &view).await {
        Ok(online) => online,
        Err(reason) => {
            let _ = joined.send(Err(reason));
            return;
        }
    };
    let telemetry = online.telemetry(&view);
    let handles = NodeHandles { telemetry: telemetry.clone(), commands: online.node.commands().clone() };
    // Other nodes may send batches from now on. The batches wait in the node's events until there are shards.
    if joined.send(Ok(handles)).is_err() {
        return;
    }
    let Ok(AttachedShards { lanes, shards, done }) = attach.await else { return };
    let OnlineNode { nats, node, events, number, early_batches, .. } = online;
    let traffic = NodeTraffic::new(number, node.outbound().clone(), lanes, telemetry.decoder.clone());
    let keeper = RecoveryKeeper::new(number, nats, shards.clone(), telemetry.decoder.clone());
    let mut served =
        ServedNode { node, telemetry, shards, traffic, keeper, load, view, state, is_island: false, unready: None };
    served.begin(early_batches).await;
    let _ = done.send(());
    served.serve(events, far).await;
}

/// Connects to NATS. If no server answers yet, waits for one, at most for `patience`, and tells the log.
async fn connect(options: &NatsOptions, patience: Duration) -> Result<Nats, NatsError> {
    let begun = Instant::now();
    let mut has_told = false;
    loop {
        let reason = match Nats::connect(options).await {
            Err(NatsError::Unreachable { reason, .. }) if begun.elapsed() + NATS_PAUSE <= patience => reason,
            outcome => {
                if has_told && outcome.is_ok() {
                    tracing::info!(waited_sec = begun.elapsed().as_secs(), "nats answers");
                }
                return outcome;
            }
        };
        if !std::mem::replace(&mut has_told, true) {
            let patience_sec = patience.as_secs();
            tracing::warn!(reason, patience_sec, "no nats server answers yet: the start waits for one");
        }
        sleep(NATS_PAUSE).await;
    }
}

/// Joins the cluster and waits until the node is online.
async fn join(
    (options, patience): (&NatsOptions, Duration),
    node: NodeOptions,
    view: &watch::Sender<Arc<View>>,
) -> Result<OnlineNode, String> {
    let nats = Arc::new(connect(options, patience).await.map_err(|error| error.to_string())?);
    let match_logs = nats.match_logs(options, &node.seal).await.map_err(|error| error.to_string())?;
    let nats = Arc::new(Sealed::new(nats, node.seal.clone()));
    let (node, mut events) = RunningNode::start(nats.clone(), node);
    let joined = timeout(JOIN_WAIT, wait_until_online(&mut events, view)).await;
    let joined = joined
        .unwrap_or_else(|_| Err("no other node let it in within a minute; see the logs of the others".to_owned()));
    let JoinedNode { number, early_batches } =
        joined.map_err(|reason| format!("this node could not join the cluster: {reason}"))?;
    Ok(OnlineNode { nats, match_logs, node, events, number, early_batches })
}

/// A node with its shards: the node's events go to the shards, and messages of the shards to the node.
struct ServedNode {
    node: RunningNode,
    telemetry: ClusterTelemetry,
    shards: Arc<[ShardHandle]>,
    traffic: NodeTraffic,
    keeper: RecoveryKeeper,
    load: Load,
    view: watch::Sender<Arc<View>>,
    state: watch::Sender<ClusterState>,
    is_island: bool,
    /// The reason for which this node should get no players, as the shards know it.
    unready: Option<&'static str>,
}

impl ServedNode {
    /// Tells the shards of the first view, and passes on the batches that came before.
    async fn begin(&mut self, early_batches: Vec<(NodeNumber, Bytes)>) {
        let routes = self.view.borrow().routes();
        self.keeper.follow(&routes);
        tell(&self.shards, |done| ShardCommand::Routes(routes.clone(), done)).await;
        self.tell_readiness().await;
        early_batches.into_iter().for_each(|(from, bytes)| self.traffic.take_in(from, bytes));
    }

    /// Serves the node and its shards until the node is not a member any more, or the server ends.
    async fn serve(mut self, mut events: mpsc::Receiver<NodeEvent>, mut far: mpsc::UnboundedReceiver<ClusterCommand>) {
        let mut look_at_load = interval(load::SAMPLE_EVERY);
        let mut recovery_lost = self.telemetry.nats.recovery_lost();
        look_at_load.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = look_at_load.tick() => self.look_at_load().await,
                event = events.recv() => {
                    if self.take_event(event).await.is_break() {
                        return;
                    }
                }
                Ok(()) = recovery_lost.changed() => self.keeper.keep_again().await,
                command = far.recv() => match command {
                    Some(command) => self.carry_out(command).await,
                    None => return,
                },
            }
        }
    }

    async fn look_at_load(&mut self) {
        if let Some(is_busy) = self.load.look() {
            let load_percent = self.load.percent();
            tracing::info!(is_busy, load_percent, "this node's share of what is owned changes");
            self.command(NodeCommand::Busy(is_busy)).await;
        }
        self.telemetry.load_percent.store(self.load.percent(), Ordering::Relaxed);
    }

    /// Takes in an event of the node. Breaks when the node is not a member any more.
    async fn take_event(&mut self, event: Option<NodeEvent>) -> ControlFlow<()> {
        match event {
            Some(NodeEvent::View { new, .. }) => self.follow(new).await,
            Some(NodeEvent::Batch { from, bytes }) => self.traffic.take_in(from, bytes),
            Some(NodeEvent::Island) => {
                self.is_island = true;
                self.tell_readiness().await;
                tell(&self.shards, |done| ShardCommand::Island(true, done)).await;
                tracing::warn!(
                    "no way to the cluster: this node is an island until it is back, and claims nothing new"
                );
            }
            Some(NodeEvent::Online) => {
                tell(&self.shards, |done| ShardCommand::Island(false, done)).await;
                self.is_island = false;
                self.tell_readiness().await;
                tracing::info!("connected to the cluster again");
            }
            Some(NodeEvent::Drained) => {
                tracing::info!("everything that this node owned is another's now");
                self.state.send_replace(ClusterState::Drained);
            }
            Some(NodeEvent::Joined(_)) => {}
            Some(NodeEvent::VotedOut) => {
                self.state.send_replace(ClusterState::VotedOut);
                return ControlFlow::Break(());
            }
            Some(NodeEvent::Refused(_) | NodeEvent::Left) | None => {
                self.state.send_replace(ClusterState::Ended);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes in a new view, and waits until the shards follow it.
    async fn follow(&mut self, new: Arc<View>) {
        self.traffic.forget_all_but(&new);
        let routes = new.routes();
        self.keeper.follow(&routes);
        tell(&self.shards, |done| ShardCommand::Routes(routes.clone(), done)).await;
        let is_draining = new.node(self.telemetry.number).is_some_and(|node| node.is_draining);
        self.state.send_if_modified(|state| {
            let begins = is_draining && *state == ClusterState::Member;
            if begins {
                *state = ClusterState::Draining;
            }
            begins
        });
        self.view.send_replace(new);
        self.tell_readiness().await;
    }

    /// Tells the shards when the reason changes for which this node should get no players.
    async fn tell_readiness(&mut self) {
        let unready = if self.is_island {
            Some(ISLAND)
        } else if self.view.borrow().lacks_its_share(self.telemetry.number) {
            Some(OWNERLESS)
        } else {
            None
        };
        if std::mem::replace(&mut self.unready, unready) != unready {
            for shard in self.shards.iter() {
                // A shard that has ended answers nobody.
                let _ = shard.send(ShardCommand::Unready(unready)).await;
            }
        }
    }

    /// Carries out what a shard wants done outside of this server.
    async fn carry_out(&mut self, command: ClusterCommand) {
        match command {
            ClusterCommand::Batch(batch) => self.traffic.send_out(batch),
            ClusterCommand::HandedOver(partitions) => {
                for (partition, epoch) in partitions {
                    self.command(NodeCommand::HandedOver { partition, epoch }).await;
                }
            }
            ClusterCommand::Keep(recoverable) => self.keeper.keep(recoverable),
            ClusterCommand::Recover(shard, partitions) => self.keeper.recover(shard, partitions),
        }
    }

    async fn command(&self, command: NodeCommand) {
        // An error means that the node has ended, so there is nobody to tell.
        let _ = self.node.commands().send(command).await;
    }
}

/// Gives all shards a command and waits until they have followed it, so that no later message reaches a shard before
/// the command. A shard that has ended is not waited for.
async fn tell(shards: &[ShardHandle], command: impl Fn(oneshot::Sender<()>) -> ShardCommand) {
    join_all(shards.iter().map(|shard| shard.ask(&command))).await;
}
