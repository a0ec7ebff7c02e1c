//! The task of a node: it passes events to its membership and its links, and carries out their actions.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use muster_live::Millis;
use tokio::sync::mpsc;

use super::clock::Alarm;
use super::member_links::MemberLinks;
use super::metrics::NodeMetrics;
use super::outbound::{Peers, QueuedBatch};
use super::{LEAVE_WITHIN_MS, NodeAuthority, NodeClock, NodeCommand, NodeEvent, NodeOptions, draw};
use crate::bus::{Address, Bus, BusError, Connection, Inbox, Probe};
use crate::link::{LinkConfig, LinksStats};
use crate::membership::timing::{ANSWER_WITHIN_MS, PROBE_EVERY_MS, RETRY_MS};
use crate::membership::{Action, Membership, MembershipEvent, Node, RequestRef, View};
use crate::registry::{Registry, RegistryError, Written};
use crate::seal::{FRAME_SEAL_BYTES, Seal};

/// Largest number of frames, and of batches, that one turn of the loop takes in before other events get a turn.
const TURN_MAX: usize = 64;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Explains why the node cannot go on.
struct DriverEnd(&'static str);

const BUS_GONE: DriverEnd = DriverEnd("the bus is gone for good");
const REGISTRY_GONE: DriverEnd = DriverEnd("the registry is gone for good");
const UNREAD: DriverEnd = DriverEnd("nobody reads the events of the node");

/// The state of a node's task.
pub(super) struct Driver<N: Bus + Registry> {
    outside: Arc<N>,
    clock: NodeClock,
    membership: Membership,
    link_config: LinkConfig,
    seal: Seal,
    /// Writes and probes under way, each bounded in time.
    answers: FuturesUnordered<Boxed<MembershipEvent>>,
    /// The attempt to listen, until it succeeds.
    listening: Option<Boxed<N::Inbox>>,
    inbox: Option<N::Inbox>,
    /// The links to the other members, while this node is in the view.
    member_links: Option<MemberLinks>,
    events: mpsc::Sender<NodeEvent>,
    /// Events that one turn brought and that do not fit into `events`. Nothing more is read while any are here, and
    /// consecutive views are merged into one.
    pending: VecDeque<NodeEvent>,
    peers: Arc<Peers>,
    authority: NodeAuthority,
    metrics: Arc<NodeMetrics>,
    /// Latest time at which the node leaves. It leaves earlier if all sent batches have arrived.
    leaves_at: Option<Millis>,
    /// Whether the server has asked to leave.
    is_leaving: bool,
    has_left: bool,
    /// The reason for which the registry refused a write, kept so that it is logged once.
    refusal: Option<String>,
}

impl<N: Bus + Registry> Driver<N> {
    pub(super) fn new(
        outside: Arc<N>,
        options: NodeOptions,
        events: mpsc::Sender<NodeEvent>,
        peers: Arc<Peers>,
        authority: NodeAuthority,
        metrics: Arc<NodeMetrics>,
    ) -> Self {
        let NodeOptions { node, links, clock, seal } = options;
        let frame_bytes_max = links.frame_bytes_max.min(outside.frame_bytes_max().saturating_sub(FRAME_SEAL_BYTES));
        Self {
            membership: Membership::new(node, draw(), clock.now()),
            outside,
            clock,
            link_config: LinkConfig { frame_bytes_max, ..links },
            seal,
            answers: FuturesUnordered::new(),
            listening: None,
            inbox: None,
            member_links: None,
            events,
            pending: VecDeque::new(),
            peers,
            authority,
            metrics,
            leaves_at: None,
            is_leaving: false,
            has_left: false,
            refusal: None,
        }
    }

    /// Runs the node. Events on which membership depends are handled before the bulk of frames and batches.
    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<NodeCommand>,
        mut batches: mpsc::Receiver<QueuedBatch>,
    ) {
        let mut watch = self.outside.watch();
        let mut connection = self.outside.connection();
        let now = *connection.borrow_and_update();
        self.connection(now);
        let mut alarm = Alarm::new(self.clock);
        loop {
            alarm.set(self.due());
            let turn = tokio::select! {
                biased;
                changed = connection.changed() => changed.map_err(|_| BUS_GONE).map(|()| {
                    let now = *connection.borrow_and_update();
                    self.connection(now);
                }),
                event = watch.next() => {
                    event.ok_or(REGISTRY_GONE).map(|event| self.step(MembershipEvent::Registry(event)))
                }
                Some(event) = self.answers.next() => { self.answered(event); Ok(()) }
                () = alarm.ring() => { self.tick(); Ok(()) }
                Some(command) = commands.recv() => { self.command(command); Ok(()) }
                inbox = maybe(&mut self.listening) => { self.listens(inbox); Ok(()) }
                told = hand_on(&self.events, &mut self.pending), if !self.pending.is_empty() => told,
                frame = receive(&mut self.inbox), if self.pending.is_empty() => {
                    frame.ok_or(BUS_GONE).map(|frame| self.receive(&frame, &mut batches))
                }
                Some(taken) = batches.recv() => { self.send(Some(taken), &mut batches); Ok(()) }
            };
            self.leave_if_due(batches.is_empty());
            if let Err(DriverEnd(reason)) = turn {
                tracing::error!(reason, "this node ends");
                return;
            }
            if self.has_ended() {
                return;
            }
        }
    }

    /// Whether the node has left, with all events passed on and all requests answered.
    fn has_ended(&self) -> bool {
        self.has_left && self.pending.is_empty() && self.answers.is_empty()
    }

    fn due(&self) -> Millis {
        let links = self.member_links.as_ref().and_then(MemberLinks::next_due);
        let due = [links, self.leaves_at].into_iter().flatten().min().unwrap_or(Millis::MAX);
        due.min(self.membership.next_due())
    }

    fn connection(&mut self, now: Connection) {
        self.step(MembershipEvent::Connection { is_up: now.is_up, losses: now.losses });
    }

    fn tick(&mut self) {
        let now = self.clock.now();
        if self.membership.next_due() <= now {
            self.step(MembershipEvent::Tick);
        }
        if let Some(member_links) = &mut self.member_links {
            member_links.tick(now);
            self.metrics.links.send_replace(member_links.stats());
        }
        self.settle();
    }

    /// Passes an event to the membership and carries out its actions.
    fn step(&mut self, event: MembershipEvent) {
        let mut actions = Vec::new();
        self.membership.handle(self.clock.now(), event, &mut actions);
        // The authority is updated first, so that nobody who is told of an action sees the outdated one.
        self.authority.set(self.membership.online_until());
        self.metrics.membership.send_replace(self.membership.stats());
        actions.into_iter().for_each(|action| self.carry_out(action));
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Create { request, key, value, time_to_live_ms } => {
                let time_to_live = time_to_live_ms.map(Duration::from_millis);
                self.ask(request, |outside| async move { outside.create(&key, value, time_to_live).await });
            }
            Action::Update { request, key, value, expected, time_to_live_ms } => {
                let time_to_live = time_to_live_ms.map(Duration::from_millis);
                self.ask(request, |outside| async move { outside.update(&key, value, expected, time_to_live).await });
            }
            Action::Delete { request, key, expected } => {
                self.ask(request, |outside| async move { outside.delete(&key, expected).await });
            }
            Action::Probe { request, node } => self.probe(request, node),
            Action::ViewChanged { old, new } => {
                self.log_changes(&old, &new);
                match &mut self.member_links {
                    Some(member_links) if new.incarnation(member_links.me().incarnation).is_some() => {
                        member_links.follow(&new)
                    }
                    _ => self.close(),
                }
                self.tell(NodeEvent::View { old, new });
            }
            Action::Joined(me) => self.joined(me),
            // A node that leaves is cut off by its own wish, and has nothing left that could rest.
            Action::BecameIsland if self.is_leaving => {}
            Action::BecameIsland => {
                self.metrics.islands.fetch_add(1, Ordering::Relaxed);
                self.tell(NodeEvent::Island);
            }
            Action::BackOnline => {
                tracing::info!("this node is sure of its cluster: it acts for what it owns");
                self.tell(NodeEvent::Online);
            }
            Action::VotedOut => {
                tracing::warn!("this node was voted out of its cluster");
                self.metrics.voted_out.fetch_add(1, Ordering::Relaxed);
                self.close();
                self.tell(NodeEvent::VotedOut);
            }
            Action::Refused(reason) => self.tell(NodeEvent::Refused(reason)),
            Action::Drained => self.tell(NodeEvent::Drained),
            Action::Left => self.left(),
        }
    }

    /// Logs which other nodes came and went, from the view with which this node joined on.
    fn log_changes(&self, old: &View, new: &View) {
        let Some(me) = self.member_links.as_ref().map(MemberLinks::me) else { return };
        let is_in = |view: &View, node: &Node| view.incarnation(node.incarnation).is_some();
        if old.incarnation(me.incarnation).is_none() || new.incarnation(me.incarnation).is_none() {
            return;
        }
        for node in new.nodes().iter().filter(|node| !is_in(old, node)) {
            tracing::info!(node = %node.name, number = node.number, "a node has joined the cluster");
        }
        for node in old.nodes().iter().filter(|node| !is_in(new, node)) {
            let (name, number) = (&node.name, node.number);
            if node.is_draining {
                tracing::info!(node = %name, number, "a node has left the cluster");
            } else {
                tracing::warn!(node = %name, number, "a node is gone from the cluster: others own what it owned");
            }
        }
    }

    fn left(&mut self) {
        self.close();
        self.has_left = true;
        self.tell(NodeEvent::Left);
    }

    fn joined(&mut self, me: Address) {
        tracing::info!(number = me.number, "this node is in the cluster");
        let mut member_links =
            MemberLinks::new(me, self.link_config, self.seal.clone(), self.peers.clone(), self.metrics.clone());
        member_links.follow(self.membership.view());
        self.member_links = Some(member_links);
        self.inbox = None;
        self.listening = Some(Box::pin(listen(self.outside.clone(), me)));
        self.tell(NodeEvent::Joined(me));
    }

    /// Ends the inbox and all links: this node is not in the view.
    fn close(&mut self) {
        (self.member_links, self.listening, self.inbox) = (None, None, None);
        self.metrics.links.send_replace(LinksStats::default());
    }

    fn listens(&mut self, inbox: N::Inbox) {
        self.listening = None;
        self.inbox = Some(inbox);
        self.step(MembershipEvent::Listening);
    }

    /// Makes a write to the registry and passes its result to the membership, after a bounded time at the latest.
    fn ask<F>(&mut self, request: RequestRef, write: impl FnOnce(Arc<N>) -> F)
    where
        F: Future<Output = Written> + Send + 'static,
    {
        let write = tokio::time::timeout(Duration::from_millis(ANSWER_WITHIN_MS), write(self.outside.clone()));
        self.answers.push(Box::pin(async move {
            let outcome = write.await.unwrap_or_else(|_| Err(RegistryError::Unknown("no answer in time".to_owned())));
            MembershipEvent::Written { request, outcome }
        }));
    }

    fn probe(&mut self, request: RequestRef, node: Address) {
        let outside = self.outside.clone();
        self.answers.push(Box::pin(async move {
            let answer = tokio::time::timeout(Duration::from_millis(PROBE_EVERY_MS), outside.probe(node));
            MembershipEvent::Probed { request, probe: answer.await.unwrap_or(Probe::Unknown) }
        }));
    }

    fn answered(&mut self, event: MembershipEvent) {
        if let MembershipEvent::Written { outcome: Err(RegistryError::Refused(reason)), .. } = &event
            && self.refusal.as_ref() != Some(reason)
        {
            tracing::error!(reason, "the registry refuses what this node writes");
            self.refusal = Some(reason.clone());
        }
        self.step(event);
    }

    fn command(&mut self, command: NodeCommand) {
        match command {
            NodeCommand::HandedOver { partition, epoch } => self.step(MembershipEvent::HandedOver { partition, epoch }),
            NodeCommand::Busy(is_busy) => self.step(MembershipEvent::Busy(is_busy)),
            NodeCommand::Drain => self.step(MembershipEvent::Drain),
            NodeCommand::Leave => {
                self.is_leaving = true;
                self.leaves_at = Some(self.clock.now() + LEAVE_WITHIN_MS);
            }
            NodeCommand::Rejoin => self.step(MembershipEvent::Rejoin { incarnation: draw() }),
        }
    }

    fn leave_if_due(&mut self, is_all_taken: bool) {
        let Some(at) = self.leaves_at else { return };
        let is_flushed = is_all_taken && self.member_links.as_ref().is_none_or(MemberLinks::is_flushed);
        if is_flushed || self.clock.now() >= at {
            self.leaves_at = None;
            self.step(MembershipEvent::Leave);
            // The node was voted out before, so there is nothing to leave.
            if self.membership.number().is_none() && !self.has_left {
                self.left();
            }
        }
    }

    /// Takes in some frames, and then batches: these would never get a turn while frames keep coming.
    fn receive(&mut self, first: &Bytes, batches: &mut mpsc::Receiver<QueuedBatch>) {
        let now = self.clock.now();
        let (Some(member_links), Some(inbox)) = (&mut self.member_links, &mut self.inbox) else { return };
        member_links.receive(now, first);
        for _ in 1..TURN_MAX {
            let Some(frame) = inbox.try_receive() else { break };
            member_links.receive(now, &frame);
        }
        self.send(None, batches);
    }

    fn send(&mut self, first: Option<QueuedBatch>, batches: &mut mpsc::Receiver<QueuedBatch>) {
        let now = self.clock.now();
        let more = std::iter::from_fn(|| batches.try_recv().ok()).take(TURN_MAX);
        for taken in first.into_iter().chain(more) {
            match &mut self.member_links {
                Some(member_links) => member_links.send(now, taken),
                None => drop(self.metrics.batches_lost.fetch_add(1, Ordering::Relaxed)),
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        let Some(mut member_links) = self.member_links.take() else { return };
        let outside = self.outside.clone();
        member_links.settle(&*outside, |from, bytes| self.tell(NodeEvent::Batch { from, bytes }));
        self.member_links = Some(member_links);
    }

    fn tell(&mut self, event: NodeEvent) {
        if !self.pending.is_empty() {
            return self.keep(event);
        }
        match self.events.try_send(event) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(event)) => {
                self.metrics.events_full.fetch_add(1, Ordering::Relaxed);
                self.keep(event);
            }
            // The reader is gone. The next wait for room in the channel notices it, and the task ends.
            Err(mpsc::error::TrySendError::Closed(event)) => self.keep(event),
        }
    }

    fn keep(&mut self, event: NodeEvent) {
        if let (Some(NodeEvent::View { new: last, .. }), NodeEvent::View { new, .. }) =
            (self.pending.back_mut(), &event)
        {
            *last = new.clone();
        } else {
            self.pending.push_back(event);
        }
    }
}

impl<N: Bus + Registry> Drop for Driver<N> {
    fn drop(&mut self) {
        // After the task has ended, for whatever reason, nobody renews the lease.
        self.authority.set(None);
    }
}

/// Listens, and tries again until it succeeds.
async fn listen<N: Bus>(outside: Arc<N>, me: Address) -> N::Inbox {
    let mut told = BusError::Down;
    loop {
        match outside.listen(me).await {
            Ok(inbox) => return inbox,
            Err(error) if error == told || error == BusError::Down => {}
            Err(error) => {
                tracing::error!(%error, "this node cannot be reached by the others");
                told = error;
            }
        }
        tokio::time::sleep(Duration::from_millis(RETRY_MS)).await;
    }
}

/// Hands on the first waiting event once the channel has room.
async fn hand_on(events: &mpsc::Sender<NodeEvent>, pending: &mut VecDeque<NodeEvent>) -> Result<(), DriverEnd> {
    let room = events.reserve().await.map_err(|_| UNREAD)?;
    if let Some(event) = pending.pop_front() {
        room.send(event);
    }
    Ok(())
}

async fn maybe<T>(future: &mut Option<Boxed<T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn receive<I: Inbox>(inbox: &mut Option<I>) -> Option<Bytes> {
    match inbox {
        Some(inbox) => inbox.receive().await,
        None => std::future::pending().await,
    }
}
