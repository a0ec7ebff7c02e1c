//! Durable matches of a shard: those that go on here, and those that go on elsewhere.

use std::collections::BTreeSet;

use super::super::durable::Outline;
use super::super::effect::Effect;
use super::super::game::{Game, checked};
use super::{MatchId, Matches};
use crate::party::Member;
use crate::place::Partition;
use crate::session::Millis;

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
        let game = Game::resume(now, outline, inside, out);
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

    /// Partitions are another's by now: their matches go on there. Answers of which there were some; nobody is told.
    pub fn forget(&mut self, is_lost: impl Fn(Partition) -> bool) -> BTreeSet<Partition> {
        let lost = self.durable.iter().filter(|(partition, _)| is_lost(**partition));
        let lost: Vec<(Partition, BTreeSet<MatchId>)> =
            lost.map(|(partition, ids)| (*partition, ids.clone())).collect();
        lost.iter().flat_map(|(_, ids)| ids).for_each(|id| drop(self.remove(*id)));
        lost.into_iter().map(|(partition, _)| partition).collect()
    }
}
