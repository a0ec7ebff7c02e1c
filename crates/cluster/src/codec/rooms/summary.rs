//! Answers of owners of rooms: rooms as they are, and their members.

use std::sync::Arc;

use muster_live::rooms::{Actor, Joined, MemberState, Named, Page, Reserved, RoomAnswer, RoomState, Summary};
use muster_wire::node::{self, rooms_answer::What};

use super::values::{path, value};
use crate::codec::form::{
    Form, Result, id_from_wire, id_to_wire, list_from_wire, list_to_wire, part, present_id, required, size, text,
};

impl Form for RoomAnswer {
    type Wire = node::RoomsAnswer;

    fn to_wire(&self) -> node::RoomsAnswer {
        let what = match self {
            Self::Done => What::Done(node::Empty {}),
            Self::Version(version) => What::Version(*version),
            Self::Reserved(reserved) => What::Reserved(node::RoomReserved {
                room: Some(reserved.room.to_wire()),
                seat: reserved.seat,
                held_ms: reserved.held_ms,
            }),
            Self::Joined(joined) => {
                What::Joined(node::RoomJoined { seat: joined.seat, state: Some(joined.state.to_wire()) })
            }
            Self::Room(state) => What::Room(state.to_wire()),
            Self::Page(page) => What::Page(node::RoomPage {
                rooms: page.rooms.iter().map(|room| room.to_wire()).collect(),
                next: page.next,
                revision: page.revision,
            }),
        };
        node::RoomsAnswer { what: Some(what) }
    }

    fn from_wire(wire: node::RoomsAnswer) -> Result<Self> {
        Ok(match required(wire.what, "rooms_answer.what")? {
            What::Done(node::Empty {}) => Self::Done,
            What::Version(version) => Self::Version(version),
            What::Reserved(node::RoomReserved { room, seat, held_ms }) => {
                let room = Arc::new(part(room, "room_reserved.room")?);
                Self::Reserved(Box::new(Reserved { room, seat, held_ms }))
            }
            What::Joined(node::RoomJoined { seat, state }) => {
                Self::Joined(Box::new(Joined { seat, state: part(state, "room_joined.state")? }))
            }
            What::Room(state) => Self::Room(Box::new(RoomState::from_wire(state)?)),
            What::Page(node::RoomPage { rooms, next, revision }) => {
                let rooms = rooms.into_iter().map(|room| Summary::from_wire(room).map(Arc::new));
                Self::Page(Page { rooms: rooms.collect::<Result<_>>()?, next, revision })
            }
        })
    }
}

impl Form for Summary {
    type Wire = node::RoomSummary;

    fn to_wire(&self) -> node::RoomSummary {
        node::RoomSummary {
            id: id_to_wire(self.id),
            name: self.name.as_ref().to_owned(),
            template: text(&self.template),
            path: self.path.as_str().to_owned(),
            capacity: self.capacity,
            players: self.players,
            free: self.free,
            spectators: self.spectators,
            spectators_max: self.spectators_max,
            locked: self.locked,
            open: self.open,
            owner: self.owner.map(present_id),
            properties: list_to_wire(&self.properties),
            variables: list_to_wire(&self.variables),
        }
    }

    fn from_wire(wire: node::RoomSummary) -> Result<Self> {
        Ok(Self {
            id: id_from_wire(wire.id),
            name: wire.name.into(),
            template: wire.template.map(Into::into),
            path: path(&wire.path)?,
            capacity: wire.capacity,
            players: wire.players,
            free: wire.free,
            spectators: wire.spectators,
            spectators_max: wire.spectators_max,
            locked: wire.locked,
            open: wire.open,
            owner: wire.owner.map(|owner| id_from_wire(Some(owner))),
            properties: list_from_wire(wire.properties)?,
            variables: list_from_wire(wire.variables)?,
        })
    }
}

impl Form for RoomState {
    type Wire = node::RoomState;

    fn to_wire(&self) -> node::RoomState {
        node::RoomState {
            summary: Some(self.summary.to_wire()),
            version: self.version,
            members: list_to_wire(&self.members),
            members_total: self.members_total as u64,
        }
    }

    fn from_wire(wire: node::RoomState) -> Result<Self> {
        Ok(Self {
            summary: part(wire.summary, "room_state.summary")?,
            version: wire.version,
            members: list_from_wire(wire.members)?,
            members_total: size(wire.members_total),
        })
    }
}

impl Form for MemberState {
    type Wire = node::RoomMember;

    fn to_wire(&self) -> node::RoomMember {
        node::RoomMember {
            session_id: id_to_wire(self.who.session_id),
            user_id: id_to_wire(self.who.user_id),
            username: self.who.username.as_ref().to_owned(),
            seat: self.seat,
            variables: list_to_wire(&self.variables),
        }
    }

    fn from_wire(wire: node::RoomMember) -> Result<Self> {
        let who = Actor {
            session_id: id_from_wire(wire.session_id),
            user_id: id_from_wire(wire.user_id),
            username: wire.username.into(),
        };
        Ok(Self { who, seat: wire.seat, variables: list_from_wire(wire.variables)? })
    }
}

impl Form for Named {
    type Wire = node::RoomValue;

    fn to_wire(&self) -> node::RoomValue {
        let (name, value) = self;
        node::RoomValue { name: name.as_ref().to_owned(), json: value.as_json().to_owned() }
    }

    fn from_wire(wire: node::RoomValue) -> Result<Self> {
        Ok((wire.name.into(), value(&wire.json)?))
    }
}
