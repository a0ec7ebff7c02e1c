//! Frames that were written and may have been lost on their way. A session that may change its socket keeps them,
//! within limits of bytes and frames, until its client is known to have them. Never decides who may resume.
//!
//! Kept frames may also use the room that the session's queue leaves free. A new socket takes a whole backlog at once:
//! with the room of the ring alone, most of the backlog would be forgotten before the client has it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::OutboxLimits;

/// Limits of the sent frames that are kept for one session even while its queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLimits {
    /// The setting `session.resume_buffer_bytes`.
    pub bytes_max: usize,
    /// The setting `session.resume_buffer_frames`.
    pub frames_max: usize,
}

/// The latest frames that were sent, oldest first.
#[derive(Debug)]
pub(super) struct Ring {
    frames: VecDeque<Bytes>,
    bytes: usize,
    /// Number of frames sent since the session opened; the last of them are in `frames`.
    sent: u64,
    /// Whether the client was asked how many frames it has, and has not answered.
    is_asked: bool,
    pub(super) limits: RingLimits,
    queue: OutboxLimits,
}

impl Ring {
    pub(super) fn new(limits: RingLimits, queue: OutboxLimits) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, sent: 0, is_asked: false, limits, queue }
    }

    /// Sets the number of frames that were sent before the first one kept here.
    pub(super) fn begin_at(&mut self, sent: u64) {
        self.sent = sent;
    }

    /// Keeps a frame that was written to its end.
    pub(super) fn keep(&mut self, frame: Bytes) {
        self.sent += 1;
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Forgets the oldest frames while more are kept than the limits of ring and queue allow beside the waiting ones. A
    /// client that lacks a forgotten frame cannot resume any more.
    pub(super) fn trim(&mut self, waiting_bytes: usize, waiting_frames: usize) {
        let bytes_max = self.limits.bytes_max + self.queue.bytes_max.saturating_sub(waiting_bytes);
        let frames_max = self.limits.frames_max + self.queue.frames_max.saturating_sub(waiting_frames);
        while self.frames.len() > frames_max || self.bytes > bytes_max {
            self.forget_oldest();
        }
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether a client that has the first `received` frames can be sent all others.
    pub(super) fn holds_all_after(&self, received: u64) -> bool {
        received <= self.sent && received >= self.sent - self.frames.len() as u64
    }

    /// Forgets the first `received` frames, which the client has. A number above the frames sent is ignored.
    pub(super) fn acknowledge(&mut self, received: u64) {
        if received > self.sent {
            return;
        }
        self.is_asked = false;
        while !self.frames.is_empty() && self.sent - (self.frames.len() as u64) < received {
            self.forget_oldest();
        }
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
    }

    /// The number of frames sent, if the client should now be asked how many of them it has: the ring is more than half
    /// full, and the client was not asked since its last answer.
    pub(super) fn question(&mut self) -> Option<u64> {
        let is_half_full = self.frames.len() > self.limits.frames_max / 2 || self.bytes > self.limits.bytes_max / 2;
        if self.is_asked || !is_half_full {
            return None;
        }
        self.is_asked = true;
        Some(self.sent)
    }

    /// Takes out all kept frames, which will be sent again and count as not sent until then.
    pub(super) fn take(&mut self) -> VecDeque<Bytes> {
        self.sent -= self.frames.len() as u64;
        self.bytes = 0;
        self.is_asked = false;
        std::mem::take(&mut self.frames)
    }

    fn forget_oldest(&mut self) {
        self.bytes -= self.frames.pop_front().map_or(0, |frame| frame.len());
    }
}
