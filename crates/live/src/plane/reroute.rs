//! When nodes come and go: what a place of a cluster does when it is told who is there and who owns what.

use std::collections::BTreeSet;

use super::effect::Effects;
use super::owner::Owning;
use super::{Message, Plane};
use crate::matches::{LeaveReason, MatchId};
use crate::party::PartyId;
use crate::place::{Partition, Place, Routes};
use crate::session::Millis;
use crate::stream::SessionRef;

impl Plane {
    /// Who is there and who owns what from now on. Sessions of nodes that have gone leave everything that this place
    /// owns, as if they had closed; what was on its way there is lost, and questions to them are answered with a refusal
    /// that says to ask again. Partitions that have new owners are rebuilt there of what places know of their sessions;
    /// parties and rooms end with their owner. What is on its way from a living owner is handed over with all
    /// that is in it; [`super::Effect::HandedOver`] tells when it has arrived.
    ///
    /// To be called on the plane's own thread, once for each view from the first in which this node is, in their order;
    /// views in between may be left out.
    pub fn reroute(&mut self, now: Millis, routes: Routes, out: &mut Effects) {
        // Whatever changed otherwise comes first: a view in between may be missing.
        let before = routes.before_moves(|partition| routes.epoch(partition) > self.local.routes.epoch(partition));
        self.change_owners(now, before, out);
        self.begin_moves(now, routes, out);
        for (from, messages) in std::mem::take(&mut self.early) {
            messages.into_iter().for_each(|message| self.receive(now, from, message, out));
        }
        self.cancel_again(now, out);
    }

    fn change_owners(&mut self, now: Millis, routes: Routes, out: &mut Effects) {
        let former = std::mem::replace(&mut self.local.routes, routes);
        let gone: Vec<Place> = former.places().iter().copied().filter(|place| !self.local.routes.has(*place)).collect();
        let is_changed = |partition: &Partition| self.local.routes.epoch(*partition) > former.epoch(*partition);
        let changed: BTreeSet<Partition> = Partition::all().filter(is_changed).collect();
        self.local.give_up(|_, question| question.partition.is_some_and(|about| changed.contains(&about)), out);
        if !changed.is_empty() {
            self.handovers.forget(&changed);
            self.take_over(now, &changed, out);
        }
        if !gone.is_empty() {
            self.lose(now, &gone, out);
            self.local.moves_with_owners(&gone.iter().map(|place| Partition::anchored(*place)).collect());
            self.end_anchorless(out);
        }
        if !changed.is_empty() {
            self.tell_owners(now, &changed, out);
        }
    }

    /// Whether a message is to be taken in: from a place that is there. What is from one that is to come waits for it.
    pub(super) fn admit(&mut self, from: Place, message: Message) -> Option<Message> {
        let routes = &self.local.routes;
        let is_known = !routes.is_of_cluster() || routes.has(from);
        if is_known && !(routes.is_of_cluster() && self.is_ahead(from, &message)) {
            return Some(message);
        }
        if is_known || routes.is_yet_to_come(from) {
            self.early.entry(from).or_default().push_back(message);
        }
        None
    }

    fn lose(&mut self, now: Millis, gone: &[Place], out: &mut Effects) {
        gone.iter().for_each(|place| self.local.lanes.forget(*place));
        self.held.retain(|(from, _)| !gone.contains(from));
        self.local.give_up(|_, question| question.may_wander || gone.contains(&question.of), out);
        self.lose_tickets(gone, out);
        self.owning(now, out).lose(gone);
        self.after_owning(now, out);
        self.await_no_more(now, gone, out);
        self.pass_without(now, gone, out);
        self.release_held(now, out);
    }
}

impl Owning<'_> {
    /// The sessions of these places leave every stream.
    pub(super) fn lose(&mut self, gone: &[Place]) {
        // What is still arriving from its former owner comes when it is there, see `lose_absent`.
        let arriving: BTreeSet<Partition> =
            self.rebuilding.iter().filter(|(_, it)| it.former.is_some()).map(|(partition, _)| *partition).collect();
        // In an order that another run has too.
        let mut streams = self.streams.deafen(gone, |stream| !arriving.contains(&stream.partition()));
        streams.sort_unstable();
        for stream in streams {
            let left: Vec<SessionRef> = self
                .streams
                .presences(&stream)
                .map(|presence| presence.session)
                .filter(|session| gone.contains(&session.place))
                .collect();
            // While it is being rebuilt nobody is told of it yet; then each place is told the difference.
            let is_silent = self.rebuilding.contains_key(&stream.partition());
            for session in left {
                if is_silent {
                    self.remove(&stream, session);
                } else {
                    self.depart(&stream, session, None, LeaveReason::Disconnected);
                }
            }
            self.drop_if_unused(&stream);
            self.drop_unheard(&stream);
        }
        let mut attempting: Vec<(MatchId, SessionRef)> =
            self.matches.attempting().filter(|(_, session)| gone.contains(&session.place)).collect();
        attempting.sort_unstable();
        let node = self.config.node.clone();
        for (id, session) in attempting.into_iter().filter(|(id, _)| !arriving.contains(&id.partition())) {
            self.left_match(&id.stream(&node), session, LeaveReason::Disconnected);
        }
        let is_here = |party: &PartyId| !arriving.contains(&party.stream().partition());
        let mut waiting: Vec<(PartyId, SessionRef)> = self
            .parties
            .sessions()
            .filter(|(party, session)| is_here(party) && gone.contains(&session.place))
            .collect();
        waiting.sort_unstable();
        for (party, session) in waiting {
            self.leave_party(&party.stream(), session);
        }
    }
}
