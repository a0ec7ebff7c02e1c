//! Parts of what an owner knows of a partition: streams, parties and the pool.

use muster_domain::Timestamp;
use muster_live::matchmaker::{CarriedPasses, CarriedTicket};
use muster_live::party::CarriedParty;
use muster_live::plane::{Carried, CarriedNews, CarriedPool, CarriedPresence, CarriedStream};
use muster_live::rooms;
use muster_live::{Encoding, Place, Presence, SessionRef};
use muster_wire::node::{self, carried::What};

use super::form::{
    Form, Result, id_from_wire, id_to_wire, list_from_wire, list_to_wire, maybe, narrow, part, required,
};

/// Parts, without those of kinds that this node does not know.
pub(super) fn parts_from_wire(parts: Vec<node::Carried>) -> Result<Vec<Carried>> {
    parts.into_iter().filter(|part| part.what.is_some()).map(Carried::from_wire).collect()
}

impl Form for Carried {
    type Wire = node::Carried;

    fn to_wire(&self) -> node::Carried {
        let what = match self {
            Self::Stream(stream) => What::Stream(stream.to_wire()),
            Self::News(news) => What::News(news.to_wire()),
            Self::Party(party) => What::Party(Box::new(party.to_wire())),
            Self::Rooms(rooms::Carried::Room(room)) => What::Room(Box::new(room.to_wire())),
            Self::Rooms(rooms::Carried::Members(members)) => What::Members(members.to_wire()),
            Self::Rooms(rooms::Carried::Desk(desk)) => What::Desk(desk.to_wire()),
            Self::Rooms(rooms::Carried::Listing(listing)) => What::Listing(listing.to_wire()),
            Self::Rooms(rooms::Carried::View(view)) => What::View(Box::new(view.to_wire())),
            Self::Ticket(ticket) => What::Ticket(Box::new(ticket.to_wire())),
            Self::Pool(pool) => What::Pool(pool.to_wire()),
            Self::Match(carried) => What::Match(carried.to_wire()),
            Self::Added(stream, part) => {
                What::Added(node::CarriedAdded { stream: Some(stream.to_wire()), part: part.clone() })
            }
        };
        node::Carried { what: Some(what) }
    }

    fn from_wire(wire: node::Carried) -> Result<Self> {
        use rooms::Carried::{Desk, Listing, Members, Room, View};
        Ok(match required(wire.what, "carried.what")? {
            What::Stream(stream) => Self::Stream(Form::from_wire(stream)?),
            What::News(news) => Self::News(Form::from_wire(news)?),
            What::Party(party) => Self::Party(Box::new(Form::from_wire(*party)?)),
            What::Room(room) => Self::Rooms(Room(Box::new(Form::from_wire(*room)?))),
            What::Members(members) => Self::Rooms(Members(Form::from_wire(members)?)),
            What::Desk(desk) => Self::Rooms(Desk(Form::from_wire(desk)?)),
            What::Listing(listing) => Self::Rooms(Listing(Form::from_wire(listing)?)),
            What::View(view) => Self::Rooms(View(Form::from_wire(*view)?)),
            What::Ticket(ticket) => Self::Ticket(Box::new(Form::from_wire(*ticket)?)),
            What::Pool(pool) => Self::Pool(Form::from_wire(pool)?),
            What::Match(carried) => Self::Match(Box::new(Form::from_wire(carried)?)),
            What::Added(added) => Self::Added(part(added.stream, "carried_added.stream")?, added.part),
        })
    }
}

impl Form for CarriedStream {
    type Wire = node::CarriedStream;

    fn to_wire(&self) -> node::CarriedStream {
        let listeners = self.listeners.iter().map(|(place, [json, protobuf])| node::CarriedListeners {
            place: place.number(),
            json: *json,
            protobuf: *protobuf,
        });
        node::CarriedStream {
            stream: Some(self.stream.to_wire()),
            came: self.came,
            listeners: listeners.collect(),
            presences: list_to_wire(&self.presences),
        }
    }

    fn from_wire(wire: node::CarriedStream) -> Result<Self> {
        let listeners = wire.listeners.into_iter();
        Ok(Self {
            stream: part(wire.stream, "carried_stream.stream")?,
            came: wire.came,
            listeners: listeners.map(|place| (Place::from_number(place.place), [place.json, place.protobuf])).collect(),
            presences: list_from_wire(wire.presences)?,
        })
    }
}

impl Form for CarriedPresence {
    type Wire = node::CarriedPresence;

    fn to_wire(&self) -> node::CarriedPresence {
        let heard = self.heard.map(|encoding| encoding.to_wire());
        node::CarriedPresence { presence: Some(self.presence.to_wire()), heard, number: self.number }
    }

    fn from_wire(wire: node::CarriedPresence) -> Result<Self> {
        let presence: Presence = part(wire.presence, "carried_presence.presence")?;
        Ok(Self { presence, heard: maybe::<Encoding>(wire.heard)?, number: wire.number })
    }
}

impl Form for CarriedNews {
    type Wire = node::CarriedNews;

    fn to_wire(&self) -> node::CarriedNews {
        node::CarriedNews {
            stream: Some(self.stream.to_wire()),
            is_telling: self.is_telling,
            joins: list_to_wire(&self.joins),
            leaves: list_to_wire(&self.leaves),
            unknown_from: self.unknown_from,
            due_ms: self.due_ms,
        }
    }

    fn from_wire(wire: node::CarriedNews) -> Result<Self> {
        Ok(Self {
            stream: part(wire.stream, "carried_news.stream")?,
            is_telling: wire.is_telling,
            joins: list_from_wire(wire.joins)?,
            leaves: list_from_wire(wire.leaves)?,
            unknown_from: wire.unknown_from,
            due_ms: wire.due_ms,
        })
    }
}

impl Form for (SessionRef, u32) {
    type Wire = node::CarriedJoin;

    fn to_wire(&self) -> node::CarriedJoin {
        let (session, number) = self;
        node::CarriedJoin { session: Some(session.to_wire()), number: *number }
    }

    fn from_wire(wire: node::CarriedJoin) -> Result<Self> {
        Ok((part(wire.session, "carried_join.session")?, wire.number))
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

impl Form for CarriedPool {
    type Wire = node::CarriedPool;

    fn to_wire(&self) -> node::CarriedPool {
        let CarriedPasses { passes, next_ms } = self.passes;
        node::CarriedPool { passes, next_ms, due_ms: self.due_ms }
    }

    fn from_wire(wire: node::CarriedPool) -> Result<Self> {
        let node::CarriedPool { passes, next_ms, due_ms } = wire;
        Ok(Self { passes: CarriedPasses { passes, next_ms }, due_ms })
    }
}
