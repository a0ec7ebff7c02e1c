//! The protocol of rooms: the server's own rooms by their functions, or chat rooms, which any server of the protocol
//! has.
//!
//! Only this file knows the names, requests and answers of the server's rooms.

use muster_wire::api::Rpc;
use muster_wire::realtime::envelope::Message;
use serde::Deserialize;
use serde_json::json;

use crate::load::Fault;
use crate::load::incoming::{PlayerMessage, Way};
use crate::options::Via;
use crate::scenario::talk;

/// Function that puts the caller into an open room of a template, or opens one.
const PLACE: &str = "muster.rooms.place";
/// Function that sends a message to everybody in a room.
const SEND: &str = "muster.rooms.send";
/// Mode of the streams on which rooms push.
const ROOM_MODE: i64 = 201;

/// Whether public messages come back to their sender too.
pub const SENDERS_HEAR_THEMSELVES: bool = true;

#[derive(Deserialize)]
struct PlaceAnswer {
    room: RoomAnswer,
}

#[derive(Deserialize)]
struct RoomAnswer {
    id: String,
    capacity: usize,
}

/// The answer of the function that places a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The room's id, as messages name it.
    pub id: String,
    pub capacity: usize,
}

/// Request for a place in a room.
pub fn place_request(template: &str, size: Option<usize>) -> Message {
    let payload = match size {
        Some(size) => json!({ "template": template, "size": size }),
        None => json!({ "template": template }),
    };
    rpc(PLACE, payload.to_string())
}

pub fn read_placed(answer: Option<Message>) -> Result<Placed, Fault> {
    let Some(Message::Rpc(answer)) = answer else { return Err(Fault::Wrong("not a place in a room")) };
    let answer: PlaceAnswer =
        serde_json::from_str(&answer.payload).map_err(|_| Fault::Wrong("not a place in a room"))?;
    Ok(Placed { id: answer.room.id, capacity: answer.room.capacity })
}

/// Request to say `message`, which needs no escaping.
pub fn say_request(via: Via, room: &str, message: &[u8]) -> Message {
    match via {
        Via::Chat => talk::channel_message_send(room, message),
        Via::Rooms => {
            let data = String::from_utf8_lossy(message);
            rpc(SEND, json!({ "room": room, "data": data }).to_string())
        }
    }
}

/// Whether a message came by the way of the rooms in use.
pub fn is_way(via: Via, said: &PlayerMessage<'_>) -> bool {
    match via {
        Via::Chat => said.way == Way::Chat,
        Via::Rooms => said.way == Way::Stream && said.code == ROOM_MODE,
    }
}

fn rpc(id: &str, payload: String) -> Message {
    Message::Rpc(Rpc { id: id.to_owned(), payload, http_key: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let answer = |payload: &str| Some(rpc(PLACE, payload.to_owned()));
        let placed = read_placed(answer(r#"{"room":{"id":"r1","capacity":5,"more":[]},"seat":2}"#)).unwrap();
        assert_eq!(placed, Placed { id: "r1".to_owned(), capacity: 5 });
        assert!(read_placed(answer("{}")).is_err());
        assert!(read_placed(None).is_err());
    }
}
