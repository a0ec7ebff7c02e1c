//! Assertions about the state of a plane. Debug builds, and with them simulations, check them after each step: an impossible
//! state is found where it arises.

use std::collections::BTreeMap;

use super::Plane;
use crate::place::Partition;
use crate::stream::{SessionRef, StreamKey};

/// The largest number of presences of a plane that is checked: beyond, a check would cost more than the step.
const PRESENCES_MAX: usize = 500;

impl Plane {
    /// Panics where the state is one that cannot be.
    pub(super) fn assert_sound(&self) {
        if cfg!(debug_assertions) && self.owners.streams.presences <= PRESENCES_MAX {
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

    /// Things and their streams agree on who is there, but for partitions that are not known whole.
    fn assert_members(&self) {
        for things in self.owners.things.all() {
            let (Some(mode), Some(members)) = (things.mode(), things.members(&self.config.node)) else { continue };
            let mut by_stream: BTreeMap<StreamKey, Vec<SessionRef>> = BTreeMap::new();
            for (stream, session) in members {
                by_stream.entry(stream).or_default().push(session);
            }
            for (key, stream) in self.owners.streams.map.iter().filter(|(key, _)| key.mode == mode) {
                if self.changes.rebuilding.contains_key(&key.partition()) {
                    continue;
                }
                let mut members = by_stream.remove(key).unwrap_or_default();
                let mut present: Vec<SessionRef> = stream.presences.iter().map(|presence| presence.session).collect();
                members.sort_unstable();
                present.sort_unstable();
                assert_eq!(members, present, "members of {key:?}, and presences on its stream");
            }
            by_stream.retain(|key, _| !self.changes.rebuilding.contains_key(&key.partition()));
            assert_eq!(by_stream, BTreeMap::new(), "members without a stream");
        }
    }
}
