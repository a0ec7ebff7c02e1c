//! The refusal of a text that is no query.

/// Why a text is not a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid query at character {position}: {message}.")]
pub struct QueryError {
    /// The character at which reading stopped, counted from 1.
    pub position: usize,
    /// The fault at that character and its remedy.
    pub message: String,
}

impl QueryError {
    /// At a byte of the text.
    pub(super) fn at(source: &str, byte: usize, message: impl Into<String>) -> Self {
        let before = source.get(..byte).unwrap_or(source);
        Self { position: before.chars().count() + 1, message: message.into() }
    }
}
