//! Parts of a partition's state: durable matches.

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_live::matches::{
    Broadcast, CarriedMatch, CarriedWaiting, Input, LeaveReason, Left, Outline, Seated, Sender, Timer, Timers,
};
use muster_live::plane::RequestRef;
use muster_live::{Place, Presence};
use muster_wire::node::{self, carried_waiting::What};

use super::{entry_from_wire, entry_to_wire};
use crate::codec::form::{
    Form, Result, form_of_enum, id_from_wire, id_to_wire, ids_from_wire, ids_to_wire, list_from_wire, list_to_wire,
    maybe, part, required,
};

form_of_enum!(LeaveReason, MatchLeaveReason, else Disconnected, Left, Disconnected, Kicked);

impl Form for CarriedMatch {
    type Wire = node::CarriedMatch;

    fn to_wire(&self) -> node::CarriedMatch {
        node::CarriedMatch {
            outline: Some(self.outline.to_wire()),
            listeners: list_to_wire(&self.listeners),
            waiting: list_to_wire(&self.waiting),
            inputs: list_to_wire(&self.inputs),
            due_ms: self.due_ms,
            empty_ticks: self.empty_ticks,
        }
    }

    fn from_wire(wire: node::CarriedMatch) -> Result<Self> {
        Ok(Self {
            outline: part(wire.outline, "carried_match.outline")?,
            listeners: list_from_wire(wire.listeners)?,
            waiting: list_from_wire(wire.waiting)?,
            inputs: list_from_wire(wire.inputs)?,
            due_ms: wire.due_ms,
            empty_ticks: wire.empty_ticks,
        })
    }
}

impl Form for Outline {
    type Wire = node::MatchOutline;

    fn to_wire(&self) -> node::MatchOutline {
        node::MatchOutline {
            r#match: id_to_wire(self.id),
            handler: self.handler.as_ref().to_owned(),
            created_at: self.created_at.0,
            tick_rate: self.tick_rate,
            tick: self.tick,
            label: self.label.as_ref().to_owned(),
            players: list_to_wire(&self.players),
            timers: list_to_wire(self.timers.all()),
            sent_count: self.sent_count,
        }
    }

    fn from_wire(wire: node::MatchOutline) -> Result<Self> {
        Ok(Self {
            id: id_from_wire(wire.r#match),
            handler: wire.handler.into(),
            created_at: Timestamp(wire.created_at),
            tick_rate: wire.tick_rate,
            tick: wire.tick,
            label: wire.label.into(),
            players: list_from_wire(wire.players)?,
            timers: Timers::of(list_from_wire::<Timer>(wire.timers)?),
            // The owner had sent everything before it handed the match over.
            sent: Vec::new(),
            sent_count: wire.sent_count,
        })
    }
}

impl Form for Timer {
    type Wire = node::MatchTimer;

    fn to_wire(&self) -> node::MatchTimer {
        let (name, data) = (self.name.as_ref().to_owned(), self.data.as_ref().to_owned());
        node::MatchTimer { name, due_tick: self.due_tick, data }
    }

    fn from_wire(wire: node::MatchTimer) -> Result<Self> {
        Ok(Self { name: wire.name.into(), due_tick: wire.due_tick, data: wire.data.into() })
    }
}

impl Form for Seated {
    type Wire = node::MatchSeat;

    fn to_wire(&self) -> node::MatchSeat {
        let presence = Some(self.presence.to_wire());
        node::MatchSeat { presence, has_joined: self.has_joined, is_kicked: self.is_kicked }
    }

    fn from_wire(wire: node::MatchSeat) -> Result<Self> {
        let presence = shared(wire.presence, "match_seat.presence")?;
        Ok(Self { presence, has_joined: wire.has_joined, is_kicked: wire.is_kicked })
    }
}

impl Form for Broadcast {
    type Wire = node::MatchBroadcast;

    fn to_wire(&self) -> node::MatchBroadcast {
        node::MatchBroadcast {
            op_code: self.op_code,
            data: self.data.clone(),
            to: self.to.as_ref().map(|to| node::IdList { ids: ids_to_wire(to) }),
            sender: self.sender.as_ref().map(Sender::to_wire),
            reliable: self.reliable,
        }
    }

    fn from_wire(wire: node::MatchBroadcast) -> Result<Self> {
        let node::MatchBroadcast { op_code, data, to, sender, reliable } = wire;
        let to = to.map(|to| ids_from_wire(&to.ids, "match_broadcast.to")).transpose()?;
        Ok(Self { op_code, data, to, sender: maybe(sender)?, reliable })
    }
}

impl Form for Sender {
    type Wire = node::MatchSender;

    fn to_wire(&self) -> node::MatchSender {
        let (session_id, user_id) = (id_to_wire(self.session_id), id_to_wire(self.user_id));
        node::MatchSender { session_id, user_id, username: self.username.as_ref().to_owned() }
    }

    fn from_wire(wire: node::MatchSender) -> Result<Self> {
        let (session_id, user_id) = (id_from_wire(wire.session_id), id_from_wire(wire.user_id));
        Ok(Self { session_id, user_id, username: wire.username.into() })
    }
}

impl Form for CarriedWaiting {
    type Wire = node::CarriedWaiting;

    fn to_wire(&self) -> node::CarriedWaiting {
        let (what, reply_to, left_ms) = match self {
            Self::Attempt { member, joiner, reply_to, left_ms } => {
                (What::Attempt(entry_to_wire(member, joiner)), *reply_to, *left_ms)
            }
            Self::Join(presence) => (What::Join(presence.to_wire()), None, 0),
            Self::Leave(left) => (What::Leave(left.to_wire()), None, 0),
            Self::Signal { data, chain, reply_to, left_ms } => {
                let (data, chain) = (data.as_ref().to_owned(), ids_to_wire(chain));
                (What::Signal(node::MatchSignal { data, chain }), *reply_to, *left_ms)
            }
        };
        node::CarriedWaiting { reply_to: reply_to.map(|reply_to| reply_to.to_wire()), left_ms, what: Some(what) }
    }

    fn from_wire(wire: node::CarriedWaiting) -> Result<Self> {
        let (reply_to, left_ms) = (maybe(wire.reply_to)?, wire.left_ms);
        Ok(match required(wire.what, "carried_waiting.what")? {
            What::Attempt(entry) => {
                let (member, joiner) = entry_from_wire(entry)?;
                Self::Attempt { member, joiner, reply_to, left_ms }
            }
            What::Join(presence) => Self::Join(Arc::new(Presence::from_wire(presence)?)),
            What::Leave(left) => Self::Leave(Left::from_wire(left)?),
            What::Signal(node::MatchSignal { data, chain }) => {
                let chain = ids_from_wire(&chain, "match_signal.chain")?.into();
                Self::Signal { data: data.into(), chain, reply_to, left_ms }
            }
        })
    }
}

impl Form for RequestRef {
    type Wire = node::Request;

    fn to_wire(&self) -> node::Request {
        node::Request { place: Some(self.place.number()), id: self.id }
    }

    fn from_wire(wire: node::Request) -> Result<Self> {
        let place = required(wire.place, "request.place")?;
        Ok(Self { place: Place::from_number(place), id: wire.id })
    }
}

impl Form for Left {
    type Wire = node::MatchLeave;

    fn to_wire(&self) -> node::MatchLeave {
        node::MatchLeave { presence: Some(self.presence.to_wire()), reason: self.reason.to_wire() }
    }

    fn from_wire(wire: node::MatchLeave) -> Result<Self> {
        let reason = LeaveReason::from_wire(wire.reason)?;
        Ok(Self { presence: shared(wire.presence, "match_leave.presence")?, reason })
    }
}

impl Form for Input {
    type Wire = node::CarriedInput;

    fn to_wire(&self) -> node::CarriedInput {
        node::CarriedInput {
            sender: Some(self.sender.to_wire()),
            op_code: self.op_code,
            data: self.data.clone(),
            reliable: self.reliable,
            received_at: self.received_at.0,
        }
    }

    fn from_wire(wire: node::CarriedInput) -> Result<Self> {
        let node::CarriedInput { sender, op_code, data, reliable, received_at } = wire;
        let sender = shared(sender, "carried_input.sender")?;
        Ok(Self { sender, op_code, data, reliable, received_at: Timestamp(received_at) })
    }
}

fn shared(wire: Option<node::Presence>, field: &'static str) -> Result<Arc<Presence>> {
    part(wire, field).map(Arc::new)
}
