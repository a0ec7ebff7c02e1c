//! A party goes on at another owner with those of its members who are still there.

use super::message::{Effect, Member, PartyId};
use super::parties::Parties;
use super::state::{Fate, Party};
use crate::plane::Listener;
use crate::stream::SessionRef;

impl Parties {
    /// A party that another owned goes on with those who are `inside` by their places; the others have left. Of those who
    /// are `waiting` to be let in it goes on with whom it knows. Nobody is told who is there.
    pub fn meet(&mut self, id: PartyId, inside: Vec<Member>, waiting: &[Listener], effects: &mut Vec<Effect>) {
        let Some(party) = self.get_mut(id) else { return };
        if party.meet(inside, waiting, effects) == Fate::Ends {
            self.end(id);
        }
    }
}

impl Party {
    fn meet(&mut self, inside: Vec<Member>, waiting: &[Listener], effects: &mut Vec<Effect>) -> Fate {
        // By their public ids: a session may go on at another place.
        let is_inside =
            |known: &Member| inside.iter().any(|member| member.presence.session_id == known.presence.session_id);
        let waits = |session: SessionRef| waiting.iter().find(|listener| listener.session == session);
        let absent = self.members.iter().filter(|known| !is_inside(known));
        let absent: Vec<SessionRef> = absent.map(Member::session).collect();
        // Their places have not heard that they were let in: they are let in again.
        let mut again = Vec::new();
        self.members.extract_if(.., |member| waits(member.session()).is_some()).for_each(|member| again.push(member));
        self.requests.retain(|request| waits(request.session()).is_some());
        self.requests.extend(again.iter().cloned());
        for request in &mut self.requests {
            request.listener = waits(request.session()).copied().unwrap_or(request.listener);
        }
        // A ticket that was issued in the last moment was not noted.
        self.has_tickets = true;
        self.take_in(inside, effects);
        let mut fate = Fate::Lives;
        for session in absent.into_iter().filter(|session| waits(*session).is_none()) {
            fate = self.leave(session, effects);
        }
        if self.members.is_empty() {
            effects.extend(self.requests.drain(..).map(Effect::Dismiss));
            return Fate::Ends;
        }
        for member in again {
            self.admit(member, effects);
        }
        fate
    }

    /// Those who are in it. Who came just before its owner died was perhaps not noted.
    fn take_in(&mut self, inside: Vec<Member>, effects: &mut Vec<Effect>) {
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
