//! The trace of a run: lines that are printed on demand, and a hash, by which two runs are compared.

use std::io::Write as _;

/// The hash of a run, and whether its lines are printed.
pub struct Trace {
    hash: u64,
    prints: bool,
}

impl Trace {
    /// An empty trace. `prints` says whether lines go to standard output.
    pub fn new(prints: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, prints }
    }

    /// Prints a line that is not part of the hash.
    pub fn line(&self, line: impl FnOnce() -> String) {
        if self.prints {
            // A closed pipe is no error: the reader, for example `head`, may have seen enough.
            let _ = writeln!(std::io::stdout(), "{}", line());
        }
    }

    /// Adds a step to the hash and prints it.
    pub fn step(&mut self, line: impl FnOnce() -> String, numbers: &[u64]) {
        for number in numbers {
            self.hash = (self.hash ^ number).wrapping_mul(0x0100_0000_01b3);
        }
        self.line(line);
    }

    /// Adds a delivered frame to the hash and prints it.
    pub fn bytes(&mut self, line: impl FnOnce() -> String, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.line(line);
    }

    /// The hash of all steps so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}
