//! Links: reliable, ordered ways for batches between two incarnations of nodes, over a bus that may lose, delay, double
//! and reorder ([why](../../../../docs/adr/0011-several-nodes.md)).
//!
//! A link numbers its frames, keeps them until they are acknowledged, sends again what is missing, and hands on what
//! arrives in order and once. Nothing here waits or reads a clock: what happened and the time go in, frames and batches
//! come out. A link on which nothing is unacknowledged sends nothing.
//!
//! What a link cannot send yet waits in it, and it says that it is congested: whoever fills it is to take no more in
//! then. It never refuses and never drops.

mod receiving;
mod round_trip;
mod sending;
mod table;

use bytes::Bytes;
use muster_live::Millis;
pub use muster_wire::batch::BATCH_BYTES_MAX;
use muster_wire::link::{FrameKind, HEADER_BYTES, Header, RANGE_BYTES, read_missing};

use crate::NodeNumber;
use receiving::Receiving;
use sending::Sending;
pub use table::{Links, LinksStats};

/// Acknowledgements leave alone, without a frame in the opposite direction, after so long.
pub const ACKNOWLEDGE_AFTER_MS: Millis = 5;
/// And at once after so many frames.
pub const ACKNOWLEDGE_AFTER_FRAMES: u32 = 32;
/// Frames kept that arrived before others which are missing. It exceeds every window.
pub const FRAMES_AHEAD_MAX: u64 = 8_192;
/// Frames that one report, or one acknowledgement after a silence, makes go out again.
pub const RESENT_AT_ONCE_MAX: usize = 64;

/// Limits of links.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// The largest message of the bus; larger batches travel in parts.
    pub frame_bytes_max: usize,
    /// Frames under way and not acknowledged, at most [`FRAMES_AHEAD_MAX`].
    pub window_frames: usize,
    /// Bytes under way and not acknowledged; a single frame may exceed it.
    pub window_bytes: usize,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self { frame_bytes_max: 512 * 1024, window_frames: 2_048, window_bytes: 8 * 1024 * 1024 }
    }
}

/// A batch in the making: its bytes, with room before them for the header of its frame.
#[derive(Debug)]
pub struct Batch(Vec<u8>);

impl Default for Batch {
    fn default() -> Self {
        Self::with_capacity(256)
    }
}

impl Batch {
    /// With room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut frame = Vec::with_capacity(HEADER_BYTES + bytes);
        frame.resize(HEADER_BYTES, 0);
        Self(frame)
    }

    /// Lets `write` append to it. It must not shorten what it is given.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.0);
        debug_assert!(self.0.len() >= HEADER_BYTES, "a batch is only appended to");
    }

    /// What is in it.
    pub fn content(&self) -> &[u8] {
        self.0.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.content().len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A batch over [`BATCH_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a batch of {0} bytes is too large for a link; send it as several")]
pub struct BatchTooLarge(pub usize);

/// What is to be done after a step; the rim clears it.
#[derive(Debug, Default)]
pub struct LinkOutput {
    /// To be published for these nodes, in order.
    pub frames: Vec<(NodeNumber, Bytes)>,
    /// Arrived from these nodes, in order.
    pub batches: Vec<(NodeNumber, Bytes)>,
    /// Links that became congested (true) or ceased to be.
    pub congestion: Vec<(NodeNumber, bool)>,
}

/// How much there is of everything on a link now, and what was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Frames with batches sent for the first time.
    pub sent: u64,
    /// Frames sent again.
    pub resent: u64,
    /// Reports sent: acknowledgements that no frame could carry.
    pub reports: u64,
    /// Batches handed on.
    pub received: u64,
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Times that a frame arrived before one which is missing.
    pub gaps: u64,
    /// Frames that were too far ahead, or said what cannot be.
    pub refused: u64,
    /// Frames under way.
    pub unacknowledged_frames: usize,
    /// Bytes under way.
    pub unacknowledged_bytes: usize,
    /// Bytes that wait for the window.
    pub waiting_bytes: usize,
}

/// A number that belongs to two incarnations of nodes, whichever is named first.
pub fn token(one: u128, other: u128) -> u64 {
    let both = one ^ other;
    // Half of it is enough: it only has to differ from what another cluster would have.
    (both ^ (both >> 64)) as u64
}

/// Both directions between this node and another.
#[derive(Debug)]
pub(crate) struct Link {
    /// What all its frames begin with, as it is now.
    head: Header,
    config: LinkConfig,
    sending: Sending,
    receiving: Receiving,
}

impl Link {
    fn new(me: NodeNumber, peer: NodeNumber, token: u64, config: LinkConfig) -> Self {
        let head = Header { kind: FrameKind::Whole, from: me, to: peer, token, number: 0, acknowledged: 0 };
        let config = LinkConfig {
            // At least a byte of a batch, or one range of missing frames, fits into each.
            frame_bytes_max: config.frame_bytes_max.max(HEADER_BYTES + RANGE_BYTES),
            window_frames: config.window_frames.clamp(1, FRAMES_AHEAD_MAX as usize),
            ..config
        };
        Self { head, config, sending: Sending::new(config), receiving: Receiving::default() }
    }

    fn send(&mut self, now: Millis, batch: Batch, out: &mut LinkOutput) -> Result<(), BatchTooLarge> {
        if batch.len() > BATCH_BYTES_MAX {
            return Err(BatchTooLarge(batch.len()));
        }
        if self.sending.send(now, batch.0, &self.head, out) {
            self.receiving.was_acknowledged();
        }
        Ok(())
    }

    /// A frame with the peer's header arrived.
    fn receive(&mut self, now: Millis, header: &Header, frame: &Bytes, out: &mut LinkOutput) {
        if header.kind != FrameKind::Report {
            let from = self.head.to;
            let hand_on = |batch| out.batches.push((from, batch));
            self.receiving.receive(now, header, frame.slice(HEADER_BYTES..), hand_on);
            self.head.acknowledged = self.receiving.acknowledged();
        }
        if self.sending.acknowledged(now, header.acknowledged, &self.head, out) {
            self.receiving.was_acknowledged();
        }
        if header.kind == FrameKind::Report {
            self.sending.missing(now, read_missing(header, &frame[HEADER_BYTES..]), &self.head, out);
        }
        self.report_if_due(now, out);
    }

    fn tick(&mut self, now: Millis, out: &mut LinkOutput) {
        self.sending.tick(now, &self.head, out);
        self.report_if_due(now, out);
    }

    fn report_if_due(&mut self, now: Millis, out: &mut LinkOutput) {
        if self.receiving.due().is_some_and(|due| due <= now) {
            out.frames.push((self.head.to, self.receiving.report(&self.head, self.config.frame_bytes_max)));
        }
    }

    fn next_due(&self) -> Option<Millis> {
        [self.sending.due(), self.receiving.due()].into_iter().flatten().min()
    }

    fn stats(&self) -> LinkStats {
        let mut stats = LinkStats::default();
        self.sending.count(&mut stats);
        self.receiving.count(&mut stats);
        stats
    }
}
