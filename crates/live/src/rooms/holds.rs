//! Rooms of one shard in which seats are held for users, so that nobody has seats held in many rooms. The rooms
//! themselves know which of these still hold one.

use std::collections::VecDeque;

use muster_domain::{Error, ErrorKind, Result, UserId};

use super::limits::RESERVATIONS_PER_USER_MAX;
use super::message::RoomId;
use crate::plane::Map;
use crate::session::Millis;

/// Time after the end of a reservation at which a room has certainly ended it.
const SETTLED_MS: Millis = 1_000;

/// Rooms by user.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// Rooms that held a seat when a user was last looked at.
    rooms: Map<UserId, Vec<RoomId>>,
    /// Ends of reservations with their users, in order.
    ends: VecDeque<(Millis, UserId)>,
}

impl Holds {
    /// Refuses a user for whom as many other rooms hold seats as may. `is_held` asks a room.
    ///
    /// # Errors
    /// `ResourceExhausted`.
    pub(super) fn check(
        &mut self,
        now: Millis,
        user: UserId,
        room: RoomId,
        is_held: impl Fn(RoomId, UserId) -> bool,
    ) -> Result<()> {
        while let Some((_, ended)) = self.ends.pop_front_if(|(end, _)| *end + SETTLED_MS <= now) {
            self.look_at(ended, &is_held);
        }
        let held = self.look_at(user, &is_held).iter().filter(|held| **held != room).count();
        if held < RESERVATIONS_PER_USER_MAX {
            return Ok(());
        }
        let message = format!("Seats are held for you in {held} rooms already: join one of them, or wait.");
        Err(Error::new(ErrorKind::ResourceExhausted, message))
    }

    /// The rooms that still hold a seat for a user.
    fn look_at(&mut self, user: UserId, is_held: &impl Fn(RoomId, UserId) -> bool) -> &[RoomId] {
        let Some(rooms) = self.rooms.get_mut(&user) else { return &[] };
        rooms.retain(|room| is_held(*room, user));
        if rooms.is_empty() {
            self.rooms.remove(&user);
        }
        self.rooms.get(&user).map_or(&[], Vec::as_slice)
    }

    /// Notes that a room holds a seat for a user until a time, which is not earlier than in any call before.
    pub(super) fn note(&mut self, user: UserId, room: RoomId, until: Millis) {
        let rooms = self.rooms.entry(user).or_default();
        if !rooms.contains(&room) {
            rooms.push(room);
        }
        self.ends.push_back((until, user));
    }
}
