//! Durable matches of a shard: those that go on here, and those that go on elsewhere.

use std::collections::BTreeSet;

use super::super::carried::CarriedMatch;
use super::super::durable::Outline;
use super::super::effect::{Effect, MatchEnd};
use super::super::game::{Game, checked};
use super::{MatchId, Matches};
use crate::party::Member;
use crate::place::Partition;
use crate::session::Millis;
use crate::stream::SessionRef;

impl Matches {
    /// Whether there is such a match.
    pub fn contains(&self, id: MatchId) -> bool {
        self.games.contains_key(&id)
    }

    /// Goes on with a match as its log says, and with those of its players who are `inside` by their places. What is no
    /// match that has begun, or is here already, is put away.
    pub fn resume(&mut self, now: Millis, outline: Outline, inside: Vec<Member>, out: &mut Vec<Effect>) {
        let id = outline.id;
        if !id.is_durable() || self.contains(id) || checked(outline.tick_rate, &outline.label).is_err() {
            self.stats.lost += 1;
            out.extend(inside.into_iter().map(|member| Effect::Expel(id, member.listener)));
            out.extend((!self.contains(id)).then_some(Effect::Drop(id)));
            return;
        }
        let life = self.next_life();
        let game = Game::resume(now, (outline, life), inside, out);
        self.directory.put(&game.outline);
        self.insert(id, game);
        self.stats.resumed += 1;
        self.set_timer(id);
    }

    /// A match of which nothing was kept has ended.
    pub fn lose(&mut self) {
        self.stats.lost += 1;
    }

    /// What a match is besides its handler's state.
    pub fn outline(&self, id: MatchId) -> Option<&Outline> {
        self.games.get(&id).map(|game| &game.outline)
    }

    /// No call of a partition's durable matches begins any more. Answers whether none is under way.
    pub fn rest(&mut self, partition: Partition) -> bool {
        let mut is_quiet = true;
        for id in self.durable.get(&partition).into_iter().flatten() {
            if let Some(game) = self.games.get_mut(id) {
                is_quiet &= game.rest();
            }
        }
        is_quiet
    }

    /// The partitions of which there are durable matches here.
    pub fn partitions(&self) -> Vec<Partition> {
        self.durable.keys().copied().collect()
    }

    /// Whether there are any of a partition.
    pub fn has_durable(&self, partition: Partition) -> bool {
        self.durable.contains_key(&partition)
    }

    /// Durable matches are not made any more: the server stops.
    pub fn make_no_more(&mut self) {
        self.is_stopping = true;
    }

    /// Takes out all matches of a partition, which rest.
    pub fn carry_out(&mut self, now: Millis, is_one: impl Fn(Partition) -> bool) -> Vec<CarriedMatch> {
        let ids = self.durable.iter().filter(|(partition, _)| is_one(**partition)).flat_map(|(_, ids)| ids);
        let ids: Vec<MatchId> = ids.copied().collect();
        ids.into_iter().filter_map(|id| Some(self.remove(id)?.carried(now))).collect()
    }

    /// Puts in what another owner has taken out. It rests until [`Self::wake`] says otherwise.
    pub fn carry_in(&mut self, now: Millis, carried: CarriedMatch) {
        let life = self.next_life();
        let (id, game) = (carried.outline.id, Game::carry_in(now, carried, life));
        self.directory.put(&game.outline);
        self.insert(id, game);
    }

    /// Goes on with the matches of a partition that were carried in and whose logs are here. The others end.
    pub fn wake(&mut self, now: Millis, partition: Partition, are_here: &BTreeSet<MatchId>, out: &mut Vec<Effect>) {
        for id in self.durable.get(&partition).cloned().unwrap_or_default() {
            match self.games.get_mut(&id) {
                Some(game) if are_here.contains(&id) => game.wake(now, out),
                // What is kept for it is left alone: it may yet be read.
                _ => self.end(id, MatchEnd::Lost, out),
            }
            self.set_timer(id);
        }
    }

    /// Who waits to be let into matches.
    pub fn attempting(&self) -> impl Iterator<Item = (MatchId, SessionRef)> {
        self.games.iter().flat_map(|(id, game)| game.attempting().map(|session| (*id, session)))
    }

    /// Partitions are another's by now: their matches go on there. Answers of which there were some; nobody is told.
    pub fn forget(&mut self, is_lost: impl Fn(Partition) -> bool) -> BTreeSet<Partition> {
        let lost = self.durable.iter().filter(|(partition, _)| is_lost(**partition));
        let lost: Vec<(Partition, BTreeSet<MatchId>)> =
            lost.map(|(partition, ids)| (*partition, ids.clone())).collect();
        lost.iter().flat_map(|(_, ids)| ids).for_each(|id| drop(self.remove(*id)));
        lost.into_iter().map(|(partition, _)| partition).collect()
    }
}
