//! What a rule can answer instead of a result: the caller's fault, the environment's, or ours.

use std::borrow::Cow;

use crate::ports::store::StoreError;

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
    /// What is wrong and what to do, for the caller's eyes.
    pub message: Cow<'static, str>,
    /// What the environment said, for the log's eyes.
    pub cause: Option<String>,
}

impl Error {
    /// A refusal of `kind`, explained by `message`.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), cause: None }
    }

    /// The same refusal with what the environment said.
    pub fn because(self, cause: String) -> Self {
        Self { cause: Some(cause), ..self }
    }

    /// The request can never succeed as it is.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }
}

impl From<StoreError> for Error {
    /// Conflicts and rejections are translated where their meaning is known; what arrives here unhandled
    /// is the environment's fault or ours.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(cause) => {
                Self::new(ErrorKind::Unavailable, "The database is not available right now. Please try again.")
                    .because(cause)
            }
            StoreError::Conflict(_) => Self::new(ErrorKind::AlreadyExists, "That identifier is already in use."),
            StoreError::Rejected(_) => Self::invalid("The write was rejected."),
            StoreError::Invalid(message) => Self::invalid(message),
            StoreError::Balance(unfit) => Self::new(ErrorKind::FailedPrecondition, unfit.to_string()),
            StoreError::Diverged => {
                Self::new(ErrorKind::Internal, "An internal error occurred.").because(error.to_string())
            }
            StoreError::Internal(cause) => Self::new(ErrorKind::Internal, "An internal error occurred.").because(cause),
        }
    }
}
