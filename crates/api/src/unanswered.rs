//! Refusals of questions that get no answer.

use muster_domain::{Error, ErrorKind};

/// The refusal of a question to a node that has gone meanwhile.
pub(crate) fn node_gone() -> Error {
    Error::new(ErrorKind::Unavailable, "The node that was to answer has gone. Please try again.")
}

/// The refusal of a question whose shard has ended.
pub(crate) fn stopping() -> Error {
    Error::new(ErrorKind::Unavailable, "The server is stopping.")
}
