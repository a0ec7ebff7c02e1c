//! Settings of a room: the changes that its owner may make, and the values that are allowed. Never changes who is in
//! the room.

use std::sync::Arc;

use muster_domain::{Error, Result};

use super::super::effect::{RoomAnswer, RoomAudience, RoomEffect, RoomEvent};
use super::super::limits::{CAPACITY_MAX, EMPTY_MS_MAX, ROOM_NAME_BYTES_MAX, SPECTATORS_MAX};
use super::super::message::{Caller, Update};
use super::super::variables::Editor;
use super::{ListingUrgency, PROPERTIES, Room};
use crate::session::Millis;

pub(super) fn check_name(name: &str) -> Result<()> {
    if name.len() > ROOM_NAME_BYTES_MAX {
        return Err(Error::invalid(format!("A room's name has at most {ROOM_NAME_BYTES_MAX} bytes.")));
    }
    Ok(())
}

pub(super) fn check_capacity(capacity: u32) -> Result<()> {
    if !(1..=CAPACITY_MAX).contains(&capacity) {
        return Err(Error::invalid(format!("A room has 1 to {CAPACITY_MAX} seats.")));
    }
    Ok(())
}

pub(super) fn check_spectators(spectators_max: u32) -> Result<()> {
    if spectators_max > SPECTATORS_MAX {
        return Err(Error::invalid(format!("A room takes at most {SPECTATORS_MAX} spectators.")));
    }
    Ok(())
}

pub(super) fn check_times(empty_ms: Millis, life_ms: Option<Millis>) -> Result<()> {
    if empty_ms > EMPTY_MS_MAX {
        return Err(Error::invalid(format!("An empty room is kept at most {} seconds.", EMPTY_MS_MAX / 1_000)));
    }
    if life_ms == Some(0) {
        return Err(Error::invalid("A room lives for at least a second: leave \"life_sec\" out to keep it for good."));
    }
    Ok(())
}

impl Room {
    pub(super) fn update(&mut self, caller: &Caller, update: Update, out: &mut Vec<RoomEffect>) -> Result<RoomAnswer> {
        self.member(caller)?;
        self.require_owner(caller)?;
        self.check_update(&update)?;
        let editor = Editor { user_id: caller.user_id, is_owner: true };
        // Properties are the last part that can be refused: a refused update changes nothing.
        self.properties.apply(&update.properties, editor, PROPERTIES)?;
        if let Some(capacity) = update.capacity {
            self.seats.resize(capacity);
        }
        if let Some(name) = update.name {
            self.name = name;
        }
        self.spectators_max = update.spectators_max.unwrap_or(self.spectators_max);
        self.open = update.open.unwrap_or(self.open);
        self.password = update.password.unwrap_or(self.password);
        self.changed(ListingUrgency::Now);
        let event = RoomEvent::Updated(Arc::new(self.summary()));
        out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event });
        Ok(RoomAnswer::Done)
    }

    fn check_update(&self, update: &Update) -> Result<()> {
        if let Some(name) = &update.name {
            check_name(name)?;
        }
        if let Some(spectators_max) = update.spectators_max {
            check_spectators(spectators_max)?;
            if spectators_max < self.spectators {
                return Err(Error::invalid(format!("{} spectators are in the room.", self.spectators)));
            }
        }
        let Some(capacity) = update.capacity else { return self.check_desk(update) };
        check_capacity(capacity)?;
        if !self.seats.clone().resize(capacity) {
            return Err(Error::invalid("Seats beyond that number are taken: they must be left first."));
        }
        self.check_desk(update)
    }

    /// Refuses settings that a desk cannot work with: the desk counts on the size of its rooms, and the players that it
    /// sends know no password.
    fn check_desk(&self, update: &Update) -> Result<()> {
        let sets_password = update.password.as_ref().is_some_and(Option::is_some);
        if self.desk.is_some() && (update.capacity.is_some() || sets_password) {
            let message = "Players are placed in this room: close it with \"open\": false, \
                           but it keeps its size and takes no password.";
            return Err(Error::invalid(message));
        }
        Ok(())
    }
}
