//! The port by which the plane has events of streams, parties, rooms and matches encoded for sockets. Never encodes
//! anything itself: the rim implements [`Encode`].

use std::sync::Arc;

use bytes::Bytes;

use crate::close::CloseReason;
use crate::matches;
use crate::party;
use crate::rooms;
use crate::stream::{Encoding, Payload, Presence, PresenceEvent, SharedPayload, StreamKey};

/// Makes payloads of events, and frames of payloads. A frame is made once per broadcast and encoding.
pub trait Encode {
    /// The frame of a payload, ready for sockets.
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes;

    /// The payload of an event of a party, for its members and for those who ask to join.
    fn party_event(&self, party: &StreamKey, event: party::PartyEvent) -> SharedPayload;

    /// The payload of an event of a room, for those in it.
    fn room_event(&self, room: &StreamKey, event: rooms::RoomEvent) -> SharedPayload;

    /// The payload of changes of a view of the lobby, for those who watch it.
    fn lobby_event(&self, view: &StreamKey, delta: rooms::LobbyDelta) -> SharedPayload;

    /// The payload of data that a match of game code sends to its players.
    fn match_data(&self, stream: &StreamKey, data: matches::Broadcast) -> SharedPayload;

    /// The payload that tells a player that it was taken out of a match of game code.
    fn match_left(&self, stream: &StreamKey, presence: Presence) -> SharedPayload;

    /// The payload that tells players why their match of game code failed; `None` if players are not told.
    fn match_failed(&self, _stream: &StreamKey, _why: &str) -> Option<SharedPayload> {
        None
    }

    /// The status text of a presence in a room, which shows its seat; spectators have no seat.
    fn seat_status(&self, seat: Option<u32>) -> Arc<str>;

    /// The payload that is sent to a session before it closes; `None` if nothing is sent.
    fn farewell(&self, _reason: CloseReason) -> Option<SharedPayload> {
        None
    }

    /// Whether sessions that hear the stream are told of its joins and leaves.
    fn tells_presences(&self, _stream: &StreamKey) -> bool {
        true
    }

    /// The frame of joins and leaves; `None` if sessions on this kind of stream are not told of them.
    fn presence_event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Option<Bytes>;
}
