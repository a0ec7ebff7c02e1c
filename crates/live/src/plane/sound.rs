//! Assertions about the state of a plane. Debug builds, and with them simulations, check them after each step: an
//! impossible
//! state is found where it arises.

use super::Plane;
use crate::place::Partition;
use crate::stream::StreamKey;

/// The largest number of presences of a plane that is checked: beyond, a check would cost more than the step.
const PRESENCES_MAX: usize = 500;

impl Plane {
    /// Panics where the state is one that cannot be.
    pub(super) fn assert_sound(&self) {
        if self.config.checks_itself && self.owners.streams.presences <= PRESENCES_MAX {
            self.assert_counts();
            self.assert_owned_here();
            self.assert_members();
        }
    }

    /// Counts equal recounts, and credits stay within their bounds.
    fn assert_counts(&self) {
        let streams = &self.owners.streams;
        let presences: usize = streams.map.values().map(|stream| stream.presences.len()).sum();
        assert_eq!(streams.presences, presences, "presences of all streams");
        let is_there = |key: &StreamKey| streams.map.get(key).is_some_and(|stream| !stream.presences.is_empty());
        assert!(streams.relayed.iter().all(is_there), "a relayed match without players is listed");
        let counts = streams.map.values().flat_map(|stream| &stream.listeners);
        assert!(counts.into_iter().all(|(_, counts)| *counts != [0; 2]), "a place without listeners is listed");
        self.sessions.lanes.assert_sound();
    }

    /// Everything that is owned here is this place's.
    fn assert_owned_here(&self) {
        if self.sessions.routes.is_of_cluster() {
            let mut streams = self.owners.streams.map.keys();
            let is_foreign =
                |key: &&StreamKey| !self.is_owner(key.partition()) && !self.is_anchored_here(key.partition());
            assert_eq!(streams.find(is_foreign), None, "a stream of another owner is kept");
        }
    }

    fn is_anchored_here(&self, partition: Partition) -> bool {
        partition.anchor() == Some(self.sessions.me)
    }

    /// Members of things are on the things' streams, but in partitions that are not known whole. A stream may have more
    /// presences: game code may let a session come to any stream.
    fn assert_members(&self) {
        for things in self.owners.things.all() {
            let members = things.members(&self.config.node).unwrap_or_default();
            for (key, session) in members {
                let stream = self.owners.streams.map.get(&key);
                let is_present = stream.is_some_and(|stream| stream.presences.contains(session));
                let is_partial = self.changes.rebuilding.contains_key(&key.partition());
                assert!(is_present || is_partial, "{session:?} is a member of {key:?} and not on its stream");
            }
        }
    }
}
