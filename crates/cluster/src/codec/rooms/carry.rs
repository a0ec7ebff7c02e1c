//! Parts of a partition's state: rooms, desks and the directory.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::UserId;
use muster_domain::ids::Subject;
use muster_live::Millis;
use muster_live::rooms::{
    CarriedAttempts, CarriedDesk, CarriedFilling, CarriedListed, CarriedListing, CarriedMember, CarriedMembers,
    CarriedRoom, CarriedSeat, CarriedValue, CarriedValues, CarriedView, Report,
};
use muster_wire::node;

use super::values::{digest_from_wire, digest_to_wire, path, value};
use super::{report_from_wire, report_to_wire};
use crate::codec::form::{
    Form, Result, id_from_wire, id_to_wire, ids_from_wire, ids_to_wire, list_from_wire, list_to_wire, part, present_id,
    required, size, text, wrong,
};

impl Form for CarriedRoom {
    type Wire = node::CarriedRoom;

    fn to_wire(&self) -> node::CarriedRoom {
        let link =
            |(handled, report): (i64, Report)| node::CarriedLink { handled, offset: report.offset, open: report.open };
        node::CarriedRoom {
            id: id_to_wire(self.id),
            name: self.name.as_ref().to_owned(),
            template: text(&self.template),
            path: self.path.as_str().to_owned(),
            hidden: self.hidden,
            owned: self.owned,
            open: self.open,
            password: digest_to_wire(self.password),
            capacity: self.capacity,
            spectators_max: self.spectators_max,
            held: list_to_wire(&self.held),
            entries: self.entries,
            owner: self.owner.map(present_id),
            creator: self.creator.map(present_id),
            properties: Some(self.properties.to_wire()),
            variables: Some(self.variables.to_wire()),
            attempts: list_to_wire(&self.attempts),
            barred: list_to_wire(&self.barred),
            paused: list_to_wire(&self.paused),
            empty_ms: self.empty_ms,
            closes_ms: self.closes_ms,
            ends_ms: self.ends_ms,
            desk: self.desk.map(link),
            listed_ms: self.listed_ms,
            members: self.members as u64,
            recover: self.recover,
        }
    }

    fn from_wire(wire: node::CarriedRoom) -> Result<Self> {
        let link = |link: node::CarriedLink| (link.handled, Report { offset: link.offset, open: link.open });
        Ok(Self {
            id: id_from_wire(wire.id),
            name: wire.name.into(),
            template: wire.template.map(Into::into),
            path: path(&wire.path)?,
            hidden: wire.hidden,
            owned: wire.owned,
            open: wire.open,
            password: digest_from_wire(wire.password)?,
            capacity: wire.capacity,
            spectators_max: wire.spectators_max,
            held: list_from_wire(wire.held)?,
            entries: wire.entries,
            owner: wire.owner.map(|owner| id_from_wire(Some(owner))),
            creator: wire.creator.map(|creator| id_from_wire(Some(creator))),
            properties: part(wire.properties, "carried_room.properties")?,
            variables: part(wire.variables, "carried_room.variables")?,
            attempts: list_from_wire(wire.attempts)?,
            barred: list_from_wire(wire.barred)?,
            paused: list_from_wire(wire.paused)?,
            empty_ms: wire.empty_ms,
            closes_ms: wire.closes_ms,
            ends_ms: wire.ends_ms,
            desk: wire.desk.map(link),
            listed_ms: wire.listed_ms,
            members: size(wire.members),
            recover: wire.recover,
        })
    }
}

impl Form for CarriedSeat {
    type Wire = node::CarriedSeat;

    fn to_wire(&self) -> node::CarriedSeat {
        node::CarriedSeat { user_id: id_to_wire(self.user_id), seat: self.seat, left_ms: self.left_ms }
    }

    fn from_wire(wire: node::CarriedSeat) -> Result<Self> {
        Ok(Self { user_id: id_from_wire(wire.user_id), seat: wire.seat, left_ms: wire.left_ms })
    }
}

impl Form for CarriedValues {
    type Wire = node::CarriedValues;

    fn to_wire(&self) -> node::CarriedValues {
        node::CarriedValues { version: self.version, values: list_to_wire(&self.values) }
    }

    fn from_wire(wire: node::CarriedValues) -> Result<Self> {
        Ok(Self { version: wire.version, values: list_from_wire(wire.values)? })
    }
}

impl Form for CarriedValue {
    type Wire = node::CarriedValue;

    fn to_wire(&self) -> node::CarriedValue {
        node::CarriedValue {
            name: self.name.as_ref().to_owned(),
            json: self.value.as_json().to_owned(),
            author: id_to_wire(self.author),
            private: self.private,
        }
    }

    fn from_wire(wire: node::CarriedValue) -> Result<Self> {
        let (author, value) = (id_from_wire(wire.author), value(&wire.json)?);
        Ok(Self { name: wire.name.into(), value, author, private: wire.private })
    }
}

impl Form for CarriedAttempts {
    type Wire = node::CarriedAttempts;

    fn to_wire(&self) -> node::CarriedAttempts {
        let subject = Bytes::copy_from_slice(&self.subject.0);
        node::CarriedAttempts { subject, count: self.count, left_ms: self.left_ms }
    }

    fn from_wire(wire: node::CarriedAttempts) -> Result<Self> {
        let subject = wire.subject.as_ref().try_into().map_err(|error| wrong("carried_attempts.subject", error))?;
        Ok(Self { subject: Subject(subject), count: wire.count, left_ms: wire.left_ms })
    }
}

impl Form for (UserId, Millis) {
    type Wire = node::CarriedBar;

    fn to_wire(&self) -> node::CarriedBar {
        let (user, left_ms) = *self;
        node::CarriedBar { user_id: id_to_wire(user), left_ms }
    }

    fn from_wire(wire: node::CarriedBar) -> Result<Self> {
        Ok((id_from_wire(wire.user_id), wire.left_ms))
    }
}

impl Form for CarriedMembers {
    type Wire = node::CarriedMembers;

    fn to_wire(&self) -> node::CarriedMembers {
        node::CarriedMembers { room: id_to_wire(self.room), members: list_to_wire(&self.members) }
    }

    fn from_wire(wire: node::CarriedMembers) -> Result<Self> {
        Ok(Self { room: id_from_wire(wire.room), members: list_from_wire(wire.members)? })
    }
}

impl Form for CarriedMember {
    type Wire = node::CarriedMember;

    fn to_wire(&self) -> node::CarriedMember {
        node::CarriedMember {
            user_id: id_to_wire(self.user_id),
            username: self.username.as_ref().to_owned(),
            session_id: id_to_wire(self.session_id),
            listener: Some(self.listener.to_wire()),
            seat: self.seat,
            variables: Some(self.variables.to_wire()),
            order: self.order,
        }
    }

    fn from_wire(wire: node::CarriedMember) -> Result<Self> {
        Ok(Self {
            user_id: id_from_wire(wire.user_id),
            username: wire.username.into(),
            session_id: id_from_wire(wire.session_id),
            listener: part(wire.listener, "carried_member.listener")?,
            seat: wire.seat,
            variables: part(wire.variables, "carried_member.variables")?,
            order: wire.order,
        })
    }
}

impl Form for CarriedDesk {
    type Wire = node::CarriedDesk;

    fn to_wire(&self) -> node::CarriedDesk {
        let (template, rooms) = (self.template.as_ref().to_owned(), list_to_wire(&self.rooms));
        node::CarriedDesk { template, opened: self.opened, rooms }
    }

    fn from_wire(wire: node::CarriedDesk) -> Result<Self> {
        Ok(Self { template: wire.template.into(), opened: wire.opened, rooms: list_from_wire(wire.rooms)? })
    }
}

impl Form for CarriedFilling {
    type Wire = node::CarriedFilling;

    fn to_wire(&self) -> node::CarriedFilling {
        let report = Some(report_to_wire(self.room, self.report));
        node::CarriedFilling { report, size: self.size, age: self.age, sent: self.sent }
    }

    fn from_wire(wire: node::CarriedFilling) -> Result<Self> {
        let (room, report) = report_from_wire(required(wire.report, "carried_filling.report")?);
        Ok(Self { room, size: wire.size, age: wire.age, sent: wire.sent, report })
    }
}

impl Form for CarriedListing {
    type Wire = node::CarriedListing;

    fn to_wire(&self) -> node::CarriedListing {
        node::CarriedListing { next_slot: self.next_slot, rooms: list_to_wire(&self.rooms) }
    }

    fn from_wire(wire: node::CarriedListing) -> Result<Self> {
        Ok(Self { next_slot: wire.next_slot, rooms: list_from_wire(wire.rooms)? })
    }
}

impl Form for CarriedListed {
    type Wire = node::CarriedListed;

    fn to_wire(&self) -> node::CarriedListed {
        let summary = Some(self.summary.to_wire());
        node::CarriedListed { slot: self.slot, promised: self.promised, summary }
    }

    fn from_wire(wire: node::CarriedListed) -> Result<Self> {
        let summary = Arc::new(part(wire.summary, "carried_listed.summary")?);
        Ok(Self { slot: wire.slot, promised: wire.promised, summary })
    }
}

impl Form for CarriedView {
    type Wire = node::CarriedView;

    fn to_wire(&self) -> node::CarriedView {
        node::CarriedView {
            view: Some(self.view.to_wire()),
            maker: self.maker.map(present_id),
            revision: self.revision,
            anew: self.anew,
            due_ms: self.due_ms,
            next_ms: self.next_ms,
            changed: ids_to_wire(&self.changed),
        }
    }

    fn from_wire(wire: node::CarriedView) -> Result<Self> {
        Ok(Self {
            view: part(wire.view, "carried_view.view")?,
            maker: wire.maker.map(|maker| id_from_wire(Some(maker))),
            revision: wire.revision,
            anew: wire.anew,
            due_ms: wire.due_ms,
            next_ms: wire.next_ms,
            changed: ids_from_wire(&wire.changed, "carried_view.changed")?,
        })
    }
}
