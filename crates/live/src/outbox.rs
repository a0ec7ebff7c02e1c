//! A session's pending frames: bounded by bytes and frames, shared by reference, written many at a time.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

/// How much may wait for one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// `socket.outgoing_queue_bytes`.
    pub bytes_max: usize,
    /// `socket.outgoing_queue_size`.
    pub frames_max: usize,
}

/// What becomes of a frame when its receiver's queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The session closes, for it would miss what it was promised.
    Reliable,
    /// It takes the place of the waiting frame of this key.
    Latest(u64),
    /// The oldest droppable frame goes.
    Droppable,
}

/// The queue is full; the frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// Frames in the order in which they will be written, ready for the socket. Costs no heap while empty.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<Bytes>,
    bytes: usize,
}

impl Outbox {
    /// Appends a frame, unless that would exceed a limit.
    ///
    /// Errors: [`Overflow`]; the queue is as it was.
    pub fn push(&mut self, frame: Bytes, limits: OutboxLimits) -> Result<(), Overflow> {
        if self.frames.len() >= limits.frames_max || self.bytes + frame.len() > limits.bytes_max {
            return Err(Overflow);
        }
        self.push_unbounded(frame);
        Ok(())
    }

    /// Appends what must not be refused: the rest of a write that has begun, a close frame.
    pub fn push_unbounded(&mut self, frame: Bytes) {
        if !frame.is_empty() {
            self.bytes += frame.len();
            self.frames.push_back(frame);
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills `slices` with the front of the queue and answers how many were filled.
    pub fn chunks<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, frame) in slices.iter_mut().zip(&self.frames) {
            *slice = IoSlice::new(frame);
            filled += 1;
        }
        filled
    }

    /// Forgets the first `written` bytes, and gives the heap back once nothing waits.
    pub fn advance(&mut self, mut written: usize) {
        self.bytes = self.bytes.saturating_sub(written);
        while written > 0 {
            let Some(front) = self.frames.front_mut() else { break };
            if written < front.len() {
                front.advance(written);
                return;
            }
            written -= front.len();
            self.frames.pop_front();
        }
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: OutboxLimits = OutboxLimits { bytes_max: 10, frames_max: 3 };

    fn first_bytes(outbox: &Outbox) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 8];
        let filled = outbox.chunks(&mut slices);
        slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    #[test]
    fn frames_leave_in_order_across_partial_writes() {
        let mut outbox = Outbox::default();
        for frame in ["abc", "de", "fgh"] {
            outbox.push(Bytes::from(frame), LIMITS).unwrap();
        }
        outbox.advance(4);
        assert_eq!(first_bytes(&outbox), b"efgh");
        assert_eq!(outbox.bytes(), 4);
        outbox.advance(4);
        assert!(outbox.is_empty());
        assert_eq!(outbox.bytes(), 0);
    }

    #[test]
    fn either_limit_refuses_and_leaves_the_queue_as_it_was() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from("123456789"), LIMITS).unwrap();
        assert_eq!(outbox.push(Bytes::from("ab"), LIMITS), Err(Overflow));
        assert_eq!(outbox.bytes(), 9);
        outbox.advance(9);
        for _ in 0..3 {
            outbox.push(Bytes::from("a"), LIMITS).unwrap();
        }
        assert_eq!(outbox.push(Bytes::from("a"), LIMITS), Err(Overflow));
        assert_eq!(first_bytes(&outbox), b"aaa");
    }
}
