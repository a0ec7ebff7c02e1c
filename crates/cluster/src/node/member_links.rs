//! The links of a member to the other nodes: one for each other node of the view, and no more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use muster_live::Millis;
use muster_wire::link::Header;

use super::metrics::NodeMetrics;
use super::outbound::{Peer, Peers, QueuedBatch};
use crate::NodeNumber;
use crate::bus::{Address, Bus, BusError};
use crate::link::{LinkConfig, LinkOutput, Links, LinksStats, token};
use crate::membership::View;
use crate::seal::{Seal, Window, count};

/// Another member, with which there is a link.
struct OtherNode {
    address: Address,
    peer: Arc<Peer>,
    /// Sequence number of the last frame that was sealed for the node. A frame that is sent again has another.
    sealed: u64,
    /// Sequence numbers that have arrived.
    arrived: Window,
}

pub(super) struct MemberLinks {
    me: Address,
    links: Links,
    seal: Seal,
    others: BTreeMap<NodeNumber, OtherNode>,
    peers: Arc<Peers>,
    metrics: Arc<NodeMetrics>,
    output: LinkOutput,
    /// Whether the log has said that the bus takes only smaller frames than the links make.
    has_told_too_large: bool,
}

impl MemberLinks {
    pub(super) fn new(
        me: Address,
        config: LinkConfig,
        seal: Seal,
        peers: Arc<Peers>,
        metrics: Arc<NodeMetrics>,
    ) -> Self {
        Self {
            me,
            links: Links::new(me.number, config),
            seal,
            others: BTreeMap::new(),
            peers,
            metrics,
            output: LinkOutput::default(),
            has_told_too_large: false,
        }
    }

    pub(super) fn me(&self) -> Address {
        self.me
    }

    /// Ends links to nodes that have left the view, and begins links to new ones.
    pub(super) fn follow(&mut self, view: &View) {
        let is_gone = |address: &Address| view.node(address.number).is_none_or(|node| node.address() != *address);
        let gone: Vec<Address> = self.others.values().map(|other| other.address).filter(is_gone).collect();
        gone.iter().for_each(|address| self.end(*address));
        for address in view.nodes().iter().map(|node| node.address()) {
            if address != self.me && !self.others.contains_key(&address.number) {
                tracing::debug!(node = address.number, "a link begins");
                let peer = Arc::new(Peer::new(address.number));
                self.links.open(address.number, token(self.me.incarnation, address.incarnation));
                let other = OtherNode { address, peer: peer.clone(), sealed: 0, arrived: Window::default() };
                self.others.insert(address.number, other);
                self.peers.begin(peer);
            }
        }
    }

    fn end(&mut self, address: Address) {
        tracing::debug!(node = address.number, "a link ends");
        self.links.end(address.number);
        self.others.remove(&address.number);
        self.peers.end(address.number);
    }

    /// Sends a shard's batch. A batch that was taken for an earlier link is lost with that link.
    pub(super) fn send(&mut self, now: Millis, taken: QueuedBatch) {
        let QueuedBatch { peer, batch } = taken;
        let number = peer.number;
        peer.arrived(batch.len());
        let is_current = self.others.get(&number).is_some_and(|current| Arc::ptr_eq(&current.peer, &peer));
        let is_lost = !is_current || self.links.send(now, number, batch, &mut self.output).is_err();
        self.metrics.batches_lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
    }

    /// Takes in a frame. A frame that is forged or repeated goes no further.
    pub(super) fn receive(&mut self, now: Millis, frame: &Bytes) {
        if let Some(frame) = self.open(frame) {
            self.links.receive(now, &frame, &mut self.output);
        }
    }

    fn open(&mut self, frame: &Bytes) -> Option<Bytes> {
        let from = Header::read(frame).and_then(|header| self.others.get_mut(&header.from));
        // The links count frames of nodes that are not in the view.
        let Some(other) = from else { return Some(frame.clone()) };
        let metrics = self.seal.metrics();
        let node = other.address.number;
        let Ok((opened, sequence)) = self.seal.open_frame(other.address, self.me, frame) else {
            if count(&metrics.frames_forged) {
                tracing::error!(node, "a frame without the seal of its sender is refused: who else writes to NATS?");
            }
            return None;
        };
        if sequence.is_some_and(|sequence| !other.arrived.accept(sequence)) {
            if count(&metrics.frames_repeated) {
                tracing::error!(node, "a frame that arrived before is refused: who else writes to NATS?");
            }
            return None;
        }
        Some(opened)
    }

    pub(super) fn tick(&mut self, now: Millis) {
        if self.next_due().is_some_and(|due| due <= now) {
            self.links.tick(now, &mut self.output);
        }
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.links.next_due()
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.links.is_flushed()
    }

    pub(super) fn stats(&self) -> LinksStats {
        self.links.stats()
    }

    /// Publishes the links' frames, hands on the batches that arrived, and updates how many bytes each link holds.
    pub(super) fn settle(&mut self, bus: &impl Bus, mut hand_on: impl FnMut(NodeNumber, Bytes)) {
        for (to, frame) in self.output.frames.drain(..) {
            let Some(other) = self.others.get_mut(&to) else { continue };
            other.sealed += 1;
            let frame = self.seal.seal_frame(self.me, other.address, other.sealed, frame);
            let Err(error) = bus.send(other.address, frame) else { continue };
            self.metrics.frames_unsent.fetch_add(1, Ordering::Relaxed);
            if let BusError::TooLarge { bytes, bytes_max } = error
                && !std::mem::replace(&mut self.has_told_too_large, true)
            {
                tracing::error!(
                    bytes,
                    bytes_max,
                    "the bus takes smaller frames than when this node started: restart the node"
                );
            }
        }
        for (from, batch) in self.output.batches.drain(..) {
            hand_on(from, batch);
        }
        self.output.congestion.clear();
        for (number, other) in &self.others {
            let stats = self.links.stats_of(*number).unwrap_or_default();
            other.peer.holds(stats.unacknowledged_bytes + stats.waiting_bytes);
        }
    }
}

impl Drop for MemberLinks {
    fn drop(&mut self) {
        self.others.keys().for_each(|number| self.peers.end(*number));
    }
}

#[cfg(test)]
mod tests {
    use muster_live::place::Epoch;

    use super::*;
    use crate::link::Batch;
    use crate::membership::{Compatibility, Node, Roles};
    use crate::node::outbound::channel;
    use crate::suite::ground::seal;

    const ME: Address = Address { number: 1, incarnation: 1 };

    /// A view with this node, and node 2 under this incarnation.
    fn view(incarnation: u128) -> View {
        let mut view = View::empty(Epoch::default());
        for incarnation in [ME.incarnation, incarnation] {
            let (name, roles) = ("node".into(), Roles::ALL);
            let compatibility = Compatibility::default();
            let node = Node {
                number: 0,
                name,
                incarnation,
                shards: 1,
                weight: 1,
                roles,
                is_draining: false,
                is_busy: false,
                compatibility,
            };
            assert!(view.add(node));
        }
        view
    }

    #[test]
    fn what_was_given_to_a_link_that_ended_is_not_sent_on_the_next() {
        let metrics = Arc::new(NodeMetrics::default());
        let (outbound, mut taken) = channel(metrics.clone());
        let mut member_links = MemberLinks::new(ME, LinkConfig::default(), seal(), outbound.peers(), metrics.clone());
        let mut give = || {
            outbound.try_send(2, Batch::default()).expect("room");
            taken.try_recv().expect("a batch")
        };
        member_links.follow(&view(2));
        let (first, late) = (give(), give());
        member_links.send(0, first);
        assert_eq!(member_links.output.frames.len(), 1);
        // A cluster that was set up anew gives the same numbers to other nodes.
        member_links.follow(&view(3));
        member_links.send(0, late);
        assert_eq!((member_links.output.frames.len(), metrics.batches_lost.load(Ordering::Relaxed)), (1, 1));
        let next = give();
        member_links.send(0, next);
        assert_eq!(member_links.output.frames.len(), 2);
    }
}
