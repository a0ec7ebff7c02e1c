//! Parties whose owner crashed, and the sessions that are still in them. Never reads or writes recovery data.

use super::message::{Member, PartyEffect, PartyId};
use super::parties::Parties;
use super::state::{Party, PartyOutcome};
use crate::plane::Listener;
use crate::stream::SessionRef;

impl Parties {
    /// Reconciles a recovered party with `inside`, the sessions on its stream, and `waiting`, the sessions that ask to
    /// be let in. All other sessions have left. Members that stay get no new list of members.
    pub fn meet(&mut self, id: PartyId, inside: Vec<Member>, waiting: &[Listener], effects: &mut Vec<PartyEffect>) {
        let Some(party) = self.get_mut(id) else { return };
        if party.meet(inside, waiting, effects) == PartyOutcome::Ends {
            self.end(id);
        }
    }
}

impl Party {
    fn meet(&mut self, inside: Vec<Member>, waiting: &[Listener], effects: &mut Vec<PartyEffect>) -> PartyOutcome {
        // Sessions are compared by public id, because a session may have moved to another place.
        let is_inside =
            |known: &Member| inside.iter().any(|member| member.presence.session_id == known.presence.session_id);
        let waits = |session: SessionRef| waiting.iter().find(|listener| listener.session == session);
        let absent = self.members.iter().filter(|known| !is_inside(known));
        let absent: Vec<SessionRef> = absent.map(Member::session).collect();
        // A member that still waits has not heard that it was let in, so it is let in again.
        let mut again = Vec::new();
        self.members.extract_if(.., |member| waits(member.session()).is_some()).for_each(|member| again.push(member));
        self.requests.retain(|request| waits(request.session()).is_some());
        self.requests.extend(again.iter().cloned());
        for request in &mut self.requests {
            request.listener = waits(request.session()).copied().unwrap_or(request.listener);
        }
        // A ticket may have been issued after the recovery data were written, so the next change of membership cancels
        // tickets.
        self.has_tickets = true;
        self.take_in(inside, effects);
        let mut outcome = PartyOutcome::Continues;
        for session in absent.into_iter().filter(|session| waits(*session).is_none()) {
            outcome = self.leave(session, effects);
        }
        if self.members.is_empty() {
            effects.extend(self.requests.drain(..).map(PartyEffect::Dismiss));
            return PartyOutcome::Ends;
        }
        for member in again {
            self.admit(member, effects);
        }
        outcome
    }

    /// Adds the sessions that are on the stream. The recovery data may lack those that came last.
    fn take_in(&mut self, inside: Vec<Member>, effects: &mut Vec<PartyEffect>) {
        for member in inside {
            let session_id = member.presence.session_id;
            if self.leader.session_id == session_id {
                self.leader.session = member.session();
            }
            match self.members.iter_mut().find(|known| known.presence.session_id == session_id) {
                Some(known) => *known = member,
                None => {
                    self.members.push(member);
                    self.membership_changed(effects);
                }
            }
        }
    }
}
