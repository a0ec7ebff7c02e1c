//! Tests of the public interface of `muster-wire`. They are one binary, because linking takes longer than running.
// A test that cannot go on panics, and so do the helpers of the tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod code;
mod cursor;
mod dialect;
mod envelope;
mod fuzz;
mod generated;
mod golden;
mod http_request;
mod operations;
mod random;
mod round_trip;
mod timestamp;
mod token;
mod tracking;
