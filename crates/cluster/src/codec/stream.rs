//! Streams, their presences and their listeners.

use muster_domain::Timestamp;
use muster_live::plane::{Listener, Standing};
use muster_live::{Delivery, Encoding, Place, Presence, SessionKey, SessionRef, StreamKey};
use muster_wire::node;

use super::form::{Form, Result, id_from_wire, id_to_wire, maybe, narrow, part, text};

impl Form for StreamKey {
    type Wire = node::StreamKey;

    fn to_wire(&self) -> node::StreamKey {
        node::StreamKey {
            mode: self.mode.into(),
            subject: id_to_wire(self.subject),
            subcontext: id_to_wire(self.subcontext),
            label: self.label().to_owned(),
        }
    }

    fn from_wire(wire: node::StreamKey) -> Result<Self> {
        let mode = narrow(wire.mode, "stream.mode")?;
        Ok(Self::new(mode, id_from_wire(wire.subject), id_from_wire(wire.subcontext), &wire.label))
    }
}

impl Form for SessionRef {
    type Wire = node::SessionRef;

    fn to_wire(&self) -> node::SessionRef {
        node::SessionRef { place: self.place.number(), key: self.key.number() }
    }

    fn from_wire(wire: node::SessionRef) -> Result<Self> {
        Ok(Self { place: Place::from_number(wire.place), key: SessionKey::from_number(wire.key) })
    }
}

impl Form for Listener {
    type Wire = node::Listener;

    fn to_wire(&self) -> node::Listener {
        let (session, encoding) = (Some(self.session.to_wire()), self.encoding.to_wire());
        node::Listener { session, encoding, serial: self.serial }
    }

    fn from_wire(wire: node::Listener) -> Result<Self> {
        let session = part(wire.session, "listener.session")?;
        Ok(Self { session, encoding: Encoding::from_wire(wire.encoding)?, serial: wire.serial })
    }
}

impl Form for Standing {
    type Wire = node::Standing;

    fn to_wire(&self) -> node::Standing {
        node::Standing {
            stream: Some(self.stream.to_wire()),
            presence: self.presence.as_ref().map(|presence| presence.to_wire()),
            listener: self.listener.map(|listener| listener.to_wire()),
            by_join: self.by_join,
            latest: self.latest,
        }
    }

    fn from_wire(wire: node::Standing) -> Result<Self> {
        Ok(Self {
            stream: part(wire.stream, "standing.stream")?,
            presence: maybe(wire.presence)?,
            listener: maybe(wire.listener)?,
            by_join: wire.by_join,
            latest: wire.latest,
        })
    }
}

impl Form for Presence {
    type Wire = node::Presence;

    fn to_wire(&self) -> node::Presence {
        node::Presence {
            session: (self.session != SessionRef::NOBODY).then(|| self.session.to_wire()),
            session_id: id_to_wire(self.session_id),
            user_id: id_to_wire(self.user_id),
            username: self.username.as_ref().to_owned(),
            hidden: self.hidden,
            persistence: self.persistence,
            status: text(&self.status),
            sole_since: self.only_session_since.map(|Timestamp(micros)| micros),
        }
    }

    fn from_wire(wire: node::Presence) -> Result<Self> {
        Ok(Self {
            session: maybe(wire.session)?.unwrap_or(SessionRef::NOBODY),
            session_id: id_from_wire(wire.session_id),
            user_id: id_from_wire(wire.user_id),
            username: wire.username.into(),
            hidden: wire.hidden,
            persistence: wire.persistence,
            status: wire.status.map(Into::into),
            only_session_since: wire.sole_since.map(Timestamp),
        })
    }
}

pub(super) fn delivery_to_wire(delivery: Delivery) -> Option<node::Delivery> {
    use node::DeliveryKind::{Again, Droppable, Kept, Latest, Once};
    let (kind, key) = match delivery {
        Delivery::Reliable => return None,
        Delivery::Latest(key) => (Latest, key),
        Delivery::Once(number) => (Once, number),
        Delivery::Kept(number) => (Kept, number),
        Delivery::Again { number, age_ms } => {
            return Some(node::Delivery { kind: Again.into(), key: number, age_ms });
        }
        Delivery::Droppable => (Droppable, 0),
    };
    Some(node::Delivery { kind: kind.into(), key, age_ms: 0 })
}

pub(super) fn delivery_from_wire(wire: Option<node::Delivery>) -> Delivery {
    use node::DeliveryKind::{Again, Droppable, Kept, Latest, Once, Reliable, Unspecified};
    let Some(wire) = wire else { return Delivery::Reliable };
    match wire.kind() {
        Latest => Delivery::Latest(wire.key),
        Once => Delivery::Once(wire.key),
        Kept => Delivery::Kept(wire.key),
        Again => Delivery::Again { number: wire.key, age_ms: wire.age_ms },
        Droppable => Delivery::Droppable,
        Reliable | Unspecified => Delivery::Reliable,
    }
}
