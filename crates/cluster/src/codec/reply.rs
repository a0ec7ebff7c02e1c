//! Answers to questions.

use muster_domain::{Error, Result as Outcome};
use muster_live::plane::{JoinRefusal, Joined, Reply};
use muster_live::{Presence, StreamKey, party};
use muster_wire::node::{self, reply::What};

use super::form::{Form, Result, list_from_wire, list_to_wire, part, required, size};

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
        Reply::Pool(outcome) => either(outcome, What::Pool, What::PoolError),
        Reply::Matches(matches) => {
            let size = |(stream, size): &(StreamKey, usize)| node::MatchSize {
                stream: Some(stream.to_wire()),
                size: *size as u64,
            };
            What::Matches(node::MatchList { matches: matches.iter().map(size).collect() })
        }
        Reply::Party(Ok(reply)) => What::Party(reply.to_wire()),
        Reply::Party(Err(refusal)) => What::PartyRefusal(refusal.to_wire()),
        Reply::Parties(page) => What::Parties(page.to_wire()),
        Reply::Match(outcome) => either(outcome, What::Match, What::MatchError),
        Reply::Rooms(outcome) => either(outcome, What::Rooms, What::RoomsError),
        Reply::Session(Ok(moved)) => What::Session(Box::new(moved.to_wire())),
        Reply::Session(Err(refusal)) => What::NoSession(refusal.to_wire()),
        Reply::Rebound => What::Rebound(node::Empty {}),
        Reply::Added(answer) => What::Added(answer.clone()),
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
        What::Party(reply) => Reply::Party(Ok(Form::from_wire(reply)?)),
        What::PartyRefusal(refusal) => Reply::Party(Err(party::Refusal::from_wire(refusal)?)),
        What::Parties(page) => Reply::Parties(Form::from_wire(page)?),
        What::Match(answer) => Reply::Match(Ok(Form::from_wire(answer)?)),
        What::MatchError(error) => Reply::Match(Err(Error::from_wire(error)?)),
        What::Rooms(answer) => Reply::Rooms(Ok(Form::from_wire(answer)?)),
        What::RoomsError(error) => Reply::Rooms(Err(Error::from_wire(error)?)),
        What::Pool(reply) => Reply::Pool(Ok(Form::from_wire(reply)?)),
        What::Session(moved) => Reply::Session(Ok(Box::new(Form::from_wire(*moved)?))),
        What::NoSession(refusal) => Reply::Session(Err(Form::from_wire(refusal)?)),
        What::Rebound(node::Empty {}) => Reply::Rebound,
        What::Added(answer) => Reply::Added(answer),
        What::PoolError(error) => Reply::Pool(Err(Error::from_wire(error)?)),
    })
}

fn either<T: Form>(outcome: &Outcome<T>, done: fn(T::Wire) -> What, refused: fn(node::Error) -> What) -> What {
    match outcome {
        Ok(reply) => done(reply.to_wire()),
        Err(error) => refused(error.to_wire()),
    }
}
