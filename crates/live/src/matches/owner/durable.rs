//! Durable matches of a shard: how they go on here, come to rest, and go elsewhere.

use std::collections::BTreeSet;

use super::super::carried::CarriedMatch;
use super::super::durable::Outline;
use super::super::effect::{MatchEffect, MatchEnd};
use super::super::running::{RunningMatch, checked};
use super::{MatchId, Matches};
use crate::party::Member;
use crate::place::Partition;
use crate::session::Millis;
use crate::stream::SessionRef;

impl Matches {
    /// Whether a match is here.
    pub fn contains(&self, id: MatchId) -> bool {
        self.running.contains_key(&id)
    }

    /// Goes on with a match from its log. `inside` are the sessions on the match's stream, as their places have
    /// reported them. A match that has not begun, or that is here already, does not go on, and those sessions are
    /// expelled.
    pub fn resume(&mut self, now: Millis, outline: Outline, inside: Vec<Member>, out: &mut Vec<MatchEffect>) {
        let id = outline.id;
        if !id.is_durable() || self.contains(id) || checked(outline.tick_rate, &outline.label).is_err() {
            self.stats.lost += 1;
            out.extend(inside.into_iter().map(|member| MatchEffect::Expel(id, member.listener)));
            out.extend((!self.contains(id)).then_some(MatchEffect::DropState(id)));
            return;
        }
        let stay = self.next_stay();
        let running = RunningMatch::resume(now, outline, stay, inside, out);
        self.index.put(&running.outline);
        self.insert(id, running);
        self.stats.resumed += 1;
        self.set_timer(id);
    }

    /// Counts a match that has ended because its log had nothing of it.
    pub fn count_lost(&mut self) {
        self.stats.lost += 1;
    }

    /// The outline of a match.
    pub fn outline(&self, id: MatchId) -> Option<&Outline> {
        self.running.get(&id).map(|running| &running.outline)
    }

    /// Lets the durable matches of a partition come to rest: none of their calls begins any more, except the join of an
    /// accepted attempt. Answers whether no call is under way.
    pub fn rest(&mut self, partition: Partition) -> bool {
        let mut is_at_rest = true;
        for id in self.durable.get(&partition).into_iter().flatten() {
            if let Some(running) = self.running.get_mut(id) {
                is_at_rest &= running.rest();
            }
        }
        is_at_rest
    }

    /// Partitions that have durable matches here.
    pub fn partitions(&self) -> Vec<Partition> {
        self.durable.keys().copied().collect()
    }

    /// Whether a partition has durable matches here.
    pub fn has_durable(&self, partition: Partition) -> bool {
        self.durable.contains_key(&partition)
    }

    /// Refuses to make durable matches from now on, since the server stops.
    pub fn make_no_more(&mut self) {
        self.is_stopping = true;
    }

    /// Takes out the durable matches of all partitions for which `is_one` holds. The matches must be at rest.
    pub fn carry_out(&mut self, now: Millis, is_one: impl Fn(Partition) -> bool) -> Vec<CarriedMatch> {
        let ids = self.durable.iter().filter(|(partition, _)| is_one(**partition)).flat_map(|(_, ids)| ids);
        let ids: Vec<MatchId> = ids.copied().collect();
        ids.into_iter().filter_map(|id| Some(self.remove(id)?.carried(now))).collect()
    }

    /// Puts in a match that another owner has taken out. The match rests until [`Self::wake`].
    pub fn carry_in(&mut self, now: Millis, carried: CarriedMatch) {
        let stay = self.next_stay();
        let (id, running) = (carried.outline.id, RunningMatch::carry_in(now, carried, stay));
        self.index.put(&running.outline);
        self.insert(id, running);
    }

    /// Goes on with those matches of a partition that are in `are_here`, the matches whose logs this place has. The
    /// other matches of the partition end.
    pub fn wake(
        &mut self,
        now: Millis,
        partition: Partition,
        are_here: &BTreeSet<MatchId>,
        out: &mut Vec<MatchEffect>,
    ) {
        for id in self.durable.get(&partition).cloned().unwrap_or_default() {
            match self.running.get_mut(&id) {
                Some(running) if are_here.contains(&id) => running.wake(now, out),
                // A lost match has no [`MatchEffect::DropState`], so its log stays and may be read later.
                _ => self.end(id, MatchEnd::Lost, out),
            }
            self.set_timer(id);
        }
    }

    /// The ids of all matches, in no order.
    pub fn ids(&self) -> impl Iterator<Item = MatchId> {
        self.running.keys().copied()
    }

    /// Sessions of the players of all matches, each with its match, in no order.
    pub fn players(&self) -> impl Iterator<Item = (MatchId, SessionRef)> {
        self.running.iter().flat_map(|(id, running)| running.player_sessions().map(|session| (*id, session)))
    }

    /// Sessions that wait for answers to their join attempts, each with its match.
    pub fn attempting(&self) -> impl Iterator<Item = (MatchId, SessionRef)> {
        self.running.iter().flat_map(|(id, running)| running.attempting().map(|session| (*id, session)))
    }

    /// Removes the durable matches of all partitions that this place has lost to another. Players are not told, because
    /// the matches go on at the other place. Answers the partitions that had matches.
    pub fn forget(&mut self, is_lost: impl Fn(Partition) -> bool) -> BTreeSet<Partition> {
        let lost = self.durable.iter().filter(|(partition, _)| is_lost(**partition));
        let lost: Vec<(Partition, BTreeSet<MatchId>)> =
            lost.map(|(partition, ids)| (*partition, ids.clone())).collect();
        lost.iter().flat_map(|(_, ids)| ids).for_each(|id| drop(self.remove(*id)));
        lost.into_iter().map(|(partition, _)| partition).collect()
    }
}
