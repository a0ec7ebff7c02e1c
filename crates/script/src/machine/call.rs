//! A call of game code, whatever its language: what is called, with what, and how it ended.

use muster_api::game::{Failure, MatchedPlayer, Occasion};

use super::registry::Point;
use crate::value::Value;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee<'a> {
    /// A function by its id, in lower case.
    Function(&'a str),
    /// What stands before or after something.
    Hook(Point),
    /// What there is one of.
    Sole(Sole),
    /// One of those that want to hear of events, by the order in which they were registered.
    Listener(Occasion, usize),
    /// One of those that run at moments, by the same order.
    Schedule(usize),
    /// The function of a route, by the same order.
    Route(usize),
}

impl Callee<'_> {
    /// Its name in logs.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Function(id) => id.to_owned(),
            Self::Hook(Point { when, subject }) => format!("{} {}", when.name(), subject.name()),
            Self::Sole(sole) => sole.name().to_owned(),
            Self::Listener(occasion, _) => listener_name(occasion).to_owned(),
            Self::Schedule(index) => format!("schedule {}", index + 1),
            Self::Route(index) => format!("route {}", index + 1),
        }
    }
}

/// The name of functions that hear of such events, in logs and behind `register_`.
pub(crate) fn listener_name(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::Reported => "event",
        Occasion::SessionStart => "event_session_start",
        Occasion::SessionEnd => "event_session_end",
    }
}

/// What modules register at most one function for; the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sole {
    /// What is to be done before the server stops.
    Farewell,
    /// Where players go whom the matchmaker has matched.
    Matched,
}

impl Sole {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 2] = [Self::Farewell, Self::Matched];

    /// Its name in logs, and behind `register_`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Farewell => "shutdown",
            Self::Matched => "matchmaker_matched",
        }
    }
}

/// What a callee is given besides its context.
pub enum Given {
    /// What the caller of a function says.
    Text(String),
    /// A number.
    Number(f64),
    /// A value, whose records are written as the language writes them.
    Value(Value),
    /// JSON of messages, or nothing where there is none.
    Messages(Vec<Option<Vec<u8>>>),
    /// A request to a route: values by name, to which the body comes as bytes.
    Request(Value, Vec<u8>),
}

/// What a callee may return; it may always return nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A text.
    Text,
    /// A message, of which the JSON is wanted.
    Message,
    /// Any value, which is wanted encoded.
    Value,
    /// Whatever it returns is left out.
    Nothing,
}

/// The end of a call.
pub struct End {
    /// What it returned: a text, the JSON of a message, or an encoded value.
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

/// Players whom the matchmaker has matched, as game code is given them. `node` is the part of public ids behind the dot.
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
