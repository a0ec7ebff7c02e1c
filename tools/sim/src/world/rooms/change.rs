//! Changes that members make: variables, settings of the room, and kicks.

use std::sync::Arc;

use muster_live::rooms::{Change, PasswordDigest, RoomAction, Update, Value};

use super::super::World;
use super::super::act::user_id;
use super::{OpenRoomRequest, RoomNo};
use crate::scenario::{Who, pick};
use crate::violation::Checked;

/// The beginning of the values of players' private variables, by which checks know them.
pub(super) const SECRET: &str = "\"secret";

impl World {
    /// A random change of a few variables.
    pub(super) fn some_change(&mut self) -> Change {
        let name = |number: u8| -> Arc<str> { format!("v{number}").into() };
        let mut change = Change { private: self.rng.u8(0..4) == 0, ..Change::default() };
        for _ in 0..self.rng.u8(0..3) {
            let value = Value::new(&self.rng.u8(0..3).to_string());
            change.set.extend(value.map(|value| (name(self.rng.u8(0..4)), value)));
        }
        change.unset.extend((0..self.rng.u8(0..2)).map(|_| name(self.rng.u8(0..4))));
        change
    }

    /// The version of the variables that the session knows, for some of its requests. The room's version may be higher
    /// by now.
    fn expected_version(&mut self, who: Who, room: RoomNo) -> Option<u64> {
        let mirror = self.rooms.tie(room, who).mirror.as_ref().map(|mirror| mirror.version);
        mirror.filter(|_| self.rng.u8(0..3) == 0)
    }

    pub(super) fn set_variables(&mut self, who: Who, room: RoomNo) -> Checked {
        let expected_version = self.expected_version(who, room);
        let change = Change { expected_version, ..self.some_change() };
        let asked = OpenRoomRequest::Set { room, change: change.clone() };
        self.ask_room(who, room, asked, RoomAction::SetVariables(change))
    }

    pub(super) fn set_own(&mut self, who: Who, room: RoomNo) -> Checked {
        let mut change = Change { private: self.rng.bool(), ..self.some_change() };
        if change.private {
            for value in change.set.values_mut() {
                let secret = Value::new(&format!("{SECRET} {}\"", value.as_json()));
                *value = secret.unwrap_or_else(|_| value.clone());
            }
        }
        self.ask_room(who, room, OpenRoomRequest::Other, RoomAction::SetOwn(change))
    }

    pub(super) fn kick(&mut self, who: Who, room: RoomNo) -> Checked {
        let Some(whom) = self.some_member(room, who) else { return Ok(()) };
        let (user, bar_ms) = (user_id(whom), pick(&mut self.rng, &[0, 0, 100, 900]));
        let until = self.now + bar_ms;
        self.rooms.departed(whom);
        self.rooms.barred_until = self.rooms.barred_until.max(until + 1_000);
        let known = &mut self.rooms.known[room];
        known.expulsions += 1;
        // The kick may replace an earlier ban of the user, so that the end of that ban no longer counts.
        known.barred.remove(&user);
        let asked = OpenRoomRequest::Kick { room, user, until, expulsions: known.expulsions };
        self.ask_room(who, room, asked, RoomAction::Kick(user, bar_ms))
    }

    pub(super) fn update_room(&mut self, who: Who, room: RoomNo) -> Checked {
        self.rooms.filling.disturb();
        let chance = |of: u8, world: &mut Self| world.rng.u8(0..of) == 0;
        let mut update = Update { properties: Change { private: false, ..self.some_change() }, ..Update::default() };
        let id = self.rooms.known[room].id;
        if chance(3, self) {
            update.name = Some(format!("room {}", self.rng.u8(..)).into());
        }
        if chance(3, self) {
            update.open = Some(self.rng.u8(0..3) > 0);
        }
        if chance(4, self) {
            update.password = Some(if self.rng.bool() { None } else { PasswordDigest::new(id, "other").ok() });
        }
        if chance(3, self) {
            update.capacity = Some(self.rng.u32(1..=5));
        }
        if chance(3, self) {
            update.spectators_max = Some(self.rng.u32(0..=3));
        }
        let known = &mut self.rooms.known[room];
        known.may_be_shut |= update.open == Some(false);
        known.is_locked &= update.password.is_none();
        known.capacity_max = known.capacity_max.max(update.capacity.unwrap_or_default());
        self.ask_room(who, room, OpenRoomRequest::Other, RoomAction::Update(Box::new(update)))
    }
}
