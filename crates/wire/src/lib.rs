//! All byte formats of Muster: protobuf messages, the JSON dialect, envelopes, tokens, cursors, error codes and the
//! operation table. No I/O, no clock, no game rules.

pub mod batch;
pub mod code;
pub mod cursor;
pub mod envelope;
pub mod extensions;
pub mod frame;
mod generated;
pub mod json;
pub mod link;
pub mod match_records;
pub mod nodes;
pub mod operations;
pub mod realtime_variants;
mod timestamp;
pub mod token;

pub use code::Code;
pub use envelope::Format;
pub use generated::{api, match_log, membership, node, realtime};
pub use operations::Operation;
pub use timestamp::Timestamp;
