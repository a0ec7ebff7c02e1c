//! Passes messages between shards of different nodes: from the lanes of shards to the links between nodes, and back.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::NodeNumber;
use muster_cluster::codec::{Decoder, DecoderMetrics, Encoder, Incoming};
use muster_cluster::membership::View;
use muster_cluster::node::{Outbound, SendError};
use muster_gateway::rim::{Batch, FarBatch, LaneSenders};
use muster_live::Place;
use muster_live::plane::Message;
use tokio::sync::mpsc;

/// Number of bytes at which a batch is sent although more messages wait.
const BATCH_BYTES: usize = 256 * 1024;

/// Passes messages between this node's shards and other nodes.
pub(super) struct NodeTraffic {
    me: NodeNumber,
    outbound: Outbound,
    decoder: Decoder,
    /// Batches that wait to be sent, by their destination. A node has a queue once something was sent to it.
    queues: HashMap<NodeNumber, mpsc::UnboundedSender<FarBatch>>,
    lanes: LaneSenders,
}

impl NodeTraffic {
    pub(super) fn new(me: NodeNumber, outbound: Outbound, lanes: LaneSenders, metrics: Arc<DecoderMetrics>) -> Self {
        Self { me, outbound, decoder: Decoder::new(me, metrics), queues: HashMap::new(), lanes }
    }

    /// Drops the queues for nodes that are not in the view.
    pub(super) fn forget_all_but(&mut self, view: &View) {
        self.queues.retain(|node, _| view.node(*node).is_some());
    }

    /// Queues a batch of one of this node's shards for another node.
    #[expect(clippy::disallowed_methods, reason = "the plane's credits bound what is under way on each lane")]
    pub(super) fn send_out(&mut self, batch: FarBatch) {
        let to = batch.to;
        let (me, outbound) = (self.me, &self.outbound);
        let queue = self.queues.entry(to).or_insert_with(|| {
            let (queue, waiting) = mpsc::unbounded_channel();
            tokio::task::spawn_local(send_queued(me, to, outbound.clone(), waiting));
            queue
        });
        // An error means that the link has ended: batches for that node are lost.
        let _ = queue.send(batch);
    }

    /// Takes in a batch of another node, and passes its messages in order to the lanes of their shards.
    pub(super) fn take_in(&mut self, from: NodeNumber, bytes: Bytes) {
        let mut sorted: Vec<Vec<Batch>> = self.lanes.iter().map(|_| Vec::new()).collect();
        let mut instead = Vec::new();
        match self.decoder.decode(from, bytes) {
            Ok(messages) => messages.for_each(|Incoming { from, to, content }| match content {
                Ok(message) => put(&mut sorted, from, to, message),
                Err(unread) => {
                    tracing::warn!(?from, error = %unread.error, "a message of another node cannot be read");
                    instead.extend(unread.instead(from, to));
                }
            }),
            Err(error) => tracing::error!(node = from, %error, "a batch of another node cannot be read"),
        }
        for (from, to, message) in instead {
            if to.node() == self.me {
                put(&mut sorted, from, to, message);
            } else {
                self.send_out(FarBatch { from, to: to.node(), messages: vec![(to.shard(), message)] });
            }
        }
        for (batches, lane) in sorted.into_iter().zip(&self.lanes) {
            for batch in batches {
                // An error means that the shard has ended: the server is stopping.
                let _ = lane.send(batch);
            }
        }
    }
}

/// Adds a message after those for the same shard.
fn put(sorted: &mut [Vec<Batch>], from: Place, to: Place, message: Message) {
    let Some(batches) = sorted.get_mut(usize::from(to.shard())) else { return };
    match batches.last_mut().filter(|batch| batch.from == from) {
        Some(batch) => batch.messages.push(message),
        None => batches.push(Batch { from, messages: vec![message] }),
    }
}

/// Sends the batches that wait for one node over the link to it, joining as many as there are.
async fn send_queued(
    me: NodeNumber,
    to: NodeNumber,
    outbound: Outbound,
    mut waiting: mpsc::UnboundedReceiver<FarBatch>,
) {
    let mut encoder = Encoder::new(me);
    while let Some(first) = waiting.recv().await {
        encode(&mut encoder, &first);
        while encoder.len() < BATCH_BYTES
            && let Ok(more) = waiting.try_recv()
        {
            encode(&mut encoder, &more);
        }
        let mut batch = encoder.take();
        while let Err(refused) = outbound.try_send(to, batch) {
            match refused {
                SendError::Full(back) => {
                    batch = back;
                    outbound.room(to).await;
                }
                SendError::NoLink => return,
                refused @ SendError::TooLarge(_) => {
                    tracing::error!(node = to, error = %refused, "a batch for another node is lost");
                    break;
                }
            }
        }
    }
}

fn encode(encoder: &mut Encoder, FarBatch { from, messages, .. }: &FarBatch) {
    messages.iter().for_each(|(to, message)| encoder.push(from.shard(), *to, message));
}
