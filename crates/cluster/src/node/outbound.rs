//! The way from a node's shards to its links. The bytes under way are bounded per destination, so a slow or absent node
//! holds up nobody but itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Notify, mpsc};

use super::metrics::NodeMetrics;
use super::{BATCHES_WAITING_MAX, LINK_BYTES_MAX};
use crate::NodeNumber;
use crate::link::{BATCH_BYTES_MAX, Batch, BatchTooLarge};

/// Number of bytes under way at or below which waiting senders are woken. The gap to the limit keeps wake-ups rare.
const ROOM_BYTES: usize = LINK_BYTES_MAX / 2;

/// Takes batches for other nodes. Batches of one sender for one node arrive in the order in which they were taken.
#[derive(Clone, Debug)]
pub struct Outbound {
    batches: mpsc::Sender<QueuedBatch>,
    peers: Arc<Peers>,
    metrics: Arc<NodeMetrics>,
}

/// Explains why a batch was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Too many bytes are under way to this node: give the batch again after [`Outbound::room`].
    #[error("so much is under way to this node that a batch has to wait")]
    Full(Batch),
    /// This node has no link with the other one, so the batch is lost. The events of the node say so, or will soon.
    #[error("there is no link with this node")]
    NoLink,
    /// The batch is larger than any link takes.
    #[error(transparent)]
    TooLarge(#[from] BatchTooLarge),
}

/// A batch on its way to a link.
#[derive(Debug)]
pub(super) struct QueuedBatch {
    /// The destination. If its link has ended when the batch is taken up, the batch is lost.
    pub(super) peer: Arc<Peer>,
    pub(super) batch: Batch,
}

/// Another node, for as long as the link with it lasts.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) number: NodeNumber,
    /// Bytes that were taken and have not reached the link yet.
    queued: AtomicUsize,
    /// Bytes in the link.
    held: AtomicUsize,
    has_ended: AtomicBool,
    room: Notify,
}

/// The nodes with which there are links.
#[derive(Debug, Default)]
pub(super) struct Peers(RwLock<BTreeMap<NodeNumber, Arc<Peer>>>);

/// The sending end for shards and the receiving end for the node's task.
pub(super) fn channel(metrics: Arc<NodeMetrics>) -> (Outbound, mpsc::Receiver<QueuedBatch>) {
    let (batches, taken) = mpsc::channel(BATCHES_WAITING_MAX);
    (Outbound { batches, peers: Arc::default(), metrics }, taken)
}

impl Outbound {
    pub(super) fn peers(&self) -> Arc<Peers> {
        self.peers.clone()
    }

    /// Takes a batch to be sent. Never waits.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn try_send(&self, to: NodeNumber, batch: Batch) -> Result<(), SendError> {
        let bytes = batch.len();
        if bytes > BATCH_BYTES_MAX {
            return Err(BatchTooLarge(bytes).into());
        }
        let Some(peer) = self.peers.get(to) else {
            self.metrics.batches_lost.fetch_add(1, Ordering::Relaxed);
            return Err(SendError::NoLink);
        };
        let is_taken = peer.take(bytes);
        let refused = match self.batches.try_reserve() {
            Ok(permit) if is_taken => {
                permit.send(QueuedBatch { peer, batch });
                return Ok(());
            }
            Err(mpsc::error::TrySendError::Closed(())) => SendError::NoLink,
            Ok(_) | Err(mpsc::error::TrySendError::Full(())) => {
                self.metrics.outbound_full.fetch_add(1, Ordering::Relaxed);
                SendError::Full(batch)
            }
        };
        if is_taken {
            peer.queued.fetch_sub(bytes, Ordering::AcqRel);
        }
        Err(refused)
    }

    /// Resolves when batches for this node are taken again, or when the link with it has ended. Either may take until
    /// the other node is voted out.
    pub async fn room(&self, to: NodeNumber) {
        if let Some(peer) = self.peers.get(to) {
            peer.until_room().await;
        }
        // An error means that the node has ended.
        let _ = self.batches.reserve().await;
    }
}

impl Peer {
    pub(super) fn new(number: NodeNumber) -> Self {
        Self {
            number,
            queued: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            room: Notify::new(),
        }
    }

    fn take(&self, bytes: usize) -> bool {
        let before = self.queued.fetch_add(bytes, Ordering::AcqRel) + self.held.load(Ordering::Acquire);
        // While at most half the limit is under way, a batch of any size is taken.
        let is_taken = before <= ROOM_BYTES || before + bytes <= LINK_BYTES_MAX;
        if !is_taken {
            self.queued.fetch_sub(bytes, Ordering::AcqRel);
        }
        is_taken
    }

    /// Moves a batch's bytes from the queue to the link. Between the two steps the bytes count twice. In the opposite
    /// order they would not count at all for a moment.
    pub(super) fn arrived(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::AcqRel);
        self.queued.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Sets the number of bytes that the link holds.
    pub(super) fn holds(&self, bytes: usize) {
        self.held.store(bytes, Ordering::Release);
        if self.has_room() {
            self.room.notify_waiters();
        }
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.room.notify_waiters();
    }

    fn has_room(&self) -> bool {
        self.queued.load(Ordering::Acquire) + self.held.load(Ordering::Acquire) <= ROOM_BYTES
    }

    async fn until_room(&self) {
        loop {
            let mut notified = std::pin::pin!(self.room.notified());
            // The wake-up is registered before the look at the state, so that none is missed in between.
            notified.as_mut().enable();
            if self.has_room() || self.has_ended.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }
}

impl Peers {
    fn get(&self, number: NodeNumber) -> Option<Arc<Peer>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    pub(super) fn begin(&self, peer: Arc<Peer>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(peer.number, peer);
    }

    pub(super) fn end(&self, number: NodeNumber) {
        if let Some(peer) = self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&number) {
            peer.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: usize = LINK_BYTES_MAX / 8;

    fn batch(bytes: usize) -> Batch {
        let mut batch = Batch::default();
        batch.append(|out| out.resize(out.len() + bytes, 7));
        batch
    }

    fn with_peers(numbers: &[NodeNumber]) -> (Outbound, mpsc::Receiver<QueuedBatch>) {
        let (outbound, taken) = channel(Arc::default());
        numbers.iter().for_each(|number| outbound.peers.begin(Arc::new(Peer::new(*number))));
        (outbound, taken)
    }

    fn fill(outbound: &Outbound, to: NodeNumber) {
        (0..8).for_each(|_| outbound.try_send(to, batch(PART)).expect("room"));
        assert!(matches!(outbound.try_send(to, batch(1)), Err(SendError::Full(_))));
    }

    #[tokio::test]
    async fn each_node_has_a_limit_of_its_own() {
        let (outbound, mut taken) = with_peers(&[1, 2]);
        fill(&outbound, 1);
        fill(&outbound, 2);
        assert_eq!(outbound.metrics.outbound_full.load(Ordering::Relaxed), 2);
        let peer = taken.recv().await.expect("a batch").peer;
        // The batch moves to the link, where its bytes count too.
        peer.arrived(PART);
        assert!(matches!(outbound.try_send(1, batch(1)), Err(SendError::Full(_))));
        // The batch arrived at the other node.
        peer.holds(0);
        outbound.try_send(1, batch(PART)).expect("room");
        assert!(matches!(outbound.try_send(1, batch(1)), Err(SendError::Full(_))));
    }

    #[tokio::test]
    async fn with_half_of_it_free_any_batch_is_taken() {
        let (outbound, mut taken) = with_peers(&[1]);
        fill(&outbound, 1);
        let room = wait_for_room(outbound.clone());
        for _ in 0..4 {
            assert!(!room.is_finished());
            let QueuedBatch { peer, batch } = taken.recv().await.expect("a batch");
            peer.arrived(batch.len());
            peer.holds(0);
        }
        room.await.expect("room");
        outbound.try_send(1, batch(2 * LINK_BYTES_MAX)).expect("room for any one");
    }

    fn wait_for_room(outbound: Outbound) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move { outbound.room(1).await })
    }

    #[tokio::test]
    async fn nobody_waits_for_a_link_that_ended() {
        let (outbound, _taken) = with_peers(&[1]);
        fill(&outbound, 1);
        let waiting = wait_for_room(outbound.clone());
        tokio::task::yield_now().await;
        outbound.peers.end(1);
        waiting.await.expect("no room to wait for");
        assert!(matches!(outbound.try_send(1, batch(1)), Err(SendError::NoLink)));
        assert_eq!(outbound.metrics.batches_lost.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn many_small_batches_have_a_limit_too() {
        let (outbound, mut taken) = with_peers(&[1]);
        (0..BATCHES_WAITING_MAX).for_each(|_| outbound.try_send(1, batch(1)).expect("room"));
        assert!(matches!(outbound.try_send(1, batch(1)), Err(SendError::Full(_))));
        taken.recv().await.expect("a batch");
        outbound.room(1).await;
        outbound.try_send(1, batch(1)).expect("room");
    }
}
