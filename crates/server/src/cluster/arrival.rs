//! How a node comes into its cluster.

use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::NodeNumber;
use muster_cluster::membership::View;
use muster_cluster::node::NodeEvent;
use tokio::sync::{mpsc, watch};

/// A node that may act.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) number: NodeNumber,
    /// What others told it before it could: they know it from when it is in the view, and tell nothing twice.
    pub(super) early: Vec<(NodeNumber, Bytes)>,
}

/// Waits until the node may act.
///
/// # Errors
/// Why it never will.
pub(super) async fn arrive(
    events: &mut mpsc::Receiver<NodeEvent>,
    view: &watch::Sender<Arc<View>>,
) -> Result<Arrival, String> {
    let (mut joined, mut early) = (None, Vec::new());
    loop {
        match events.recv().await {
            Some(NodeEvent::View { new, .. }) => {
                view.send_replace(new);
            }
            Some(NodeEvent::Joined(address)) => joined = Some(address.number),
            Some(NodeEvent::Batch { from, bytes }) => early.push((from, bytes)),
            Some(NodeEvent::Online) => {
                if let Some(number) = joined {
                    return Ok(Arrival { number, early });
                }
            }
            // What it was told it was told as a node that is there no more.
            Some(NodeEvent::VotedOut) => (joined, early) = (None, Vec::new()),
            Some(NodeEvent::Refused(reason)) => return Err(reason.to_string()),
            Some(_) => {}
            None => return Err("the connection to NATS ended".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_cluster::bus::Address;
    use muster_live::Epoch;

    use super::*;

    #[tokio::test]
    async fn what_others_say_before_a_node_may_act_is_kept_in_order() {
        let (events_in, mut events) = mpsc::channel(8);
        let view = watch::Sender::new(Arc::new(View::empty(Epoch::default())));
        let batch = |bytes: &'static [u8]| NodeEvent::Batch { from: 1, bytes: Bytes::from_static(bytes) };
        let address = Address { number: 2, incarnation: 7 };
        for event in [NodeEvent::Joined(address), batch(b"first"), batch(b"second"), NodeEvent::Online, batch(b"later")]
        {
            events_in.send(event).await.unwrap();
        }
        let Arrival { number, early } = arrive(&mut events, &view).await.unwrap();
        assert_eq!(number, 2);
        let told: Vec<&[u8]> = early.iter().map(|(_, bytes)| &**bytes).collect();
        assert_eq!(told, [&b"first"[..], b"second"]);
        assert!(matches!(events.recv().await, Some(NodeEvent::Batch { .. })), "that waits until there are shards");
    }
}
