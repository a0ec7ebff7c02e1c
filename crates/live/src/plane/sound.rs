//! Assertions about the state of a plane. Debug builds, and with them simulations, check them after each step: an
//! impossible state is found where it arises.

use std::collections::BTreeSet;

use super::Plane;
use crate::place::Partition;
use crate::stream::StreamKey;

/// The largest number of presences, of sessions and of streams of a plane that is checked: beyond, a check would cost
/// more than the step.
const CHECKED_MAX: usize = 500;

impl Plane {
    /// Panics where the state is one that cannot be. To be called whenever this place has carried out a message as an
    /// owner: sessions of this place may be ahead of what their owners know.
    pub(super) fn assert_sound(&self) {
        if self.config.checks_itself && self.owners.streams.presences <= CHECKED_MAX {
            self.assert_counts();
            self.assert_owned_here();
            self.assert_members();
        }
    }

    /// Panics where the state is one that cannot be at the end of a step: where the sessions of this place and what it
    /// knows of them as their owner differ.
    pub(super) fn assert_settled(&self) {
        let (sessions, streams) = (self.sessions.registry.len(), self.sessions.listeners.len());
        if self.config.checks_itself && sessions <= CHECKED_MAX && streams <= CHECKED_MAX {
            self.assert_hearing();
            self.assert_listeners();
            self.assert_rosters();
        }
    }

    /// Counts equal recounts, and credits stay within their bounds.
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
            // Places that have gone count no more while their sessions still stand on a stream that is not here whole.
            if !self.is_partial(key) {
                stream.assert_listeners();
            }
        }
        self.sessions.lanes.assert_sound();
    }

    /// Everything that is owned here is this place's.
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

    /// Members of things are on the things' streams, but in partitions that are not known whole. A stream may have more
    /// presences: game code may let a session come to any stream.
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

    /// Whether a stream's partition is being rebuilt here, or is on its way here.
    fn is_partial(&self, key: &StreamKey) -> bool {
        !self.changes.rebuilding.is_empty() && self.changes.rebuilding.contains_key(&key.partition())
    }

    /// Each session has one relation to a stream, and hears what it has asked to hear.
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

    /// This place as an owner counts exactly the sessions of its own that hear a stream. It may count more while
    /// messages of this place wait, or go to the stream's next owner already. It may count fewer while word that a
    /// session hears the stream no longer waits behind broadcasts.
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

    /// Rosters are of streams that sessions here hear, and of none that this place owns. A roster goes with the last
    /// session that hears the stream, which may be behind broadcasts.
    fn assert_rosters(&self) {
        let sessions = self.sessions.registry.handles().flat_map(|session| &session.streams);
        let heard = sessions.filter(|on| on.hearing.is_some()).map(|on| &on.stream);
        let has_leaving =
            |key: &StreamKey| self.sessions.listeners.get(key).is_some_and(|listeners| listeners.has_leaving());
        if self.sessions.routes.is_of_cluster() {
            self.sessions.assert_rosters(heard, |key| self.is_whole(key) && !has_leaving(key));
        }
    }

    /// Whether this place owns a stream and knows all of it.
    fn is_whole(&self, key: &StreamKey) -> bool {
        self.is_owner(key.partition()) && !self.is_partial(key)
    }

    /// Whether a message of this place about a stream waits here.
    fn is_held(&self, key: &StreamKey) -> bool {
        let is_about = |partition: Partition| partition == key.partition();
        self.owners.held.iter().any(|(from, up)| *from == self.sessions.me && up.concerns(is_about))
    }
}
