//! Messages of owners to sessions' shards.

use muster_live::matchmaker::TicketId;
use muster_live::plane::{Down, JoinRefusal, LocalAudience};
use muster_live::{CloseReason, Presence, SessionKey};
use muster_wire::node::{self, message::What};

use super::blobs::{Blobs, Writer};
use super::form::{CodecError, Form, Result, form_of_enum, list_from_wire, list_to_wire, maybe, part, required};
use super::moves;
use super::reply;
use super::stream::{delivery_from_wire, delivery_to_wire};

form_of_enum!(JoinRefusal, JoinRefusal, else Closed, Empty, TooManyStreams, Closed, Unavailable);

/// The number of the question that a message answers, if it is an answer, and the message.
pub(super) fn to_wire(down: &Down, writer: &mut Writer) -> (Option<u64>, What) {
    let what = match down {
        Down::Reply(question, reply) => return (Some(*question), What::Reply(Box::new(reply::to_wire(reply)))),
        Down::Refused { stream, session, serial, request, refusal } => {
            let (stream, session) = (Some(stream.to_wire()), session.number());
            let refused = node::Refused { stream, session, serial: *serial, refusal: refusal.to_wire() };
            return (*request, What::Refused(refused));
        }
        Down::Listening { stream, listener, told } => {
            let (stream, listener) = (Some(stream.to_wire()), Some(listener.to_wire()));
            let told = told.as_ref().map(|frames| writer.frames(frames));
            What::Listening(node::Listening { stream, listener, told })
        }
        Down::Removed { stream, listener } => {
            let (stream, listener) = (Some(stream.to_wire()), Some(listener.to_wire()));
            What::Removed(node::Removed { stream, listener })
        }
        Down::Fanout { stream, frames, audience, delivery } => {
            let frames = Some(writer.frames(frames));
            let (audience, all_but, only) = audience_to_wire(audience);
            let delivery = delivery_to_wire(*delivery);
            let stream = Some(stream.to_wire());
            What::Fanout(node::Fanout { stream, frames, audience: audience.into(), all_but, only, delivery })
        }
        Down::Event { stream, frames, joins, leaves } => What::Event(Box::new(node::Event {
            stream: Some(stream.to_wire()),
            frames: Some(writer.frames(frames)),
            joins: list_to_wire(joins),
            leaves: list_to_wire(leaves),
        })),
        Down::Roster { stream, presences, begins, ends, is_anew, is_last } => What::Roster(Box::new(node::Roster {
            stream: Some(stream.to_wire()),
            presences: list_to_wire(presences),
            begins: *begins,
            ends: *ends,
            is_anew: *is_anew,
            is_last: *is_last,
        })),
        Down::HandedOver { partitions } => What::HandedOver(node::Fence { partitions: list_to_wire(partitions) }),
        Down::Taken { partitions } => What::Taken(node::Fence { partitions: list_to_wire(partitions) }),
        Down::Arrived { session, standing, hears } => {
            What::Arrived(Box::new(moves::arrived_to_wire(*session, standing, *hears)))
        }
        Down::Rebound { request, stream, session, standing } => {
            let (stream, standing) = (Some(stream.to_wire()), standing.as_ref().map(Form::to_wire));
            let rebound = node::Rebound { stream, session: session.number(), standing };
            return (Some(*request), What::Rebound(Box::new(rebound)));
        }
        Down::Misdirected { request } => return (Some(*request), What::Misdirected(node::Empty {})),
        Down::Push { session, payload, delivery, ended } => {
            let (session, payload) = (session.number(), Some(writer.shared_payload(payload)));
            let ended_tickets = ended.iter().map(|ticket| ticket.0.as_ref().to_owned()).collect();
            What::Push(node::Push { session, payload, delivery: delivery_to_wire(*delivery), ended_tickets })
        }
        Down::Ticket { session, ticket, is_on } => {
            let (session, ticket) = (session.number(), ticket.0.as_ref().to_owned());
            What::Ticket(node::TicketNote { session, ticket, is_on: *is_on })
        }
        Down::Close { session, payload, reason } => {
            let payload = payload.as_ref().map(|payload| writer.shared_payload(payload));
            What::Close(node::Close { session: session.number(), payload, reason: reason.to_wire() })
        }
    };
    (None, what)
}

pub(super) fn from_wire(what: What, answers: Option<u64>, blobs: &mut Blobs) -> Result<Down> {
    Ok(match what {
        What::Reply(reply) => Down::Reply(required(answers, "message.answers")?, reply::from_wire(*reply)?),
        What::Refused(refused) => Down::Refused {
            stream: part(refused.stream, "refused.stream")?,
            session: SessionKey::from_number(refused.session),
            serial: refused.serial,
            request: answers,
            refusal: JoinRefusal::from_wire(refused.refusal)?,
        },
        What::Listening(listening) => Down::Listening {
            stream: part(listening.stream, "listening.stream")?,
            listener: part(listening.listener, "listening.listener")?,
            told: listening.told.map(|frames| blobs.frames(Some(frames))).transpose()?,
        },
        What::Removed(removed) => Down::Removed {
            stream: part(removed.stream, "removed.stream")?,
            listener: part(removed.listener, "removed.listener")?,
        },
        What::Fanout(fanout) => Down::Fanout {
            audience: audience_from_wire(&fanout),
            stream: part(fanout.stream, "fanout.stream")?,
            frames: blobs.frames(fanout.frames)?,
            delivery: delivery_from_wire(fanout.delivery),
        },
        What::Event(event) => Down::Event {
            stream: part(event.stream, "event.stream")?,
            frames: blobs.frames(event.frames)?,
            joins: list_from_wire::<Presence>(event.joins)?.into(),
            leaves: list_from_wire::<Presence>(event.leaves)?.into(),
        },
        What::Roster(roster) => Down::Roster {
            stream: part(roster.stream, "roster.stream")?,
            presences: list_from_wire(roster.presences)?,
            begins: roster.begins,
            ends: roster.ends,
            is_anew: roster.is_anew,
            is_last: roster.is_last,
        },
        What::HandedOver(over) => Down::HandedOver { partitions: list_from_wire(over.partitions)? },
        What::Taken(taken) => Down::Taken { partitions: list_from_wire(taken.partitions)? },
        What::Arrived(arrived) => Down::Arrived {
            session: SessionKey::from_number(arrived.session),
            standing: part(arrived.standing, "arrived.standing")?,
            hears: arrived.hears,
        },
        What::Rebound(rebound) => Down::Rebound {
            request: required(answers, "message.answers")?,
            stream: part(rebound.stream, "rebound.stream")?,
            session: SessionKey::from_number(rebound.session),
            standing: maybe(rebound.standing)?,
        },
        What::Misdirected(node::Empty {}) => Down::Misdirected { request: required(answers, "message.answers")? },
        What::Push(push) => Down::Push {
            session: SessionKey::from_number(push.session),
            payload: blobs.payload(push.payload)?,
            delivery: delivery_from_wire(push.delivery),
            ended: push.ended_tickets.into_iter().map(|ticket| TicketId(ticket.into())).collect(),
        },
        What::Ticket(note) => Down::Ticket {
            session: SessionKey::from_number(note.session),
            ticket: TicketId(note.ticket.into()),
            is_on: note.is_on,
        },
        What::Close(close) => Down::Close {
            session: SessionKey::from_number(close.session),
            payload: close.payload.map(|payload| blobs.payload(Some(payload))).transpose()?,
            reason: CloseReason::from_wire(close.reason)?,
        },
        _ => return Err(CodecError::Missing("message.what")),
    })
}

fn audience_to_wire(audience: &LocalAudience) -> (node::AudienceKind, u64, Vec<u64>) {
    use node::AudienceKind::{All, AllBut, Only};
    match audience {
        LocalAudience::All => (All, 0, Vec::new()),
        LocalAudience::AllBut(session) => (AllBut, session.number(), Vec::new()),
        LocalAudience::Only(sessions) => (Only, 0, sessions.iter().map(|session| session.number()).collect()),
    }
}

fn audience_from_wire(fanout: &node::Fanout) -> LocalAudience {
    use node::AudienceKind::{All, AllBut, Only, Unspecified};
    match fanout.audience() {
        All => LocalAudience::All,
        AllBut => LocalAudience::AllBut(SessionKey::from_number(fanout.all_but)),
        Only => LocalAudience::Only(fanout.only.iter().copied().map(SessionKey::from_number).collect()),
        Unspecified => LocalAudience::Only(Vec::new()),
    }
}
