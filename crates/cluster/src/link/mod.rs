//! Links: reliable, ordered ways for batches between two incarnations of nodes, over a bus that may lose, delay and
//! reorder frames ([why](../../../../docs/adr/0011-several-nodes.md)).
//!
//! A link numbers its frames, keeps them until they are acknowledged, sends lost ones again, and hands on batches in
//! order and exactly once. Links never wait and never read a clock: events and the time go in, frames and batches come
//! out. An idle link on which everything is acknowledged sends nothing.
//!
//! A batch that cannot be sent yet waits in its link, and the link reports congestion: the caller should then take in
//! no more batches for it. A link never refuses or drops a batch.

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

/// Time after which an acknowledgement is sent in a report of its own, if no frame in the opposite direction has
/// carried it.
pub const ACKNOWLEDGE_AFTER_MS: Millis = 5;
/// Number of unacknowledged frames at which the acknowledgement is sent at once.
pub const ACKNOWLEDGE_AFTER_FRAMES: u32 = 32;
/// Largest number of frames that are kept while earlier ones are missing. No window is larger.
pub const FRAMES_AHEAD_MAX: u64 = 8_192;
/// Largest number of frames that are sent again for one report of missing frames, or for one acknowledgement after a
/// silence.
pub const RESENT_AT_ONCE_MAX: usize = 64;

/// Size limits of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// The largest frame that may be sent, in bytes; larger batches travel in parts.
    pub frame_bytes_max: usize,
    /// Largest number of frames that are under way and not acknowledged; at most [`FRAMES_AHEAD_MAX`].
    pub window_frames: usize,
    /// Largest number of bytes that are under way and not acknowledged. A single larger frame is still sent.
    pub window_bytes: usize,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self { frame_bytes_max: 512 * 1024, window_frames: 2_048, window_bytes: 8 * 1024 * 1024 }
    }
}

/// A batch in the making: its bytes, with room in front for the header of its frame.
#[derive(Debug)]
pub struct Batch(Vec<u8>);

impl Default for Batch {
    fn default() -> Self {
        Self::with_capacity(256)
    }
}

impl Batch {
    /// An empty batch with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut frame = Vec::with_capacity(HEADER_BYTES + bytes);
        frame.resize(HEADER_BYTES, 0);
        Self(frame)
    }

    /// Lets `write` append bytes. The closure must not shorten the vector.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.0);
        debug_assert!(self.0.len() >= HEADER_BYTES, "a batch is only appended to");
    }

    /// The bytes of the batch, without the header.
    pub fn content(&self) -> &[u8] {
        self.0.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// Number of bytes in the batch.
    pub fn len(&self) -> usize {
        self.content().len()
    }

    /// Whether the batch holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The error for a batch that exceeds [`BATCH_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a batch of {0} bytes is too large for a link; send it as several")]
pub struct BatchTooLarge(pub usize);

/// Effects of a link step. The caller carries them out and clears the lists.
#[derive(Debug, Default)]
pub struct LinkOutput {
    /// Frames to publish, in order, with the nodes they are for.
    pub frames: Vec<(NodeNumber, Bytes)>,
    /// Batches that arrived, in order, with the nodes that sent them.
    pub batches: Vec<(NodeNumber, Bytes)>,
    /// Links that became congested (`true`) or stopped being so (`false`).
    pub congestion: Vec<(NodeNumber, bool)>,
}

/// Gauges and counters of one link, or sums over several.
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
    /// Frames that arrived again.
    pub duplicates: u64,
    /// Frames that arrived while an earlier one was missing.
    pub gaps: u64,
    /// Frames that were too far ahead of the missing ones, and acknowledgements of frames that were never sent.
    pub refused: u64,
    /// Frames under way.
    pub unacknowledged_frames: usize,
    /// Bytes under way.
    pub unacknowledged_bytes: usize,
    /// Bytes that wait for room in the window.
    pub waiting_bytes: usize,
}

/// Identifies the link between two incarnations; the same for both orders of arguments.
pub fn token(one: u128, other: u128) -> u64 {
    let both = one ^ other;
    // 64 bits are enough: the token only has to differ from the tokens of earlier incarnations and of other clusters.
    (both ^ (both >> 64)) as u64
}

/// One link between this node and another, both directions.
#[derive(Debug)]
pub(crate) struct Link {
    /// The header of the next frame, without its kind and number.
    head: Header,
    config: LinkConfig,
    sending: Sending,
    receiving: Receiving,
}

impl Link {
    fn new(me: NodeNumber, peer: NodeNumber, token: u64, config: LinkConfig) -> Self {
        let head = Header { kind: FrameKind::Whole, from: me, to: peer, token, number: 0, acknowledged: 0 };
        let config = LinkConfig {
            // Each frame must have room for a byte of a batch, or for one range of missing frames.
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

    /// Takes in a frame that carries the peer's header.
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
