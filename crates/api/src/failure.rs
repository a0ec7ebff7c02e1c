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
    /// The message with its place in the game code, and the stack below it, for the log. `None` if the server states
    /// the failure, or if the author of the function chose a number for callers.
    pub trace: Option<Box<str>>,
}

/// The line between the message of an error and its stack, in traces.
pub const STACK_LINE: &str = "stack traceback:";

impl Failure {
    /// A failure.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, own_number: None, message: message.into(), trace: None }
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

    /// Adds the stack of an error to a failure, for the log. The stack begins with [`STACK_LINE`]. A failure that the
    /// author of the function gave a number is meant for callers alone, and stays as it is.
    #[must_use]
    pub fn with_stack(mut self, stack: &str) -> Self {
        if !self.is_on_purpose() {
            self.trace = Some(format!("{}\n{}", self.message, stack.trim_end()).into());
        }
        self
    }

    /// Whether the author of the function chose a number for callers.
    pub fn is_on_purpose(&self) -> bool {
        self.code != Code::Internal || self.own_number.is_some()
    }

    /// The trace, or else the message.
    pub fn in_full(self) -> String {
        self.trace.map_or(self.message, String::from)
    }

    /// The number that callers are told.
    pub fn number(&self) -> i32 {
        self.own_number.unwrap_or_else(|| self.code.number().into())
    }
}
