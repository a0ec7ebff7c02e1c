//! Passes messages between shards of different nodes: from the lanes of shards to the links between nodes, and back.
//! [`muster_cluster::freight`] packs and unpacks them.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::NodeNumber;
use muster_cluster::codec::DecoderMetrics;
use muster_cluster::freight::{Packer, Unpacked, Unpacker};
use muster_cluster::membership::View;
use muster_cluster::node::{Outbound, SendError};
use muster_gateway::rim::{Batch, FarBatch, LaneSenders};
use tokio::sync::mpsc;

/// Passes messages between this node's shards and other nodes.
pub(super) struct NodeTraffic {
    me: NodeNumber,
    outbound: Outbound,
    unpacker: Unpacker,
    /// Batches that wait to be sent, by their destination. A node has a queue once something was sent to it.
    queues: HashMap<NodeNumber, mpsc::UnboundedSender<FarBatch>>,
    lanes: LaneSenders,
}

impl NodeTraffic {
    pub(super) fn new(me: NodeNumber, outbound: Outbound, lanes: LaneSenders, metrics: Arc<DecoderMetrics>) -> Self {
        let unpacker = Unpacker::new(me, lanes.len(), metrics);
        Self { me, outbound, unpacker, queues: HashMap::new(), lanes }
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
        let Unpacked { lanes, back } = match self.unpacker.unpack(from, bytes) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                tracing::error!(node = from, %error, "a batch of another node cannot be read");
                return;
            }
        };
        for (from, to, message) in back {
            self.send_out(FarBatch { from, to: to.node(), messages: vec![(to.shard(), message)] });
        }
        for (runs, lane) in lanes.into_iter().zip(&self.lanes) {
            for (from, messages) in runs {
                // An error means that the shard has ended: the server is stopping.
                let _ = lane.send(Batch { from, messages });
            }
        }
    }
}

/// Sends the batches that wait for one node over the link to it, joining as many as there are.
async fn send_queued(
    me: NodeNumber,
    to: NodeNumber,
    outbound: Outbound,
    mut waiting: mpsc::UnboundedReceiver<FarBatch>,
) {
    let mut packer = Packer::new(me);
    while let Some(first) = waiting.recv().await {
        let mut batch = packer.pack(&first, || waiting.try_recv().ok(), |far| (far.from, far.messages.as_slice()));
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
