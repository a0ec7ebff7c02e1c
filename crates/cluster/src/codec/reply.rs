//! Answers to questions.

use muster_live::plane::{JoinRefusal, Joined, Reply};
use muster_live::{Presence, StreamKey};
use muster_wire::node::{self, reply::What};

use super::form::{Form, Result, list_from_wire, list_to_wire, part, required, size};
use super::kinds;

pub(super) fn to_wire(reply: &Reply) -> node::Reply {
    let what = match reply {
        Reply::Joined(Ok(joined)) => What::Joined(node::Joined {
            is_new: joined.is_new,
            presences: list_to_wire(&joined.presences),
            total: joined.total as u64,
        }),
        Reply::Joined(Err(refusal)) => What::NotJoined(refusal.to_wire()),
        Reply::Presences(presences, total) => {
            What::Presences(node::Presences { presences: list_to_wire(presences), total: *total as u64 })
        }
        Reply::Counts(counts) => {
            What::Counts(node::Counts { counts: counts.iter().map(|count| *count as u64).collect() })
        }
        Reply::Matches(matches) => {
            let size = |(stream, size): &(StreamKey, usize)| node::MatchSize {
                stream: Some(stream.to_wire()),
                size: *size as u64,
            };
            What::Matches(node::MatchList { matches: matches.iter().map(size).collect() })
        }
        Reply::Answer(answer) => kinds::answer_to_wire(answer),
        Reply::Session(Ok(moved)) => What::Session(Box::new(moved.to_wire())),
        Reply::Session(Err(refusal)) => What::NoSession(refusal.to_wire()),
        Reply::Rebound => What::Rebound(node::Empty {}),
    };
    node::Reply { what: Some(what) }
}

pub(super) fn from_wire(wire: node::Reply) -> Result<Reply> {
    Ok(match required(wire.what, "reply.what")? {
        What::Joined(node::Joined { is_new, presences, total }) => {
            let presences = list_from_wire::<Presence>(presences)?.into();
            Reply::Joined(Ok(Joined { is_new, presences, total: size(total) }))
        }
        What::NotJoined(refusal) => Reply::Joined(Err(JoinRefusal::from_wire(refusal)?)),
        What::Presences(node::Presences { presences, total }) => {
            Reply::Presences(list_from_wire(presences)?, size(total))
        }
        What::Counts(counts) => Reply::Counts(counts.counts.into_iter().map(size).collect()),
        What::Matches(matches) => {
            let pair = |wire: node::MatchSize| Ok((part(wire.stream, "match_size.stream")?, size(wire.size)));
            Reply::Matches(matches.matches.into_iter().map(pair).collect::<Result<_>>()?)
        }
        What::Session(moved) => Reply::Session(Ok(Box::new(Form::from_wire(*moved)?))),
        What::NoSession(refusal) => Reply::Session(Err(Form::from_wire(refusal)?)),
        What::Rebound(node::Empty {}) => Reply::Rebound,
        what => Reply::Answer(kinds::answer_from_wire(what)?),
    })
}
