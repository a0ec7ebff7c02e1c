//! The rim: where the live plane meets its shard. It finds sockets by session, sends messages along lanes to other
//! shards, and knows when the plane is to be turned next.
//!
//! Messages to other shards are collected while the shard's tasks run and leave together, so that a busy shard wakes
//! the others once for many.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::live::Rim;
use muster_live::plane::{Effect, Message, Recoverable};
use muster_live::{Epoch, Millis, NodeNumber, Partition, Place, Routes, SessionKey, ShardIndex};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::metrics::GatewayMetrics;
use crate::ws::handle::SocketHandle;
use crate::ws::shared::SocketShared;

/// Messages that one shard sent to another at once.
pub struct Batch {
    /// The shard that sent them.
    pub from: Place,
    /// The messages, in order.
    pub messages: Vec<Message>,
}

/// Messages that one shard sent to another node at once.
pub struct FarBatch {
    /// The shard that sent them.
    pub from: Place,
    /// The node that they are for.
    pub to: NodeNumber,
    /// The messages in order, each with the shard that it is for.
    pub messages: Vec<(ShardIndex, Message)>,
}

/// A command of a shard to the thread that does its node's part in the cluster.
pub enum ClusterCommand {
    /// Messages for another node.
    Batch(FarBatch),
    /// Partitions that the shard has handed over, each with the epoch since which it has another owner.
    HandedOver(Vec<(Partition, Epoch)>),
    /// Recovery data to be kept, for the next owners after a crash.
    Keep(Vec<Recoverable>),
    /// A demand for the recovery data of these partitions, on behalf of this shard.
    Recover(ShardIndex, Vec<(Partition, Epoch)>),
}

/// The ends of the lanes that one shard holds.
pub struct LaneEnds {
    /// The place of the shard.
    pub me: Place,
    /// The owners of all partitions when the server starts.
    pub routes: Routes,
    /// The ways to each shard of this node. The one to the shard itself is not used.
    pub senders: LaneSenders,
    /// The way to other nodes, where there may be some.
    pub far: Option<mpsc::UnboundedSender<ClusterCommand>>,
    /// The way from all other shards.
    pub receiver: mpsc::UnboundedReceiver<Batch>,
}

/// The ways into the shards of a node, by the index of the shard.
pub type LaneSenders = Vec<mpsc::UnboundedSender<Batch>>;

/// The lanes between this number of shards of a node on its own.
pub fn lanes(shards: ShardIndex) -> (Vec<LaneEnds>, LaneSenders) {
    lanes_of(0, &Routes::alone(shards), shards, None)
}

/// The lanes between this number of shards of a node, and to other nodes.
#[expect(clippy::disallowed_methods, reason = "the plane's credits bound what is under way on each lane")]
pub fn lanes_of(
    node: NodeNumber,
    routes: &Routes,
    shards: ShardIndex,
    far: Option<mpsc::UnboundedSender<ClusterCommand>>,
) -> (Vec<LaneEnds>, LaneSenders) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..shards).map(|_| mpsc::unbounded_channel()).unzip();
    let ends = receivers.into_iter().zip(0..).map(|(receiver, shard)| LaneEnds {
        me: Place::new(node, shard),
        routes: routes.clone(),
        senders: senders.clone(),
        far: far.clone(),
        receiver,
    });
    (ends.collect(), senders.clone())
}

/// A session and its socket.
type Attached = (SessionKey, Rc<SocketHandle>);

/// Carries out effects that concern more of a shard than its sockets and lanes.
pub trait CarryOut {
    /// Carries out one effect.
    fn carry_out(&self, effect: Effect);
}

/// The rim of one shard.
pub struct ShardRim {
    started: Instant,
    /// The sockets of sessions, by index of the session's key.
    sockets: RefCell<Vec<Option<Attached>>>,
    shared: Rc<SocketShared<Arc<GatewayMetrics>>>,
    me: Place,
    senders: LaneSenders,
    far: Option<mpsc::UnboundedSender<ClusterCommand>>,
    /// Messages to be sent, by shard of this node.
    collected: RefCell<Vec<Vec<Message>>>,
    /// Messages to be sent to other nodes.
    collected_far: RefCell<BTreeMap<NodeNumber, Vec<(ShardIndex, Message)>>>,
    next_due: Cell<Option<Millis>>,
    is_busy: Cell<bool>,
    /// Notified when the shard's loop has to look at the rim again.
    changed: Notify,
    /// The rest of the shard, once it is complete.
    shard: OnceCell<Box<dyn CarryOut>>,
    /// Effects of steps that were made while the shard started.
    early: RefCell<Vec<Effect>>,
}

impl ShardRim {
    /// The rim of a shard that starts now.
    pub fn new(
        me: Place,
        senders: LaneSenders,
        far: Option<mpsc::UnboundedSender<ClusterCommand>>,
        shared: Rc<SocketShared<Arc<GatewayMetrics>>>,
    ) -> Self {
        let collected = RefCell::new(senders.iter().map(|_| Vec::new()).collect());
        Self {
            started: Instant::now(),
            sockets: RefCell::default(),
            shared,
            me,
            senders,
            far,
            collected,
            collected_far: RefCell::default(),
            next_due: Cell::new(None),
            is_busy: Cell::new(false),
            changed: Notify::new(),
            shard: OnceCell::new(),
            early: RefCell::default(),
        }
    }

    /// Attaches a session's socket, which from now on receives the frames that the plane delivers.
    pub fn attach(&self, session: SessionKey, socket: Rc<SocketHandle>) {
        let mut sockets = self.sockets.borrow_mut();
        if sockets.len() <= session.index() {
            sockets.resize_with(session.index() + 1, || None);
        }
        sockets[session.index()] = Some((session, socket));
    }

    /// Forgets a session's socket.
    pub fn detach(&self, session: SessionKey) {
        if let Some(place) = self.sockets.borrow_mut().get_mut(session.index())
            && place.as_ref().is_some_and(|(key, _)| *key == session)
        {
            *place = None;
        }
    }

    /// Every socket of the shard.
    pub fn for_each_socket(&self, mut each: impl FnMut(&SocketHandle)) {
        self.sockets.borrow().iter().flatten().for_each(|(_, socket)| each(socket));
    }

    /// Sends the messages that were collected for other shards.
    pub fn flush(&self) {
        for (messages, sender) in self.collected.borrow_mut().iter_mut().zip(&self.senders) {
            if !messages.is_empty() {
                // A shard that has ended hears nothing any more: the server is stopping.
                let _ = sender.send(Batch { from: self.me, messages: std::mem::take(messages) });
            }
        }
        if let Some(far) = &self.far {
            for (to, messages) in std::mem::take(&mut *self.collected_far.borrow_mut()) {
                let _ = far.send(ClusterCommand::Batch(FarBatch { from: self.me, to, messages }));
            }
        }
    }

    /// Whether the plane has long work to go on with.
    pub fn is_busy(&self) -> bool {
        self.is_busy.get()
    }

    /// The time when the plane is due next.
    pub fn due(&self) -> Option<Instant> {
        self.next_due.get().map(|due| self.started + std::time::Duration::from_millis(due))
    }

    /// Resolves when there is something to flush, to turn or to go on with.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn with_socket(&self, session: SessionKey, act: impl FnOnce(&SocketHandle)) {
        let sockets = self.sockets.borrow();
        if let Some(Some((key, socket))) = sockets.get(session.index())
            && *key == session
        {
            act(socket);
        }
    }

    /// Collects a message for another shard.
    fn collect(&self, to: Place, message: Message) {
        if to.node() != self.me.node() {
            let mut collected = self.collected_far.borrow_mut();
            if collected.is_empty() {
                self.changed.notify_one();
            }
            collected.entry(to.node()).or_default().push((to.shard(), message));
            return;
        }
        let messages = &mut self.collected.borrow_mut()[usize::from(to.shard())];
        if messages.is_empty() {
            self.changed.notify_one();
        }
        messages.push(message);
    }

    fn tell_node(&self, command: ClusterCommand) {
        if let Some(far) = &self.far {
            // A node that has left its cluster hears nothing any more.
            let _ = far.send(command);
        }
    }

    /// Has the shard carry out an effect, as soon as it is complete.
    fn hand_to_shard(&self, effect: Effect) {
        match self.shard.get() {
            Some(shard) => shard.carry_out(effect),
            None => self.early.borrow_mut().push(effect),
        }
    }

    /// Attaches the complete shard, which carries out the effects that waited for it, and all further ones.
    pub fn attach_shard(&self, shard: Box<dyn CarryOut>) {
        let shard = self.shard.get_or_init(|| shard);
        self.early.take().into_iter().for_each(|effect| shard.carry_out(effect));
    }
}

impl Rim for ShardRim {
    fn now(&self) -> Millis {
        // 584 million years fit.
        self.started.elapsed().as_millis() as Millis
    }

    fn hold(&self, session: SessionKey) {
        self.with_socket(session, SocketHandle::hold);
    }

    fn carry_out(&self, effect: Effect) {
        match effect {
            Effect::Deliver(session, frame, delivery) => {
                self.with_socket(session, |socket| socket.push(frame, delivery))
            }
            Effect::Send(to, message) => self.collect(to, *message),
            Effect::Close(session, reason) => self.with_socket(session, |socket| socket.close(reason)),
            Effect::HandedOver(partitions) => self.tell_node(ClusterCommand::HandedOver(partitions)),
            Effect::Keep(recoverable) => self.tell_node(ClusterCommand::Keep(recoverable)),
            Effect::Recover(partitions) => self.tell_node(ClusterCommand::Recover(self.me.shard(), partitions)),
            effect => self.hand_to_shard(effect),
        }
    }

    fn settle(&self, next_due: Option<Millis>, is_busy: bool, is_congested: bool) {
        let was = (self.next_due.replace(next_due), self.is_busy.replace(is_busy));
        if was != (next_due, is_busy) {
            self.changed.notify_one();
        }
        if is_congested != self.shared.is_paused() {
            if is_congested { self.shared.pause() } else { self.shared.resume() }
        }
    }
}
