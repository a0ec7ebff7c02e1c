//! The standings of a place's sessions, for owners that are new, and for streams whose place has gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::place::Partition;
use crate::plane::message::{Listener, Standing};
use crate::plane::sessions::Sessions;
use crate::stream::{Presence, SessionRef, StreamKey};

impl Sessions {
    /// The standings of sessions on streams of these partitions. Sessions that were about to hear a stream hear it from
    /// now on, unless the mode of the stream is in `let_in_modes`: owners decide who comes to streams of these modes.
    pub(crate) fn standings(
        &mut self,
        changed: &BTreeSet<Partition>,
        let_in_modes: &[u8],
    ) -> BTreeMap<Partition, Vec<Standing>> {
        let mut standings: BTreeMap<Partition, Vec<Standing>> = BTreeMap::new();
        let keys: Vec<_> = self.registry.keys().collect();
        for key in keys {
            let (Some(own), Some(session)) = (self.presence(key), self.registry.get_mut(key)) else { continue };
            let (at, encoding) = (SessionRef { place: self.me, key }, session.encoding);
            let mut hearing = Vec::new();
            for on in &mut session.streams {
                let partition = on.stream.partition();
                if !changed.contains(&partition) {
                    continue;
                }
                // The decision of an owner to let a session in, or to take it off, is not undone here.
                let is_let_in = let_in_modes.contains(&on.stream.mode);
                let here = self.listeners.get(&on.stream);
                if is_let_in && here.is_some_and(|here| here.is_leaving(key)) {
                    continue;
                }
                let waits = is_let_in && !here.is_some_and(|here| here.sessions.contains_key(&key));
                if let Some(hearing) = on.hearing.as_mut().filter(|_| on.present.is_none()) {
                    hearing.join = None;
                }
                let listener = on.hearing.map(|hearing| {
                    let serial = hearing.join.unwrap_or(hearing.since);
                    Listener { session: at, encoding, serial }
                });
                hearing.extend(on.hearing.filter(|_| !waits).map(|hearing| (on.stream.clone(), hearing.since)));
                let (hidden, persistence, status) = (on.hidden, on.persistence, on.status.clone());
                let presence =
                    on.present.filter(|_| !waits).map(|_| Presence { hidden, persistence, status, ..own.clone() });
                let by_join = on.hearing.is_some_and(|hearing| hearing.join.is_some());
                let standing = Standing { stream: on.stream.clone(), presence, listener, by_join, latest: 0 };
                standings.entry(partition).or_default().push(standing);
            }
            for (stream, since) in hearing {
                if !self.hears(key, &stream) {
                    self.hear(stream, key, encoding, since);
                }
            }
        }
        standings
    }

    /// Streams whose place has gone and that sessions are on or hear. Each has the listener of the session, and the
    /// session's presence if the session hears the stream.
    pub(crate) fn anchorless(&self) -> Vec<(StreamKey, Listener, Option<Presence>)> {
        let mut found = Vec::new();
        for key in self.registry.keys() {
            let (Some(own), Some(session)) = (self.presence(key), self.registry.get(key)) else { continue };
            let at = SessionRef { place: self.me, key };
            for on in session.streams.iter().filter(|on| self.is_anchorless(&on.stream)) {
                let serial = on.hearing.map(|hearing| hearing.join.unwrap_or(hearing.since)).unwrap_or_default();
                let listener = Listener { session: at, encoding: session.encoding, serial };
                let presence = self.hears(key, &on.stream).then(|| own.clone());
                found.push((on.stream.clone(), listener, presence));
            }
        }
        found
    }

    /// Whether a stream was at a place that has gone.
    pub(crate) fn is_anchorless(&self, stream: &StreamKey) -> bool {
        stream.partition().anchor().is_some_and(|place| !self.is_there(place))
    }
}
