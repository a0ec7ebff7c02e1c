//! The machine's clock and randomness behind the domain's ports.

use std::time::{SystemTime, UNIX_EPOCH};

use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::time::Timestamp;

/// The real clock and the system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            // A clock set before 1970 is wrong, but no reason to fall over.
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        };
        Timestamp(micros)
    }
}

impl Entropy for System {
    fn fill(&self, bytes: &mut [u8]) {
        // Linux blocks until the generator is seeded and does not fail afterwards. Handing out predictable ids and
        // tokens instead would be worse than the panic, which is caught at the request.
        #[expect(clippy::expect_used, reason = "see above")]
        getrandom::fill(bytes).expect("the system gives random bytes");
    }
}
