//! Implements the domain's ports with the machine's clock and randomness.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::time::Timestamp;

/// The real clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            // A clock set before 1970 is wrong, but no reason to panic.
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        };
        Timestamp(micros)
    }
}

/// Number of bytes that are taken from the system's generator at a time.
const POOL_BYTES: usize = 512;

/// Random bytes of the system, read a block at a time: a sign-in needs some three times, and each system call costs as
/// much as a signature. Each shard has one pool.
#[derive(Debug)]
pub struct RandomPool {
    pool: RefCell<Pool>,
}

struct Pool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

impl std::fmt::Debug for Pool {
    /// The bytes are secrets to come, so they are not shown.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Pool(..)")
    }
}

impl Default for RandomPool {
    fn default() -> Self {
        Self { pool: RefCell::new(Pool { bytes: [0; POOL_BYTES], used: POOL_BYTES }) }
    }
}

impl Entropy for RandomPool {
    fn fill(&self, bytes: &mut [u8]) {
        let mut pool = self.pool.borrow_mut();
        let mut rest = bytes;
        while !rest.is_empty() {
            if pool.used == POOL_BYTES {
                read_system(&mut pool.bytes);
                pool.used = 0;
            }
            let taken = rest.len().min(POOL_BYTES - pool.used);
            let (now, later) = rest.split_at_mut(taken);
            let from = pool.used;
            now.copy_from_slice(&pool.bytes[from..from + taken]);
            // Bytes that were handed out are not kept.
            pool.bytes[from..from + taken].fill(0);
            pool.used += taken;
            rest = later;
        }
    }
}

fn read_system(bytes: &mut [u8]) {
    // Linux blocks until the generator is seeded and does not fail afterwards. Predictable ids and tokens would be
    // worse than the panic, which is caught at the request.
    #[expect(clippy::expect_used, reason = "see above")]
    getrandom::fill(bytes).expect("the system gives random bytes");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_byte_is_handed_out_twice() {
        let pool = RandomPool::default();
        let drawn: HashSet<[u8; 24]> = (0..1_000)
            .map(|_| {
                let mut bytes = [0; 24];
                pool.fill(&mut bytes);
                bytes
            })
            .collect();
        assert_eq!(drawn.len(), 1_000);
        let mut large = [0; 3 * POOL_BYTES];
        pool.fill(&mut large);
        assert!(large.chunks(16).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    }
}
