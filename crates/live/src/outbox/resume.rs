//! Queues that outlive their socket: frames sent over one socket are counted and kept, and sent again over the next.
//! Decides nothing about who may resume.

use bytes::Bytes;

use super::classes::Classes;
use super::ring::{Ring, RingLimits};
use super::{Outbox, OutboxLimits};

impl Outbox {
    /// An empty queue that keeps frames after they are sent: as many as `limits` allow, and more while the queue has
    /// room left.
    pub fn retaining(limits: RingLimits, queue: OutboxLimits) -> Self {
        Self { ring: Some(Box::new(Ring::new(limits, queue))), ..Self::default() }
    }

    /// Whether sent frames are kept.
    pub fn is_retaining(&self) -> bool {
        self.ring.is_some()
    }

    /// Appends a frame that belongs to the socket and not to the session: it is neither counted nor sent again.
    pub fn push_for_socket(&mut self, frame: Bytes) {
        if self.is_retaining() && !frame.is_empty() {
            self.classes.get_or_insert_default().mark_of_socket(self.frames.len());
        }
        self.push_unbounded(frame);
    }

    /// The number of frames sent so far, if the client should now be asked how many of them it has. Waiting frames are
    /// not counted, since they may yet be left out.
    pub fn question(&mut self) -> Option<u64> {
        self.ring.as_mut()?.question()
    }

    /// The number of frames sent so far; `None` if sent frames are not kept.
    pub fn sent(&self) -> Option<u64> {
        self.ring.as_ref().map(|ring| ring.sent())
    }

    /// Forgets the first `received` frames, which the client has.
    pub fn acknowledge(&mut self, received: u64) {
        if let Some(ring) = &mut self.ring {
            ring.acknowledge(received);
        }
    }

    /// Prepares for the next socket: a frame that was partly written waits again as a whole, and frames that belong to
    /// the former socket alone are dropped.
    pub fn rewind(&mut self) {
        self.bytes += std::mem::take(&mut self.front_written);
        let of_socket = self.classes.as_mut().map(|classes| classes.take_of_socket()).unwrap_or_default();
        for index in of_socket {
            self.bytes -= std::mem::take(&mut self.frames[index]).len();
        }
        self.close_holes();
    }

    /// Whether a client that has the first `received` frames can go on without a gap.
    pub fn can_resume(&self, received: u64) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.holds_all_after(received))
    }

    /// Begins with a new socket, whose client has the first `received` frames. The socket gets `greeting`, which is not
    /// counted, then the sent frames that the client lacks, then the waiting ones. [`Outbox::rewind`] must be called
    /// before.
    pub fn resume(&mut self, received: u64, greeting: Bytes) {
        let Some(ring) = &mut self.ring else { return };
        ring.acknowledge(received);
        let classes = self.classes.get_or_insert_default();
        for frame in ring.take().into_iter().rev() {
            self.bytes += frame.len();
            self.frames.push_front(frame);
            classes.put_front(false);
        }
        self.bytes += greeting.len();
        self.frames.push_front(greeting);
        classes.put_front(true);
    }

    /// Empties the queue of a session that goes on elsewhere with a client that has the first `received` frames.
    /// Returns all later frames, sent or waiting. `None` if some of them are no longer kept, or they exceed
    /// `bytes_max`.
    pub fn hand_over(&mut self, received: u64, bytes_max: usize) -> Option<Vec<Bytes>> {
        if !self.can_resume(received) {
            return None;
        }
        self.rewind();
        let Self { frames, ring, .. } = std::mem::take(self);
        let mut ring = ring?;
        ring.acknowledge(received);
        let kept: Vec<Bytes> = ring.take().into_iter().chain(frames).filter(|frame| !frame.is_empty()).collect();
        (kept.iter().map(Bytes::len).sum::<usize>() <= bytes_max).then_some(kept)
    }

    /// Puts frames from the session's former place before all frames that wait here; the client has the first `sent`
    /// ones of the session. Must be called before anything was written.
    pub fn take_over(&mut self, sent: u64, frames: Vec<Bytes>) {
        let Some(ring) = &mut self.ring else { return };
        ring.begin_at(sent);
        let classes = self.classes.get_or_insert_default();
        for frame in frames.into_iter().rev().filter(|frame| !frame.is_empty()) {
            self.bytes += frame.len();
            self.frames.push_front(frame);
            classes.put_front(false);
        }
    }
}

impl Classes {
    /// Marks the frame that is about to be put at this index as the socket's own.
    fn mark_of_socket(&mut self, index: usize) {
        self.of_socket.push_back(self.first + index as u64);
    }

    /// Notes that a frame was put before all others.
    fn put_front(&mut self, is_of_socket: bool) {
        self.first -= 1;
        if is_of_socket {
            self.of_socket.push_front(self.first);
        }
    }

    /// Turns the socket's own frames into holes, and returns their indexes.
    fn take_of_socket(&mut self) -> Vec<usize> {
        self.holes += self.of_socket.len();
        self.of_socket.drain(..).map(|number| (number - self.first) as usize).collect()
    }
}
