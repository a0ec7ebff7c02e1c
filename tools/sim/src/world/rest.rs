//! Rest: all messages have arrived, and the state of planes is compared with the actions of sessions.

use std::collections::{BTreeMap, BTreeSet};

use muster_live::plane::PlaneStats;
use muster_live::stream::mode;
use muster_live::{Millis, Plane, ShardIndex};

use super::rooms::ROOMS_FROM;
use super::{Lane, REST_STEPS_MAX, World};
use crate::frames::{StreamId, Version, version_of};
use crate::model::State;
use crate::scenario::{PARTIES_FROM, Who};
use crate::violation::{Check, Checked, ensure};

impl World {
    /// Brings the world to rest and checks everything.
    pub(super) fn rest(&mut self) -> Checked {
        self.settle()?;
        self.check_settled()?;
        let states = self.states();
        self.check_ties()?;
        let expected = self.expected(&states);
        for (stream, expected) in (0..).zip(&expected) {
            self.check_owner(stream, expected)?;
            self.check_listing(stream, expected)?;
        }
        self.check_counts(&expected)?;
        self.check_conclusions(&states, &expected)?;
        self.check_parties()?;
        self.check_single()?;
        self.check_tickets()?;
        self.check_rooms()?;
        self.check_received()?;
        self.control = 0;
        Ok(())
    }

    /// Ends a run: all sessions close, and nothing may remain.
    pub(super) fn end(&mut self) -> Checked {
        self.rest()?;
        for order in self.orders.iter().chain(&self.party_orders) {
            order.check()?;
        }
        self.check_room_orders()?;
        let everybody: Vec<Who> = self.clients.keys().copied().collect();
        for who in everybody {
            self.close(who)?;
        }
        self.rest()?;
        self.check_rooms_forgotten()?;
        for (shard, plane) in self.planes.iter().enumerate() {
            let stats = plane.stats();
            let PlaneStats { sessions, streams, presences, parties, tickets, heard_streams, timers, .. } = stats;
            let left = [sessions, streams, presences, parties, tickets, heard_streams, timers];
            ensure(Check::Presences, left == [0; 7], || {
                let what = "sessions, streams, presences, parties, tickets, heard streams, timers";
                format!("{what} left on shard {shard}: {left:?}")
            })?;
        }
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Checked {
        let now = self.now;
        let awake = self.paused_until.iter().copied().max().unwrap_or_default().max(now);
        self.advance(awake - now)?;
        let deadline = self.steps + REST_STEPS_MAX;
        loop {
            while self.happen()? {
                ensure(Check::Rest, self.steps < deadline, || "messages cause messages without end".to_owned())?;
            }
            let Some(due) = self.planes.iter().filter_map(next_due).min() else { return Ok(()) };
            ensure(Check::Rest, self.steps < deadline, || "timers set timers without end".to_owned())?;
            let ms: Millis = due.saturating_sub(self.now).max(1);
            self.advance(ms)?;
        }
    }

    /// Checks that no message waits, that all credits have come back, and that every request was answered.
    fn check_settled(&mut self) -> Checked {
        for (&(from, to), queue) in &self.queues {
            ensure(Check::Rest, queue.is_empty(), || format!("{} messages from {from} never reach {to}", queue.len()))?;
        }
        for (shard, plane) in self.planes.iter().enumerate() {
            let stats = plane.stats();
            let waiting = [stats.up_waiting, stats.down_waiting, stats.held];
            ensure(Check::Rest, waiting == [0; 3], || {
                format!("waiting for owners, for sessions' shards, held on shard {shard} forever: {waiting:?}")
            })?;
        }
        let config = &self.scenario.config;
        for (&(from, to, lane), &count) in &self.under_way {
            let all = if lane == Lane::Up { config.up_credits } else { config.down_credits };
            // Credits go back a quarter at a time, so less than a quarter may be missing.
            ensure(Check::Rest, count < (all / 4).max(1), || {
                format!("{count} of {all} credits of {from} for {to} ({lane:?}) never came back")
            })?;
        }
        let open = self.asked.first_key_value();
        ensure(Check::Answers, open.is_none(), || format!("never answered: {open:?}"))
    }

    /// The state of every session on every stream, after all its actions.
    fn states(&mut self) -> BTreeMap<(StreamId, Who), State> {
        let mut states = BTreeMap::new();
        for (who, client) in &mut self.clients {
            for (stream, tie) in &mut client.ties {
                states.insert((*stream, *who), tie.rest());
            }
        }
        states
    }

    fn check_ties(&self) -> Checked {
        for (who, client) in self.clients.iter().filter(|(_, client)| client.is_open) {
            let plane = &self.planes[usize::from(client.at.place.shard())];
            for (stream, tie) in &client.ties {
                let state = tie.hoped();
                ensure(Check::Presences, tie.period.is_some() == state.hears, || {
                    format!("session {who} should hear stream {stream}: {}", state.hears)
                })?;
                let is_on = plane.is_on(client.at.key, &self.scenario.streams[usize::from(*stream)]);
                ensure(Check::Presences, is_on == state.present.is_some(), || {
                    format!("session {who} is on stream {stream} by its shard: {is_on}")
                })?;
            }
        }
        Ok(())
    }

    fn expected(&self, states: &BTreeMap<(StreamId, Who), State>) -> Vec<BTreeMap<Who, Version>> {
        let of = |stream: StreamId| {
            let there = states.range((stream, 0)..=(stream, Who::MAX));
            there.filter_map(|((_, who), state)| Some((*who, state.present?))).collect()
        };
        (0..self.scenario.streams.len() as StreamId).map(of).collect()
    }

    fn check_owner(&self, stream: StreamId, expected: &BTreeMap<Who, Version>) -> Checked {
        let key = &self.scenario.streams[usize::from(stream)];
        let owner = self.owning_shard(key);
        let listed: Vec<_> = self.planes[usize::from(owner)].owned_presences(key).collect();
        let mut found = BTreeMap::new();
        for presence in &listed {
            let who = self.by_ref.get(&presence.session).copied().unwrap_or(Who::MAX);
            found.insert(who, version_of(presence));
            let hidden =
                self.appearances.get((version_of(presence) as usize).wrapping_sub(1)).map(|known| known.hidden);
            ensure(Check::Hidden, hidden == Some(presence.hidden), || format!("hidden or not: {presence:?}"))?;
        }
        ensure(Check::Presences, found.len() == listed.len() && found == *expected, || {
            format!("on stream {stream} are (session: appearance) {found:?}, and should be {expected:?}")
        })?;
        let strays = (0..).zip(&self.planes).filter(|(shard, _)| *shard != owner);
        for (shard, plane) in strays {
            let count = plane.owned_presences(key).count();
            ensure(Check::Presences, count == 0, || format!("shard {shard} is no owner of stream {stream}"))?;
        }
        let is_alone = key.mode != mode::NOTIFICATIONS || expected.len() <= 1;
        ensure(Check::Closes, is_alone, || format!("each was to be the only one on stream {stream}: {expected:?}"))
    }

    /// Checks that the pages of a stream, asked for on some shard, hold every presence once.
    fn check_listing(&mut self, stream: StreamId, expected: &BTreeMap<Who, Version>) -> Checked {
        let shard = self.rng.u16(0..self.scenario.shards);
        for with_hidden in [false, true] {
            let is_shown = |version: &Version| with_hidden || !self.appearances[*version as usize - 1].hidden;
            let shown: BTreeSet<Version> = expected.values().copied().filter(is_shown).collect();
            self.answers.listed.clear();
            let page = self.rng.usize(1..=8).min(self.scenario.config.snapshot_max);
            for skip in (0..=expected.len()).step_by(page) {
                self.list(shard, stream, with_hidden, skip, page)?;
                self.settle()?;
            }
            let listed: BTreeSet<Version> = self.answers.listed.iter().copied().collect();
            let is_right = listed == shown && self.answers.listed.len() == shown.len();
            ensure(Check::Answers, is_right && self.answers.total == shown.len(), || {
                let (listed, total) = (&self.answers.listed, self.answers.total);
                format!("stream {stream} lists {listed:?} of {total}, and should {shown:?}")
            })?;
        }
        Ok(())
    }

    fn check_counts(&mut self, expected: &[BTreeMap<Who, Version>]) -> Checked {
        self.answers.counts.clear();
        self.answers.matches.clear();
        let asker = self.rng.u16(0..self.scenario.shards);
        self.count(asker)?;
        self.settle()?;
        let mut counts = std::mem::take(&mut self.answers.counts);
        counts.sort();
        let by_owner = (0..self.scenario.shards).map(|owner| {
            let counts = self.owned_by(owner).map(|(stream, _)| expected[usize::from(stream)].len()).collect();
            (asker, counts)
        });
        let mut should: Vec<(ShardIndex, Vec<usize>)> = by_owner.collect();
        should.sort();
        ensure(Check::Answers, counts == should, || format!("counted {counts:?}, and should {should:?}"))?;
        let mut matches = std::mem::take(&mut self.answers.matches);
        matches.sort();
        let relayed = (0..).zip(&self.scenario.streams).filter(|(_, key)| key.mode == mode::MATCH_RELAYED);
        let should: Vec<(StreamId, usize)> = relayed
            .filter(|(stream, _)| !expected[usize::from(*stream)].is_empty())
            .map(|(stream, _)| (stream, self.visible(&expected[usize::from(stream)]).len()))
            .collect();
        ensure(Check::Answers, matches == should, || format!("matches are {matches:?}, and should be {should:?}"))
    }

    fn visible(&self, presences: &BTreeMap<Who, Version>) -> BTreeMap<Who, Version> {
        let is_hidden = |version: Version| self.appearances[version as usize - 1].hidden;
        presences.iter().filter(|(_, version)| !is_hidden(**version)).map(|(who, version)| (*who, *version)).collect()
    }

    fn check_conclusions(
        &self,
        states: &BTreeMap<(StreamId, Who), State>,
        expected: &[BTreeMap<Who, Version>],
    ) -> Checked {
        for (stream, who) in states.keys() {
            let tie = &self.clients[who].ties[stream];
            let Some(period) = &tie.period else { continue };
            let visible = self.visible(&expected[usize::from(*stream)]);
            let is_right = if period.is_cut {
                period.view.iter().all(|(other, version)| visible.get(other) == Some(version))
            } else {
                period.view == visible
            };
            ensure(Check::Conclusions, is_right, || {
                format!("session {who} takes {:?} to be on stream {stream}, it is {visible:?}", period.view)
            })?;
        }
        Ok(())
    }

    fn check_received(&mut self) -> Checked {
        let (parties, rooms) = (&self.party_ties, &self.rooms);
        let tie = |stream: StreamId, who: Who| self.clients.get(&who)?.ties.get(&stream);
        self.messages.check(
            |stream, due| {
                if stream >= ROOMS_FROM {
                    return rooms.is_still(stream, due);
                }
                if stream >= PARTIES_FROM {
                    return parties.get(&(stream, due.who)).is_some_and(|tie| tie.is_still(due.period));
                }
                let period = tie(stream, due.who).and_then(|tie| tie.period.as_ref());
                period.is_some_and(|period| period.id == due.period)
            },
            |stream, due| tie(stream, due.who).is_some_and(|tie| tie.changes == due.changes),
        )?;
        for (push, id) in self.pushes.iter().zip(0u32..) {
            let Some(to) = push.to else { continue };
            ensure(Check::Lost, push.is_received || !self.clients[&to].is_open, || format!("push {id} is lost"))?;
            let times = push.say.written_max();
            ensure(Check::Encoding, times <= 1, || format!("push {id} was encoded {times} times"))?;
        }
        let again = self.encoder.event_encoded_again();
        ensure(Check::Encoding, again.is_none(), || format!("encoded more than once: {again:?}"))
    }
}

/// The next time at which a plane has work to do. Passes of the matchmaker do not count, since they go on as long as
/// tickets wait.
fn next_due(plane: &Plane) -> Option<Millis> {
    let stats = plane.stats();
    plane.next_due().filter(|_| stats.timers > usize::from(stats.tickets > 0))
}
