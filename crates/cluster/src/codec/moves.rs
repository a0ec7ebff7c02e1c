//! Sessions that go on at another place.

use muster_domain::Timestamp;
use muster_domain::ids::{TokenId, Uuid};
use muster_domain::sessions::Claims;
use muster_live::plane::{Belongings, Claim, ClaimRefusal, Departed, Moved, Rebind, Standing};
use muster_live::{Encoding, Epoch, Place, SessionKey};
use muster_wire::node;

use super::form::{Form, Result, id_from_wire, id_to_wire, list_from_wire, list_to_wire, part};

impl Form for Claim {
    type Wire = node::Claim;

    fn to_wire(&self) -> node::Claim {
        node::Claim {
            session_id: id_to_wire(self.session_id),
            user_id: id_to_wire(self.user_id),
            encoding: self.encoding.to_wire(),
            received: self.received,
            to: Some(self.to.to_wire()),
        }
    }

    fn from_wire(wire: node::Claim) -> Result<Self> {
        Ok(Self {
            session_id: id_from_wire(wire.session_id),
            user_id: id_from_wire(wire.user_id),
            encoding: Encoding::from_wire(wire.encoding)?,
            received: wire.received,
            to: part(wire.to, "claim.to")?,
        })
    }
}

impl Form for Rebind {
    type Wire = node::Rebind;

    fn to_wire(&self) -> node::Rebind {
        node::Rebind {
            from: Some(self.from.to_wire()),
            to: Some(self.to.to_wire()),
            standing: Some(self.standing.to_wire()),
        }
    }

    fn from_wire(wire: node::Rebind) -> Result<Self> {
        Ok(Self {
            from: part(wire.from, "rebind.from")?,
            to: part(wire.to, "rebind.to")?,
            standing: part(wire.standing, "rebind.standing")?,
        })
    }
}

pub(super) fn arrived_to_wire(session: SessionKey, standing: &Standing, hears: bool) -> node::Arrived {
    node::Arrived { session: session.number(), standing: Some(standing.to_wire()), hears }
}

impl Form for Moved {
    type Wire = node::Moved;

    fn to_wire(&self) -> node::Moved {
        let Self { claims, departed, received, sent, frames } = self;
        node::Moved {
            token_id: id_to_wire(claims.token_id.0),
            user_id: id_to_wire(claims.user_id),
            username: claims.username.clone(),
            vars: claims.vars.clone(),
            issued_at: claims.issued_at_sec,
            expires_at: claims.expires_at_sec,
            serial: departed.serial,
            has_tickets: departed.belongings.may_have_tickets,
            tickets: list_to_wire(&departed.belongings.tickets),
            pool_epoch: departed.belongings.pool.map(|Epoch(epoch)| epoch),
            bound: list_to_wire(&departed.standings),
            arrivals: list_to_wire(&departed.arrivals),
            received: *received,
            sent: *sent,
            frames: frames.clone(),
            sole_since: departed.only_session_since.map(|Timestamp(micros)| micros),
        }
    }

    fn from_wire(wire: node::Moved) -> Result<Self> {
        let claims = Claims {
            token_id: TokenId(id_from_wire::<Uuid>(wire.token_id)),
            user_id: id_from_wire(wire.user_id),
            username: wire.username,
            vars: wire.vars,
            issued_at_sec: wire.issued_at,
            expires_at_sec: wire.expires_at,
        };
        let belongings = Belongings {
            may_have_tickets: wire.has_tickets,
            tickets: list_from_wire(wire.tickets)?,
            pool: wire.pool_epoch.map(Epoch),
        };
        let departed = Departed {
            serial: wire.serial,
            belongings,
            standings: list_from_wire(wire.bound)?,
            arrivals: list_from_wire(wire.arrivals)?,
            only_session_since: wire.sole_since.map(Timestamp),
        };
        Ok(Self { claims, departed, received: wire.received, sent: wire.sent, frames: wire.frames })
    }
}

impl Form for (Standing, Epoch) {
    type Wire = node::Bound;

    fn to_wire(&self) -> node::Bound {
        let (standing, Epoch(epoch)) = self;
        node::Bound { standing: Some(standing.to_wire()), epoch: *epoch }
    }

    fn from_wire(wire: node::Bound) -> Result<Self> {
        Ok((part(wire.standing, "bound.standing")?, Epoch(wire.epoch)))
    }
}

impl Form for ClaimRefusal {
    type Wire = node::ClaimRefusal;

    fn to_wire(&self) -> node::ClaimRefusal {
        use node::ClaimRefusalKind::{Elsewhere, Format, Gone, Overflow};
        let (kind, place) = match self {
            Self::Gone => (Gone, 0),
            Self::Overflow => (Overflow, 0),
            Self::Format => (Format, 0),
            Self::Elsewhere(place) => (Elsewhere, place.number()),
        };
        node::ClaimRefusal { kind: kind.into(), place }
    }

    fn from_wire(wire: node::ClaimRefusal) -> Result<Self> {
        use node::ClaimRefusalKind::{Elsewhere, Format, Gone, Overflow, Unspecified};
        Ok(match wire.kind() {
            Gone | Unspecified => Self::Gone,
            Overflow => Self::Overflow,
            Format => Self::Format,
            Elsewhere => Self::Elsewhere(Place::from_number(wire.place)),
        })
    }
}
