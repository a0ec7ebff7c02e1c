//! What happened in a run: printed line by line when wanted, and in any case as one number.

use std::io::Write as _;

/// See the module.
pub struct Trace {
    hash: u64,
    prints: bool,
}

impl Trace {
    /// An empty one; `prints` says whether lines go to standard output.
    pub fn new(prints: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, prints }
    }

    /// Something for readers alone.
    pub fn line(&self, line: impl FnOnce() -> String) {
        if self.prints {
            // Whoever reads may have seen enough, as `head` does.
            let _ = writeln!(std::io::stdout(), "{}", line());
        }
    }

    /// Something that happened.
    pub fn step(&mut self, line: impl FnOnce() -> String, numbers: &[u64]) {
        for number in numbers {
            self.hash = (self.hash ^ number).wrapping_mul(0x0100_0000_01b3);
        }
        self.line(line);
    }

    /// Something that was delivered.
    pub fn bytes(&mut self, line: impl FnOnce() -> String, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.line(line);
    }

    /// The number.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}
