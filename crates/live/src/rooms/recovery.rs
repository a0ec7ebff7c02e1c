//! Rooms that survive the crash of their owner: the state that is kept of them, and the start of the next owner. Stores
//! nothing itself.

use super::carry::CarriedRooms;
use super::effect::RoomEffect;
use super::message::RoomId;
use super::owner::Rooms;
use crate::plane::Listener;
use crate::session::Millis;
use crate::stream::Presence;

impl Rooms {
    /// Whether this shard owns the room.
    pub fn contains(&self, id: RoomId) -> bool {
        self.rooms.contains_key(&id)
    }

    /// The room's state in pieces, to be kept as recovery data; no piece if the room is gone.
    pub fn kept(&self, now: Millis, id: RoomId) -> Vec<CarriedRooms> {
        self.carried_room(now, id).collect()
    }

    /// Takes the ids of rooms whose recovery data must be written or deleted.
    pub fn take_touched(&mut self) -> Vec<RoomId> {
        std::mem::take(&mut self.touched)
    }

    /// Notes that a room changed, if recovery data are kept of it.
    pub(super) fn touch(&mut self, id: RoomId) {
        if self.rooms.get(&id).is_some_and(|room| room.recover) {
            self.touched.push(id);
        }
    }

    /// Reconciles a recovered room with `inside`, the presences that shards report on its stream. Members who are not
    /// among them have left. The room's desk and the directory are told of the room. Returns the sessions that are on
    /// the stream but unknown to the room, which must be taken off it.
    pub fn meet(
        &mut self,
        now: Millis,
        id: RoomId,
        inside: &[(Presence, Listener)],
        out: &mut Vec<RoomEffect>,
    ) -> Vec<Listener> {
        let Some(room) = self.rooms.get_mut(&id) else { return Vec::new() };
        let strangers = room.meet(inside, out);
        room.introduce(|_| true, out);
        // The last changes may be lost, so members who heard of them are told the present state.
        room.tell_all(out);
        if !room.hidden {
            self.list_again(now, vec![id]);
        }
        self.settle(now, id, out);
        strangers
    }

    /// The seat that a session's presence in the room shows: `None` if the session is not in the room, `Some(None)` for
    /// spectators.
    pub fn seat_of(&self, id: RoomId, presence: &Presence, listener: Listener) -> Option<Option<u32>> {
        self.rooms.get(&id)?.seat_of(presence.user_id, listener)
    }
}
