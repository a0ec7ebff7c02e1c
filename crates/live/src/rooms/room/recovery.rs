//! A room goes on at another owner with those of its members who are still there.

use std::sync::Arc;

use muster_domain::UserId;

use super::super::effect::{Effect, Event, To};
use super::Room;
use crate::plane::Listener;
use crate::stream::{Presence, SessionRef};

impl Room {
    /// Goes on with those who are `inside` by their places; the other members have left. Answers those whom it does not
    /// know: they came in the last moment, and their seats are not known.
    pub(in super::super) fn meet(&mut self, inside: &[(Presence, Listener)], out: &mut Vec<Effect>) -> Vec<Listener> {
        let is_inside = |session: SessionRef| inside.iter().any(|(_, listener)| listener.session == session);
        self.awaited = 0;
        let mut strangers = Vec::new();
        for (presence, listener) in inside {
            // By the same session, or by one that took its place.
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

    /// Tells everybody what it is like.
    pub(in super::super) fn tell_all(&self, out: &mut Vec<Effect>) {
        if !self.members.is_empty() {
            let event = Event::Updated(Arc::new(self.summary()));
            out.push(Effect::Tell { room: self.id, to: To::All, event });
        }
    }

    /// The seat of who is in it by a session: none of spectators.
    pub(in super::super) fn seat_of(&self, user: UserId, listener: Listener) -> Option<Option<u32>> {
        self.members.get(&user).filter(|member| member.listener == listener).map(|member| member.seat)
    }
}
