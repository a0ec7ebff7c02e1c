//! Errors of calls and sockets.

use std::io;

use muster_wire::Code;

/// A failed call. Refusals of the server are distinguished from requests that never reached it.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    /// The connection failed before the whole answer was there; the operation may have run.
    #[error("connection failed: {0}")]
    Http(#[from] hyper::Error),
    /// The server refused. `code` is `None` if the body is not an error of the protocol.
    #[error("refused with status {status}: {message}")]
    Refused { status: u16, code: Option<Code>, message: String },
    /// The request cannot be written as HTTP.
    #[error("cannot ask: {0}")]
    Request(String),
    /// The server answered, but not in the protocol.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// The server did not open the socket.
    #[error("socket refused with status {0}")]
    SocketRefused(u16),
    #[error("socket failed: {0}")]
    Socket(#[source] tokio_websockets::Error),
    /// The socket has ended; the reason is the server's.
    #[error("socket closed: {code} {reason}")]
    SocketClosed { code: u16, reason: String },
    /// The session could not go on over another socket, for the server's reason. The client now has a new, empty
    /// session.
    #[error("the session could not go on: {reason}")]
    NotResumed { reason: String },
    /// A request over the socket was answered with an error.
    #[error("refused with realtime error {code}: {message}")]
    Realtime { code: i32, message: String },
}

impl ClientError {
    /// The protocol's code of a refusal over HTTP.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code, .. } => *code,
            _ => None,
        }
    }
}

impl From<tokio_websockets::Error> for ClientError {
    fn from(error: tokio_websockets::Error) -> Self {
        use tokio_websockets::upgrade::Error::DidNotSwitchProtocols;
        match error {
            tokio_websockets::Error::Upgrade(DidNotSwitchProtocols(status)) => Self::SocketRefused(status),
            error => Self::Socket(error),
        }
    }
}
