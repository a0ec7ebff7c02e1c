//! Tests of `muster-wire` through its public face. One binary, because linking costs more than running.
// A test that cannot go on says so by panicking; the helpers between the tests too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod code;
mod cursor;
mod dialect;
mod envelope;
mod generated;
mod golden;
mod http_request;
mod mutation;
mod operations;
mod random;
mod round_trip;
mod timestamp;
mod token;
mod tracking;
