//! Orders about sessions of a place.

use muster_live::CloseReason;
use muster_live::plane::{Errand, Order, Whom};
use muster_live::{SessionKey, StreamKey};
use muster_wire::node::{self, order::What};

use super::form::{Form, Result, id_from_wire, ids_from_wire, ids_to_wire, part, present_id, required};

impl Form for Order {
    type Wire = node::Order;

    fn to_wire(&self) -> node::Order {
        let (session_id, user_id, keys) = match &self.whom {
            Whom::Id { session, user } => (Some(present_id(*session)), user.map(present_id), Vec::new()),
            Whom::Keys(keys) => (None, None, keys.iter().map(|key| key.number()).collect()),
        };
        let what = match &self.what {
            Errand::Join { stream, hidden, persistence, status, replaces } => What::Join(node::OrderedJoin {
                stream: Some(stream.to_wire()),
                hidden: *hidden,
                persistence: *persistence,
                status: status.clone(),
                replaces: *replaces,
            }),
            Errand::Leave(stream) => What::Leave(stream.to_wire()),
            Errand::Look(stream) => What::Look(stream.to_wire()),
            Errand::Follow(users) => What::Follow(node::IdList { ids: ids_to_wire(users) }),
            Errand::Unfollow(users) => What::Unfollow(node::IdList { ids: ids_to_wire(users) }),
            Errand::Close(reason) => What::Close(reason.to_wire()),
        };
        node::Order { session_id, user_id, keys, what: Some(what) }
    }

    fn from_wire(wire: node::Order) -> Result<Self> {
        let node::Order { session_id, user_id, keys, what } = wire;
        let whom = match session_id {
            Some(_) => {
                let user = user_id.map(|user| id_from_wire(Some(user)));
                Whom::Id { session: id_from_wire(session_id), user }
            }
            None => Whom::Keys(keys.into_iter().map(SessionKey::from_number).collect()),
        };
        let what = match required(what, "order.what")? {
            What::Join(join) => Errand::Join {
                stream: part(join.stream, "order.join.stream")?,
                hidden: join.hidden,
                persistence: join.persistence,
                status: join.status,
                replaces: join.replaces,
            },
            What::Leave(stream) => Errand::Leave(StreamKey::from_wire(stream)?),
            What::Look(stream) => Errand::Look(StreamKey::from_wire(stream)?),
            What::Follow(users) => Errand::Follow(ids_from_wire(&users.ids, "order.follow")?),
            What::Unfollow(users) => Errand::Unfollow(ids_from_wire(&users.ids, "order.unfollow")?),
            What::Close(reason) => Errand::Close(CloseReason::from_wire(reason)?),
        };
        Ok(Self { whom, what })
    }
}
