//! Messages to those in a room and those who watch the lobby: data of streams, JSON in text. Joins and leaves are told
//! as presence events of the room's stream.

use std::sync::Arc;

use muster_live::StreamKey;
use muster_live::rooms::{Actor, CloseCause, Delta, LeaveReason, LobbyDelta, RoomEvent};
use muster_live::stream::SharedPayload;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{StreamData, UserPresence};
use serde::Serialize;

use super::answer::{Values, WrittenRoom};
use crate::realtime::events::{Push, stream_name};

/// The data of a push. The member `type` names the kind of push.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Data<'a> {
    /// The sender sends a message to all.
    Message { data: &'a str },
    /// The sender sends a message to the receiver, and perhaps to others.
    Private { data: &'a str },
    /// The sender changed the room's variables: those in `unset` were removed, and then those in `set` were set.
    Variables { version: u64, unset: Vec<&'a str>, set: Values<'a> },
    /// The sender's own variables changed.
    PlayerVariables { version: u64, unset: Vec<&'a str>, set: Values<'a> },
    /// Settings or other public properties of the room changed.
    Updated { room: Box<WrittenRoom<'a>> },
    /// The sender has another seat, or none: a spectator.
    Seat { seat: Option<u32> },
    /// Somebody else owns the room, or nobody.
    Owner { owner: Option<String> },
    /// The receiver is no longer in the room.
    Out { reason: &'static str },
    /// The room has closed.
    Closed { reason: &'static str },
    /// Rooms of a view that came or changed, and ids of those that went.
    Lobby {
        revision: u64,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
        rooms: Vec<WrittenRoom<'a>>,
        gone: Vec<String>,
    },
}

/// A push to those in a room.
pub fn event(room: &StreamKey, event: &RoomEvent) -> SharedPayload {
    let (sender, data) = match event {
        RoomEvent::Message(who, data) => (Some(who), Data::Message { data }),
        RoomEvent::Private(who, data) => (Some(who), Data::Private { data }),
        RoomEvent::Variables(who, delta) => {
            let Delta { version, set, .. } = delta;
            (Some(who), Data::Variables { version: *version, unset: names(delta), set: Values(set) })
        }
        RoomEvent::PlayerVariables(who, delta) => {
            let Delta { version, set, .. } = delta;
            (Some(who), Data::PlayerVariables { version: *version, unset: names(delta), set: Values(set) })
        }
        RoomEvent::Updated(room) => (None, Data::Updated { room: Box::new(WrittenRoom::of(room)) }),
        RoomEvent::Seat(who, seat) => (Some(who), Data::Seat { seat: *seat }),
        RoomEvent::Owner(owner) => (None, Data::Owner { owner: owner.map(|owner| owner.to_string()) }),
        RoomEvent::Out(reason) => (None, Data::Out { reason: leave_reason(*reason) }),
        RoomEvent::Closed(cause) => (None, Data::Closed { reason: close_reason(*cause) }),
    };
    push(room, sender, &data)
}

/// A push to those who watch a view of the lobby.
pub fn lobby_event(view: &StreamKey, delta: &LobbyDelta) -> SharedPayload {
    let rooms = delta.rooms.iter().map(|room| WrittenRoom::of(room)).collect();
    let gone = delta.gone.iter().map(ToString::to_string).collect();
    push(view, None, &Data::Lobby { revision: delta.revision, anew: delta.anew, rooms, gone })
}

/// The status of a presence in a room: its seat, null for spectators.
pub fn seat_status(seat: Option<u32>) -> Arc<str> {
    match seat {
        Some(seat) => format!("{{\"seat\":{seat}}}").into(),
        None => "{\"seat\":null}".into(),
    }
}

fn push(stream: &StreamKey, sender: Option<&Actor>, data: &Data<'_>) -> SharedPayload {
    let presence = |who: &Actor| UserPresence {
        user_id: who.user_id.to_string(),
        session_id: who.session_id.to_string(),
        username: who.username.to_string(),
        ..UserPresence::default()
    };
    let data = StreamData {
        stream: Some(stream_name(stream)),
        sender: sender.map(presence),
        // All of the data are text, numbers, and JSON that was checked when it came, so writing cannot fail.
        data: serde_json::to_string(data).unwrap_or_default(),
        reliable: true,
    };
    Arc::new(Push::new(Message::StreamData(data)))
}

fn names(delta: &Delta) -> Vec<&str> {
    delta.unset.iter().map(|name| &**name).collect()
}

fn leave_reason(reason: LeaveReason) -> &'static str {
    match reason {
        LeaveReason::Left => "left",
        LeaveReason::Kicked => "kicked",
        LeaveReason::Replaced => "replaced",
    }
}

fn close_reason(cause: CloseCause) -> &'static str {
    match cause {
        CloseCause::Empty => "empty",
        CloseCause::Expired => "expired",
        CloseCause::Lost => "lost",
    }
}

#[cfg(test)]
mod tests {
    use muster_live::stream::mode;
    use muster_wire::extensions::mode as public;

    #[test]
    fn modes_of_the_plane_are_those_that_clients_know() {
        assert_eq!((mode::ROOM, mode::LOBBY), (public::ROOM, public::LOBBY));
    }
}
