//! A map from the slots of tickets to values. Slots are given out in ascending order, so tickets that came one after
//! the other lie side by side in the map. A pass goes in that order, so it reads adjacent memory. The map itself gives
//! out no slots.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by slot.
pub(super) type Slots<T> = HashMap<u32, T, BuildHasherDefault<InOrder>>;

/// Hashes a slot to itself. Slots are not chosen by users, so nobody can provoke collisions.
#[derive(Default)]
pub(super) struct InOrder(u64);

impl Hasher for InOrder {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u32(&mut self, slot: u32) {
        // Hash maps take the bucket from the low bits and a tag from the highest seven.
        self.0 = u64::from(slot) | u64::from(slot) << 57;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
