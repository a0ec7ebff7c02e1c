//! Tests of the messages between nodes as bytes, in one binary because linking costs more than running.
// Tests and their helpers panic when they cannot go on.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod carried;
mod every;
mod fuzz;
mod golden;
mod matches;
mod messages;
mod questions;
#[path = "../../../wire/tests/wire/random.rs"]
mod random;
mod round_trip;
#[path = "../../../wire/tests/wire/tracking.rs"]
mod tracking;
mod twins;
mod versions;
