//! The real program, started for a test and ended with it, and clients that may send anything to it, above all wrong
//! things.
//!
//! Tests wait only for events (a line of the log, a byte, the end of a stream), and never longer than [`DEADLINE`].
#![allow(dead_code, reason = "each test program uses a part of this")]

pub mod client;
pub mod database;
pub mod frames;
pub mod http;
pub mod load;
pub mod metrics;
pub mod program;
pub mod proxy;
pub mod random;
pub mod requests;
pub mod server;
pub mod socket;
pub mod tls;

use std::time::{Duration, Instant};

/// Time limit of every wait; nothing takes this long, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Resident memory of a process, in bytes.
pub fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Repeats a check until it holds. The check should itself wait for an answer of the server, so that the loop does not
/// spin.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < DEADLINE, "waited in vain: {what}");
        std::thread::yield_now();
    }
}
