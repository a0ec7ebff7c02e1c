//! A call of game code in any language: its callee, its argument, and its outcome.

use muster_api::game::{Failure, Invocation, MatchedPlayer, Occasion};

use super::registered::Point;
use crate::value::Value;

/// A function that game code has registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee<'a> {
    /// The function with this id, in lower case.
    Function(&'a str),
    /// A hook.
    Hook(Point),
    /// The function for a purpose that has at most one function.
    SinglePurpose(SinglePurpose),
    /// A listener of events, by the order in which listeners were registered.
    Listener(Occasion, usize),
    /// A scheduled function, by the order of registration.
    Schedule(usize),
    /// The function of a route, by the order of registration.
    Route(usize),
}

impl Callee<'_> {
    /// The name of the function in logs.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Function(id) => id.to_owned(),
            Self::Hook(Point { when, subject }) => format!("{} {}", when.name(), subject.name()),
            Self::SinglePurpose(purpose) => purpose.name().to_owned(),
            Self::Listener(occasion, _) => listener_name(occasion).to_owned(),
            Self::Schedule(index) => format!("schedule {}", index + 1),
            Self::Route(index) => format!("route {}", index + 1),
        }
    }
}

/// The name of a kind of listener in logs, and behind `register_`.
pub(crate) fn listener_name(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::Reported => "event",
        Occasion::SessionStart => "event_session_start",
        Occasion::SessionEnd => "event_session_end",
    }
}

/// Purposes for which modules register at most one function. The last function registered for one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinglePurpose {
    /// The function is called before the server stops.
    Farewell,
    /// The function says where players go whom the matchmaker has matched.
    Matched,
}

impl SinglePurpose {
    /// All purposes, in the order of their numbers.
    pub(crate) const ALL: [Self; 2] = [Self::Farewell, Self::Matched];

    /// The name of the purpose in logs, and behind `register_`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Farewell => "shutdown",
            Self::Matched => "matchmaker_matched",
        }
    }
}

/// The input of a call.
pub struct CallInput {
    /// The player or server that the call is made for: the context of the function.
    pub(crate) invocation: Invocation,
    /// The argument of the function, besides its context.
    pub(crate) argument: CallArgument,
}

/// The argument of a call, besides the context.
pub enum CallArgument {
    /// The payload of a function with an id.
    Text(String),
    /// A number.
    Number(f64),
    /// A value. Each language spells the names in records in its own way.
    Value(Value),
    /// Messages in JSON. `None` stands for an absent message.
    Messages(Vec<Option<Vec<u8>>>),
    /// A request to a route: values by name, and the body.
    Request(Value, Vec<u8>),
}

/// The type of result that the caller wants. A callee may always return nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// A text.
    Text,
    /// A message, in JSON.
    Message,
    /// Any value, [encoded](Value::encode).
    Value,
    /// Any result; the caller has no use for it.
    Nothing,
}

/// The outcome of a call: its result, and the limit that it broke.
pub struct CallOutcome {
    /// The result as bytes: a text, a message in JSON, or an encoded value.
    pub(crate) result: Result<Option<Vec<u8>>, Failure>,
    /// The limit that the call went over, if any.
    pub(crate) breach: Option<Breach>,
}

/// A limit that a call can go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    Time,
    Memory,
}

/// Matched players as the argument of a call. `node` is the part of public ids behind the dot.
pub(crate) fn matched_players(players: Vec<MatchedPlayer>, node: &str) -> Value {
    let player = |player: MatchedPlayer| {
        let MatchedPlayer { presence, party_id, string_properties, numeric_properties } = player;
        let presence = vec![
            ("user_id", Value::text(presence.user_id.to_string())),
            ("session_id", Value::text(presence.session_id.to_string())),
            ("username", Value::text(&*presence.username)),
            ("node", Value::text(node)),
        ];
        let texts = string_properties.into_iter().map(|(name, text)| (name, Value::text(text)));
        let numbers = numeric_properties.into_iter().map(|(name, number)| (name, Value::Number(number)));
        let mut entry =
            vec![("presence", Value::Record(presence)), ("properties", Value::Map(texts.chain(numbers).collect()))];
        entry.extend(party_id.map(|id| ("party_id", Value::text(&*id))));
        Value::Record(entry)
    };
    Value::List(players.into_iter().map(player).collect())
}
