//! The plane's part in the logs of durable matches. Matches go on from the log of their partition at the partition's
//! next owner, or when the process starts again. Before a planned change they come to rest.
//!
//! The engines write every call of a handler and its return into one log for each partition. After a crash the
//! partition's next owner has its engine take the log over ([`HandlerOrder::TakeOver`]), and goes on with the matches
//! in the log ([`Plane::matches_taken_over`]) and with those of their players whom living places tell of. Before a
//! partition is handed over, and before the server stops, its matches rest: no call begins except the join after an
//! accepted attempt. When no call is under way any more, the engine gives the log up ([`HandlerOrder::Release`],
//! [`Plane::matches_released`]).

use std::collections::{BTreeMap, BTreeSet};

use muster_domain::ids::Uuid;

use super::matches::OwnedMatches;
use super::owning::Owning;
use crate::matches::{MatchId, Outline};
use crate::party::Member;
use crate::place::{Epoch, Partition};
use crate::plane::Plane;
use crate::plane::effect::{Effects, HandlerOrder};
use crate::plane::message::Listener;
use crate::plane::options::Timer;
use crate::plane::owners::rebuilding::Awaited;
use crate::plane::owners::rosters::RosterCause;
use crate::session::Millis;
use crate::stream::StreamKey;

/// Milliseconds that the next owner of a partition waits for the log of its matches. If the log comes later, the
/// matches go on without players.
pub const MATCH_RECOVERY_WAIT_MS: Millis = 10_000;

/// The largest number of partitions among which one place spreads its durable matches. The number is small because each
/// partition has a log, and not one, so that after a crash the matches go to several places.
pub const DURABLE_PARTITIONS: usize = 16;

/// A hash that scatters neighbouring partitions. The mixing is the last step of SplitMix64.
fn scattered(partition: Partition) -> u64 {
    let mut hash = partition.number().wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Progress of partitions whose durable matches come to rest here.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    by_partition: BTreeMap<Partition, Rest>,
    /// Whether the server stops, so that all matches come to rest.
    all: bool,
}

/// Progress of a partition's matches towards rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Calls may still be under way. No further one begins, except the join after an accepted attempt.
    Ending,
    /// No call is under way; the engine was told to give up the log.
    Releasing,
    /// The engine has given up the log.
    Released,
}

impl Rests {
    /// Forgets partitions that have new owners because a node died.
    pub(crate) fn forget(&mut self, changed: &BTreeSet<Partition>) {
        self.by_partition.retain(|partition, _| !changed.contains(partition));
    }

    /// Forgets partitions that are handed over together with their matches.
    pub(crate) fn leave(&mut self, is_one: &dyn Fn(Partition) -> bool) {
        self.by_partition.retain(|partition, _| !is_one(*partition));
    }
}

impl Plane {
    /// The id of a match that is about to be made, from a random id. A durable match gets a partition that this place
    /// owns, if it owns any, so that the match begins here. Any other match is put at the place that owns the partition
    /// of the random id, so that places carry matches in proportion to their partitions.
    pub fn match_id(&self, random: Uuid, is_durable: bool) -> MatchId {
        let routes = &self.sessions.routes;
        let hashed = Partition::of_name(&random.to_string());
        if !is_durable {
            return MatchId::at(routes.owner(hashed), random);
        }
        let is_own =
            |partition: &Partition| routes.owner(*partition) == self.sessions.me && routes.former(*partition).is_none();
        let mut own: Vec<Partition> = Partition::all().filter(is_own).collect();
        let of = own.len().min(DURABLE_PARTITIONS);
        // The chosen partitions stay the same while this place owns them. They are scattered: the partitions of a dead
        // node go to the others in turn, and a regular choice could send all chosen ones to one place.
        own.sort_unstable_by_key(|partition| scattered(*partition));
        let chosen = (of > 0).then(|| hashed.row() % of);
        let partition = chosen.and_then(|chosen| own.get(chosen)).copied().unwrap_or(hashed);
        MatchId::of_partition(partition, random)
    }

    /// Goes on with matches of a partition after a restart of a process that is not in a cluster, before any session is
    /// open. To the handlers, all players have left.
    pub fn resume_matches(&mut self, now: Millis, partition: Partition, outlines: Vec<Outline>, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.matches.resume_without_players(&mut owning, partition, outlines);
        self.after_owning(now, out);
    }

    /// Takes those matches from the log of a partition that go on here, as [`HandlerOrder::TakeOver`] asked. If the log
    /// comes too late, the players have been told that the matches ended, and the matches go on without players.
    pub fn matches_taken_over(
        &mut self,
        now: Millis,
        partition: Partition,
        epoch: Epoch,
        outlines: Vec<Outline>,
        out: &mut Effects,
    ) {
        if self.changes.rebuilds(partition, epoch) {
            self.owners.things.matches.logs.entry(partition).or_default().put(outlines);
            self.go_on_if_complete(now, partition, out);
        } else if self.is_owner(partition) && self.owned_since(partition) == epoch {
            self.resume_matches(now, partition, outlines, out);
        } else if !self.is_owner(partition) {
            out.order_handler(HandlerOrder::Forget(partition));
        }
    }

    /// Notes that the engine has given up the log of a partition, as [`HandlerOrder::Release`] asked.
    pub fn matches_released(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        let rests = &mut self.owners.things.matches.rests.by_partition;
        if let Some(rest) = rests.get_mut(&partition).filter(|rest| **rest == Rest::Releasing) {
            *rest = Rest::Released;
            self.hand_over(now, out);
        }
    }

    /// Brings all durable matches to rest because the server stops; no match is made any more. When the calls under way
    /// have returned, the logs are given up; then [`Self::are_matches_at_rest`] is true.
    pub fn rest_matches(&mut self, now: Millis, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.matches.rests.all = true;
        things.matches.matches.make_no_more();
        things.matches.go_on_to_rest(&mut owning);
    }

    /// Whether the logs of all durable matches here are given up.
    pub fn are_matches_at_rest(&self) -> bool {
        let OwnedMatches { matches, rests, .. } = &self.owners.things.matches;
        let is_released = |partition: &Partition| rests.by_partition.get(partition) == Some(&Rest::Released);
        rests.all && matches.partitions().iter().all(is_released)
    }
}

impl OwnedMatches {
    /// While the server stops, lets matches come to rest further, after a call that may have been the last one under
    /// way.
    pub(crate) fn go_on_to_rest(&mut self, owning: &mut Owning<'_>) {
        if self.rests.all {
            for partition in self.matches.partitions() {
                self.rest(owning, partition);
            }
        }
    }

    /// Lets the durable matches of a partition come to rest. Answers whether they are at rest.
    pub(crate) fn rest(&mut self, owning: &mut Owning<'_>, partition: Partition) -> bool {
        if !self.rests.by_partition.contains_key(&partition) && !self.matches.has_durable(partition) {
            return true;
        }
        let rest = self.rests.by_partition.entry(partition).or_insert(Rest::Ending);
        if *rest == Rest::Ending && self.matches.rest(partition) {
            *rest = Rest::Releasing;
            owning.out.order_handler(HandlerOrder::Release(partition));
        }
        *rest == Rest::Released
    }

    /// Has the engine take over the logs of partitions that this place owns from now on, and awaits the logs.
    pub(crate) fn await_logs(&mut self, owning: &mut Owning<'_>, partitions: Vec<(Partition, Epoch)>) {
        if partitions.is_empty() {
            return;
        }
        let until = owning.now + MATCH_RECOVERY_WAIT_MS;
        self.logs.extend(partitions.iter().map(|(partition, _)| (*partition, Awaited::Until(until))));
        owning.wheel.set(until, Timer::RecoveryLate);
        owning.out.order_handler(HandlerOrder::TakeOver(partitions));
    }

    /// Goes on with matches of a partition as if all their players had left: the handlers are told so.
    pub(crate) fn resume_without_players(
        &mut self,
        owning: &mut Owning<'_>,
        partition: Partition,
        outlines: Vec<Outline>,
    ) {
        let node = owning.config.node.clone();
        for outline in outlines.into_iter().filter(|outline| outline.id.partition() == partition) {
            let stream = outline.id.stream(&node);
            self.resume_match(owning, &stream, outline, Vec::new(), Vec::new());
            owning.drop_if_unused(&stream);
        }
    }

    /// Goes on with a match, with the players whom places have told of. Sessions that waited to be let in are turned
    /// away.
    pub(crate) fn resume_match(
        &mut self,
        owning: &mut Owning<'_>,
        stream: &StreamKey,
        outline: Outline,
        inside: Vec<Member>,
        waiting: Vec<Listener>,
    ) {
        owning.send_rosters(stream, RosterCause::NewOwner);
        waiting.into_iter().for_each(|listener| owning.expel(stream, listener, false));
        self.change(owning, |matches, now, effects| matches.resume(now, outline, inside, effects));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partitions_of_durable_matches_do_not_all_go_to_one_heir() {
        // Each number is a third of all partitions, as one of three nodes has them. Partitions of a dead node go to the
        // other two nodes in turn.
        for own in [320, 340, 341, 342, 352] {
            let mut own: Vec<(usize, Partition)> = Partition::all().take(own).enumerate().collect();
            own.sort_unstable_by_key(|(_, partition)| scattered(*partition));
            let to_first = own.iter().take(DURABLE_PARTITIONS).filter(|(rank, _)| rank % 2 == 0).count();
            assert!((4..=12).contains(&to_first), "{to_first} of {DURABLE_PARTITIONS}");
        }
    }
}
