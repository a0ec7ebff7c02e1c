//! Questions to owned things, their answers and their parts, by kind: the list of kinds has one line each.
//!
//! A line holds the kind's name; the file with the conversions of the kind; and the variants of its questions, answers
//! and parts on the wire.

use muster_live::plane::{AddedAsk, AddedWhat, Answer, Ask, Carried, RequestRef};
use muster_wire::node::{self, carried, message, reply};

use super::form::{CodecError, Form as _, Result, maybe, part};

macro_rules! kinds {
    ($($kind:ident: $file:ident, $($ask:ident)|+ => $($answer:ident)|+, $($part:ident)|+;)*) => {
        pub(super) fn ask_to_wire(ask: &Ask) -> message::What {
            match ask {
                $(Ask::$kind(ask) => super::$file::ask_to_wire(ask),)*
                Ask::Added(ask) => added_to_wire(ask),
            }
        }

        pub(super) fn ask_from_wire(what: message::What, request: Option<RequestRef>) -> Result<Ask> {
            Ok(match what {
                $($(message::What::$ask(_))|+ => Ask::$kind(super::$file::ask_from_wire(what, request)?),)*
                message::What::Added(added) => Ask::Added(added_from_wire(*added)?),
                _ => return Err(CodecError::Missing("message.what")),
            })
        }

        pub(super) fn answer_to_wire(answer: &Answer) -> reply::What {
            match answer {
                $(Answer::$kind(answer) => super::$file::answer_to_wire(answer),)*
                Answer::Added(answer) => reply::What::Added(answer.clone()),
            }
        }

        pub(super) fn answer_from_wire(what: reply::What) -> Result<Answer> {
            Ok(match what {
                $($(reply::What::$answer(_))|+ => Answer::$kind(super::$file::answer_from_wire(what)?),)*
                reply::What::Added(answer) => Answer::Added(answer),
                _ => return Err(CodecError::Missing("reply.what")),
            })
        }

        /// A part of a thing on the wire; `None` for parts of streams, which are no things.
        pub(super) fn part_to_wire(part: &Carried) -> Option<carried::What> {
            Some(match part {
                $(Carried::$kind(part) => super::$file::part_to_wire(part),)*
                Carried::Added(stream, part) => {
                    let stream = Some(stream.to_wire());
                    carried::What::Added(node::CarriedAdded { stream, part: part.clone() })
                }
                Carried::Stream(_) | Carried::News(_) => return None,
            })
        }

        pub(super) fn part_from_wire(what: carried::What) -> Result<Carried> {
            Ok(match what {
                $($(carried::What::$part(_))|+ => Carried::$kind(super::$file::part_from_wire(what)?),)*
                carried::What::Added(added) => Carried::Added(part(added.stream, "carried_added.stream")?, added.part),
                _ => return Err(CodecError::Missing("carried.what")),
            })
        }
    };
}

kinds! {
    Party: parties, Party | Parties => Party | PartyRefusal | Parties, Party;
    Room: rooms, Rooms => Rooms | RoomsError, Room | Members | Desk | Listing | View;
    Pool: pool, Pool => Pool | PoolError, Ticket | Pool;
    Match: matches, Match | FindMatches => Match | MatchError, Match;
}

fn added_to_wire(ask: &AddedAsk) -> message::What {
    let (comer, bytes) = match &ask.what {
        AddedWhat::Ask(bytes) => (None, bytes),
        AddedWhat::Come(come) => (Some(come.0.to_wire()), &come.1),
    };
    message::What::Added(Box::new(node::AddedAsk { stream: Some(ask.stream.to_wire()), ask: bytes.clone(), comer }))
}

fn added_from_wire(wire: node::AddedAsk) -> Result<AddedAsk> {
    let stream = part(wire.stream, "added.stream")?;
    Ok(match maybe(wire.comer)? {
        Some(comer) => AddedAsk::of_comer(stream, comer, wire.ask),
        None => AddedAsk::new(stream, wire.ask),
    })
}
