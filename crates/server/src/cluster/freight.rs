//! What shards of different nodes tell each other, between their lanes and the links between nodes.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::NodeNumber;
use muster_cluster::codec::{Decoder, DecoderMetrics, Encoder, Incoming};
use muster_cluster::membership::View;
use muster_cluster::node::{NotTaken, Outbound};
use muster_gateway::rim::{Batch, FarBatch, LaneSenders};
use muster_live::Place;
use muster_live::plane::Message;
use tokio::sync::mpsc;

/// From so many bytes on a batch leaves, though more waits.
const BATCH_BYTES: usize = 256 * 1024;

/// See the module.
pub(super) struct Freight {
    me: NodeNumber,
    outbound: Outbound,
    decoder: Decoder,
    /// To each other node, those that something was sent to.
    roads: HashMap<NodeNumber, mpsc::UnboundedSender<FarBatch>>,
    lanes: LaneSenders,
}

impl Freight {
    pub(super) fn new(me: NodeNumber, outbound: Outbound, lanes: LaneSenders, metrics: Arc<DecoderMetrics>) -> Self {
        Self { me, outbound, decoder: Decoder::new(me, metrics), roads: HashMap::new(), lanes }
    }

    /// Ends the roads to nodes that are not there any more.
    pub(super) fn forget_all_but(&mut self, view: &View) {
        self.roads.retain(|node, _| view.node(*node).is_some());
    }

    /// What a shard of this node has for another node.
    #[expect(clippy::disallowed_methods, reason = "the plane's credits bound what is under way on each lane")]
    pub(super) fn send_out(&mut self, batch: FarBatch) {
        let to = batch.to;
        let (me, outbound) = (self.me, &self.outbound);
        let road = self.roads.entry(to).or_insert_with(|| {
            let (road, waiting) = mpsc::unbounded_channel();
            tokio::task::spawn_local(travel(me, to, outbound.clone(), waiting));
            road
        });
        // It has ended when there is no link any more: what is for that node is lost.
        let _ = road.send(batch);
    }

    /// What arrived from another node, in order: to the lanes of the shards that it is for.
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
                // A shard that has ended hears nothing any more: the server is stopping.
                let _ = lane.send(batch);
            }
        }
    }
}

/// Adds a message behind those for the same shard.
fn put(sorted: &mut [Vec<Batch>], from: Place, to: Place, message: Message) {
    let Some(batches) = sorted.get_mut(usize::from(to.shard())) else { return };
    match batches.last_mut().filter(|batch| batch.from == from) {
        Some(batch) => batch.messages.push(message),
        None => batches.push(Batch { from, messages: vec![message] }),
    }
}

/// Takes everything for one node to the link there, as much at once as there is.
async fn travel(me: NodeNumber, to: NodeNumber, outbound: Outbound, mut waiting: mpsc::UnboundedReceiver<FarBatch>) {
    let mut encoder = Encoder::new(me);
    while let Some(first) = waiting.recv().await {
        load(&mut encoder, &first);
        while encoder.len() < BATCH_BYTES
            && let Ok(more) = waiting.try_recv()
        {
            load(&mut encoder, &more);
        }
        let mut batch = encoder.take();
        while let Err(refused) = outbound.try_send(to, batch) {
            match refused {
                NotTaken::Full(back) => {
                    batch = back;
                    outbound.room(to).await;
                }
                NotTaken::NoLink => return,
                refused @ NotTaken::TooLarge(_) => {
                    tracing::error!(node = to, error = %refused, "a batch for another node is lost");
                    break;
                }
            }
        }
    }
}

fn load(encoder: &mut Encoder, FarBatch { from, messages, .. }: &FarBatch) {
    messages.iter().for_each(|(to, message)| encoder.push(from.shard(), *to, message));
}
