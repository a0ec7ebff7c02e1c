//! A session's pending frames: bounded by bytes and frames, shared by reference, written many at a time.
//!
//! What happens to a frame that finds the queue full, or waits while a newer one comes, is its [`Delivery`].

mod classes;
mod resume;
mod ring;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;

use self::classes::Classes;
use self::ring::Ring;
pub use self::ring::RingLimits;

/// How much may wait for one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// `socket.outgoing_queue_bytes`.
    pub bytes_max: usize,
    /// `socket.outgoing_queue_size`.
    pub frames_max: usize,
}

/// What a frame is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives, or the session ends with a reason.
    Reliable,
    /// It arrives unless a later frame with the same key does: that one takes its place in the queue. The last of a key
    /// arrives, or the session ends with a reason.
    Latest(u64),
    /// As reliable, and never twice: it does not go to a session that had one of the stream with this number or a later one.
    /// Whoever goes on for an owner that died cannot know what left.
    Once(u64),
    /// It may be left out: when the queue is full, the oldest such frames make room for whatever comes.
    Droppable,
}

/// The queue is full; the frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// Frames that will not be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// A newer frame of their key took their place.
    pub replaced: u64,
    /// They were droppable and the queue was full.
    pub dropped: u64,
}

/// Frames in the order in which they will be written, ready for the socket. Costs no heap while empty.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Dropped frames leave an empty one in their place.
    frames: VecDeque<Bytes>,
    /// Not written yet.
    bytes: usize,
    /// Bytes of the front frame that were written.
    front_written: usize,
    /// Made by the first frame that is not [`Delivery::Reliable`].
    classes: Option<Box<Classes>>,
    /// Of a session that may change its socket.
    ring: Option<Box<Ring>>,
}

impl Delivery {
    /// What of it is left to be kept when it is at its session.
    pub(crate) fn arrived(self) -> Self {
        if let Self::Once(_) = self { Self::Reliable } else { self }
    }
}

impl Outbox {
    /// Appends a frame, or puts it in the place of an older one, unless that would exceed a limit. Answers which frames
    /// will not be sent for it, itself perhaps among them.
    ///
    /// Errors: [`Overflow`]; nothing that was promised has left the queue.
    pub fn push(&mut self, frame: Bytes, delivery: Delivery, limits: OutboxLimits) -> Result<Discarded, Overflow> {
        if delivery == Delivery::Reliable && self.has_room(frame.len(), limits) {
            self.push_unbounded(frame);
            return Ok(Discarded::default());
        }
        self.push_classed(frame, delivery, limits)
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
        self.bytes == 0
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills `slices` with the front of the queue and answers how many were filled.
    pub fn chunks<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        let mut written = self.front_written;
        for (slice, frame) in slices.iter_mut().zip(self.frames.iter().filter(|frame| !frame.is_empty())) {
            *slice = IoSlice::new(&frame[written..]);
            written = 0;
            filled += 1;
        }
        filled
    }

    /// Forgets the first `written` bytes, and gives the heap back once nothing waits.
    pub fn advance(&mut self, written: usize) {
        self.bytes = self.bytes.saturating_sub(written);
        let mut written = self.front_written + written;
        while let Some(front) = self.frames.pop_front_if(|front| front.len() <= written) {
            written -= front.len();
            let is_apart = self.classes.as_mut().is_some_and(|classes| classes.left_front(front.is_empty()));
            if let Some(ring) = self.ring.as_mut().filter(|_| !is_apart && !front.is_empty()) {
                ring.keep(front);
            }
        }
        self.front_written = written;
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
        let waiting = self.len();
        if let Some(ring) = &mut self.ring {
            ring.trim(self.bytes, waiting);
        }
    }

    /// Frames that were not sent, since the session opened.
    pub fn discarded(&self) -> Discarded {
        self.classes.as_ref().map_or(Discarded::default(), |classes| classes.discarded)
    }

    /// Frames waiting.
    fn len(&self) -> usize {
        self.frames.len() - self.classes.as_ref().map_or(0, |classes| classes.holes)
    }

    fn has_room(&self, length: usize, limits: OutboxLimits) -> bool {
        let limits = self.widened(limits);
        self.len() < limits.frames_max && self.bytes + length <= limits.bytes_max
    }

    /// What was sent once may wait again, beside as much as may wait at any time.
    fn widened(&self, limits: OutboxLimits) -> OutboxLimits {
        self.ring.as_ref().map_or(limits, |ring| OutboxLimits {
            bytes_max: limits.bytes_max + ring.limits.bytes_max,
            frames_max: limits.frames_max + ring.limits.frames_max,
        })
    }

    #[cold]
    fn push_classed(&mut self, frame: Bytes, delivery: Delivery, limits: OutboxLimits) -> Result<Discarded, Overflow> {
        let before = self.discarded();
        let place = match delivery {
            Delivery::Latest(key) => self.replaceable(key),
            _ => None,
        };
        let outcome = match place {
            Some(index) => self.replace(index, frame, limits),
            None => self.append(frame, delivery, limits),
        };
        let after = self.discarded();
        outcome
            .map(|()| Discarded { replaced: after.replaced - before.replaced, dropped: after.dropped - before.dropped })
    }

    /// Where a frame of this key waits that has not begun to leave.
    fn replaceable(&self, key: u64) -> Option<usize> {
        let index = self.classes.as_ref()?.place_of(key)?;
        (index > 0 || self.front_written == 0).then_some(index)
    }

    fn replace(&mut self, index: usize, frame: Bytes, limits: OutboxLimits) -> Result<(), Overflow> {
        let old_len = self.frames[index].len();
        let growth = frame.len().saturating_sub(old_len);
        while self.bytes + growth > self.widened(limits).bytes_max {
            if !self.drop_oldest() {
                return Err(Overflow);
            }
        }
        self.bytes = self.bytes - old_len + frame.len();
        self.frames[index] = frame;
        self.classes.get_or_insert_default().discarded.replaced += 1;
        // Only now: it moves frames.
        self.close_holes();
        Ok(())
    }

    fn append(&mut self, frame: Bytes, delivery: Delivery, limits: OutboxLimits) -> Result<(), Overflow> {
        while !self.has_room(frame.len(), limits) {
            if self.drop_oldest() {
                continue;
            }
            if delivery != Delivery::Droppable {
                return Err(Overflow);
            }
            self.classes.get_or_insert_default().discarded.dropped += 1;
            return Ok(());
        }
        self.close_holes();
        if delivery != Delivery::Reliable && !frame.is_empty() {
            self.classes.get_or_insert_default().mark(self.frames.len(), delivery);
        }
        self.push_unbounded(frame);
        Ok(())
    }

    /// Drops the oldest droppable frame that has not begun to leave. Answers whether there was one.
    fn drop_oldest(&mut self) -> bool {
        let is_front_started = self.front_written > 0;
        let Some(index) = self.classes.as_mut().and_then(|classes| classes.drop_oldest(is_front_started)) else {
            return false;
        };
        self.bytes -= self.frames[index].len();
        self.frames[index] = Bytes::new();
        true
    }

    /// Removes the places of dropped frames once they are the most.
    fn close_holes(&mut self) {
        if let Some(classes) = self.classes.as_mut().filter(|classes| classes.holes > self.frames.len() / 2) {
            classes.renumber(&self.frames);
            self.frames.retain(|frame| !frame.is_empty());
        }
    }
}
