//! The reason why a JSON text was refused: the place, the member, and the value that was expected.

use std::fmt;

/// Longest name that an error repeats from the input, in bytes, so that an error never contains a whole body.
const NAME_LEN_MAX: usize = 64;

/// A refused JSON text. It is one pointer wide, because every read returns it in a `Result`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError(Box<Detail>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Detail {
    problem: JsonProblem,
    offset: usize,
    /// Names of the members around the place, the outermost first, separated by dots. Empty outside of any member.
    path: String,
}

/// The kinds of refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    /// Another token or value was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// The message has no such member. Tolerant mode does not raise this error.
    #[error("unknown field \"{0}\"")]
    UnknownField(String),
    /// A member is given twice.
    #[error("field is given twice")]
    DuplicateField,
    /// Two members of one `oneof` are given.
    #[error("only one of its alternatives may be given")]
    DuplicateAlternative,
    /// The text is not valid UTF-8, or an escape is half of a surrogate pair.
    #[error("invalid UTF-8 or lone surrogate")]
    InvalidText,
    /// Objects and arrays are nested deeper than [`super::NESTING_DEPTH_MAX`].
    #[error("nested deeper than {} levels", super::NESTING_DEPTH_MAX)]
    TooDeep,
    /// Text follows the value.
    #[error("unexpected text after the value")]
    TrailingText,
}

impl JsonError {
    pub(super) fn new(problem: JsonProblem, offset: usize) -> Self {
        Self(Box::new(Detail { problem, offset, path: String::new() }))
    }

    /// Adds the name of the enclosing member in front of the path.
    #[must_use]
    pub(crate) fn inside(mut self, name: &str) -> Self {
        let name = shorten(name);
        self.0.path = if self.0.path.is_empty() { name.to_owned() } else { format!("{name}.{}", self.0.path) };
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn problem(&self) -> &JsonProblem {
        &self.0.problem
    }

    /// The place of the error, in bytes from the start of the text.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The path of the member, such as `account.vars`; empty for an error outside of any member.
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

/// The first bytes of `name`, at most [`NAME_LEN_MAX`], without a cut inside a character.
pub(super) fn shorten(name: &str) -> &str {
    let mut end = name.len().min(NAME_LEN_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default()
}
