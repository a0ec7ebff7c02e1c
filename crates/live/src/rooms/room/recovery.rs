//! A recovered room and the sessions that are still on its stream. Never reads or writes recovery data.

use std::sync::Arc;

use muster_domain::UserId;

use super::super::effect::{RoomAudience, RoomEffect, RoomEvent};
use super::Room;
use crate::plane::Listener;
use crate::stream::{Presence, SessionRef};

impl Room {
    /// Reconciles the room with `inside`, the presences on its stream. Members who are not among them have left.
    /// Returns sessions on the stream that the room does not know: they joined after the recovery data were written, so
    /// their seats are unknown.
    pub(in super::super) fn meet(
        &mut self,
        inside: &[(Presence, Listener)],
        out: &mut Vec<RoomEffect>,
    ) -> Vec<Listener> {
        let is_inside = |session: SessionRef| inside.iter().any(|(_, listener)| listener.session == session);
        self.awaited = 0;
        let mut strangers = Vec::new();
        for (presence, listener) in inside {
            // The presence's session is the member's, or replaced it.
            match self.members.get_mut(&presence.user_id) {
                Some(member) if member.listener.session == listener.session || !is_inside(member.listener.session) => {
                    member.listener = *listener;
                    (member.session_id, member.username) = (presence.session_id, presence.username.clone());
                }
                _ => strangers.push(*listener),
            }
        }
        let absent = self.members.iter().filter(|(_, member)| !is_inside(member.listener.session));
        let absent: Vec<UserId> = absent.map(|(user, _)| *user).collect();
        absent.into_iter().for_each(|user| self.remove(user, out));
        strangers
    }

    /// Tells all members the room's state.
    pub(in super::super) fn tell_all(&self, out: &mut Vec<RoomEffect>) {
        if !self.members.is_empty() {
            let event = RoomEvent::Updated(Arc::new(self.summary()));
            out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event });
        }
    }

    /// The seat of a session: `None` if the session is not in the room, `Some(None)` for spectators.
    pub(in super::super) fn seat_of(&self, user: UserId, listener: Listener) -> Option<Option<u32>> {
        self.members.get(&user).filter(|member| member.listener == listener).map(|member| member.seat)
    }
}
