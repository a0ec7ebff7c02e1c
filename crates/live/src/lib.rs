//! The in-memory plane of Muster: everything that lives between sockets and ends with the process.
//!
//! The crate holds state machines only: time comes in as an argument, frames leave through bounded queues, and nothing
//! here reads a clock, waits, locks or touches a socket. One shard thread owns each value.

pub mod close;
pub mod encode;
mod impossible;
pub mod listings;
pub mod matches;
pub mod matchmaker;
#[cfg(test)]
mod nasty;
pub mod outbox;
pub mod party;
pub mod place;
pub mod plane;
pub mod registry;
pub mod rooms;
pub mod session;
pub mod stream;
pub mod wheel;

pub use close::CloseReason;
pub use encode::Encode;
pub use outbox::{Delivery, Discarded, Outbox, OutboxLimits, Overflow, RingLimits};
pub use place::{Epoch, NodeNumber, Partition, Place, Routes, ShardIndex};
pub use plane::{Plane, PlaneConfig};
pub use registry::{Registry, SessionInfo, SessionKey};
pub use session::{Directive, KeepAlive, KeepAliveConfig, Millis};
pub use stream::{Encoding, Presence, SessionRef, StreamKey};
