//! Refusals that a rule answers instead of a result: the caller's fault, the environment's, or ours.

use std::borrow::Cow;
use std::num::NonZeroU32;

/// A result of the domain.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation did not happen. The rim maps each kind to one code of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request can never succeed as it is.
    InvalidArgument,
    /// The named thing does not exist, or the caller may not know that it does.
    NotFound,
    /// A name or identifier is taken.
    AlreadyExists,
    /// The caller is known and may not do this.
    PermissionDenied,
    /// The caller is not known, or not any more.
    Unauthenticated,
    /// The server or the thing is not in a state that allows this.
    FailedPrecondition,
    /// A limit is reached; trying later may succeed.
    ResourceExhausted,
    /// Part of the environment is away; trying again soon may succeed.
    Unavailable,
    /// Known to the protocol, not built yet.
    Unimplemented,
    /// Our own fault. The message says no more than that; the log says why.
    Internal,
}

/// A refusal with a sentence for the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The class of refusal.
    pub kind: ErrorKind,
    /// The fault and its remedy, for the caller's eyes.
    pub message: Cow<'static, str>,
    /// Words of the environment, for the log's eyes.
    pub cause: Option<String>,
    /// Seconds after which the caller may ask again, where a limit of the caller says so.
    pub retry_after_sec: Option<NonZeroU32>,
}

impl Error {
    /// A refusal of `kind`, explained by `message`.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), cause: None, retry_after_sec: None }
    }

    /// The same refusal with what the environment said.
    pub fn because(self, cause: String) -> Self {
        Self { cause: Some(cause), ..self }
    }

    /// The same refusal with the seconds after which the caller may ask again, at least one.
    pub fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after_sec: Some(NonZeroU32::new(seconds).unwrap_or(NonZeroU32::MIN)), ..self }
    }

    /// The request can never succeed as it is.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }
}
