//! Questions to the matchmaker's pool, and their answers.

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::Value;
use muster_live::Presence;
use muster_live::matchmaker::{
    CarriedPasses, CarriedPool, CarriedTicket, Completion, Explanation, MemberKey, NearTicket, NewTicket, Obstacle,
    OnTicket, PoolAnswer, PoolAsk, PoolReply, PoolStats, TicketId, TicketMember, TicketOwner, TicketStanding, Widening,
};
use muster_live::plane::RequestRef;
use muster_wire::node::{
    self, carried, field_value, message, obstacle, pool_ask, pool_reply, reply, ticket_member, ticket_owner,
};

use super::form::{
    CodecError, Form, Result, id_from_wire, id_to_wire, list_from_wire, list_to_wire, maybe, part, present_id,
    required, size,
};

impl Form for PoolAsk {
    type Wire = node::PoolAsk;

    fn to_wire(&self) -> node::PoolAsk {
        use pool_ask::What;
        let removal = |id: &TicketId, owner: Option<&TicketOwner>| node::TicketRemoval {
            id: id.0.as_ref().to_owned(),
            owner: owner.map(Form::to_wire),
        };
        let what = match self {
            Self::Add(ticket) => What::Add(ticket.to_wire()),
            Self::Remove(id, owner) => What::Remove(removal(id, Some(owner))),
            Self::RemoveSession(session) => What::RemoveSession(present_id(*session)),
            Self::RemoveOwner(owner) => What::RemoveOwner(owner.to_wire()),
            Self::RemoveStray(id, session) => What::RemoveStray(node::TicketStray {
                ticket: id.0.as_ref().to_owned(),
                session: Some(session.to_wire()),
            }),
            Self::LoseOwner(owner) => What::LoseOwner(owner.to_wire()),
            Self::Explain(id, owner) => What::Explain(removal(id, owner.as_ref())),
            Self::Rebind(session, to) => {
                What::Rebind(node::TicketRebind { session_id: id_to_wire(*session), to: Some(to.to_wire()) })
            }
            Self::Stats => What::Stats(node::Empty {}),
        };
        node::PoolAsk { what: Some(what) }
    }

    fn from_wire(wire: node::PoolAsk) -> Result<Self> {
        use pool_ask::What;
        Ok(match required(wire.what, "pool.what")? {
            What::Add(ticket) => Self::Add(Box::new(Form::from_wire(ticket)?)),
            What::Remove(removal) => {
                Self::Remove(TicketId(removal.id.into()), part(removal.owner, "ticket_removal.owner")?)
            }
            What::RemoveSession(session) => Self::RemoveSession(id_from_wire(Some(session))),
            What::RemoveOwner(owner) => Self::RemoveOwner(TicketOwner::from_wire(owner)?),
            What::RemoveStray(stray) => {
                Self::RemoveStray(TicketId(stray.ticket.into()), part(stray.session, "ticket_stray.session")?)
            }
            What::LoseOwner(owner) => Self::LoseOwner(TicketOwner::from_wire(owner)?),
            What::Explain(removal) => Self::Explain(TicketId(removal.id.into()), maybe(removal.owner)?),
            What::Rebind(rebind) => Self::Rebind(id_from_wire(rebind.session_id), part(rebind.to, "ticket_rebind.to")?),
            What::Stats(node::Empty {}) => Self::Stats,
        })
    }
}

impl Form for TicketOwner {
    type Wire = node::TicketOwner;

    fn to_wire(&self) -> node::TicketOwner {
        use ticket_owner::Who;
        let who = match self {
            Self::Session(session) => Who::Session(present_id(*session)),
            Self::Party(party) => Who::Party(party.as_ref().to_owned()),
            Self::Server(name) => Who::Server(name.as_ref().to_owned()),
        };
        node::TicketOwner { who: Some(who) }
    }

    fn from_wire(wire: node::TicketOwner) -> Result<Self> {
        use ticket_owner::Who;
        Ok(match required(wire.who, "ticket_owner.who")? {
            Who::Session(session) => Self::Session(id_from_wire(Some(session))),
            Who::Party(party) => Self::Party(party.into()),
            Who::Server(name) => Self::Server(name.into()),
        })
    }
}

impl Form for TicketMember<Presence> {
    type Wire = node::TicketMember;

    fn to_wire(&self) -> node::TicketMember {
        use ticket_member::Key;
        let key = match &self.key {
            MemberKey::Session(session) => Key::Session(present_id(*session)),
            MemberKey::Server(name) => Key::Server(name.as_ref().to_owned()),
        };
        node::TicketMember { key: Some(key), presence: Some(self.presence.to_wire()) }
    }

    fn from_wire(wire: node::TicketMember) -> Result<Self> {
        use ticket_member::Key;
        let key = match required(wire.key, "ticket_member.key")? {
            Key::Session(session) => MemberKey::Session(id_from_wire(Some(session))),
            Key::Server(name) => MemberKey::Server(name.into()),
        };
        Ok(Self { key, presence: part(wire.presence, "ticket_member.presence")? })
    }
}

impl Form for Widening {
    type Wire = node::TicketWidening;

    fn to_wire(&self) -> node::TicketWidening {
        node::TicketWidening { field: self.field.clone(), step: self.step, limit: self.limit }
    }

    fn from_wire(wire: node::TicketWidening) -> Result<Self> {
        Ok(Self { field: wire.field, step: wire.step, limit: wire.limit })
    }
}

impl Form for NewTicket<Presence> {
    type Wire = node::Ticket;

    fn to_wire(&self) -> node::Ticket {
        node::Ticket {
            id: self.id.0.as_ref().to_owned(),
            owner: Some(self.owner.to_wire()),
            members: list_to_wire(&self.members),
            min_count: self.min_count,
            max_count: self.max_count,
            count_multiple: self.count_multiple,
            query: self.query.clone(),
            string_properties: self.string_properties.clone(),
            numeric_properties: self.numeric_properties.clone(),
            widening: list_to_wire(&self.widening),
            created_at: self.created_at.0,
        }
    }

    fn from_wire(wire: node::Ticket) -> Result<Self> {
        Ok(Self {
            id: TicketId(wire.id.into()),
            owner: part(wire.owner, "ticket.owner")?,
            members: list_from_wire(wire.members)?,
            min_count: wire.min_count,
            max_count: wire.max_count,
            count_multiple: wire.count_multiple,
            query: wire.query,
            string_properties: wire.string_properties,
            numeric_properties: wire.numeric_properties,
            widening: list_from_wire(wire.widening)?,
            created_at: Timestamp(wire.created_at),
        })
    }
}

impl Form for OnTicket {
    type Wire = node::OnTicket;

    fn to_wire(&self) -> node::OnTicket {
        let (asked, waited_ms) = self.asked.as_ref().map(|(ticket, waited_ms)| (ticket.to_wire(), *waited_ms)).unzip();
        node::OnTicket { id: self.id.0.as_ref().to_owned(), asked, waited_ms: waited_ms.unwrap_or_default() }
    }

    fn from_wire(wire: node::OnTicket) -> Result<Self> {
        let asked = wire.asked.map(NewTicket::from_wire).transpose()?;
        Ok(Self { id: TicketId(wire.id.into()), asked: asked.map(|ticket| (Arc::new(ticket), wire.waited_ms)) })
    }
}

impl Form for TicketStanding {
    type Wire = node::TicketStanding;

    fn to_wire(&self) -> node::TicketStanding {
        node::TicketStanding {
            session: Some(self.session.to_wire()),
            session_id: id_to_wire(self.session_id),
            on: Some(self.on.to_wire()),
        }
    }

    fn from_wire(wire: node::TicketStanding) -> Result<Self> {
        Ok(Self {
            session: part(wire.session, "ticket_standing.session")?,
            session_id: id_from_wire(wire.session_id),
            on: part(wire.on, "ticket_standing.on")?,
        })
    }
}

impl Form for PoolReply {
    type Wire = node::PoolReply;

    fn to_wire(&self) -> node::PoolReply {
        use pool_reply::What;
        let what = match self {
            Self::Done => What::Done(node::Empty {}),
            Self::Explained(explanation) => What::Explained(explanation.to_wire()),
            Self::Stats(stats) => What::Stats(stats.to_wire()),
        };
        node::PoolReply { what: Some(what) }
    }

    fn from_wire(wire: node::PoolReply) -> Result<Self> {
        use pool_reply::What;
        Ok(match required(wire.what, "pool_reply.what")? {
            What::Done(node::Empty {}) => Self::Done,
            What::Explained(explanation) => Self::Explained(Box::new(Explanation::from_wire(explanation)?)),
            What::Stats(stats) => Self::Stats(Box::new(PoolStats::from_wire(stats)?)),
        })
    }
}

impl Form for Explanation {
    type Wire = node::Explanation;

    fn to_wire(&self) -> node::Explanation {
        node::Explanation {
            ticket: self.ticket.0.as_ref().to_owned(),
            is_searching: self.is_searching,
            players: self.players,
            players_needed: self.players_needed,
            players_found: self.players_found,
            examined: self.examined,
            closest: list_to_wire(&self.closest),
        }
    }

    fn from_wire(wire: node::Explanation) -> Result<Self> {
        Ok(Self {
            ticket: TicketId(wire.ticket.into()),
            is_searching: wire.is_searching,
            players: wire.players,
            players_needed: wire.players_needed,
            players_found: wire.players_found,
            examined: wire.examined,
            closest: list_from_wire(wire.closest)?,
        })
    }
}

impl Form for NearTicket {
    type Wire = node::NearTicket;

    fn to_wire(&self) -> node::NearTicket {
        node::NearTicket { ticket: self.ticket.0.as_ref().to_owned(), obstacles: list_to_wire(&self.obstacles) }
    }

    fn from_wire(wire: node::NearTicket) -> Result<Self> {
        Ok(Self { ticket: TicketId(wire.ticket.into()), obstacles: list_from_wire(wire.obstacles)? })
    }
}

impl Form for Obstacle {
    type Wire = node::Obstacle;

    fn to_wire(&self) -> node::Obstacle {
        use obstacle::What;
        let what = match self {
            Self::Term { of, place, term, found } => What::Term(node::ObstacleTerm {
                of: of.0.as_ref().to_owned(),
                place: *place as u64,
                term: term.clone(),
                found: list_to_wire(found),
            }),
            Self::Counts => What::Counts(node::Empty {}),
            Self::Overlap => What::Overlap(node::Empty {}),
        };
        node::Obstacle { what: Some(what) }
    }

    fn from_wire(wire: node::Obstacle) -> Result<Self> {
        use obstacle::What;
        Ok(match required(wire.what, "obstacle.what")? {
            What::Term(term) => Self::Term {
                of: TicketId(term.of.into()),
                place: size(term.place),
                term: term.term,
                found: list_from_wire(term.found)?,
            },
            What::Counts(node::Empty {}) => Self::Counts,
            What::Overlap(node::Empty {}) => Self::Overlap,
        })
    }
}

impl Form for Value {
    type Wire = node::FieldValue;

    fn to_wire(&self) -> node::FieldValue {
        let value = match self {
            Self::Text(text) => field_value::Value::Text(text.as_str().to_owned()),
            Self::Number(number) => field_value::Value::Number(*number),
        };
        node::FieldValue { value: Some(value) }
    }

    fn from_wire(wire: node::FieldValue) -> Result<Self> {
        Ok(match required(wire.value, "field_value.value")? {
            field_value::Value::Text(text) => Self::Text(text.into()),
            field_value::Value::Number(number) => Self::Number(number),
        })
    }
}

impl Form for PoolStats {
    type Wire = node::PoolStats;

    fn to_wire(&self) -> node::PoolStats {
        node::PoolStats {
            tickets: self.tickets as u64,
            active: self.active as u64,
            oldest: self.oldest.map(|oldest| oldest.0),
            completions: list_to_wire(&self.completions),
        }
    }

    fn from_wire(wire: node::PoolStats) -> Result<Self> {
        Ok(Self {
            tickets: size(wire.tickets),
            active: size(wire.active),
            oldest: wire.oldest.map(Timestamp),
            completions: list_from_wire(wire.completions)?,
        })
    }
}

impl Form for Completion {
    type Wire = node::Completion;

    fn to_wire(&self) -> node::Completion {
        node::Completion { created_at: self.created_at.0, completed_at: self.completed_at.0 }
    }

    fn from_wire(wire: node::Completion) -> Result<Self> {
        Ok(Self { created_at: Timestamp(wire.created_at), completed_at: Timestamp(wire.completed_at) })
    }
}

impl Form for CarriedTicket<Presence> {
    type Wire = node::CarriedTicket;

    fn to_wire(&self) -> node::CarriedTicket {
        node::CarriedTicket {
            ticket: Some(self.ticket.to_wire()),
            waited_ms: self.waited_ms,
            first_pass: self.first_pass,
            widened: self.widened,
            is_searching: self.is_searching,
            was_cut: self.was_cut,
        }
    }

    fn from_wire(wire: node::CarriedTicket) -> Result<Self> {
        Ok(Self {
            ticket: part(wire.ticket, "carried_ticket.ticket")?,
            waited_ms: wire.waited_ms,
            first_pass: wire.first_pass,
            widened: wire.widened,
            is_searching: wire.is_searching,
            was_cut: wire.was_cut,
        })
    }
}

pub(super) fn ask_to_wire(ask: &PoolAsk) -> message::What {
    message::What::Pool(Box::new(ask.to_wire()))
}

pub(super) fn ask_from_wire(what: message::What, _request: Option<RequestRef>) -> Result<PoolAsk> {
    let message::What::Pool(ask) = what else { return Err(CodecError::Missing("message.what")) };
    Form::from_wire(*ask)
}

pub(super) fn answer_to_wire(answer: &PoolAnswer) -> reply::What {
    match answer {
        Ok(answer) => reply::What::Pool(answer.to_wire()),
        Err(error) => reply::What::PoolError(error.to_wire()),
    }
}

pub(super) fn answer_from_wire(what: reply::What) -> Result<PoolAnswer> {
    Ok(match what {
        reply::What::Pool(answer) => Ok(Form::from_wire(answer)?),
        reply::What::PoolError(error) => Err(Form::from_wire(error)?),
        _ => return Err(CodecError::Missing("reply.what")),
    })
}

pub(super) fn part_to_wire(part: &CarriedPool) -> carried::What {
    match part {
        CarriedPool::Ticket(ticket) => carried::What::Ticket(Box::new(ticket.to_wire())),
        CarriedPool::Rest { passes: CarriedPasses { passes, next_ms }, due_ms } => {
            carried::What::Pool(node::CarriedPool { passes: *passes, next_ms: *next_ms, due_ms: *due_ms })
        }
    }
}

pub(super) fn part_from_wire(what: carried::What) -> Result<CarriedPool> {
    Ok(match what {
        carried::What::Ticket(ticket) => CarriedPool::Ticket(Box::new(Form::from_wire(*ticket)?)),
        carried::What::Pool(node::CarriedPool { passes, next_ms, due_ms }) => {
            CarriedPool::Rest { passes: CarriedPasses { passes, next_ms }, due_ms }
        }
        _ => return Err(CodecError::Missing("carried.what")),
    })
}
