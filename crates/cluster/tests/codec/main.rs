//! What nodes tell each other, as bytes. One binary, because linking costs more than running.
// A test that cannot go on says so by panicking; the helpers between the tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod carried;
mod every;
mod golden;
mod matches;
mod messages;
mod mutation;
mod questions;
#[path = "../../../wire/tests/wire/random.rs"]
mod random;
mod round_trip;
#[path = "../../../wire/tests/wire/tracking.rs"]
mod tracking;
mod twins;
mod versions;
