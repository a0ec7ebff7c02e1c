//! Every byte format of Muster: protobuf messages, the JSON dialect, envelopes, tokens, cursors, error codes and the
//! operation table. No I/O, no clock, no game rules.

mod generated;
pub mod json;
mod timestamp;

pub use generated::{api, realtime};
pub use timestamp::Timestamp;
