//! A shard: one thread with its connections, their sessions and everything that runs for them.
//!
//! Lanes: commands come in through one bounded channel and are handled in order; sockets are woken through their
//! handles on this thread. Nothing here is locked, and no shard waits for another.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use muster_api::App;
use muster_api::live::Live;
use muster_api::realtime::framer::Framer;
use muster_domain::admission::AddressSlot;
use muster_domain::ports::revocations::Revocation;
use muster_live::plane::{Carried, RecoveryKey};
use muster_live::{CloseReason, Epoch, Partition, Plane, Routes};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::LocalSet;
use tokio::time::{Instant, MissedTickBehavior, sleep, sleep_until, timeout};

use crate::config::GatewayConfig;
use crate::game;
use crate::listener::ConnectionPermit;
use crate::metrics::{GatewayMetrics, GaugeGuard};
use crate::rim::{Batch, LaneEnds, ShardRim};
use crate::ws::handle::Pushing;
use crate::ws::resume::{self, PortableSocket, Resumables};
use crate::ws::shared::SocketShared;

/// Time between two looks whether durable matches are at rest.
const REST_LOOK: Duration = Duration::from_millis(5);
/// The longest time that the database may take to prove that it is there. Callers give up a little later.
const READINESS_WAIT: Duration = Duration::from_secs(3);
/// Time for which an answer of the database serves other callers: each answer costs the database a synced write.
const READINESS_KEPT: Duration = Duration::from_millis(100);

/// Time between two publications of a shard's plane gauges.
const STATS_PERIOD: Duration = Duration::from_millis(500);

/// Commands that may wait for one shard. Further senders wait.
const COMMANDS_MAX: usize = 1_024;

/// A command to a shard, from outside its thread.
pub enum ShardCommand {
    /// A new connection.
    Connection {
        /// The connection, not yet known to any runtime.
        stream: std::net::TcpStream,
        /// The other end.
        peer: SocketAddr,
        /// Given back when the connection closes.
        permit: ConnectionPermit,
    },
    /// A socket that another shard accepted for a session of this one.
    Socket(Box<PortableSocket>),
    /// The handles of all shards, this one included.
    Peers(Arc<[ShardHandle]>),
    /// Tokens were revoked: their sockets close.
    Revoked(Revocation),
    /// New owners of partitions, or other nodes; `done` is told when this shard uses them.
    Routes(Routes, oneshot::Sender<()>),
    /// Whether the node is an island: there is no way to the other nodes for now. `done` is told when this shard acts
    /// by that.
    Island(bool, oneshot::Sender<()>),
    /// The reason for which the node should get no players now, if there is one; told by `/readycheck`.
    Unready(Option<&'static str>),
    /// Nobody new is let in, and sessions that survive their socket are sent to other nodes.
    Drain,
    /// Matches of game code end. Their code is told the number of seconds that it has left.
    EndMatches(u32),
    /// Recovery data of these things are handed out again, as far as this shard owns them: what was kept is lost.
    KeepAgain(Arc<[RecoveryKey]>),
    /// Recovery data of partitions that this shard owns after a crash.
    Recovered(Vec<(Partition, Epoch, Vec<Carried>)>),
    /// Game code says farewell, on one shard of a server; `done` is told when it has, or when its time is over.
    Farewell {
        /// The time that game code has.
        within: Duration,
        /// Told at the end.
        done: oneshot::Sender<()>,
    },
    /// Durable matches come to rest; `done` is told when all have, or when their time is over.
    RestMatches {
        /// The time that the matches have.
        within: Duration,
        /// Told at the end.
        done: oneshot::Sender<()>,
    },
    /// The shard closes everything, then ends; `done` is told how many connections outlived their time.
    Stop {
        /// The time that connections have to end by themselves.
        within: Duration,
        /// Told at the end.
        done: oneshot::Sender<usize>,
    },
}

/// Makes the shard's application parts, on the shard's own thread and runtime.
pub type AppFactory = Box<dyn FnOnce(Rc<Live>) -> Pin<Box<dyn Future<Output = Result<Rc<App>, String>>>> + Send>;

/// A shard as seen from outside.
#[derive(Clone)]
pub struct ShardHandle {
    commands: mpsc::Sender<ShardCommand>,
    connections: Arc<AtomicUsize>,
}

impl ShardHandle {
    /// Number of connections that the shard has now.
    pub fn load(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Whether the shard's thread runs.
    pub fn is_alive(&self) -> bool {
        !self.commands.is_closed()
    }

    /// Resolves when the shard's thread has ended, by a stop or by a panic.
    pub async fn ended(&self) {
        self.commands.closed().await;
    }

    /// Sends the shard a command, and waits while its queue is full.
    ///
    /// # Errors
    /// An error if the shard has ended.
    pub async fn send(&self, command: ShardCommand) -> io::Result<()> {
        if matches!(command, ShardCommand::Connection { .. } | ShardCommand::Socket(_)) {
            // Counted here so that a burst of connections spreads before the shard has seen the first.
            self.connections.fetch_add(1, Ordering::Relaxed);
        }
        self.commands.send(command).await.map_err(|_| io::Error::other("the shard has ended"))
    }

    /// Sends the shard a command that it answers. `None` when the shard has ended, before or after it read the command.
    pub async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> ShardCommand) -> Option<T> {
        let (done, answer) = oneshot::channel();
        self.send(command(done)).await.ok()?;
        tokio::select! {
            biased;
            answer = answer => answer.ok(),
            // A command that comes in while the shard ends lies in its queue for as long as anybody can send there: its
            // answer is neither given nor dropped.
            () = self.ended() => None,
        }
    }
}

/// State that the connections of a shard share.
pub struct Shard {
    /// Operations and their dependencies.
    pub app: Rc<App>,
    /// Limits.
    pub config: Arc<GatewayConfig>,
    /// Counters.
    pub metrics: Arc<GatewayMetrics>,
    /// The rim, by which the live plane reaches sockets and other shards.
    pub rim: Rc<ShardRim>,
    /// Buffers and limits of sockets.
    pub sockets: Rc<SocketShared<Arc<GatewayMetrics>>>,
    /// Limits of frames that wait for sockets.
    pub pushing: Rc<Pushing>,
    /// Sessions that survive their socket.
    pub resumables: Resumables,
    peers: OnceCell<Arc<[ShardHandle]>>,
    leaving: Cell<bool>,
    draining: Cell<bool>,
    unready: Cell<Option<&'static str>>,
    open: Cell<usize>,
    /// Requests that are worked on in tasks of their own.
    working: Cell<usize>,
    closed: Notify,
    http_wakers: RefCell<HashMap<u64, Waker>>,
    next_connection: Cell<u64>,
    readiness: Cell<Option<(Instant, bool)>>,
    load: Arc<AtomicUsize>,
}

impl Shard {
    /// The index of the shard.
    pub fn index(&self) -> usize {
        usize::from(self.app.live.place().shard())
    }

    /// The handle of another shard, if there is one of this index and it is known already.
    pub fn peer(&self, index: usize) -> Option<ShardHandle> {
        self.peers.get()?.get(index).cloned()
    }

    /// Whether nobody new is let in: other nodes take over the sessions of this one.
    pub fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    /// The reason for which the node of a cluster should get no players now, if there is one.
    pub fn unready(&self) -> Option<&'static str> {
        self.unready.get()
    }

    /// Whether the server is stopping: no connection may send a further request.
    pub fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Whether the database answers, now or a moment ago.
    pub async fn is_ready(&self) -> bool {
        if let Some((asked, answer)) = self.readiness.get()
            && asked.elapsed() < READINESS_KEPT
        {
            return answer;
        }
        let answer = timeout(READINESS_WAIT, self.app.store.ping()).await;
        let is_ready = matches!(answer, Ok(Ok(_)));
        self.readiness.set(Some((Instant::now(), is_ready)));
        is_ready
    }

    /// Keeps the waker of an HTTP connection, to be woken when draining begins.
    pub fn watch_http(&self, connection: u64, waker: &Waker) {
        self.http_wakers.borrow_mut().entry(connection).or_insert_with(|| waker.clone());
    }

    /// Forgets an HTTP connection that ended or became a socket.
    pub fn unwatch_http(&self, connection: u64) {
        self.http_wakers.borrow_mut().remove(&connection);
    }

    /// A number for the next HTTP connection.
    pub fn number_connection(&self) -> u64 {
        let number = self.next_connection.get();
        self.next_connection.set(number + 1);
        number
    }

    fn accept(self: &Rc<Self>, stream: std::net::TcpStream, peer: SocketAddr, permit: ConnectionPermit) {
        let shard = self.clone();
        let guard = ConnectionGuard::new(self.clone(), permit);
        tokio::task::spawn_local(async move {
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            match stream {
                Ok(stream) => crate::http::serve(stream, peer, shard, guard).await,
                Err(error) => tracing::debug!(%error, "connection lost before its shard took it"),
            }
        });
    }

    async fn drain(&self, within: Duration) -> usize {
        self.draining.set(true);
        self.rim.for_each_socket(|socket| socket.close(CloseReason::ServerStopping));
        for (_, waker) in self.http_wakers.borrow_mut().drain() {
            waker.wake();
        }
        let all_closed = async {
            while self.open.get() > 0 || self.working.get() > 0 {
                self.closed.notified().await;
            }
        };
        let _ = timeout(within, async {
            all_closed.await;
            // Game code is told all events until then, the ends of sessions among them.
            self.app.game.settled().await;
        })
        .await;
        self.open.get()
    }
}

/// Counts a connection as open until dropped, wherever the connection's task went.
pub struct ConnectionGuard {
    permit: ConnectionPermit,
    _counted: Counted,
}

impl ConnectionGuard {
    /// Counts a connection from now on.
    pub fn new(shard: Rc<Shard>, permit: ConnectionPermit) -> Self {
        shard.open.set(shard.open.get() + 1);
        shard.metrics.connections.fetch_add(1, Ordering::Relaxed);
        Self { permit, _counted: Counted(shard) }
    }

    /// Counts the connection for the address of its client, too: the connection is a proxy's.
    pub fn count_for_client(&mut self, of_address: Option<AddressSlot>) {
        if of_address.is_some() {
            self.permit.of_address = of_address;
        }
    }

    /// Ends the counting of a connection that goes to another shard, which counts it next.
    pub fn into_permit(self) -> ConnectionPermit {
        self.permit
    }
}

/// Counts a connection of a shard until dropped.
struct Counted(Rc<Shard>);

impl Drop for Counted {
    fn drop(&mut self) {
        let Self(shard) = self;
        shard.open.set(shard.open.get() - 1);
        shard.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        shard.load.fetch_sub(1, Ordering::Relaxed);
        shard.closed.notify_one();
    }
}

/// Counts a request as worked on until dropped, also when its connection has gone: a shard that stops waits for it.
pub struct Working(Rc<Shard>);

impl Working {
    /// Counts a request from now on.
    pub fn on(shard: Rc<Shard>) -> Self {
        shard.working.set(shard.working.get() + 1);
        Self(shard)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.working.set(self.0.working.get() - 1);
        self.0.closed.notify_one();
    }
}

/// Starts a shard, and waits until its application parts are there.
///
/// # Errors
/// The message of the factory, or that the thread could not be started.
pub async fn start(
    ends: LaneEnds,
    config: Arc<GatewayConfig>,
    metrics: Arc<GatewayMetrics>,
    factory: AppFactory,
) -> Result<(ShardHandle, thread::JoinHandle<()>), String> {
    let index = ends.me.shard();
    let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
    let (ready, started) = oneshot::channel();
    let load = Arc::new(AtomicUsize::new(0));
    let handle = ShardHandle { commands, connections: load.clone() };
    let start = Start { config, metrics, factory, load, inbox, ends };
    let thread = thread::Builder::new()
        .name(format!("shard-{index}"))
        .spawn(move || run(start, ready))
        .map_err(|error| format!("cannot start the thread of shard {index}: {error}"))?;
    match started.await {
        Ok(Ok(())) => Ok((handle, thread)),
        Ok(Err(reason)) => Err(reason),
        Err(_) => Err(format!("shard {index} ended while it started")),
    }
}

/// The values that a shard's thread begins with.
struct Start {
    config: Arc<GatewayConfig>,
    metrics: Arc<GatewayMetrics>,
    factory: AppFactory,
    load: Arc<AtomicUsize>,
    inbox: mpsc::Receiver<ShardCommand>,
    ends: LaneEnds,
}

fn run(start: Start, ready: oneshot::Sender<Result<(), String>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(format!("cannot start a runtime: {error}")));
            return;
        }
    };
    LocalSet::new().block_on(&runtime, async move {
        let Start { config, metrics, factory, load, inbox, ends } = start;
        let LaneEnds { me, routes, senders, far, receiver } = ends;
        let sockets = Rc::new(SocketShared::new(config.socket, metrics.clone()));
        let rim = Rc::new(ShardRim::new(me, senders, far, sockets.clone()));
        let framer = Framer::new(config.node.clone(), config.is_dev);
        let plane = Plane::new(me, routes, config.plane.clone(), framer.clone());
        let app = match factory(Rc::new(Live::new(plane, rim.clone()))).await {
            Ok(app) => app,
            Err(reason) => {
                let _ = ready.send(Err(reason));
                return;
            }
        };
        framer.frames_for(&app);
        let is_asked = app.game.has_matched_function();
        app.live.step(|plane, _, _| plane.ask_of_matches(is_asked));
        let _ = ready.send(Ok(()));
        let pushing = Rc::new(Pushing::new(config.outbox, metrics.clone()));
        let shard = Rc::new(Shard {
            app,
            config,
            metrics,
            rim,
            sockets,
            pushing,
            resumables: Resumables::default(),
            peers: OnceCell::new(),
            leaving: Cell::new(false),
            unready: Cell::new(None),
            draining: Cell::new(false),
            open: Cell::new(0),
            working: Cell::new(0),
            closed: Notify::new(),
            http_wakers: RefCell::default(),
            next_connection: Cell::new(0),
            readiness: Cell::new(None),
            load,
        });
        shard.rim.attach_shard(Box::new(game::ShardEffects(Rc::downgrade(&shard))));
        shard.app.live.attach_engines(shard.app.game.match_engines());
        serve(&shard, inbox, receiver).await;
    });
}

/// The shard's loop: commands, other shards, and the plane's own time, until it is told to stop and has drained.
async fn serve(shard: &Rc<Shard>, mut inbox: mpsc::Receiver<ShardCommand>, mut lanes: mpsc::UnboundedReceiver<Batch>) {
    let (rim, live) = (&shard.rim, &shard.app.live);
    let mut stopping: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    let mut publishing = tokio::time::interval(STATS_PERIOD);
    publishing.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            Some(command) = inbox.recv() => match command {
                // A shard that stops lets nobody in any more.
                ShardCommand::Connection { .. } | ShardCommand::Socket(_) | ShardCommand::Stop { .. }
                    if stopping.is_some() => {}
                ShardCommand::Connection { stream, peer, permit } => shard.accept(stream, peer, permit),
                ShardCommand::Socket(portable) => resume::take_in(*portable, shard),
                ShardCommand::Peers(peers) => {
                    // The handles are set once.
                    let _ = shard.peers.set(peers);
                }
                ShardCommand::Routes(routes, done) => {
                    live.step(|plane, now, out| plane.reroute(now, routes, out));
                    // The receiver may have gone.
                    let _ = done.send(());
                }
                ShardCommand::Island(is_island, done) => {
                    live.step(|plane, now, _| plane.set_island(now, is_island));
                    let _ = done.send(());
                }
                ShardCommand::Unready(reason) => shard.unready.set(reason),
                ShardCommand::Drain => {
                    shard.leaving.set(true);
                    tokio::task::spawn_local(resume::send_all_away(shard.clone()));
                }
                ShardCommand::EndMatches(grace_sec) => {
                    live.step(|plane, now, out| plane.terminate_matches(now, grace_sec, out));
                }
                ShardCommand::KeepAgain(keys) => live.step(|plane, now, _| plane.keep_again(now, &keys)),
                ShardCommand::Recovered(partitions) => live.step(|plane, now, out| {
                    for (partition, epoch, parts) in partitions {
                        plane.recovered(now, partition, epoch, parts, out);
                    }
                }),
                ShardCommand::Revoked(revocation) => muster_api::realtime::revoke(&shard.app, &revocation),
                ShardCommand::Farewell { within, done } => {
                    tokio::task::spawn_local(game::say_farewell(shard.app.clone(), within, done));
                }
                ShardCommand::RestMatches { within, done } => {
                    live.step(|plane, now, out| plane.rest_matches(now, out));
                    let live = live.clone();
                    tokio::task::spawn_local(async move {
                        let at_rest = async {
                            while !live.look(|plane| plane.are_matches_at_rest()) {
                                sleep(REST_LOOK).await;
                            }
                        };
                        let _ = timeout(within, at_rest).await;
                        let _ = done.send(());
                    });
                }
                ShardCommand::Stop { within, done } => {
                    let shard = shard.clone();
                    stopping = Some(Box::pin(async move {
                        let left = shard.drain(within).await;
                        let _ = done.send(left);
                    }));
                }
            },
            Some(batch) = lanes.recv() => {
                live.step(|plane, now, out| {
                    for message in batch.messages {
                        plane.receive(now, batch.from, message, out);
                    }
                });
            }
            () = sleep_until(rim.due().unwrap_or_else(Instant::now)), if rim.due().is_some() => {
                live.step(|plane, now, out| plane.turn(now, out));
            }
            () = tokio::task::yield_now(), if rim.is_busy() => {
                live.step(|plane, now, out| plane.run_slice(now, out));
            }
            () = rim.changed() => {}
            _ = publishing.tick() => shard.metrics.publish_plane(live.place().shard(), live.stats()),
            () = async { if let Some(stopping) = &mut stopping { stopping.await } }, if stopping.is_some() => {
                // Other nodes hear that the shard's sessions have gone.
                rim.flush();
                return;
            }
            else => return,
        }
        rim.flush();
        if live.is_broken() {
            tracing::error!("the live plane of a shard panicked: the shard ends");
            return;
        }
    }
}

/// Counts a socket as open until the guard is dropped.
pub fn count_session(metrics: &GatewayMetrics) -> GaugeGuard<'_> {
    metrics.sockets_opened.fetch_add(1, Ordering::Relaxed);
    GaugeGuard::new(&metrics.sessions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_question_to_a_shard_that_ends_without_reading_it_has_no_answer() {
        let (commands, mut inbox) = mpsc::channel(1);
        let shard = ShardHandle { commands, connections: Arc::default() };
        let mut asked = Box::pin(shard.ask(|done| ShardCommand::Island(false, done)));
        assert!(futures_util::poll!(&mut asked).is_pending());
        assert_eq!(inbox.len(), 1);
        // The queue keeps the command that is in it.
        inbox.close();
        assert_eq!(asked.await, None);
    }

    #[tokio::test]
    async fn a_shard_that_panics_is_seen_to_have_ended() {
        let (commands, inbox) = mpsc::channel(1);
        let shard = ShardHandle { commands, connections: Arc::default() };
        assert!(shard.is_alive());
        let thread = std::thread::spawn(move || {
            let _inbox = inbox;
            panic!("a defect in the shard's own loop");
        });
        shard.ended().await;
        assert!(!shard.is_alive());
        assert!(thread.join().is_err());
        assert!(shard.ask(|done| ShardCommand::Island(false, done)).await.is_none());
    }
}
