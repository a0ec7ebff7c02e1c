//! A running server: its failures, its draining and its stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::{join_all, select_all};
use muster_gateway::metrics::GatewayMetrics;
use muster_gateway::shard::{ShardCommand, ShardHandle};
use muster_script::ScriptMetrics;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::cluster::{Cluster, ClusterState};
use crate::game::ReloadRequest;

/// Shortest time that connections have to end, even if the shutdown code of the game took all of the configured time.
const STOP_MIN: Duration = Duration::from_secs(1);
/// Interval at which a draining node checks whether its sessions have gone.
const DRAIN_LOOK: Duration = Duration::from_millis(20);
/// Time that a draining node waits for its sessions in addition to their grace.
const DRAIN_MARGIN: Duration = Duration::from_secs(1);

/// A server that runs. Dropping it does not stop it: call [`Running::stop`].
pub struct Running {
    /// Address at which the server accepts players.
    pub address: SocketAddr,
    /// Address of the metrics page, if there is one.
    pub metrics_address: Option<SocketAddr>,
    /// Whether there was no database before.
    pub is_database_new: bool,
    /// Number of shards.
    pub shard_count: usize,
    pub(super) shards: Arc<[ShardHandle]>,
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) tasks: JoinSet<()>,
    pub(super) drain: Duration,
    /// Time for which sessions wait for their next socket.
    pub(super) grace: Duration,
    pub(super) metrics: Arc<GatewayMetrics>,
    /// Time that matches of game code have to end after a request to stop, in seconds.
    pub(super) matches_grace_sec: u32,
    pub(super) script: Arc<ScriptMetrics>,
    pub(super) cluster: Option<Cluster>,
    pub(super) reload: ReloadRequest,
}

impl Running {
    /// Resolves when a shard has ended by itself, which only a defect can cause.
    pub async fn failed(&self) {
        let ends = self.shards.iter().map(|shard| Box::pin(shard.ended()));
        select_all(ends).await;
    }

    /// Resolves when this node is not a member of its cluster any more, with the reason. On a server on its own it
    /// never resolves.
    pub async fn lost_cluster(&self) -> ClusterState {
        match &self.cluster {
            Some(cluster) => cluster.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Requests a reload of the game code. Code that fails to load changes nothing; the log tells the result.
    pub fn reload_game_code(&self) {
        self.reload.ask();
    }

    /// Resolves when an operator has told this node to drain. On a server on its own it never resolves.
    pub async fn told_to_drain(&self) {
        match &self.cluster {
            Some(cluster) => cluster.told_to_drain().await,
            None => std::future::pending().await,
        }
    }

    /// Tells the code of matches that the server stops, and waits until they have ended or their time is over. On a
    /// server on its own that gives matches no time, this does nothing. To be called before [`Self::drain`].
    pub async fn end_matches(&self) {
        let of = |count: &AtomicI64| count.load(Ordering::Relaxed);
        let left = || of(&self.script.matches) - of(&self.script.matches_durable);
        if left() <= 0 || (self.matches_grace_sec == 0 && self.cluster.is_none()) {
            return;
        }
        tracing::info!(matches = left(), seconds = self.matches_grace_sec, "matches of game code have time to end");
        for shard in self.shards.iter() {
            // A shard that has ended has no matches any more.
            let _ = shard.send(ShardCommand::EndMatches(self.matches_grace_sec)).await;
        }
        let ended = async {
            while left() > 0 {
                sleep(DRAIN_LOOK).await;
            }
        };
        let _ = timeout(Duration::from_secs(self.matches_grace_sec.into()) + DRAIN_MARGIN, ended).await;
    }

    /// On a node of a cluster: lets nobody new in, waits until sessions that survive their socket have gone on at other
    /// nodes or their grace is over, and gives everything that the node owns to others. On a server on its own, this
    /// does nothing. To be called before [`Self::stop`].
    pub async fn drain(&self) {
        let Some(cluster) = &self.cluster else { return };
        for shard in self.shards.iter() {
            // A shard that has ended lets nobody in.
            let _ = shard.send(ShardCommand::Drain).await;
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

    /// Runs the shutdown code of the game on one shard, while players are still there.
    async fn say_farewell(&self) {
        let Some(shard) = self.shards.first() else { return };
        let within = self.drain;
        // A shard that has ended runs no code.
        let _ = shard.ask(|done| ShardCommand::Farewell { within, done }).await;
    }

    /// Time that the next step of a stop has, if the stop began at `begun`.
    fn time_left(&self, begun: Instant) -> Duration {
        self.drain.saturating_sub(begun.elapsed()).max(STOP_MIN.min(self.drain))
    }

    /// Stops the server within `shutdown_drain_sec`: it accepts no more connections, runs the shutdown code of the
    /// game, brings durable matches to rest (they go on at the next start), finishes requests under way, and closes
    /// sockets with a reason. Answers the number of connections that had to be cut.
    pub async fn stop(mut self) -> usize {
        self.tasks.shutdown().await;
        let begun = Instant::now();
        self.say_farewell().await;
        self.rest_matches(begun).await;
        self.end(begun).await
    }

    /// Stops a server whose node was voted out. For everybody else its players have left and its matches belong to
    /// others, so its sockets close at once.
    pub async fn stop_voted_out(mut self) -> usize {
        self.drain = STOP_MIN.min(self.drain);
        self.tasks.shutdown().await;
        let begun = Instant::now();
        self.say_farewell().await;
        self.end(begun).await
    }

    async fn rest_matches(&self, begun: Instant) {
        let within = self.time_left(begun);
        let rests = self.shards.iter().map(|shard| shard.ask(|done| ShardCommand::RestMatches { within, done }));
        join_all(rests).await;
    }

    /// Ends the shards, the node and their threads. Answers the number of connections that had to be cut.
    async fn end(self, begun: Instant) -> usize {
        let within = self.time_left(begun);
        let stops = self.shards.iter().map(|shard| shard.ask(|done| ShardCommand::Stop { within, done }));
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
