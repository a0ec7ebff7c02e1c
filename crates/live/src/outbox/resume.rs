//! A queue that outlives its socket: what was sent on one is counted and kept, and sent again on the next.

use bytes::Bytes;

use super::classes::Classes;
use super::ring::{Ring, RingLimits};
use super::{Outbox, OutboxLimits};

impl Outbox {
    /// A queue of these limits that keeps what it sent: so much, and what the queue leaves free.
    pub fn retaining(limits: RingLimits, queue: OutboxLimits) -> Self {
        Self { ring: Some(Box::new(Ring::new(limits, queue))), ..Self::default() }
    }

    /// Whether it keeps what it sent.
    pub fn is_retaining(&self) -> bool {
        self.ring.is_some()
    }

    /// Appends a frame that belongs to the socket, not to the session: it is not counted and not sent again.
    pub fn push_apart(&mut self, frame: Bytes) {
        if self.is_retaining() && !frame.is_empty() {
            self.classes.get_or_insert_default().mark_apart(self.frames.len());
        }
        self.push_unbounded(frame);
    }

    /// How many frames were sent, when the client should be asked how many it has. So many is what it answers for: a
    /// frame that waits may yet be left out.
    pub fn question(&mut self) -> Option<u64> {
        self.ring.as_mut()?.question()
    }

    /// How many frames were sent.
    pub fn sent(&self) -> Option<u64> {
        self.ring.as_ref().map(|ring| ring.sent())
    }

    /// The client has the first `received` frames.
    pub fn acknowledge(&mut self, received: u64) {
        if let Some(ring) = &mut self.ring {
            ring.acknowledge(received);
        }
    }

    /// The socket is lost: a frame that had begun to leave waits again, one that belonged to the socket is gone.
    pub fn rewind(&mut self) {
        self.bytes += std::mem::take(&mut self.front_written);
        let apart = self.classes.as_mut().map(|classes| classes.take_apart()).unwrap_or_default();
        for index in apart {
            self.bytes -= std::mem::take(&mut self.frames[index]).len();
        }
        self.close_holes();
    }

    /// Whether a client that has the first `received` frames can go on without a gap.
    pub fn can_resume(&self, received: u64) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.holds_all_after(received))
    }

    /// After [`Outbox::rewind`]: there is a new socket, whose client has the first `received` frames. First comes
    /// `greeting`, which is not counted, then what was sent after those, then what waits.
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

    /// The session goes on elsewhere, with a client that has the first `received` frames. Answers the frames behind those:
    /// what was sent and what waits. `None` if some of them are not kept any more, or they are more than `bytes_max`.
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

    /// The session was elsewhere before: its client has the first `sent` frames. These are before all that waits here. To
    /// be called before anything was written.
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
    /// Marks the frame that is about to stand at this place as the socket's own.
    fn mark_apart(&mut self, index: usize) {
        self.apart.push_back(self.first + index as u64);
    }

    /// A frame was put before all others.
    fn put_front(&mut self, is_apart: bool) {
        self.first -= 1;
        if is_apart {
            self.apart.push_front(self.first);
        }
    }

    /// The places of the frames that are the socket's own, which become holes.
    fn take_apart(&mut self) -> Vec<usize> {
        self.holes += self.apart.len();
        self.apart.drain(..).map(|number| (number - self.first) as usize).collect()
    }
}
