//! A typed client for Muster and other servers of the protocol: HTTP operations and the realtime socket.
//!
//! [`Client`] calls operations over one keep-alive connection. [`Socket`] sends and receives envelopes in either
//! format: requests with their answers by type ([`SocketRequest`]), pushes by kind ([`SocketPush`]). Both report
//! exactly what the server said: nothing is retried, cached or refreshed behind the caller's back.

mod error;
mod http;
mod operations;
mod realtime;
mod request;
mod resume;
mod socket;

pub use error::ClientError;
pub use http::{Client, Credentials, RawAnswer};
pub use muster_wire as wire;
pub use muster_wire::operations::typed;
pub use realtime::{SocketPush, SocketRequest};
pub use request::RequestParts;
pub use resume::ResumableSocket;
pub use socket::{Cid, Closed, Frame, Socket, SocketOptions};
