//! Waits until a new node is a member of its cluster and may act as an owner.

use std::sync::Arc;

use muster_cluster::arrival::{Arrival, JoinedNode, Joining};
use muster_cluster::membership::View;
use muster_cluster::node::NodeEvent;
use tokio::sync::{mpsc, watch};

/// Waits until the node is online, and keeps `view` up to date meanwhile.
///
/// # Errors
/// A sentence that says why the node will never be online.
pub(super) async fn wait_until_online(
    events: &mut mpsc::Receiver<NodeEvent>,
    view: &watch::Sender<Arc<View>>,
) -> Result<JoinedNode, String> {
    let mut joining = Joining::default();
    while let Some(event) = events.recv().await {
        match joining.take(event) {
            Arrival::Waits => {}
            Arrival::Follows(new) => {
                view.send_replace(new);
            }
            Arrival::Joined(joined) => return Ok(joined),
            Arrival::Refused(reason) => return Err(reason.to_string()),
        }
    }
    Err("the connection to NATS ended".to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
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
        let JoinedNode { number, early_batches } = wait_until_online(&mut events, &view).await.unwrap();
        assert_eq!(number, 2);
        let told: Vec<&[u8]> = early_batches.iter().map(|(_, bytes)| &**bytes).collect();
        assert_eq!(told, [&b"first"[..], b"second"]);
        assert!(matches!(events.recv().await, Some(NodeEvent::Batch { .. })), "that waits until there are shards");
    }
}
