//! Messages of shards on their way into the batches for other nodes, and out of the batches of others to the lanes of
//! their shards. Nothing here waits or sends.

use std::sync::Arc;

use bytes::Bytes;
use muster_live::plane::Message;
use muster_live::{Place, ShardIndex};
use muster_wire::batch::BatchError;

use crate::NodeNumber;
use crate::codec::{Decoder, DecoderMetrics, Encoder, Incoming};
use crate::link::Batch;

/// Number of bytes at which a batch is sent although more messages wait.
pub const BATCH_BYTES: usize = 256 * 1024;

/// Packs messages for one other node into batches.
#[derive(Debug)]
pub struct Packer(Encoder);

impl Packer {
    /// The packer of a node.
    pub fn new(me: NodeNumber) -> Self {
        Self(Encoder::new(me))
    }

    /// Packs the first messages that wait, and further ones in their order until the batch is large enough. `parts`
    /// names the shard that messages are from, and each message with the shard that it is for.
    pub fn pack<T>(
        &mut self,
        first: &T,
        mut next: impl FnMut() -> Option<T>,
        parts: impl Fn(&T) -> (Place, &[(ShardIndex, Message)]),
    ) -> Batch {
        self.push(parts(first));
        while self.0.len() < BATCH_BYTES
            && let Some(more) = next()
        {
            self.push(parts(&more));
        }
        self.0.take()
    }

    fn push(&mut self, (from, messages): (Place, &[(ShardIndex, Message)])) {
        messages.iter().for_each(|(to, message)| self.0.push(from.shard(), *to, message));
    }
}

/// Messages of one batch.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// For each shard of this node, in order: the messages for it, each run with the shard that it is from.
    pub lanes: Vec<Vec<(Place, Vec<Message>)>>,
    /// Messages that go to other nodes in place of messages that could not be read, each with the shards that it is
    /// from and for.
    pub back: Vec<(Place, Place, Message)>,
}

/// Unpacks batches of other nodes.
#[derive(Debug)]
pub struct Unpacker {
    me: NodeNumber,
    shards: usize,
    decoder: Decoder,
}

impl Unpacker {
    /// The unpacker of a node with this number of shards, which counts in `metrics`.
    pub fn new(me: NodeNumber, shards: usize, metrics: Arc<DecoderMetrics>) -> Self {
        Self { me, shards, decoder: Decoder::new(me, metrics) }
    }

    /// Unpacks a batch of a node.
    ///
    /// # Errors
    /// An error if the batch as a whole cannot be read.
    pub fn unpack(&self, from: NodeNumber, bytes: Bytes) -> Result<Unpacked, BatchError> {
        let mut unpacked = Unpacked { lanes: (0..self.shards).map(|_| Vec::new()).collect(), back: Vec::new() };
        let mut instead = Vec::new();
        for Incoming { from, to, content } in self.decoder.decode(from, bytes)? {
            match content {
                Ok(message) => unpacked.put(from, to, message),
                Err(unread) => {
                    tracing::warn!(?from, error = %unread.error, "a message of another node cannot be read");
                    instead.extend(unread.instead(from, to));
                }
            }
        }
        for (from, to, message) in instead {
            if to.node() == self.me {
                unpacked.put(from, to, message);
            } else {
                unpacked.back.push((from, to, message));
            }
        }
        Ok(unpacked)
    }
}

impl Unpacked {
    /// Adds a message after those for the same shard.
    fn put(&mut self, from: Place, to: Place, message: Message) {
        let Some(runs) = self.lanes.get_mut(usize::from(to.shard())) else { return };
        match runs.last_mut().filter(|(last, _)| *last == from) {
            Some((_, messages)) => messages.push(message),
            None => runs.push((from, vec![message])),
        }
    }
}
