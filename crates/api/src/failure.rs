//! Failures of game code.

use muster_wire::code::Code;

/// Failure of a function: raised by its author, or stated by the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure.
    pub code: Code,
    /// A number that callers are told in place of the kind's, chosen by the author of the function.
    pub own_number: Option<i32>,
    /// A sentence for the caller.
    pub message: String,
}

impl Failure {
    /// A failure.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, own_number: None, message: message.into() }
    }

    /// A failure with a number that the author of the function chose: that of a code, or the game's own. 0, which would
    /// tell callers that nothing failed, stands for an internal error.
    pub fn numbered(number: i32, message: impl Into<String>) -> Self {
        match u8::try_from(number).ok().and_then(Code::from_number) {
            Some(code) => Self::new(code, message),
            None => {
                Self { own_number: Some(number).filter(|number| *number != 0), ..Self::new(Code::Internal, message) }
            }
        }
    }

    /// The number that callers are told.
    pub fn number(&self) -> i32 {
        self.own_number.unwrap_or_else(|| self.code.number().into())
    }
}
