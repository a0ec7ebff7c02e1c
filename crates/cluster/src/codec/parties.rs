//! Questions to parties, and their answers.

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::Query;
use muster_live::SessionRef;
use muster_live::StreamKey;
use muster_live::party::{
    self, CarriedParty, Label, ListQuery, Listed, ListingPosition, Member, Page, PartyAnswer, PartyAsk, PartyPart,
    PartyRefusal, PartyReply, PartyRequest, Person, Settings,
};
use muster_live::plane::RequestRef;
use muster_wire::node::{self, carried, message, party_ask::What, party_reply, reply};

use super::form::{
    CodecError, Form, Result, form_of_enum, id_from_wire, id_to_wire, list_from_wire, list_to_wire, maybe, narrow,
    part, required, size, wrong,
};

form_of_enum!(
    PartyRefusal, PartyRefusal, else MembershipChanged,
    NotFound, AlreadyExists, BadSize, Full, RequestsFull, AlreadyRequested, AlreadyMember, NotLeader, NotMember,
    SenderNotMember, NotRequested, RemoveLeader, LabelTooLong, LabelNotObject, LabelTooManyValues, HiddenWithLabel,
    MembershipChanged,
);

pub(super) fn ask_to_wire(ask: &PartyAsk) -> message::What {
    match ask {
        PartyAsk::One { stream, what } => message::What::Party(Box::new(request_to_wire(stream, what))),
        PartyAsk::List(asked) => message::What::Parties(Box::new(asked.to_wire())),
    }
}

pub(super) fn ask_from_wire(what: message::What, request: Option<RequestRef>) -> Result<PartyAsk> {
    Ok(match what {
        message::What::Party(ask) => {
            let (stream, what) = request_from_wire(*ask)?;
            PartyAsk::One { stream, what: Box::new(what) }
        }
        message::What::Parties(query) => {
            required(request, "message.request")?;
            PartyAsk::List(Form::from_wire(*query)?)
        }
        _ => return Err(CodecError::Missing("message.what")),
    })
}

pub(super) fn answer_to_wire(answer: &PartyAnswer) -> reply::What {
    match answer {
        PartyAnswer::One(Ok(answer)) => reply::What::Party(answer.to_wire()),
        PartyAnswer::One(Err(refusal)) => reply::What::PartyRefusal(refusal.to_wire()),
        PartyAnswer::Listed(page) => reply::What::Parties(page.to_wire()),
    }
}

pub(super) fn answer_from_wire(what: reply::What) -> Result<PartyAnswer> {
    Ok(match what {
        reply::What::Party(answer) => PartyAnswer::One(Ok(Form::from_wire(answer)?)),
        reply::What::PartyRefusal(refusal) => PartyAnswer::One(Err(PartyRefusal::from_wire(refusal)?)),
        reply::What::Parties(page) => PartyAnswer::Listed(Form::from_wire(page)?),
        _ => return Err(CodecError::Missing("reply.what")),
    })
}

pub(super) fn part_to_wire(part: &CarriedParty) -> carried::What {
    carried::What::Party(Box::new(part.to_wire()))
}

pub(super) fn part_from_wire(what: carried::What) -> Result<PartyPart> {
    let carried::What::Party(party) = what else { return Err(CodecError::Missing("carried.what")) };
    Ok(Box::new(Form::from_wire(*party)?))
}

fn request_to_wire(stream: &StreamKey, ask: &PartyRequest) -> node::PartyAsk {
    let what = match ask {
        PartyRequest::Create { leader, settings, max_size, created_at } => What::Create(node::PartyCreate {
            leader: Some(leader.to_wire()),
            settings: Some(settings.to_wire()),
            max_size: (*max_size).into(),
            created_at: created_at.0,
        }),
        PartyRequest::Join(member) => What::Join(member.to_wire()),
        PartyRequest::Leave(session) => What::Leave(session.to_wire()),
        PartyRequest::Promote { by, target } => What::Promote(target_to_wire(*by, target)),
        PartyRequest::Accept { by, target } => What::Accept(target_to_wire(*by, target)),
        PartyRequest::Remove { by, target } => What::Remove(target_to_wire(*by, target)),
        PartyRequest::Close(session) => What::Close(session.to_wire()),
        PartyRequest::ListRequests(session) => What::ListRequests(session.to_wire()),
        PartyRequest::Update { by, settings } => {
            What::Update(node::PartyUpdate { by: Some(by.to_wire()), settings: Some(settings.to_wire()) })
        }
        PartyRequest::SendData { by, op_code, data } => {
            What::SendData(node::PartyData { by: Some(by.to_wire()), op_code: *op_code, data: data.clone() })
        }
        PartyRequest::Matchmake(session) => What::Matchmake(session.to_wire()),
        PartyRequest::TicketIssued { by, ticket, membership } => What::TicketIssued(node::PartyTicket {
            by: Some(by.to_wire()),
            ticket: ticket.as_ref().to_owned(),
            membership: *membership,
        }),
        PartyRequest::CheckLeader(session) => What::CheckLeader(session.to_wire()),
    };
    node::PartyAsk { stream: Some(stream.to_wire()), what: Some(what) }
}

fn request_from_wire(wire: node::PartyAsk) -> Result<(StreamKey, PartyRequest)> {
    let by = |session| part::<SessionRef>(session, "party.by");
    let ask = match required(wire.what, "party.what")? {
        What::Create(create) => PartyRequest::Create {
            leader: part(create.leader, "party.leader")?,
            settings: part(create.settings, "party.settings")?,
            max_size: narrow(create.max_size, "party.max_size")?,
            created_at: Timestamp(create.created_at),
        },
        What::Join(member) => PartyRequest::Join(Member::from_wire(member)?),
        What::Leave(session) => PartyRequest::Leave(SessionRef::from_wire(session)?),
        What::Promote(target) => PartyRequest::Promote { by: by(target.by)?, target: person(target) },
        What::Accept(target) => PartyRequest::Accept { by: by(target.by)?, target: person(target) },
        What::Remove(target) => PartyRequest::Remove { by: by(target.by)?, target: person(target) },
        What::Close(session) => PartyRequest::Close(SessionRef::from_wire(session)?),
        What::ListRequests(session) => PartyRequest::ListRequests(SessionRef::from_wire(session)?),
        What::Update(update) => {
            PartyRequest::Update { by: by(update.by)?, settings: part(update.settings, "party.settings")? }
        }
        What::SendData(send) => PartyRequest::SendData { by: by(send.by)?, op_code: send.op_code, data: send.data },
        What::Matchmake(session) => PartyRequest::Matchmake(SessionRef::from_wire(session)?),
        What::TicketIssued(issued) => PartyRequest::TicketIssued {
            by: by(issued.by)?,
            ticket: issued.ticket.into(),
            membership: issued.membership,
        },
        What::CheckLeader(session) => PartyRequest::CheckLeader(SessionRef::from_wire(session)?),
    };
    Ok((part(wire.stream, "party.stream")?, ask))
}

fn target_to_wire(by: SessionRef, target: &Person) -> node::PartyTarget {
    node::PartyTarget {
        by: Some(by.to_wire()),
        session_id: id_to_wire(target.session_id),
        user_id: id_to_wire(target.user_id),
        username: target.username.as_ref().to_owned(),
    }
}

fn person(target: node::PartyTarget) -> Person {
    Person {
        session_id: id_from_wire(target.session_id),
        user_id: id_from_wire(target.user_id),
        username: target.username.into(),
    }
}

impl Form for Member {
    type Wire = node::Member;

    fn to_wire(&self) -> node::Member {
        node::Member { presence: Some(self.presence.to_wire()), listener: Some(self.listener.to_wire()) }
    }

    fn from_wire(wire: node::Member) -> Result<Self> {
        Ok(Self {
            presence: part(wire.presence, "member.presence")?,
            listener: part(wire.listener, "member.listener")?,
        })
    }
}

impl Form for Settings {
    type Wire = node::PartySettings;

    fn to_wire(&self) -> node::PartySettings {
        node::PartySettings { open: self.open, hidden: self.hidden, label: self.label.as_given().to_owned() }
    }

    fn from_wire(wire: node::PartySettings) -> Result<Self> {
        Ok(Self { open: wire.open, hidden: wire.hidden, label: label(&wire.label)? })
    }
}

fn label(text: &str) -> Result<Label> {
    Label::new(text).map_err(|refusal| wrong("party.label", refusal))
}

impl Form for ListQuery {
    type Wire = node::PartyQuery;

    fn to_wire(&self) -> node::PartyQuery {
        node::PartyQuery {
            query: self.query.source().to_owned(),
            open: self.open,
            after: self.after.map(|place| place.to_wire()),
            limit: self.limit as u64,
        }
    }

    fn from_wire(wire: node::PartyQuery) -> Result<Self> {
        let query = Query::parse(&wire.query).map_err(|error| wrong("party_query.query", error))?;
        Ok(Self { query: Arc::new(query), open: wire.open, after: maybe(wire.after)?, limit: size(wire.limit) })
    }
}

impl Form for ListingPosition {
    type Wire = node::PartyPlace;

    fn to_wire(&self) -> node::PartyPlace {
        node::PartyPlace { score: Some(self.score), created_at: self.created_at.0, party: id_to_wire(self.party.0) }
    }

    fn from_wire(wire: node::PartyPlace) -> Result<Self> {
        let party = party::PartyId(id_from_wire(wire.party));
        Ok(Self { score: wire.score.unwrap_or_default(), created_at: Timestamp(wire.created_at), party })
    }
}

impl Form for Page {
    type Wire = node::PartyPage;

    fn to_wire(&self) -> node::PartyPage {
        node::PartyPage { parties: list_to_wire(&self.parties), until: self.until.map(|place| place.to_wire()) }
    }

    fn from_wire(wire: node::PartyPage) -> Result<Self> {
        Ok(Self { parties: list_from_wire(wire.parties)?, until: maybe(wire.until)? })
    }
}

impl Form for Listed {
    type Wire = node::PartyListed;

    fn to_wire(&self) -> node::PartyListed {
        node::PartyListed {
            place: Some(self.place.to_wire()),
            open: self.open,
            max_size: self.max_size.into(),
            label: self.label.as_given().to_owned(),
        }
    }

    fn from_wire(wire: node::PartyListed) -> Result<Self> {
        Ok(Self {
            place: part(wire.place, "party.place")?,
            open: wire.open,
            max_size: narrow(wire.max_size, "party.max_size")?,
            label: label(&wire.label)?,
        })
    }
}

impl Form for PartyReply {
    type Wire = node::PartyReply;

    fn to_wire(&self) -> node::PartyReply {
        use party_reply::What;
        let what = match self {
            Self::Done => What::Done(node::Empty {}),
            Self::Asked => What::Asked(node::Empty {}),
            Self::Requests(presences) => {
                let total = presences.len() as u64;
                What::Requests(node::Presences { presences: list_to_wire(presences), total })
            }
            Self::Matchmaking { members, membership } => {
                let (members, membership) = (list_to_wire(members), *membership);
                What::Matchmaking(node::PartyMatchmaking { members, membership })
            }
        };
        node::PartyReply { what: Some(what) }
    }

    fn from_wire(wire: node::PartyReply) -> Result<Self> {
        use party_reply::What;
        Ok(match required(wire.what, "party_reply.what")? {
            What::Done(node::Empty {}) => Self::Done,
            What::Asked(node::Empty {}) => Self::Asked,
            What::Requests(waiting) => Self::Requests(list_from_wire(waiting.presences)?),
            What::Matchmaking(wire) => {
                Self::Matchmaking { members: list_from_wire(wire.members)?, membership: wire.membership }
            }
        })
    }
}

impl Form for CarriedParty {
    type Wire = node::CarriedParty;

    fn to_wire(&self) -> node::CarriedParty {
        node::CarriedParty {
            party: id_to_wire(self.party),
            settings: Some(self.settings.to_wire()),
            max_size: self.max_size.into(),
            created_at: self.created_at.0,
            members: list_to_wire(&self.members),
            leader: Some(self.leader.to_wire()),
            requests: list_to_wire(&self.requests),
            membership: self.membership,
            has_tickets: self.has_tickets,
        }
    }

    fn from_wire(wire: node::CarriedParty) -> Result<Self> {
        Ok(Self {
            party: id_from_wire(wire.party),
            settings: part(wire.settings, "carried_party.settings")?,
            max_size: narrow(wire.max_size, "carried_party.max_size")?,
            created_at: Timestamp(wire.created_at),
            members: list_from_wire(wire.members)?,
            leader: part(wire.leader, "carried_party.leader")?,
            requests: list_from_wire(wire.requests)?,
            membership: wire.membership,
            has_tickets: wire.has_tickets,
        })
    }
}
