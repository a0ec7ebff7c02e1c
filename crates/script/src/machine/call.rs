//! A call of game code, whatever its language: what is called, with what, and how it ended.

use muster_api::game::Failure;

use super::registry::Point;

/// What is called.
#[derive(Clone, Copy)]
pub enum Callee<'a> {
    /// A function by its id, in lower case.
    Function(&'a str),
    /// What stands before or after something.
    Hook(Point),
    /// What is to be done before the server stops.
    Farewell,
}

impl Callee<'_> {
    /// Its name in logs.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Function(id) => id.to_owned(),
            Self::Hook(Point { when, subject }) => format!("{} {}", when.name(), subject.name()),
            Self::Farewell => "shutdown".to_owned(),
        }
    }
}

/// What a callee is given besides its context.
pub enum Given {
    /// What the caller of a function says.
    Text(String),
    /// A number.
    Number(f64),
    /// JSON of messages, or nothing where there is none.
    Messages(Vec<Option<Vec<u8>>>),
}

/// What a callee may return; it may always return nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A text.
    Text,
    /// A message, of which the JSON is wanted.
    Message,
    /// Whatever it returns is left out.
    Nothing,
}

/// The end of a call.
pub struct End {
    /// What it returned: a text, or the JSON of a message.
    pub(crate) result: Result<Option<Vec<u8>>, Failure>,
    /// The limit that it went over.
    pub(crate) breach: Option<Breach>,
}

/// A limit that a call can go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    Time,
    Memory,
}
