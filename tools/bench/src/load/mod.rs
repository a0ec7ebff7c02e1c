//! The cheap part of the generator: prepared requests, minimal parsing, shared buffers.
//!
//! The code here must cost less than the server that it drives. Answers are still checked in full: a body that is not
//! the right answer is a [`Fault`].

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
