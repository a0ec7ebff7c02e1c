//! Why a JSON text was refused: where, in which member, and what was expected there.

use std::fmt;

/// Names from the input are cut to this many bytes in errors, so that an error never echoes a whole body.
const NAME_LEN_MAX: usize = 64;

/// A refused JSON text. One word wide, because it travels in the results of every read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError(Box<Detail>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Detail {
    problem: JsonProblem,
    offset: usize,
    /// Dotted, outermost first; empty at the top.
    path: String,
}

/// The kinds of refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    /// Another token or value was needed.
    #[error("expected {0}")]
    Expected(&'static str),
    /// The message has no such member (strict mode only).
    #[error("unknown field \"{0}\"")]
    UnknownField(String),
    /// A member stands twice.
    #[error("field is given twice")]
    DuplicateField,
    /// Two members of one choice are given.
    #[error("only one of its alternatives may be given")]
    DuplicateAlternative,
    /// The text is not valid UTF-8, or an escape names half of a character.
    #[error("invalid UTF-8 or lone surrogate")]
    InvalidText,
    /// Deeper than [`super::NESTING_DEPTH_MAX`].
    #[error("nested deeper than {} levels", super::NESTING_DEPTH_MAX)]
    TooDeep,
    /// Something follows the value.
    #[error("unexpected text after the value")]
    TrailingText,
}

impl JsonError {
    pub(super) fn new(problem: JsonProblem, offset: usize) -> Self {
        Self(Box::new(Detail { problem, offset, path: String::new() }))
    }

    /// Puts the name of the enclosing member before the path.
    #[must_use]
    pub(crate) fn inside(mut self, name: &str) -> Self {
        let name = shorten(name);
        self.0.path = if self.0.path.is_empty() { name.to_owned() } else { format!("{name}.{}", self.0.path) };
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &JsonProblem {
        &self.0.problem
    }

    /// Where, in bytes from the start of the text.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The member concerned, such as `account.vars`; empty for the text as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Detail { problem, offset, path } = &*self.0;
        if path.is_empty() {
            write!(formatter, "invalid JSON at byte {offset}: {problem}")
        } else {
            write!(formatter, "invalid JSON at byte {offset}, field \"{path}\": {problem}")
        }
    }
}

impl std::error::Error for JsonError {}

/// The longest start of `name` that errors may repeat.
pub(super) fn shorten(name: &str) -> &str {
    let mut end = name.len().min(NAME_LEN_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default()
}
