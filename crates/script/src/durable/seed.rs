//! Randomness of a recorded match: bytes that nobody can predict without its secret seed, and that are the same
//! whenever the same call draws them.

use std::cell::Cell;
use std::rc::Rc;

use aes::Aes256;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockEncrypt as _, KeyInit as _};

/// Bytes of a seed.
pub(crate) const SEED_BYTES: usize = 32;

const BLOCK_BYTES: usize = 16;

/// The secret seed of a match: a key of AES-256, which turns each number into a random block.
#[derive(Clone)]
pub(crate) struct Seed {
    cipher: Rc<Aes256>,
}

impl Seed {
    pub(crate) fn new(bytes: [u8; SEED_BYTES]) -> Self {
        Self { cipher: Rc::new(Aes256::new(&bytes.into())) }
    }

    /// The block at a position of a sequence.
    fn block(&self, sequence: Sequence, number: u64) -> [u8; BLOCK_BYTES] {
        let Sequence { kind, of, part } = sequence;
        let [.., a, b, c, d, e, f, g] = of.to_be_bytes();
        let [.., h, i, j] = part.to_be_bytes();
        let [.., k, l, m, n, o] = number.to_be_bytes();
        let mut block = GenericArray::from([kind, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o]);
        self.cipher.encrypt_block(&mut block);
        block.into()
    }
}

/// A sequence of random blocks. No two sequences of a match have a block in common.
#[derive(Clone, Copy)]
struct Sequence {
    /// Kind of the sequence, so that sequences of different kinds have no block in common.
    kind: u8,
    /// Only the lower seven bytes count.
    of: u64,
    /// Only the lower three bytes count.
    part: u32,
}

impl Sequence {
    fn of_call(call: u64) -> Self {
        Self { kind: 0, of: call, part: 0 }
    }

    /// The sequence of a host function whose answer goes to the log, so that it is not called when its call is
    /// repeated.
    fn of_function(call: u64, ordinal: u32) -> Self {
        Self { kind: 1, of: call, part: ordinal }
    }

    /// The sequence of a number that game code chose as its seed.
    fn chosen(number: f64) -> Self {
        let bits = number.to_bits();
        // The upper seven bytes, and the lowest one.
        Self { kind: 2, of: bits >> 8, part: (bits & 0xff) as u32 }
    }
}

/// The randomness of one call.
pub(crate) struct Chance {
    seed: Seed,
    call: u64,
    sequence: Cell<Sequence>,
    blocks: Cell<u64>,
    /// The sequence of the host function that runs, and the number of its next block.
    inner: Cell<Option<(Sequence, u64)>>,
}

impl Chance {
    pub(crate) fn new(seed: Seed, call: u64) -> Self {
        let (sequence, blocks, inner) = (Cell::new(Sequence::of_call(call)), Cell::new(0), Cell::new(None));
        Self { seed, call, sequence, blocks, inner }
    }

    /// Draws random bytes, from the sequence of the host function that runs if there is one.
    pub(crate) fn fill(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(BLOCK_BYTES) {
            let block = match self.inner.get() {
                Some((sequence, number)) => {
                    self.inner.set(Some((sequence, number + 1)));
                    self.seed.block(sequence, number)
                }
                None => self.next(),
            };
            part.copy_from_slice(&block[..part.len()]);
        }
    }

    /// A host function begins whose answer goes to the log. It draws from a sequence of its own: a repeated call takes
    /// its answer from the log without calling it, and must draw the same numbers afterwards.
    pub(crate) fn enter(&self, ordinal: u32) {
        self.inner.set(Some((Sequence::of_function(self.call, ordinal), 0)));
    }

    /// The host function has answered.
    pub(crate) fn leave(&self) {
        self.inner.set(None);
    }

    fn next(&self) -> [u8; BLOCK_BYTES] {
        let number = self.blocks.get();
        self.blocks.set(number + 1);
        self.seed.block(self.sequence.get(), number)
    }

    /// From now on draws from the sequence of a number that game code chose as its seed.
    pub(crate) fn reseed(&self, chosen: f64) {
        self.sequence.set(Sequence::chosen(chosen));
        self.blocks.set(0);
    }

    /// Draws a number from 0 to below 1, of 53 random bits.
    pub(crate) fn fraction(&self) -> f64 {
        let [a, b, c, d, e, f, g, h, ..] = self.next();
        // The 53 bits are exact in a double.
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a whole number from `least` to `most`, all equally likely.
    pub(crate) fn between(&self, least: i64, most: i64) -> i64 {
        let span = most.abs_diff(least);
        let Some(count) = span.checked_add(1) else { return self.fill_i64() };
        // With the remainder of 128 bits no number is likelier than another by more than 2^-64.
        let drawn = u128::from_be_bytes(self.next()) % u128::from(count);
        // The number is below `count`, so at most `span`.
        least.wrapping_add_unsigned(drawn as u64)
    }

    fn fill_i64(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.next();
        i64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u8, call: u64) -> Vec<u8> {
        let chance = Chance::new(Seed::new([seed; SEED_BYTES]), call);
        let mut bytes = vec![0; 40];
        chance.fill(&mut bytes);
        bytes
    }

    #[test]
    fn the_same_call_draws_the_same_and_no_other_does() {
        assert_eq!(drawn(1, 7), drawn(1, 7));
        assert_ne!(drawn(1, 7), drawn(1, 8));
        assert_ne!(drawn(1, 7), drawn(2, 7));
        assert_ne!(drawn(1, 7)[..16], drawn(1, 7)[16..32]);
    }

    #[test]
    fn what_a_function_draws_changes_nothing_for_others() {
        let (one, other) = [0, 0].map(|call| Chance::new(Seed::new([5; SEED_BYTES]), call)).into();
        let mut bytes = [0; 48];
        one.enter(3);
        one.fill(&mut bytes);
        one.leave();
        assert_eq!(one.fraction(), other.fraction());
        let first = bytes;
        other.enter(3);
        other.fill(&mut bytes);
        assert_eq!(bytes, first);
    }

    #[test]
    fn a_chosen_seed_repeats_itself_within_the_match() {
        let drawn = |secret, call, chosen| {
            let chance = Chance::new(Seed::new([secret; SEED_BYTES]), call);
            chance.fraction();
            chance.reseed(chosen);
            chance.between(0, i64::MAX)
        };
        assert_eq!(drawn(1, 1, 7.0), drawn(1, 2, 7.0));
        assert_ne!(drawn(1, 1, 7.0), drawn(1, 1, 8.0));
        assert_ne!(drawn(1, 1, 7.0), drawn(2, 1, 7.0), "nobody who has not the secret can tell");
    }

    #[test]
    fn numbers_are_within_what_was_asked_for_and_reach_its_ends() {
        let chance = Chance::new(Seed::new([3; SEED_BYTES]), 0);
        let mut counts = [0_u32; 3];
        for _ in 0..3_000 {
            counts[(chance.between(-1, 1) + 1) as usize] += 1;
            assert!((0.0..1.0).contains(&chance.fraction()));
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        assert_eq!(chance.between(5, 5), 5);
        chance.between(i64::MIN, i64::MAX);
    }
}
