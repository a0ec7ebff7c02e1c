//! Timers: a wheel of one-millisecond slots, with a measure of the timers' lateness. Reads no clock.
//!
//! A timer cannot be cancelled: the code that set it checks when it fires whether it still matters.

use std::collections::BTreeMap;

use crate::session::Millis;

/// Number of slots of the wheel, which is how many milliseconds ahead it reaches. Later timers wait in a tree.
const SLOTS: usize = 4096;

/// Upper bounds of the lateness histogram's buckets, in milliseconds; the last bucket has no bound.
pub const LATENESS_BOUNDS_MS: [u64; 12] = [0, 1, 2, 3, 5, 7, 10, 20, 50, 100, 500, 1_000];

/// Histogram of the lateness of timers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Counts of timers by the lowest bound that their lateness did not exceed; the last entry counts those beyond all
    /// bounds.
    pub buckets: [u64; LATENESS_BOUNDS_MS.len() + 1],
    /// Sum of the lateness of all timers, in milliseconds.
    pub sum_ms: u64,
}

impl Lateness {
    /// Counts a timer that ran `late_ms` after it was due.
    pub fn record(&mut self, late_ms: u64) {
        let bucket = LATENESS_BOUNDS_MS.iter().position(|bound| late_ms <= *bound).unwrap_or(LATENESS_BOUNDS_MS.len());
        self.buckets[bucket] += 1;
        self.sum_ms += late_ms;
    }
}

impl Lateness {
    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_ms += other.sum_ms;
    }
}

/// Values that become due at given times. Values for the same millisecond come out in the order in which they were set.
#[derive(Debug)]
pub struct Wheel<T> {
    /// The time up to which all timers were taken out.
    now: Millis,
    slots: Vec<Vec<T>>,
    /// One bit for each slot that holds a value.
    occupied: [u64; SLOTS / 64],
    far: BTreeMap<Millis, Vec<T>>,
    len: usize,
    /// The time at which the next timer is due. It is kept here because callers ask for it after every step, while it
    /// seldom changes.
    next: Option<Millis>,
    lateness: Lateness,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        let slots = (0..SLOTS).map(|_| Vec::new()).collect();
        Self {
            now: 0,
            slots,
            occupied: [0; SLOTS / 64],
            far: BTreeMap::new(),
            len: 0,
            next: None,
            lateness: Lateness::default(),
        }
    }
}

impl<T> Wheel<T> {
    /// Sets a timer. A time that has passed already fires at the next turn.
    pub fn set(&mut self, at: Millis, value: T) {
        let at = at.max(self.now + 1);
        self.len += 1;
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
        if at - self.now < SLOTS as u64 {
            self.put(at, value);
        } else {
            self.far.entry(at).or_default().push(value);
        }
    }

    fn put(&mut self, at: Millis, value: T) {
        let slot = (at % SLOTS as u64) as usize;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.slots[slot].push(value);
    }

    /// The time at which the next timer is due.
    pub fn next_due(&self) -> Option<Millis> {
        self.next
    }

    fn find_next(&self) -> Option<Millis> {
        let near = (0..SLOTS / 64 + 1).find_map(|step| {
            let start = (self.now + 1) as usize % SLOTS;
            let word = (start / 64 + step) % (SLOTS / 64);
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == SLOTS / 64 {
                bits &= !(u64::MAX << (start % 64));
            }
            let slot = (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)?;
            Some(self.now + 1 + ((slot + SLOTS - start) % SLOTS) as u64)
        });
        let far = self.far.keys().next().copied();
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// Takes out the timers that are due at `now`, in order, and counts their lateness.
    pub fn take_due(&mut self, now: Millis, out: &mut Vec<T>) {
        while let Some(due) = self.next.filter(|due| *due <= now) {
            // Timers from the tree come first, because the timers of the slot were set after them.
            self.now = due - 1;
            let mut values = self.far.remove(&due).unwrap_or_default();
            let slot = (due % SLOTS as u64) as usize;
            values.append(&mut self.slots[slot]);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            self.now = due;
            self.len -= values.len();
            self.next = self.find_next();
            for value in values {
                self.lateness.record(now - due);
                out.push(value);
            }
        }
        self.now = self.now.max(now);
    }

    /// Number of timers that are set and were not taken out.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no timer is set.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lateness of all timers so far.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(wheel: &mut Wheel<u32>, now: Millis) -> Vec<u32> {
        let mut out = Vec::new();
        wheel.take_due(now, &mut out);
        out
    }

    #[test]
    fn timers_fire_in_order_near_and_far() {
        let mut wheel = Wheel::default();
        wheel.set(10_000, 4);
        wheel.set(5, 1);
        wheel.set(4_100, 3);
        wheel.set(5, 2);
        assert_eq!(wheel.next_due(), Some(5));
        assert_eq!(take(&mut wheel, 4), [0u32; 0]);
        assert_eq!(take(&mut wheel, 5), [1, 2]);
        assert_eq!(wheel.next_due(), Some(4_100));
        wheel.set(10_000, 5);
        assert_eq!(take(&mut wheel, 9_999), [3]);
        wheel.set(10_000, 6);
        assert_eq!(take(&mut wheel, 20_000), [4, 5, 6]);
        assert!(wheel.is_empty());
        assert_eq!(wheel.next_due(), None);
    }

    #[test]
    fn what_is_overdue_fires_at_the_next_turn_and_is_counted_late() {
        let mut wheel = Wheel::default();
        take(&mut wheel, 1_000);
        wheel.set(3, 1);
        assert_eq!(wheel.next_due(), Some(1_001));
        assert_eq!(take(&mut wheel, 1_004), [1]);
        assert_eq!(wheel.lateness().sum_ms, 3);
        assert_eq!(wheel.lateness().buckets[3], 1);
    }

    #[test]
    fn every_timer_of_a_long_row_fires_at_its_time() {
        let mut wheel = Wheel::default();
        for n in 0..20_000u32 {
            wheel.set(u64::from(n * 7919 % 20_011) + 1, n * 7919 % 20_011 + 1);
        }
        let mut now = 0;
        while let Some(due) = wheel.next_due() {
            assert!(due > now);
            now = due;
            assert!(take(&mut wheel, now).into_iter().all(|value| u64::from(value) == now));
        }
        assert!(wheel.is_empty());
    }
}
