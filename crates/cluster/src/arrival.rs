//! A node on its way into its cluster, until it may act as an owner: a state machine over the node's events.

use std::sync::Arc;

use bytes::Bytes;

use crate::NodeNumber;
use crate::membership::{Incompatible, View};
use crate::node::NodeEvent;

/// A node that is online in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedNode {
    /// The node's number.
    pub number: NodeNumber,
    /// Batches of other nodes that came before this node was online, with their senders. The others send from the
    /// moment when the node is in the view, and send nothing twice.
    pub early_batches: Vec<(NodeNumber, Bytes)>,
}

/// The outcome of an event for a node that joins.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// The node goes on waiting.
    Waits,
    /// The node goes on waiting, and there is a new view.
    Follows(Arc<View>),
    /// The node is online.
    Joined(JoinedNode),
    /// The node will never be online.
    Refused(Incompatible),
}

/// A node that joins.
#[derive(Debug, Default)]
pub struct Joining {
    number: Option<NodeNumber>,
    early_batches: Vec<(NodeNumber, Bytes)>,
}

impl Joining {
    /// Takes the node's next event.
    pub fn take(&mut self, event: NodeEvent) -> Arrival {
        match event {
            NodeEvent::View { new, .. } => return Arrival::Follows(new),
            NodeEvent::Joined(address) => self.number = Some(address.number),
            NodeEvent::Batch { from, bytes } => self.early_batches.push((from, bytes)),
            NodeEvent::Online => {
                if let Some(number) = self.number {
                    let early_batches = std::mem::take(&mut self.early_batches);
                    return Arrival::Joined(JoinedNode { number, early_batches });
                }
            }
            // The batches were sent to this node's former number, so they are dropped.
            NodeEvent::VotedOut => *self = Self::default(),
            NodeEvent::Refused(reason) => return Arrival::Refused(reason),
            NodeEvent::Island | NodeEvent::Drained | NodeEvent::Left => {}
        }
        Arrival::Waits
    }
}
