//! Parts of a partition's state, and those of streams.

use muster_live::plane::{Carried, CarriedNews, CarriedPresence, CarriedStream};
use muster_live::{Encoding, Place, Presence, SessionRef};
use muster_wire::node::{self, carried::What};

use super::form::{Form, Result, list_from_wire, list_to_wire, maybe, part, required};
use super::kinds;

/// Reads parts, and leaves out those of kinds that this node does not know.
pub(super) fn parts_from_wire(parts: Vec<node::Carried>) -> Result<Vec<Carried>> {
    parts.into_iter().filter(|part| part.what.is_some()).map(Carried::from_wire).collect()
}

impl Form for Carried {
    type Wire = node::Carried;

    fn to_wire(&self) -> node::Carried {
        let what = match self {
            Self::Stream(stream) => Some(What::Stream(stream.to_wire())),
            Self::News(news) => Some(What::News(news.to_wire())),
            thing => kinds::part_to_wire(thing),
        };
        node::Carried { what }
    }

    fn from_wire(wire: node::Carried) -> Result<Self> {
        Ok(match required(wire.what, "carried.what")? {
            What::Stream(stream) => Self::Stream(Form::from_wire(stream)?),
            What::News(news) => Self::News(Form::from_wire(news)?),
            what => kinds::part_from_wire(what)?,
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
