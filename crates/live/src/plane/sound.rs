//! Assertions about the state of a plane. Debug builds, and with them simulations, check the assertions after each
//! step, so that an impossible state is found in the step that made it.

use std::collections::BTreeSet;

use super::Plane;
use crate::place::Partition;
use crate::stream::StreamKey;

/// The largest number of presences, sessions or streams with which a plane is still checked. In a larger plane a check
/// would cost more than the step.
const CHECKED_MAX: usize = 500;

impl Plane {
    /// Panics if what this place knows as an owner contradicts itself. The plane calls this whenever it has carried out
    /// a message as an owner. Sessions of this place are left out: in the middle of a step they may be ahead of what
    /// their owners know.
    pub(super) fn assert_sound(&self) {
        if self.config.checks_itself && self.owners.streams.presences <= CHECKED_MAX {
            self.assert_counts();
            self.assert_owned_here();
            self.assert_members();
        }
    }

    /// Panics if the sessions of this place contradict what this place knows of them as their owner. The plane calls
    /// this at the end of a step.
    pub(super) fn assert_settled(&self) {
        let (sessions, streams) = (self.sessions.registry.len(), self.sessions.listeners.len());
        if self.config.checks_itself && sessions <= CHECKED_MAX && streams <= CHECKED_MAX {
            self.assert_hearing();
            self.assert_listeners();
            self.assert_rosters();
        }
    }

    /// Panics if a count differs from a recount, or credits exceed their bounds.
    fn assert_counts(&self) {
        let streams = &self.owners.streams;
        let presences: usize = streams.map.values().map(|stream| stream.presences.len()).sum();
        assert_eq!(streams.presences, presences, "presences of all streams");
        let is_there = |key: &StreamKey| streams.map.get(key).is_some_and(|stream| !stream.presences.is_empty());
        assert!(streams.relayed.iter().all(is_there), "a relayed match without players is listed");
        for (key, stream) in &streams.map {
            let is_listed = stream.listeners.iter().all(|(_, counts)| *counts != [0; 2]);
            assert!(is_listed, "a place without listeners is listed");
            stream.presences.assert_sound();
            // In an incomplete stream there may be sessions of places that have gone and are counted no more.
            if !self.is_partial(key) {
                stream.assert_listeners();
            }
        }
        self.sessions.lanes.assert_sound();
    }

    /// Calls may still be under way. No further one begins, except the join after an accepted attempt.
    fn assert_owned_here(&self) {
        if self.sessions.routes.is_of_cluster() {
            let is_foreign =
                |partition: &Partition| !self.is_owner(*partition) && partition.anchor() != Some(self.sessions.me);
            let foreign: Vec<Partition> = self.owned_partitions().into_iter().filter(is_foreign).collect();
            assert!(foreign.is_empty(), "things of other owners are kept, in {foreign:?}");
        }
    }

    /// The partitions of all streams and things that this place keeps as their owner.
    pub fn owned_partitions(&self) -> BTreeSet<Partition> {
        let mut partitions: BTreeSet<Partition> = self.owners.streams.map.keys().map(StreamKey::partition).collect();
        self.owners.things.all().for_each(|things| partitions.extend(things.partitions()));
        partitions
    }

    /// Panics if a member of a thing is not on the thing's stream. Streams in incomplete partitions are left out. A
    /// stream may have more presences than its thing has members, since game code may let a session come to any stream.
    fn assert_members(&self) {
        for things in self.owners.things.all() {
            let members = things.members(&self.config.node).unwrap_or_default();
            for (key, session) in members {
                let stream = self.owners.streams.map.get(&key);
                let is_present = stream.is_some_and(|stream| stream.presences.contains(session));
                assert!(
                    is_present || self.is_partial(&key),
                    "{session:?} is a member of {key:?} and not on its stream"
                );
            }
        }
    }

    /// Whether a stream's partition is incomplete here: it is being rebuilt, or on its way to this place.
    fn is_partial(&self, key: &StreamKey) -> bool {
        !self.changes.rebuilding.is_empty() && self.changes.rebuilding.contains_key(&key.partition())
    }

    /// Panics if a session has two relations to one stream, or hears a stream by a join or listen that it has not made.
    fn assert_hearing(&self) {
        for session in self.sessions.registry.handles() {
            for (place, on) in session.streams.iter().enumerate() {
                let is_first = session.streams[..place].iter().all(|other| other.stream != on.stream);
                assert!(is_first, "a session has two relations to a stream: {on:?}");
            }
        }
        for (stream, listeners) in &self.sessions.listeners {
            for (key, (encoding, serial)) in &listeners.sessions {
                let session = self.sessions.registry.get(*key).filter(|session| session.encoding == *encoding);
                let on = session.and_then(|session| session.streams.iter().find(|on| on.stream == *stream));
                let since = on.and_then(|on| on.hearing).map(|hearing| hearing.since);
                assert_eq!(since, Some(*serial), "{key:?} hears {stream:?} by a join or listen that it has not made");
            }
        }
    }

    /// Panics if this place, as the owner of a stream, counts more or fewer of its own sessions than hear the stream.
    /// It may count more while messages of this place wait or go to the stream's next owner already. It may count fewer
    /// while a removal still waits behind broadcasts.
    fn assert_listeners(&self) {
        let streams = &self.owners.streams.map;
        let unowned = self.sessions.listeners.keys().filter(|key| !streams.contains_key(*key));
        for key in streams.keys().chain(unowned) {
            let listeners = self.sessions.listeners.get(key);
            let hear = listeners.map_or([0; 2], |listeners| listeners.counts());
            let counted = streams.get(key).map_or([0; 2], |stream| stream.listeners_at(self.sessions.me));
            if hear == counted || !self.is_whole(key) || listeners.is_some_and(|listeners| listeners.has_leaving()) {
                continue;
            }
            let is_ahead = self.changes.handovers.leaving(key.partition()).is_some() || self.is_held(key);
            let is_less = hear.iter().zip(counted).all(|(hear, counted)| *hear <= counted);
            assert!(is_ahead && is_less, "{hear:?} sessions hear {key:?} here, and {counted:?} are counted");
        }
    }

    /// Panics if this place keeps a roster of a stream that it owns or that none of its sessions hears. Sessions that
    /// leave behind broadcasts still count, since the roster goes with the last session.
    fn assert_rosters(&self) {
        let sessions = self.sessions.registry.handles().flat_map(|session| &session.streams);
        let heard = sessions.filter(|on| on.hearing.is_some()).map(|on| &on.stream);
        let is_heard = |key: &StreamKey| {
            let listeners = self.sessions.listeners.get(key);
            listeners.is_some_and(|listeners| !listeners.sessions.is_empty() && !listeners.has_leaving())
        };
        if self.sessions.routes.is_of_cluster() {
            self.sessions.assert_rosters(heard, |key| self.is_whole(key) && is_heard(key));
        }
    }

    /// Whether this place owns a stream and knows its whole state.
    fn is_whole(&self, key: &StreamKey) -> bool {
        self.is_owner(key.partition()) && !self.is_partial(key)
    }

    /// Whether a message of this place about a stream waits here.
    fn is_held(&self, key: &StreamKey) -> bool {
        let is_about = |partition: Partition| partition == key.partition();
        self.owners.held.iter().any(|(from, up)| *from == self.sessions.me && up.concerns(is_about))
    }
}
