//! Sockets: the handshake, frames, and one task per connection.

pub mod connection;
pub mod frame;
pub mod handle;
pub mod handshake;
pub mod session;
