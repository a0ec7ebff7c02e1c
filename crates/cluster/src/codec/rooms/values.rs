//! Values that occur in questions about rooms.

use std::sync::Arc;

use bytes::Bytes;
use muster_live::rooms::{Change, Creation, Find, PasswordDigest, Placement, RoomPath, Update, Value, ViewKey};
use muster_wire::node;

use crate::codec::form::{Form, Result, id_from_wire, id_to_wire, ids_from_wire, ids_to_wire, part, size, text, wrong};

impl Form for Placement {
    type Wire = node::Placement;

    fn to_wire(&self) -> node::Placement {
        node::Placement {
            template: self.template.as_ref().to_owned(),
            size: self.size,
            fresh: id_to_wire(self.fresh),
            random: self.random,
            tried: ids_to_wire(&self.tried),
        }
    }

    fn from_wire(wire: node::Placement) -> Result<Self> {
        Ok(Self {
            template: wire.template.into(),
            size: wire.size,
            fresh: id_from_wire(wire.fresh),
            random: wire.random,
            tried: ids_from_wire(&wire.tried, "placement.tried")?,
        })
    }
}

impl Form for Change {
    type Wire = node::RoomChange;

    fn to_wire(&self) -> node::RoomChange {
        let pair = |(name, value): (&Arc<str>, &Value)| (name.as_ref().to_owned(), value.as_json().to_owned());
        node::RoomChange {
            set: self.set.iter().map(pair).collect(),
            unset: self.unset.iter().map(|name| name.as_ref().to_owned()).collect(),
            private: self.private,
            expected_version: self.expected_version,
        }
    }

    fn from_wire(wire: node::RoomChange) -> Result<Self> {
        let pair = |(name, json): (String, String)| Ok((Arc::from(name), value(&json)?));
        Ok(Self {
            set: wire.set.into_iter().map(pair).collect::<Result<_>>()?,
            unset: wire.unset.into_iter().map(Into::into).collect(),
            private: wire.private,
            expected_version: wire.expected_version,
        })
    }
}

impl Form for Creation {
    type Wire = node::RoomCreation;

    fn to_wire(&self) -> node::RoomCreation {
        node::RoomCreation {
            name: self.name.as_ref().to_owned(),
            template: text(&self.template),
            path: self.path.as_str().to_owned(),
            capacity: self.capacity,
            spectators_max: self.spectators_max,
            password: digest_to_wire(self.password),
            hidden: self.hidden,
            owned: self.owned,
            empty_ms: self.empty_ms,
            life_ms: self.life_ms,
            recover: self.recover,
            properties: Some(self.properties.to_wire()),
            variables: Some(self.variables.to_wire()),
        }
    }

    fn from_wire(wire: node::RoomCreation) -> Result<Self> {
        Ok(Self {
            name: wire.name.into(),
            template: wire.template.map(Into::into),
            path: path(&wire.path)?,
            capacity: wire.capacity,
            spectators_max: wire.spectators_max,
            password: digest_from_wire(wire.password)?,
            hidden: wire.hidden,
            owned: wire.owned,
            empty_ms: wire.empty_ms,
            life_ms: wire.life_ms,
            recover: wire.recover,
            properties: part(wire.properties, "room_creation.properties")?,
            variables: part(wire.variables, "room_creation.variables")?,
        })
    }
}

impl Form for Update {
    type Wire = node::RoomUpdate;

    fn to_wire(&self) -> node::RoomUpdate {
        node::RoomUpdate {
            name: text(&self.name),
            open: self.open,
            password: self.password.map(|password| node::RoomPassword { digest: digest_to_wire(password) }),
            capacity: self.capacity,
            spectators_max: self.spectators_max,
            properties: Some(self.properties.to_wire()),
        }
    }

    fn from_wire(wire: node::RoomUpdate) -> Result<Self> {
        Ok(Self {
            name: wire.name.map(Into::into),
            open: wire.open,
            password: wire.password.map(|password| digest_from_wire(password.digest)).transpose()?,
            capacity: wire.capacity,
            spectators_max: wire.spectators_max,
            properties: part(wire.properties, "room_update.properties")?,
        })
    }
}

impl Form for Find {
    type Wire = node::RoomFind;

    fn to_wire(&self) -> node::RoomFind {
        node::RoomFind {
            path: self.path.as_str().to_owned(),
            filter: self.filter.as_ref().to_owned(),
            limit: self.limit as u64,
            after: self.after,
        }
    }

    fn from_wire(wire: node::RoomFind) -> Result<Self> {
        let (path, limit) = (path(&wire.path)?, size(wire.limit));
        Ok(Self { path, filter: wire.filter.into(), limit, after: wire.after })
    }
}

impl Form for ViewKey {
    type Wire = node::LobbyView;

    fn to_wire(&self) -> node::LobbyView {
        node::LobbyView {
            path: self.path.as_str().to_owned(),
            filter: self.filter.as_ref().to_owned(),
            interval_ms: self.interval_ms,
            rooms_max: self.rooms_max as u64,
        }
    }

    fn from_wire(wire: node::LobbyView) -> Result<Self> {
        let (path, rooms_max) = (path(&wire.path)?, size(wire.rooms_max));
        Ok(Self { path, filter: wire.filter.into(), interval_ms: wire.interval_ms, rooms_max })
    }
}

pub(super) fn path(text: &str) -> Result<RoomPath> {
    RoomPath::new(text).map_err(|error| wrong("room.path", error))
}

pub(super) fn value(json: &str) -> Result<Value> {
    Value::new(json).map_err(|error| wrong("room.value", error))
}

pub(super) fn digest_to_wire(digest: Option<PasswordDigest>) -> Option<Bytes> {
    digest.map(|digest| Bytes::copy_from_slice(digest.as_bytes()))
}

pub(super) fn digest_from_wire(wire: Option<Bytes>) -> Result<Option<PasswordDigest>> {
    let digest = |bytes: Bytes| {
        let bytes = bytes.as_ref().try_into().map_err(|error| wrong("room.password", error))?;
        Ok(PasswordDigest::from_bytes(bytes))
    };
    wire.map(digest).transpose()
}
