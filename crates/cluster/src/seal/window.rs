//! The sequence numbers that have arrived from one sender: each is accepted once, and none that is too old to be
//! remembered.

/// Number of sequence numbers that are remembered. Frames that the bus delays by more others than these are refused,
/// and sent again by their links.
pub const WINDOW: u64 = 8_192;

/// Bits of one word.
const BITS: u64 = 64;

#[derive(Debug)]
pub(crate) struct Window {
    /// The highest number so far; 0 before any.
    highest: u64,
    /// A bit for each of the last [`WINDOW`] numbers, at the number modulo [`WINDOW`].
    seen: Box<[u64; (WINDOW / BITS) as usize]>,
}

impl Default for Window {
    fn default() -> Self {
        Self { highest: 0, seen: Box::new([0; (WINDOW / BITS) as usize]) }
    }
}

impl Window {
    /// Notes a number. Answers whether it is a new one.
    pub(crate) fn accept(&mut self, number: u64) -> bool {
        if number == 0 || number.saturating_add(WINDOW) <= self.highest {
            return false;
        }
        if number > self.highest {
            if number - self.highest >= WINDOW {
                self.seen.fill(0);
            } else {
                (self.highest + 1..number).for_each(|skipped| *self.word(skipped) &= !bit(skipped));
                *self.word(number) &= !bit(number);
            }
            self.highest = number;
        }
        let word = self.word(number);
        let is_new = *word & bit(number) == 0;
        *word |= bit(number);
        is_new
    }

    fn word(&mut self, number: u64) -> &mut u64 {
        &mut self.seen[(number % WINDOW / BITS) as usize]
    }
}

fn bit(number: u64) -> u64 {
    1 << (number % BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_number_is_accepted_once_in_any_order() {
        let mut window = Window::default();
        assert!(!window.accept(0));
        let mut chance = fastrand::Rng::with_seed(1);
        let mut seen = BTreeSet::new();
        let mut highest = 0;
        for _ in 0..200_000 {
            let ahead = if chance.u32(..1_000) == 0 { 3 * WINDOW } else { 4 };
            let number = (highest + chance.u64(..=ahead)).saturating_sub(chance.u64(..WINDOW + 100)).max(1);
            let is_old = number + WINDOW <= highest;
            assert_eq!(window.accept(number), !is_old && seen.insert(number), "{number} after {highest}");
            highest = highest.max(number);
        }
        assert!(highest > 3 * WINDOW);
    }
}
