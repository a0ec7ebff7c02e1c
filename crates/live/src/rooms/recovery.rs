//! Rooms that survive their owner: what of them is to be kept, and how they go on elsewhere.

use super::carry::Carried;
use super::effect::Effect;
use super::message::RoomId;
use super::owner::Rooms;
use crate::plane::Listener;
use crate::session::Millis;
use crate::stream::Presence;

impl Rooms {
    /// Whether there is such a room.
    pub fn contains(&self, id: RoomId) -> bool {
        self.rooms.contains_key(&id)
    }

    /// A room as it is to be kept, in pieces; none of one that is gone.
    pub fn kept(&self, now: Millis, id: RoomId) -> Vec<Carried> {
        self.carried_room(now, id).collect()
    }

    /// Rooms of which something else is to be kept than before.
    pub fn take_touched(&mut self) -> Vec<RoomId> {
        std::mem::take(&mut self.touched)
    }

    /// Something changed about a room.
    pub(super) fn touch(&mut self, id: RoomId) {
        if self.rooms.get(&id).is_some_and(|room| room.recover) {
            self.touched.push(id);
        }
    }

    /// A room that another owned goes on with those who are `inside` by their places; the other members have left. Its
    /// desk and the directory hear of it. Answers those whom it does not know: they are to be put out.
    pub fn meet(
        &mut self,
        now: Millis,
        id: RoomId,
        inside: &[(Presence, Listener)],
        out: &mut Vec<Effect>,
    ) -> Vec<Listener> {
        let Some(room) = self.rooms.get_mut(&id) else { return Vec::new() };
        let strangers = room.meet(inside, out);
        room.introduce(|_| true, out);
        // What was changed last may be lost, and who was told of it is to know.
        room.tell_all(out);
        if !room.hidden {
            self.list_again(now, vec![id]);
        }
        self.settle(now, id, out);
        strangers
    }

    /// What is shown of the seat of somebody who is in a room by this session.
    pub fn seat_of(&self, id: RoomId, presence: &Presence, listener: Listener) -> Option<Option<u32>> {
        self.rooms.get(&id)?.seat_of(presence.user_id, listener)
    }
}
