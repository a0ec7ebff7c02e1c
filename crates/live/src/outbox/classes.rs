//! Marks of a queue's frames: which may be replaced, which may be dropped, and which belong to the socket alone. Frames
//! are known by numbers that follow the queue's order. Never holds a frame.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::{Delivery, Discarded};

/// The number of a queue's first frame. The number is high, so that frames put before it have numbers too.
const FIRST: u64 = 1 << 32;

/// The marks of one queue.
#[derive(Debug)]
pub(super) struct Classes {
    /// The number of the frame at the front of the queue.
    pub(super) first: u64,
    /// The number of the last frame of each key. The map is never iterated, because its order differs in every run.
    latest: HashMap<u64, u64>,
    /// The number and key of each frame that has a key, in order.
    keyed: VecDeque<(u64, u64)>,
    /// Numbers of droppable frames, in order.
    droppable: VecDeque<u64>,
    /// Numbers of frames that belong to the socket and not to the session, in order.
    pub(super) of_socket: VecDeque<u64>,
    /// Count of the empty frames in the queue, where dropped ones were.
    pub(super) holes: usize,
    pub(super) discarded: Discarded,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            first: FIRST,
            latest: HashMap::new(),
            keyed: VecDeque::new(),
            droppable: VecDeque::new(),
            of_socket: VecDeque::new(),
            holes: 0,
            discarded: Discarded::default(),
        }
    }
}

impl Classes {
    /// Marks the frame that is about to be put at this index.
    pub(super) fn mark(&mut self, index: usize, delivery: Delivery) {
        let number = self.first + index as u64;
        match delivery {
            Delivery::Reliable | Delivery::Once(_) | Delivery::Kept(_) | Delivery::Again { .. } => {}
            Delivery::Latest(key) => {
                self.latest.insert(key, number);
                self.keyed.push_back((number, key));
            }
            Delivery::Droppable => self.droppable.push_back(number),
        }
    }

    /// Notes that the frame at the front left the queue. Returns whether it belonged to the socket alone.
    pub(super) fn left_front(&mut self, is_hole: bool) -> bool {
        let number = self.first;
        self.first += 1;
        if is_hole {
            self.holes -= 1;
        } else if let Some((_, key)) = self.keyed.pop_front_if(|(keyed, _)| *keyed == number) {
            if self.latest.get(&key) == Some(&number) {
                self.latest.remove(&key);
            }
        } else if self.droppable.pop_front_if(|droppable| *droppable == number).is_none() {
            return self.of_socket.pop_front_if(|of_socket| *of_socket == number).is_some();
        }
        false
    }

    /// The index of the last frame of a key; `None` if it has left the queue.
    pub(super) fn place_of(&self, key: u64) -> Option<usize> {
        self.latest.get(&key).map(|number| (number - self.first) as usize)
    }

    /// Takes the mark off the oldest droppable frame, which becomes a hole, and returns its index. A front frame that
    /// is partly written is spared; `is_front_started` says whether there is one.
    pub(super) fn drop_oldest(&mut self, is_front_started: bool) -> Option<usize> {
        let is_leaving = is_front_started && self.droppable.front() == Some(&self.first);
        let number = self.droppable.remove(usize::from(is_leaving))?;
        self.holes += 1;
        self.discarded.dropped += 1;
        Some((number - self.first) as usize)
    }

    /// Gives all frames new numbers, as if the holes in `frames` were gone.
    pub(super) fn renumber(&mut self, frames: &VecDeque<Bytes>) {
        let mut keyed = self.keyed.iter_mut().peekable();
        let mut droppable = self.droppable.iter_mut().peekable();
        let mut of_socket = self.of_socket.iter_mut().peekable();
        let kept = (self.first..).zip(frames).filter(|(_, frame)| !frame.is_empty());
        for (renumbered, (number, _)) in (self.first..).zip(kept) {
            if let Some((keyed, key)) = keyed.next_if(|(keyed, _)| *keyed == number) {
                *keyed = renumbered;
                self.latest.entry(*key).and_modify(|latest| {
                    if *latest == number {
                        *latest = renumbered;
                    }
                });
            } else if let Some(droppable) = droppable.next_if(|droppable| **droppable == number) {
                *droppable = renumbered;
            } else if let Some(of_socket) = of_socket.next_if(|of_socket| **of_socket == number) {
                *of_socket = renumbered;
            }
        }
        self.holes = 0;
    }
}
