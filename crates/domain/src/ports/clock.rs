//! Time and randomness, so that tests and simulation decide both.

use uuid::Uuid;

use crate::time::Timestamp;

/// Wall clock. May jump either way; nothing durable may depend on it being monotonic.
pub trait Clock {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// Secure random bytes.
pub trait Entropy {
    /// Fills `bytes` with unpredictable ones.
    fn fill(&self, bytes: &mut [u8]);

    /// A new random id.
    fn uuid(&self) -> Uuid {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}
