//! The lean end of the generator: prepared requests, minimal parsing, shared buffers.
//!
//! Everything here exists to cost less than the server it drives. What comes back is still checked in full:
//! a body that is not the right answer is a [`Fault`].

pub mod endpoint;
pub mod envelopes;
pub mod fault;
pub mod frames;
pub mod http;
pub mod incoming;
mod protobuf;
pub mod requests;
pub mod session;
mod skim;
pub mod socket;
pub mod stamp;

pub use endpoint::Endpoints;
pub use envelopes::Format;
pub use fault::Fault;
