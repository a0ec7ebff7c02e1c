//! Faults of an operation, worded for the first line of a report.

use std::io;

/// A failed operation. Equal faults are counted by their text, so the text holds no ids.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("cannot connect: {0}")]
    Connect(io::ErrorKind),
    #[error("connection lost: {0}")]
    Lost(io::ErrorKind),
    #[error("connection closed by the server")]
    Closed,
    #[error("truncated body")]
    Truncated,
    #[error("status {0}")]
    Status(u16),
    #[error("malformed answer: {0}")]
    Malformed(&'static str),
    /// A well-formed answer that does not fit the request.
    #[error("wrong answer: {0}")]
    Wrong(&'static str),
    #[error("no answer in time")]
    Unanswered,
    /// The server answered with an error envelope of this code.
    #[error("realtime error {0}")]
    Refused(i32),
    #[error("message lost")]
    MessageLost,
    #[error("message delivered twice")]
    MessageRepeated,
    #[error("message out of order")]
    MessageOutOfOrder,
}

impl Fault {
    /// Whether the connection can carry another operation after this fault.
    pub fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Status(_) | Self::Wrong(_) | Self::Refused(_))
    }
}
