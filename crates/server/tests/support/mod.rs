//! The real program, started for a test and ended with it, and clients that say anything to it, wrong things above all.
//!
//! Waiting is always for an event (a line of the log, a byte, the end of a stream), and never longer than [`DEADLINE`].
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

/// Nothing that these tests wait for takes this long, however busy the machine is.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The bytes of a process in memory.
pub fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Asks until it holds. What asks should itself wait for an answer of the server, so that this does not spin.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < DEADLINE, "waited in vain: {what}");
        std::thread::yield_now();
    }
}
