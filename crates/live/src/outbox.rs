//! A session's waiting frames: bounded by bytes and frames, shared by reference, written many at a time. Never touches
//! the socket.
//!
//! The [`Delivery`] of a frame says what happens when the queue is full, and when a newer frame comes while the frame
//! waits.

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

/// Limits of the frames that may wait for one session. A session that may change its socket has the ring's limits on
/// top, see [`RingLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    /// The setting `socket.outgoing_queue_bytes`.
    pub bytes_max: usize,
    /// The setting `socket.outgoing_queue_size`.
    pub frames_max: usize,
}

/// The promise that a frame is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The frame arrives, or the session ends with a reason.
    Reliable,
    /// The frame arrives unless a later frame with the same key replaces it in the queue. The last frame of a key
    /// arrives, or the session ends with a reason.
    Latest(u64),
    /// Like `Reliable`, and no session gets the frame twice: a session skips the frame if it had one of the same stream
    /// with this number or a higher one. An owner that replaces a dead one sends frames again, because it cannot know
    /// which of them had left.
    Once(u64),
    /// Like `Reliable`: a message that the database keeps, by its number. In a cluster each place remembers the numbers
    /// of these messages for a while, so that it knows which of them its sessions had.
    Kept(u64),
    /// A message that the database keeps, told again because a node that took part in its stream has gone. A place that
    /// had the message, or whose first session came to the stream after the message was kept, leaves it out.
    Again {
        /// The message's number.
        number: u64,
        /// Time since the message was kept, in milliseconds.
        age_ms: u32,
    },
    /// The frame may be left out: when the queue is full, the oldest droppable frames make room for any other.
    Droppable,
}

/// The error of a push: the queue is full and the frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// Counts of frames that will not be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// Frames that a newer frame of the same key replaced.
    pub replaced: u64,
    /// Droppable frames that left a full queue.
    pub dropped: u64,
}

/// Waiting frames in the order in which they will be written. Most sessions have nothing waiting, so an empty queue
/// takes no memory on the heap if all its frames were reliable and sent frames are not kept.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Waiting frames. A dropped frame leaves an empty one in its place until such holes are closed.
    frames: VecDeque<Bytes>,
    /// Number of bytes that wait.
    bytes: usize,
    /// Number of bytes of the front frame that are written already.
    front_written: usize,
    /// Marks of the frames; `None` until one may be needed.
    classes: Option<Box<Classes>>,
    /// Frames that were sent and may have to be sent again; `None` for a session that keeps to one socket.
    ring: Option<Box<Ring>>,
}

impl Delivery {
    /// The promise that remains once the frame has reached its session.
    pub(crate) fn arrived(self) -> Self {
        if let Self::Once(_) | Self::Kept(_) | Self::Again { .. } = self { Self::Reliable } else { self }
    }
}

impl Outbox {
    /// Appends a frame, or puts it in the place of an older one, unless that would exceed a limit. Returns the counts
    /// of the frames that were discarded for it; a droppable frame may itself be among them.
    ///
    /// # Errors
    /// [`Overflow`] when the frame does not fit. Droppable frames may have been discarded all the same.
    pub fn push(&mut self, frame: Bytes, delivery: Delivery, limits: OutboxLimits) -> Result<Discarded, Overflow> {
        if delivery == Delivery::Reliable && self.has_room(frame.len(), limits) {
            self.push_unbounded(frame);
            return Ok(Discarded::default());
        }
        self.push_classed(frame, delivery, limits)
    }

    /// Appends a frame that must not be refused: the rest of a write that has begun, or a close frame.
    pub fn push_unbounded(&mut self, frame: Bytes) {
        if !frame.is_empty() {
            self.bytes += frame.len();
            self.frames.push_back(frame);
        }
    }

    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Number of bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills `slices` with the front of the queue and returns the number of filled ones.
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

    /// Removes the first `written` bytes, and frees the list of frames once it is empty.
    pub fn advance(&mut self, written: usize) {
        debug_assert!(written <= self.bytes, "more was written than waits");
        self.bytes -= written;
        let mut written = self.front_written + written;
        while let Some(front) = self.frames.pop_front_if(|front| front.len() <= written) {
            written -= front.len();
            let is_of_socket = self.classes.as_mut().is_some_and(|classes| classes.left_front(front.is_empty()));
            if let Some(ring) = self.ring.as_mut().filter(|_| !is_of_socket && !front.is_empty()) {
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

    /// Counts of the frames that were discarded since the queue was made.
    pub fn discarded(&self) -> Discarded {
        self.classes.as_ref().map_or(Discarded::default(), |classes| classes.discarded)
    }

    /// Number of frames that wait.
    fn len(&self) -> usize {
        self.frames.len() - self.classes.as_ref().map_or(0, |classes| classes.holes)
    }

    fn has_room(&self, length: usize, limits: OutboxLimits) -> bool {
        let limits = self.widened(limits);
        self.len() < limits.frames_max && self.bytes + length <= limits.bytes_max
    }

    /// The limits of the queue and the ring together: frames that were sent may have to wait again beside a full queue.
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

    /// The index of a waiting frame with this key, unless its first bytes have been written.
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
        // Holes are closed last, because that changes indexes.
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

    /// Drops the oldest droppable frame of which no byte was written. Returns whether there was one.
    fn drop_oldest(&mut self) -> bool {
        let is_front_started = self.front_written > 0;
        let Some(index) = self.classes.as_mut().and_then(|classes| classes.drop_oldest(is_front_started)) else {
            return false;
        };
        self.bytes -= self.frames[index].len();
        self.frames[index] = Bytes::new();
        true
    }

    /// Removes the holes of dropped frames once they are more than half of the queue.
    fn close_holes(&mut self) {
        if let Some(classes) = self.classes.as_mut().filter(|classes| classes.holes > self.frames.len() / 2) {
            classes.renumber(&self.frames);
            self.frames.retain(|frame| !frame.is_empty());
        }
    }
}
