//! Answers and messages to clients about rooms, as JSON. The same shapes stand in the reference, "Rooms and lobby".

use muster_live::rooms::{Actor, Joined, MemberState, Named, Page, Reserved, RoomState, Summary};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

/// Names with their values, as an object.
pub(super) struct Values<'a>(pub &'a [Named]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            // The value was checked to be JSON when it came.
            let json: Option<&RawValue> = serde_json::from_str(value.as_json()).ok();
            map.serialize_entry(&**name, &json)?;
        }
        map.end()
    }
}

/// A room as listings show it.
#[derive(Serialize)]
pub(super) struct WrittenRoom<'a> {
    id: String,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<&'a str>,
    path: &'a str,
    capacity: u32,
    players: u32,
    free: u32,
    spectators: u32,
    spectators_max: u32,
    locked: bool,
    open: bool,
    owner: Option<String>,
    properties: Values<'a>,
    variables: Values<'a>,
    /// Version of the variables; in states only.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

impl<'a> WrittenRoom<'a> {
    pub(super) fn of(room: &'a Summary) -> Self {
        Self {
            id: room.id.to_string(),
            name: &room.name,
            template: room.template.as_deref(),
            path: room.path.as_str(),
            capacity: room.capacity,
            players: room.players,
            free: room.free,
            spectators: room.spectators,
            spectators_max: room.spectators_max,
            locked: room.locked,
            open: room.open,
            owner: room.owner.map(|owner| owner.to_string()),
            properties: Values(&room.properties),
            variables: Values(&room.variables),
            version: None,
        }
    }
}

/// Somebody in a room.
#[derive(Serialize)]
struct WrittenMember<'a> {
    user_id: String,
    username: &'a str,
    session_id: String,
    seat: Option<u32>,
    variables: Values<'a>,
}

impl<'a> WrittenMember<'a> {
    fn of(member: &'a MemberState) -> Self {
        let Actor { session_id, user_id, username } = &member.who;
        Self {
            user_id: user_id.to_string(),
            username,
            session_id: session_id.to_string(),
            seat: member.seat,
            variables: Values(&member.variables),
        }
    }
}

/// Answer about one room.
#[derive(Serialize)]
pub(super) struct Written<'a> {
    room: WrittenRoom<'a>,
    /// Seat of the caller, who is in the room or has the seat held; null for spectators.
    #[serde(skip_serializing_if = "Option::is_none")]
    seat: Option<Option<u32>>,
    /// The members of the room; only for a caller who is in the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<WrittenMember<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    members_total: Option<usize>,
    /// Milliseconds for which the seat is still held.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_ms: Option<u64>,
}

impl<'a> Written<'a> {
    /// A room that the caller is in.
    pub(super) fn joined(joined: &'a Joined) -> Self {
        let members = joined.state.members.iter().map(WrittenMember::of).collect();
        let members_total = Some(joined.state.members_total);
        Self { seat: Some(joined.seat), members: Some(members), members_total, ..Self::state(&joined.state) }
    }

    /// A room for a caller who is not in it.
    pub(super) fn state(state: &'a RoomState) -> Self {
        let room = WrittenRoom { version: Some(state.version), ..WrittenRoom::of(&state.summary) };
        Self { room, seat: None, members: None, members_total: None, held_ms: None }
    }

    /// A seat that is held.
    pub(super) fn reserved(held: &'a Reserved) -> Self {
        let room = WrittenRoom::of(&held.room);
        Self { room, seat: Some(Some(held.seat)), members: None, members_total: None, held_ms: Some(held.held_ms) }
    }
}

/// The version of variables.
#[derive(Serialize)]
pub(super) struct WrittenVersion {
    pub version: u64,
}

/// A page of rooms.
#[derive(Serialize)]
pub(super) struct WrittenPage<'a> {
    /// Name of the view in pushes, by which it is ended too.
    #[serde(skip_serializing_if = "Option::is_none")]
    lobby: Option<String>,
    /// Number of the last push of the view that is in the page already.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    rooms: Vec<WrittenRoom<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl<'a> WrittenPage<'a> {
    pub(super) fn new(page: &'a Page, cursor: Option<String>, lobby: Option<String>) -> Self {
        Self {
            lobby,
            revision: page.revision,
            rooms: page.rooms.iter().map(|room| WrittenRoom::of(room)).collect(),
            cursor,
        }
    }
}
