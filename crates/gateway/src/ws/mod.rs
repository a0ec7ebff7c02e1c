//! Sockets: the handshake, frames, and one task per connection.

pub mod connection;
pub mod frame;
pub mod handle;
pub mod handshake;
mod input;
mod output;
pub mod resume;
pub mod session;
pub mod shared;
pub mod stream;
pub mod work;
