//! Rest: all messages have arrived, every place knows the last view, and the state of planes is compared with the
//! actions of sessions and with their views.

use std::collections::BTreeMap;

use muster_live::plane::PlaneStats;
use muster_live::rooms::RoomStats;
use muster_live::stream::mode;

use super::world::{PASS_INTERVAL_MS, World};
use crate::frames::{StreamId, Version, version_of};
use crate::scenario::Who;
use crate::violation::{Check, Checked, ensure};

/// The sessions on a stream, with their appearances.
type PresentSessions = BTreeMap<Who, Version>;

impl World {
    pub(super) fn rest(&mut self) -> Checked {
        self.trace.line(|| "rest".to_owned());
        self.settle()?;
        self.check_settled()?;
        self.check_owners()?;
        for stream in 0..self.streams.len() as StreamId {
            let there = self.check_ties(stream)?;
            self.check_owner(stream, &there)?;
            self.check_conclusions(stream, &there)?;
        }
        self.check_parties()?;
        self.check_rooms()?;
        self.check_tickets()?;
        self.check_matches()?;
        self.check_tallies()?;
        self.check_chat()?;
        let clients = &self.clients;
        self.messages.check(
            |stream, due| {
                let tie = clients.get(&due.who).and_then(|client| client.ties.get(&stream));
                tie.and_then(|tie| tie.period.as_ref()).is_some_and(|period| period.id == due.period)
            },
            |_, _| true,
        )
    }

    /// Ends a run: all sessions close, and nothing may remain.
    pub(super) fn end(&mut self) -> Checked {
        self.rest()?;
        self.orders.values().try_for_each(|order| order.check())?;
        for who in self.clients.keys().copied().collect::<Vec<_>>() {
            self.close(who)?;
        }
        self.rest()?;
        // A last pass of the matchmaker finds nobody.
        self.advance(PASS_INTERVAL_MS)?;
        for (place, plane) in &self.cluster.planes {
            let PlaneStats { sessions, streams, presences, parties, heard_streams, timers, .. } = plane.stats();
            let RoomStats { rooms, views, .. } = plane.stats().rooms;
            let left = [sessions, streams, presences, parties, heard_streams, timers, rooms, views];
            ensure(Check::Leaks, left == [0; 8], || {
                let what = "sessions, streams, presences, parties, heard streams, timers, rooms, views";
                format!("{what} left at {place:?}: {left:?}")
            })?;
        }
        Ok(())
    }

    /// Checks that no message waits, and that every request was answered or given up.
    fn check_settled(&self) -> Checked {
        for (place, plane) in &self.cluster.planes {
            let stats = plane.stats();
            let waiting = [stats.up_waiting, stats.down_waiting, stats.held];
            ensure(Check::Rest, waiting == [0; 3], || {
                format!("waiting for owners, for places, held at {place:?} forever: {waiting:?}")
            })?;
        }
        let open = self.asked.iter().find(|(_, asked)| !self.is_given_up(asked));
        ensure(Check::Answers, open.is_none(), || format!("never answered: {open:?}"))
    }

    /// Checks that no place keeps anything of a partition that another place owns.
    fn check_owners(&self) -> Checked {
        for (place, plane) in &self.cluster.planes {
            let mut partitions = plane.owned_partitions().into_iter();
            let foreign = partitions.find(|partition| self.cluster.owner_of(*partition) != *place);
            ensure(Check::Owners, foreign.is_none(), || format!("{place:?} keeps things of {foreign:?}"))?;
        }
        Ok(())
    }

    /// Compares sessions with their places. Returns the sessions that are on the stream.
    fn check_ties(&mut self, stream: StreamId) -> Checked<PresentSessions> {
        let key = &self.streams[usize::from(stream)];
        let mut there = PresentSessions::new();
        for (who, client) in &mut self.clients {
            let Some(tie) = client.ties.get_mut(&stream) else { continue };
            let state = tie.rest();
            if !client.is_open {
                continue;
            }
            there.extend(state.present.map(|version| (*who, version)));
            let plane = &self.cluster.planes[&client.at.place];
            ensure(Check::Presences, tie.period.is_some() == state.hears, || {
                format!("session {who} should hear stream {stream}: {}", state.hears)
            })?;
            ensure(Check::Presences, plane.hears(client.at.key, key) == state.hears, || {
                format!("session {who} should hear stream {stream} by its place: {}", state.hears)
            })?;
            let is_on = plane.is_on(client.at.key, key);
            ensure(Check::Presences, is_on == state.present.is_some(), || {
                format!("session {who} is on stream {stream} by its place: {is_on}")
            })?;
        }
        Ok(there)
    }

    fn check_owner(&self, stream: StreamId, there: &PresentSessions) -> Checked {
        let key = &self.streams[usize::from(stream)];
        let owner = self.cluster.owner(key);
        for (place, plane) in &self.cluster.planes {
            let listed: Vec<_> = plane.owned_presences(key).collect();
            ensure(Check::Presences, *place == owner || listed.is_empty(), || {
                format!("{place:?} is no owner of stream {stream}")
            })?;
            let who = |session| self.by_ref.get(session).copied().unwrap_or(Who::MAX);
            let found: PresentSessions = listed.iter().map(|found| (who(&found.session), version_of(found))).collect();
            let is_right = *place != owner || found == *there && found.len() == listed.len();
            ensure(Check::Presences, is_right, || {
                format!("on stream {stream} are (session: appearance) {found:?}, and should be {there:?}")
            })?;
        }
        let is_alone = key.mode != mode::NOTIFICATIONS || there.len() <= 1;
        ensure(Check::Closes, is_alone, || format!("each was to be the only one on stream {stream}: {there:?}"))
    }

    /// Checks that every session's view of the stream is right.
    fn check_conclusions(&self, stream: StreamId, there: &PresentSessions) -> Checked {
        for (who, client) in self.clients.iter().filter(|(_, client)| client.is_open) {
            let Some(period) = client.ties.get(&stream).and_then(|tie| tie.period.as_ref()) else { continue };
            let is_right = if period.is_cut {
                period.view.iter().all(|(other, version)| there.get(other) == Some(version))
            } else {
                period.view == *there
            };
            ensure(Check::Conclusions, is_right, || {
                format!("session {who} takes {:?} to be on stream {stream}, it is {there:?}", period.view)
            })?;
        }
        Ok(())
    }
}
