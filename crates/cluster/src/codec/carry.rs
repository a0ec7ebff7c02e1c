//! Parts of a partition's state, and those of streams.

use muster_live::matchmaker::CarriedPool;
use muster_live::plane::{Carried, CarriedNews, CarriedPresence, CarriedStream};
use muster_live::rooms;
use muster_live::{Encoding, Place, Presence, SessionRef};
use muster_wire::node::{self, carried::What};

use super::form::{Form, Result, list_from_wire, list_to_wire, maybe, part, required};
use super::pool;

/// Reads parts, and leaves out those of kinds that this node does not know.
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
            Self::Room(rooms::Carried::Room(room)) => What::Room(Box::new(room.to_wire())),
            Self::Room(rooms::Carried::Members(members)) => What::Members(members.to_wire()),
            Self::Room(rooms::Carried::Desk(desk)) => What::Desk(desk.to_wire()),
            Self::Room(rooms::Carried::Listing(listing)) => What::Listing(listing.to_wire()),
            Self::Room(rooms::Carried::View(view)) => What::View(Box::new(view.to_wire())),
            Self::Pool(part) => pool::part_to_wire(part),
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
            What::Room(room) => Self::Room(Room(Box::new(Form::from_wire(*room)?))),
            What::Members(members) => Self::Room(Members(Form::from_wire(members)?)),
            What::Desk(desk) => Self::Room(Desk(Form::from_wire(desk)?)),
            What::Listing(listing) => Self::Room(Listing(Form::from_wire(listing)?)),
            What::View(view) => Self::Room(View(Form::from_wire(*view)?)),
            What::Ticket(ticket) => Self::Pool(CarriedPool::Ticket(Box::new(Form::from_wire(*ticket)?))),
            What::Pool(rest) => Self::Pool(pool::rest_from_wire(rest)),
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
