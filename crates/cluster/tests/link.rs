//! Tests of the cost of links and of the time that they take to repair a loss. The simulation in `tools/sim` tests the
//! promises of links.

use std::collections::VecDeque;

use bytes::Bytes;
use muster_cluster::link::{
    ACKNOWLEDGE_AFTER_MS, BATCH_BYTES_MAX, Batch, BatchTooLarge, LinkConfig, LinkOutput, LinkStats, Links, token,
};
use muster_live::Millis;

/// Two nodes, with frames that travel for a millisecond.
struct Pair {
    now: Millis,
    nodes: [Links; 2],
    under_way: VecDeque<(Millis, usize, Bytes)>,
    received: [Vec<Bytes>; 2],
    congestion: Vec<bool>,
}

impl Pair {
    fn new(config: LinkConfig) -> Self {
        let mut nodes = [Links::new(1, config), Links::new(2, config)];
        nodes[0].open(2, token(5, 6));
        nodes[1].open(1, token(6, 5));
        Self { now: 0, nodes, under_way: VecDeque::new(), received: [Vec::new(), Vec::new()], congestion: Vec::new() }
    }

    fn send(&mut self, from: usize, len: usize) {
        let mut batch = Batch::default();
        batch.append(|bytes| bytes.resize(bytes.len() + len, 7));
        let mut out = LinkOutput::default();
        assert_eq!(self.nodes[from].send(self.now, 2 - from as u32, batch, &mut out), Ok(()));
        self.carry_out(from, out);
    }

    fn carry_out(&mut self, from: usize, out: LinkOutput) {
        self.under_way.extend(out.frames.into_iter().map(|(_, frame)| (self.now + 1, 1 - from, frame)));
        self.received[from].extend(out.batches.into_iter().map(|(_, batch)| batch));
        self.congestion.extend(out.congestion.into_iter().map(|(_, is_congested)| is_congested));
    }

    fn advance(&mut self, by: Millis) {
        for _ in 0..by {
            self.now += 1;
            while let Some((_, to, frame)) = self.under_way.pop_front_if(|(at, _, _)| *at <= self.now) {
                let mut out = LinkOutput::default();
                self.nodes[to].receive(self.now, &frame, &mut out);
                self.carry_out(to, out);
            }
            for node in 0..2 {
                let mut out = LinkOutput::default();
                self.nodes[node].tick(self.now, &mut out);
                self.carry_out(node, out);
            }
        }
    }

    fn stats(&self, node: usize) -> LinkStats {
        self.nodes[node].stats().sum
    }
}

#[test]
fn when_nothing_is_lost_nothing_goes_twice_and_acknowledgements_are_few() {
    let mut pair = Pair::new(LinkConfig::default());
    for _ in 0..1_000 {
        pair.send(0, 100);
        pair.advance(1);
    }
    pair.advance(100);
    assert_eq!(pair.received[1].len(), 1_000);
    let (sender, receiver) = (pair.stats(0), pair.stats(1));
    assert_eq!((sender.sent, sender.resent, sender.unacknowledged_frames), (1_000, 0, 0));
    assert!(receiver.reports <= 1_000 / ACKNOWLEDGE_AFTER_MS + 1, "{} reports", receiver.reports);
    assert!(pair.nodes.iter().all(|node| node.next_due().is_none()));
}

#[test]
fn what_goes_the_other_way_carries_the_acknowledgements() {
    let mut pair = Pair::new(LinkConfig::default());
    for _ in 0..1_000 {
        pair.send(0, 100);
        pair.send(1, 100);
        pair.advance(2);
    }
    assert_eq!((pair.stats(0).reports, pair.stats(1).reports), (0, 0));
}

#[test]
fn a_lost_frame_is_there_after_two_more_ways() {
    let mut pair = Pair::new(LinkConfig::default());
    pair.send(0, 100);
    pair.under_way.clear();
    pair.send(0, 100);
    // The loss is noticed after one trip, reported by a second, and repaired by a third.
    pair.advance(3);
    assert_eq!(pair.received[1].len(), 2);
    assert_eq!((pair.stats(0).resent, pair.stats(1).gaps), (1, 1));
}

#[test]
fn a_whole_window_that_was_lost_is_there_soon_after_the_bus_is_back() {
    let mut pair = Pair::new(LinkConfig::default());
    (0..2_000).for_each(|_| pair.send(0, 100));
    pair.under_way.clear();
    pair.advance(500);
    assert_eq!(pair.received[1].len(), 2_000);
    assert!(pair.stats(0).resent < 2_100, "{} went again", pair.stats(0).resent);
}

#[test]
fn what_the_window_does_not_hold_waits_and_is_told() {
    let config = LinkConfig { window_frames: 10, ..LinkConfig::default() };
    let mut pair = Pair::new(config);
    (0..10).for_each(|_| pair.send(0, 100));
    assert!(!pair.nodes[0].is_congested(2));
    pair.send(0, 100);
    assert!(pair.nodes[0].is_congested(2));
    assert_eq!((pair.under_way.len(), pair.stats(0).waiting_bytes > 100), (10, true));
    pair.advance(50);
    assert_eq!((pair.received[1].len(), pair.congestion.as_slice()), (11, [true, false].as_slice()));
}

#[test]
fn a_large_batch_arrives_whole_and_a_too_large_one_is_refused() {
    let mut pair = Pair::new(LinkConfig { frame_bytes_max: 1_000, ..LinkConfig::default() });
    pair.send(0, 100_000);
    pair.send(0, 1);
    pair.advance(100);
    assert_eq!(pair.received[1].iter().map(Bytes::len).collect::<Vec<_>>(), [100_000, 1]);

    let mut batch = Batch::default();
    batch.append(|bytes| bytes.resize(bytes.len() + BATCH_BYTES_MAX + 1, 7));
    let refused = pair.nodes[0].send(pair.now, 2, batch, &mut LinkOutput::default());
    assert_eq!(refused, Err(BatchTooLarge(BATCH_BYTES_MAX + 1)));
}

#[test]
fn frames_of_another_incarnation_or_an_ended_link_are_ignored() {
    let mut pair = Pair::new(LinkConfig::default());
    pair.send(0, 100);
    let (_, _, frame) = pair.under_way[0].clone();
    for is_open in [false, true] {
        pair.nodes[1].end(1);
        if is_open {
            pair.nodes[1].open(1, token(5, 7));
        }
        let mut out = LinkOutput::default();
        pair.nodes[1].receive(1, &frame, &mut out);
        assert!(out.batches.is_empty() && out.frames.is_empty());
    }
    assert_eq!(pair.nodes[1].stats().strangers, 2);
}

#[test]
fn what_was_counted_stays_when_a_link_ends() {
    let mut pair = Pair::new(LinkConfig::default());
    pair.send(0, 100);
    pair.nodes[0].end(2);
    assert_eq!((pair.stats(0).sent, pair.stats(0).unacknowledged_bytes), (1, 0));
}
