//! Logs of durable matches on the plane: how the matches of a partition go on at the partition's next owner, or when
//! the process starts again, and how they come to rest before that.
//!
//! The engines keep every call of a handler and its return in a log for each partition. The owner of a partition after
//! a crash has its engine take the log over ([`HandlerOrder::TakeOver`]) and goes on with the matches that are found
//! there ([`Plane::matches_taken_over`]), and with their players who are still there by what places say. Before a
//! partition goes elsewhere, and before the server stops, no call begins any more; when none is under way, the engine
//! gives the log up ([`HandlerOrder::Release`], [`Plane::matches_released`]).

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

/// Milliseconds that the next owner of a partition waits for the log of its matches. Matches of a later log go on
/// without players.
pub const MATCH_RECOVERY_WAIT_MS: Millis = 10_000;

/// The largest number of partitions that durable matches of one place are spread over: few, as each has a log; several,
/// so that after a crash not all of them go to the same place.
pub const DURABLE_PARTITIONS: usize = 16;

/// A hash that scatters neighbouring partitions: the finish of SplitMix64.
fn scattered(partition: Partition) -> u64 {
    let mut hash = partition.number().wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Partitions whose durable matches come to rest here.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    of: BTreeMap<Partition, Rest>,
    /// Whether the server stops, so that all matches come to rest.
    all: bool,
}

/// How far a partition's matches have come to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Calls may be under way.
    Ending,
    /// The engine is to give up the log.
    Releasing,
    /// The engine has given up the log.
    Released,
}

impl Rests {
    /// Forgets partitions that have other owners.
    pub(crate) fn forget(&mut self, changed: &BTreeSet<Partition>) {
        self.of.retain(|partition, _| !changed.contains(partition));
    }

    /// Forgets partitions that go to their next owners with their matches.
    pub(crate) fn leave(&mut self, is_one: &dyn Fn(Partition) -> bool) {
        self.of.retain(|partition, _| !is_one(*partition));
    }
}

impl Plane {
    /// An id for a match that is about to be made, from a random one. A durable match is in a partition that this place
    /// owns, if it owns any, so it begins here. Any other match is at the owner of the partition of the random id, so
    /// places carry matches as they carry partitions.
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
        // The choice stays the same while this place owns them. It follows no pattern, since orphans are dealt out in
        // order.
        own.sort_unstable_by_key(|partition| scattered(*partition));
        let chosen = (of > 0).then(|| hashed.row() % of);
        let partition = chosen.and_then(|chosen| own.get(chosen)).copied().unwrap_or(hashed);
        MatchId::of_partition(partition, random)
    }

    /// Goes on with matches of a partition when the process has started again, on a node on its own, before there are
    /// sessions: for the matches' handlers all players have gone.
    pub fn resume_matches(&mut self, now: Millis, partition: Partition, outlines: Vec<Outline>, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.matches.resume_without_players(&mut owning, partition, outlines);
        self.after_owning(now, out);
    }

    /// Takes the matches in the log of a partition that go on here, as [`HandlerOrder::TakeOver`] asked for them. If
    /// the log came too late, the players were told that the matches ended, and the matches go on without players.
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

    /// Takes word that the log of a partition is given up, as [`HandlerOrder::Release`] asked.
    pub fn matches_released(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        let rests = &mut self.owners.things.matches.rests.of;
        if let Some(rest) = rests.get_mut(&partition).filter(|rest| **rest == Rest::Releasing) {
            *rest = Rest::Released;
            self.hand_over(now, out);
        }
    }

    /// The server stops: no call of a durable match begins any more, and no match is made. When those calls that are
    /// under way have returned, the logs are given up; [`Self::are_matches_at_rest`] tells when all are.
    pub fn rest_matches(&mut self, now: Millis, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.matches.rests.all = true;
        things.matches.matches.make_no_more();
        things.matches.go_on_to_rest(&mut owning);
    }

    /// Whether the logs of all durable matches here are given up.
    pub fn are_matches_at_rest(&self) -> bool {
        let OwnedMatches { matches, rests, .. } = &self.owners.things.matches;
        let is_released = |partition: &Partition| rests.of.get(partition) == Some(&Rest::Released);
        rests.all && matches.partitions().iter().all(is_released)
    }
}

impl OwnedMatches {
    /// Lets all matches come to rest while the server stops, after a call that may have been the last one.
    pub(crate) fn go_on_to_rest(&mut self, owning: &mut Owning<'_>) {
        if self.rests.all {
            for partition in self.matches.partitions() {
                self.rest(owning, partition);
            }
        }
    }

    /// Lets the durable matches of a partition come to rest. Answers whether they have.
    pub(crate) fn rest(&mut self, owning: &mut Owning<'_>, partition: Partition) -> bool {
        if !self.rests.of.contains_key(&partition) && !self.matches.has_durable(partition) {
            return true;
        }
        let rest = self.rests.of.entry(partition).or_insert(Rest::Ending);
        if *rest == Rest::Ending && self.matches.rest(partition) {
            *rest = Rest::Releasing;
            owning.out.order_handler(HandlerOrder::Release(partition));
        }
        *rest == Rest::Released
    }

    /// Has the engine take over the logs of partitions that are this place's from now on, and waits for them.
    pub(crate) fn await_logs(&mut self, owning: &mut Owning<'_>, partitions: Vec<(Partition, Epoch)>) {
        if partitions.is_empty() {
            return;
        }
        let until = owning.now + MATCH_RECOVERY_WAIT_MS;
        self.logs.extend(partitions.iter().map(|(partition, _)| (*partition, Awaited::Until(until))));
        owning.wheel.set(until, Timer::RecoveryLate);
        owning.out.order_handler(HandlerOrder::TakeOver(partitions));
    }

    /// Goes on with matches of a partition whose players have all gone, as the handlers see it.
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

    /// Goes on with a match and with the players whom their places tell of.
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
        // A third of all partitions, as one of three nodes has them. Orphans go to the other two nodes in turn.
        for own in [320, 340, 341, 342, 352] {
            let mut own: Vec<(usize, Partition)> = Partition::all().take(own).enumerate().collect();
            own.sort_unstable_by_key(|(_, partition)| scattered(*partition));
            let to_first = own.iter().take(DURABLE_PARTITIONS).filter(|(rank, _)| rank % 2 == 0).count();
            assert!((4..=12).contains(&to_first), "{to_first} of {DURABLE_PARTITIONS}");
        }
    }
}
