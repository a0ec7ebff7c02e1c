//! Views of the cluster: each tells a place which nodes are there and who owns what.

use std::collections::BTreeSet;

use crate::matches::LeaveReason;
use crate::place::{Partition, Place, Routes};
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::owners::Owning;
use crate::plane::owners::things::Things;
use crate::session::Millis;
use crate::stream::{SessionRef, StreamKey};

impl Plane {
    /// Sets the nodes that are there and the owners of all partitions from now on. Sessions of nodes that have gone
    /// leave everything that this place owns, as if they had closed; messages on their way there are lost, and
    /// questions to them are answered with a refusal that says to ask again. Partitions that have new owners are
    /// rebuilt there from what places know of their sessions; things of which nothing was kept end with their owner.
    /// Partitions on their way from a living owner are handed over with all that is in them;
    /// [`Effect::HandedOver`](crate::plane::Effect::HandedOver) tells when they have arrived.
    ///
    /// Views are to be given in their order and on the plane's own thread, from the first in which this node is. Views
    /// in between may be left out.
    pub fn reroute(&mut self, now: Millis, routes: Routes, out: &mut Effects) {
        // Changes of owners by a death come before moves: a view that was left out may have had them in this order.
        let before = routes.before_moves(|partition| routes.epoch(partition) > self.sessions.routes.epoch(partition));
        self.change_owners(now, before, out);
        self.begin_moves(now, routes, out);
        for (from, messages) in std::mem::take(&mut self.changes.early) {
            messages.into_iter().for_each(|message| self.receive(now, from, message, out));
        }
        self.repeat_unconfirmed(now, out);
        self.assert_settled();
    }

    fn change_owners(&mut self, now: Millis, routes: Routes, out: &mut Effects) {
        let former = std::mem::replace(&mut self.sessions.routes, routes);
        let routes = &self.sessions.routes;
        let gone: Vec<Place> = former.places().iter().copied().filter(|place| !routes.has(*place)).collect();
        let is_changed = |partition: &Partition| routes.epoch(*partition) > former.epoch(*partition);
        let changed: BTreeSet<Partition> = Partition::all().filter(is_changed).collect();
        self.sessions.give_up(|_, question| question.partition.is_some_and(|about| changed.contains(&about)), out);
        if !changed.is_empty() {
            self.changes.handovers.forget(&changed);
            self.take_over(now, &changed, out);
        }
        if !gone.is_empty() {
            self.lose(now, &gone, out);
            self.sessions.moves_with_owners(&gone.iter().map(|place| Partition::anchored(*place)).collect());
            let (mut owning, things) = self.owning(now, out);
            things.all_mut().for_each(|things| things.end_with_places(&mut owning));
            self.recall(now, out);
        }
        if !changed.is_empty() {
            self.tell_owners(now, &changed, out);
        }
    }

    fn lose(&mut self, now: Millis, gone: &[Place], out: &mut Effects) {
        gone.iter().for_each(|place| self.sessions.lanes.forget(*place));
        self.owners.held.retain(|(from, _)| !gone.contains(from));
        self.sessions.give_up(|_, question| question.may_wander || gone.contains(&question.of), out);
        let (mut owning, things) = self.owning(now, out);
        things.lose(&mut owning, gone);
        self.after_owning(now, out);
        self.await_no_more(now, gone, out);
        self.pass_without(now, gone, out);
        self.release_held(now, out);
    }
}

impl Things {
    /// Takes the sessions of these places off everything.
    pub(crate) fn lose(&mut self, owning: &mut Owning<'_>, gone: &[Place]) {
        self.all_mut().for_each(|things| things.lose(owning, gone));
        // Streams whose state is still on its way here are left out: the sessions leave them when the state is
        // complete.
        let arriving = owning.rebuilding.iter().filter(|(_, it)| it.former.is_some());
        let arriving: BTreeSet<Partition> = arriving.map(|(partition, _)| *partition).collect();
        // Streams are sorted, so that every run takes them in the same order.
        let mut streams = owning.streams.deafen(gone, |stream| !arriving.contains(&stream.partition()));
        streams.sort_unstable();
        for stream in streams {
            self.lose_on(owning, &stream, gone);
        }
        let node = owning.config.node.clone();
        for things in self.all_mut() {
            let is_lost = |(stream, session): &(StreamKey, SessionRef)| {
                !arriving.contains(&stream.partition()) && gone.contains(&session.place)
            };
            let mut waiting: Vec<(StreamKey, SessionRef)> = things.waiting(&node).into_iter().filter(is_lost).collect();
            waiting.sort_unstable();
            for (stream, session) in waiting {
                things.leaving(owning, &stream, session);
                things.left(owning, &stream, session, None, LeaveReason::Disconnected);
            }
        }
    }

    /// Takes the sessions of these places off a stream.
    fn lose_on(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, gone: &[Place]) {
        let sessions = owning.streams.presences(stream).map(|presence| presence.session);
        let left: Vec<SessionRef> = sessions.filter(|session| gone.contains(&session.place)).collect();
        // Nobody is told of a stream that is being rebuilt. After the rebuild each place gets the roster, and tells its
        // sessions the difference.
        let is_silent = owning.rebuilding.contains_key(&stream.partition());
        for session in left {
            if is_silent {
                owning.remove(stream, session);
            } else {
                self.depart(owning, stream, session, None, LeaveReason::Disconnected);
            }
        }
        owning.drop_if_unused(stream);
        self.unheard(owning, stream);
    }
}
