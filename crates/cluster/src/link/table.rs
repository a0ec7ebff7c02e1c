//! All links of a node, by the other node's number. A frame of a link that this node does not have is ignored: its
//! sender repeats it until the link exists here too, or ends there.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_live::Millis;
use muster_wire::link::Header;

use crate::NodeNumber;

use super::{Batch, BatchTooLarge, Link, LinkConfig, LinkOutput, LinkStats};

/// The links of one node.
#[derive(Debug)]
pub struct Links {
    me: NodeNumber,
    config: LinkConfig,
    links: BTreeMap<NodeNumber, Link>,
    strangers: u64,
    /// Sums over links that have ended.
    ended: LinkStats,
}

/// Gauges and counters of all links of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinksStats {
    /// Links that exist now.
    pub links: usize,
    /// Links that are congested now.
    pub congested: usize,
    /// Frames that arrived for links that do not exist.
    pub strangers: u64,
    /// Sums over all links, including those that have ended.
    pub sum: LinkStats,
}

impl Links {
    /// An empty table for the node with number `me`.
    pub fn new(me: NodeNumber, config: LinkConfig) -> Self {
        Self { me, config, links: BTreeMap::new(), strangers: 0, ended: LinkStats::default() }
    }

    /// Begins the link with another node, identified by [`token`](super::token). An existing link is left as it is.
    pub fn open(&mut self, peer: NodeNumber, token: u64) {
        let (me, config) = (self.me, self.config);
        self.links.entry(peer).or_insert_with(|| Link::new(me, peer, token, config));
    }

    /// Ends the link with a node and drops all that waits in it.
    pub fn end(&mut self, peer: NodeNumber) {
        if let Some(link) = self.links.remove(&peer) {
            self.ended.add_counts(&link.stats());
        }
    }

    /// Numbers of the nodes with which links exist.
    pub fn peers(&self) -> impl Iterator<Item = NodeNumber> {
        self.links.keys().copied()
    }

    /// Sends a batch. A batch for a node without a link is lost.
    ///
    /// # Errors
    /// [`BatchTooLarge`]; the batch was not sent.
    pub fn send(
        &mut self,
        now: Millis,
        peer: NodeNumber,
        batch: Batch,
        out: &mut LinkOutput,
    ) -> Result<(), BatchTooLarge> {
        self.links.get_mut(&peer).map_or(Ok(()), |link| link.send(now, batch, out))
    }

    /// Takes in a frame that arrived for this node.
    pub fn receive(&mut self, now: Millis, frame: &Bytes, out: &mut LinkOutput) {
        let header = Header::read(frame).filter(|header| header.to == self.me);
        let link = header.as_ref().and_then(|header| self.links.get_mut(&header.from));
        match (header, link) {
            (Some(header), Some(link)) if link.head.token == header.token => link.receive(now, &header, frame, out),
            _ => self.strangers += 1,
        }
    }

    /// Sends the acknowledgements, reports and repeated frames that are due.
    pub fn tick(&mut self, now: Millis, out: &mut LinkOutput) {
        self.links.values_mut().for_each(|link| link.tick(now, out));
    }

    /// When [`Self::tick`] has something to do; `None` if everything is acknowledged.
    pub fn next_due(&self) -> Option<Millis> {
        self.links.values().filter_map(Link::next_due).min()
    }

    /// Whether the link with a node is congested: batches have had to wait, and less than half of the window has become
    /// free since.
    pub fn is_congested(&self, peer: NodeNumber) -> bool {
        self.links.get(&peer).is_some_and(|link| link.sending.is_congested())
    }

    /// Whether every frame that was sent has been acknowledged.
    pub fn is_flushed(&self) -> bool {
        self.links.values().all(|link| link.stats().unacknowledged_frames == 0)
    }

    /// Gauges and counters of one link.
    pub fn stats_of(&self, peer: NodeNumber) -> Option<LinkStats> {
        self.links.get(&peer).map(Link::stats)
    }

    /// Gauges and counters of all links together.
    pub fn stats(&self) -> LinksStats {
        let mut sum = self.ended;
        for stats in self.links.values().map(Link::stats) {
            sum.add_counts(&stats);
            sum.unacknowledged_frames += stats.unacknowledged_frames;
            sum.unacknowledged_bytes += stats.unacknowledged_bytes;
            sum.waiting_bytes += stats.waiting_bytes;
        }
        let congested = self.links.values().filter(|link| link.sending.is_congested()).count();
        LinksStats { links: self.links.len(), congested, strangers: self.strangers, sum }
    }
}

impl LinkStats {
    /// Adds the counters, without the gauges.
    fn add_counts(&mut self, other: &Self) {
        self.sent += other.sent;
        self.resent += other.resent;
        self.reports += other.reports;
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.gaps += other.gaps;
        self.refused += other.refused;
    }
}
