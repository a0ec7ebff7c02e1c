//! One direction of a link as the checkers see it: batches that were sent and handed on, and frames on the way.

use std::collections::BTreeMap;

use muster_cluster::NodeNumber;
use muster_cluster::link::{Batch, LinkConfig};
use muster_wire::link::{FrameKind, Header};

use super::{Check, Checked};
use crate::violation::ensure;

/// The batches and frames of one direction of a link.
#[derive(Default)]
pub struct Flow {
    /// Number of batches sent.
    pub sent: u64,
    /// Number of batches handed on.
    pub received: u64,
    /// Whether the sender was told that the link is congested.
    pub is_congested: bool,
    /// Sizes in bytes of published frames that the receiver cannot hand on yet, by the frame's number.
    under_way: BTreeMap<u64, usize>,
    /// Numbers of frames that arrived while earlier ones were missing.
    arrived: BTreeMap<u64, ()>,
    /// The number up to which the receiver has all frames.
    prefix: u64,
}

/// Number of bytes at the beginning of a batch: they hold its number, sender and receiver, and length.
const NAME_BYTES: usize = 16;

/// The bytes of a batch, which follow from its sender, receiver, number and length.
fn content(from: NodeNumber, to: NodeNumber, number: u64, len: usize) -> Vec<u8> {
    let len = len.max(NAME_BYTES);
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&(from * 1_000 + to).to_le_bytes());
    bytes.extend_from_slice(&(len as u32).to_le_bytes());
    bytes.resize(len, number as u8);
    bytes
}

impl Flow {
    /// The next batch to send, of about this length.
    pub fn next(&mut self, from: NodeNumber, to: NodeNumber, len: usize) -> Batch {
        let mut batch = Batch::default();
        batch.append(|bytes| bytes.extend(content(from, to, self.sent, len)));
        self.sent += 1;
        batch
    }

    /// Checks a batch that was handed on.
    pub fn receive(&mut self, from: NodeNumber, to: NodeNumber, batch: &[u8]) -> Checked {
        let expected = content(from, to, self.received, batch.len());
        ensure(Check::Order, batch == expected && self.received < self.sent, || {
            let name = batch.first_chunk().map(|name| u64::from_le_bytes(*name));
            format!("{from} to {to}: {} bytes of batch {name:?} instead of batch {}", batch.len(), self.received)
        })?;
        self.received += 1;
        Ok(())
    }

    /// Checks a frame that was published.
    pub fn published(&mut self, header: &Header, bytes: usize, config: &LinkConfig) -> Checked {
        ensure(Check::Limits, bytes <= config.frame_bytes_max, || format!("a frame of {bytes} bytes"))?;
        if header.kind == FrameKind::Report {
            return Ok(());
        }
        if header.number > self.prefix {
            self.under_way.insert(header.number, bytes);
        }
        let sum: usize = self.under_way.values().sum();
        let is_within =
            self.under_way.len() <= config.window_frames && (self.under_way.len() <= 1 || sum <= config.window_bytes);
        ensure(Check::Limits, is_within, || {
            format!("{} to {}: {} frames with {sum} bytes under way", header.from, header.to, self.under_way.len())
        })
    }

    /// Notes a frame that reached its receiver.
    pub fn arrived(&mut self, header: &Header) {
        if header.kind == FrameKind::Report || header.number <= self.prefix {
            return;
        }
        self.arrived.insert(header.number, ());
        while self.arrived.remove(&(self.prefix + 1)).is_some() {
            self.prefix += 1;
            self.under_way.remove(&self.prefix);
        }
    }
}
