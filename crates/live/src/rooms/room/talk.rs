//! Messages of members, and changes of variables. Never keeps messages.

use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result, UserId};

use super::super::effect::{RoomAnswer, RoomAudience, RoomEffect, RoomEvent};
use super::super::limits::{MESSAGE_BYTES_MAX, PLAYER_VALUES_BYTES_MAX, PLAYER_VARIABLES_MAX, RECIPIENTS_MAX};
use super::super::message::Caller;
use super::super::variables::{Change, Editor, ValueLimits};
use super::{ListingUrgency, Room, VARIABLES};

const PLAYER_VARIABLES: ValueLimits =
    ValueLimits { count_max: PLAYER_VARIABLES_MAX, bytes_max: PLAYER_VALUES_BYTES_MAX };

impl Room {
    pub(super) fn say(&mut self, caller: &Caller, data: Arc<str>, out: &mut Vec<RoomEffect>) -> Result<RoomAnswer> {
        check_message(&data)?;
        let actor = self.member(caller)?.actor(caller.user_id);
        out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event: RoomEvent::Message(actor, data) });
        Ok(RoomAnswer::Done)
    }

    /// Sends a private message. Unless all receivers are in the room, none of them gets it.
    pub(super) fn whisper(
        &mut self,
        caller: &Caller,
        users: &[UserId],
        data: Arc<str>,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        check_message(&data)?;
        if users.is_empty() || users.len() > RECIPIENTS_MAX {
            return Err(Error::invalid(format!("A private message is for 1 to {RECIPIENTS_MAX} users.")));
        }
        let actor = self.member(caller)?.actor(caller.user_id);
        let mut sessions = Vec::with_capacity(users.len());
        for user in users {
            let Some(member) = self.members.get(user) else {
                return Err(Error::new(ErrorKind::NotFound, format!("User {user} is not in this room.")));
            };
            if !sessions.contains(&member.listener.session) {
                sessions.push(member.listener.session);
            }
        }
        out.push(RoomEffect::Tell {
            room: self.id,
            to: RoomAudience::Only(sessions),
            event: RoomEvent::Private(actor, data),
        });
        Ok(RoomAnswer::Done)
    }

    pub(super) fn set_variables(
        &mut self,
        caller: &Caller,
        change: &Change,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        let is_owner = self.owner == Some(caller.user_id);
        let member = self.member(caller)?;
        if member.seat.is_none() {
            return Err(Error::new(ErrorKind::PermissionDenied, "Spectators change no variables of the room."));
        }
        let actor = member.actor(caller.user_id);
        let editor = Editor { user_id: caller.user_id, is_owner };
        let applied = self.variables.apply(change, editor, VARIABLES)?;
        if !applied.is_empty() {
            self.changed(ListingUrgency::Soon);
            let event = RoomEvent::Variables(actor, applied.all());
            out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event });
        }
        Ok(RoomAnswer::Version(applied.version))
    }

    pub(super) fn set_own(
        &mut self,
        caller: &Caller,
        change: &Change,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        let user = caller.user_id;
        let room = self.id;
        let member = self.member(caller)?;
        let editor = Editor { user_id: user, is_owner: false };
        let applied = member.variables.apply(change, editor, PLAYER_VARIABLES)?;
        if let Some(delta) = applied.of(false) {
            let event = RoomEvent::PlayerVariables(member.actor(user), delta);
            out.push(RoomEffect::Tell { room, to: RoomAudience::All, event });
        }
        if let Some(delta) = applied.of(true) {
            let event = RoomEvent::PlayerVariables(member.actor(user), delta);
            out.push(RoomEffect::Tell { room, to: RoomAudience::Only(vec![member.listener.session]), event });
        }
        Ok(RoomAnswer::Version(applied.version))
    }
}

fn check_message(data: &str) -> Result<()> {
    if data.len() > MESSAGE_BYTES_MAX {
        return Err(Error::invalid(format!("A message has at most {MESSAGE_BYTES_MAX} bytes.")));
    }
    Ok(())
}
