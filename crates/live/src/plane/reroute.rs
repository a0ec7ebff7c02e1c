//! When nodes come and go: what a place of a cluster does when it is told who is there and who owns what.

use super::asked::Asked;
use super::output::Output;
use super::owner::Owning;
use super::{Message, Plane};
use crate::party::PartyId;
use crate::place::{Place, Routes};
use crate::session::Millis;
use crate::stream::{SessionRef, StreamKey, mode};

impl Plane {
    /// Who is there and who owns what from now on. Sessions of nodes that have gone leave everything that this place
    /// owns, as if they had closed; what was on its way there is lost, and questions to them are answered with a refusal
    /// that says to ask again.
    pub fn reroute(&mut self, now: Millis, routes: Routes, out: &mut Output) {
        let former = std::mem::replace(&mut self.local.routes, routes);
        self.local.asked.get_or_insert_with(|| Asked::new(self.next_request));
        let gone: Vec<Place> = former.places().iter().copied().filter(|place| !self.local.routes.has(*place)).collect();
        if !gone.is_empty() {
            self.lose(now, &gone, out);
        }
        for (from, message) in std::mem::take(&mut self.early) {
            self.receive(now, from, message, out);
        }
    }

    /// Whether a message is to be taken in: from a place that is there. What is from one that is to come waits for it.
    pub(super) fn admit(&mut self, from: Place, message: Message) -> Option<Message> {
        if !self.local.routes.is_of_cluster() || self.local.routes.has(from) {
            return Some(message);
        }
        if self.local.routes.is_yet_to_come(from) {
            self.early.push_back((from, message));
        }
        None
    }

    fn lose(&mut self, now: Millis, gone: &[Place], out: &mut Output) {
        gone.iter().for_each(|place| self.local.lanes.forget(*place));
        self.held.retain(|(from, _)| !gone.contains(from));
        self.local.give_up(|question| question.may_wander || gone.contains(&question.of), out);
        self.pool.lose(gone);
        self.owning(now, out).lose(gone);
        self.after_owning(now, out);
        self.release_held(now, out);
    }
}

impl Owning<'_> {
    /// The sessions of these places leave every stream.
    fn lose(&mut self, gone: &[Place]) {
        // In an order that another run has too.
        let mut streams = self.streams.deafen(gone);
        streams.sort_unstable();
        for stream in streams {
            let left: Vec<SessionRef> = self
                .streams
                .presences(&stream)
                .map(|presence| presence.session)
                .filter(|session| gone.contains(&session.place))
                .collect();
            for session in left {
                self.depart(&stream, session, None);
            }
            self.drop_if_unused(&stream);
            self.drop_unheard(&stream);
        }
        let mut waiting: Vec<(PartyId, SessionRef)> =
            self.parties.sessions().filter(|(_, session)| gone.contains(&session.place)).collect();
        waiting.sort_unstable();
        for (party, session) in waiting {
            self.leave_party(&StreamKey::about(mode::PARTY, party.0), session);
        }
    }
}
