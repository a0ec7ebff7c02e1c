//! Durable matches on the plane: how those of a partition go on at its next owner, or when the process starts again, and
//! how they come to rest before that.
//!
//! The engines keep what the handlers were called with and answered in a log for each partition. Whoever owns a partition
//! after a crash has its engine take the log over ([`HandlerOrder::TakeOver`]) and goes on with the matches that it
//! finds there ([`Plane::matches_taken_over`]), and with their players who are still there by what places say. Before a
//! partition goes elsewhere, and before the server stops, no call begins any more; when none is under way, the engine
//! gives the log up ([`HandlerOrder::Release`], [`Plane::matches_released`]).

use std::collections::{BTreeMap, BTreeSet};

use muster_domain::ids::Uuid;

use super::Plane;
use super::Timer;
use super::effect::{Effect, Effects, HandlerOrder};
use super::message::{Listener, Standing};
use super::owner::Owning;
use super::rebuild::Cause;
use super::recovery::Kept;
use crate::matches::{MatchId, Outline};
use crate::party::Member;
use crate::place::{Epoch, Partition};
use crate::session::Millis;
use crate::stream::StreamKey;

/// How long the next owner of a partition waits for its matches, in milliseconds. Later ones go on without players.
pub const MATCH_RECOVERY_WAIT_MS: Millis = 10_000;

/// Durable matches of one place are of so many partitions: few, as each has a log; several, so that after a crash not all of
/// them go to the same place.
pub const DURABLE_PARTITIONS: usize = 16;

/// An order of partitions in which neighbours have nothing in common: the finish of SplitMix64.
fn scattered(partition: Partition) -> u64 {
    let mut hash = partition.number().wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Partitions whose durable matches come to rest here.
#[derive(Debug, Default)]
pub(super) struct Rests {
    of: BTreeMap<Partition, Rest>,
    /// The server stops.
    all: bool,
}

/// How far a partition's matches have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Calls may be under way.
    Ending,
    /// The engine is to give up the log.
    Releasing,
    /// It has.
    Released,
}

impl Plane {
    /// An id for a match that is about to be made, from a random one. A durable one is of a partition that this place owns,
    /// if it owns any: so it begins here. Others are at one of the places that things are shared out over: they take as
    /// many as they can carry.
    pub fn match_id(&self, random: Uuid, is_durable: bool) -> MatchId {
        let routes = &self.local.routes;
        let hashed = Partition::of_name(&random.to_string());
        if !is_durable {
            return MatchId::at(routes.owner(hashed), random);
        }
        let is_own =
            |partition: &Partition| routes.owner(*partition) == self.local.me && routes.former(*partition).is_none();
        let mut own: Vec<Partition> = Partition::all().filter(is_own).collect();
        let of = own.len().min(DURABLE_PARTITIONS);
        // The same few each time, as long as it owns them; no pattern, since orphans are dealt out in order.
        own.sort_unstable_by_key(|partition| scattered(*partition));
        let chosen = (of > 0).then(|| hashed.row() % of);
        let partition = chosen.and_then(|chosen| own.get(chosen)).copied().unwrap_or(hashed);
        MatchId::of_partition(partition, random)
    }

    /// Goes on with matches of a partition when the process has started again, on a node on its own, before there are
    /// sessions: for their handlers all players have gone.
    pub fn resume_matches(&mut self, now: Millis, partition: Partition, outlines: Vec<Outline>, out: &mut Effects) {
        let of_partition = outlines.into_iter().filter(|outline| outline.id.partition() == partition);
        let node = self.config.node.clone();
        for outline in of_partition {
            let stream = outline.id.stream(&node);
            self.owning(now, out).meet_match(&stream, outline, Vec::new());
        }
        self.after_owning(now, out);
    }

    /// What the log of a partition had, as [`HandlerOrder::TakeOver`] asked for it: the matches that go on here. If that
    /// took too long, their players have been told that they ended; they go on without them.
    pub fn matches_taken_over(
        &mut self,
        now: Millis,
        partition: Partition,
        epoch: Epoch,
        outlines: Vec<Outline>,
        out: &mut Effects,
    ) {
        let rebuilding = self.rebuilding.get_mut(&partition).filter(|rebuilding| rebuilding.epoch == epoch);
        if let Some(rebuilding) = rebuilding {
            match &mut rebuilding.outlines {
                Kept::Here(here) => here.extend(outlines),
                kept => *kept = Kept::Here(outlines),
            }
            self.complete(now, partition, out);
            self.tell_forgotten_rooms(now, out);
            self.complete_moves(now, out);
        } else if self.is_owner(partition) && self.owned_since(partition) == epoch {
            self.resume_matches(now, partition, outlines, out);
        } else if !self.is_owner(partition) {
            out.order_handler(HandlerOrder::Forget(partition));
        }
    }

    /// The log of a partition is given up, as [`HandlerOrder::Release`] said.
    pub fn matches_released(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        if let Some(rest) = self.rests.of.get_mut(&partition).filter(|rest| **rest == Rest::Releasing) {
            *rest = Rest::Released;
            self.hand_over(now, out);
        }
    }

    /// The server stops: no call of a durable match begins any more, and none is made. When those that are under way have
    /// returned, the logs are given up; [`Self::are_matches_at_rest`] tells when all are.
    pub fn rest_matches(&mut self, out: &mut Effects) {
        self.rests.all = true;
        self.matches.make_no_more();
        self.go_on_to_rest(out);
    }

    /// Whether the logs of all durable matches here are given up.
    pub fn are_matches_at_rest(&self) -> bool {
        let is_released = |partition: &Partition| self.rests.of.get(partition) == Some(&Rest::Released);
        self.rests.all && self.matches.partitions().iter().all(is_released)
    }

    /// A call has returned, perhaps the last one.
    pub(super) fn go_on_to_rest(&mut self, out: &mut Effects) {
        if self.rests.all {
            for partition in self.matches.partitions() {
                self.rest(partition, out);
            }
        }
    }

    /// Lets the durable matches of a partition come to rest. Answers whether they have.
    pub(super) fn rest(&mut self, partition: Partition, out: &mut Effects) -> bool {
        if !self.rests.of.contains_key(&partition) && !self.matches.has_durable(partition) {
            return true;
        }
        let rest = self.rests.of.entry(partition).or_insert(Rest::Ending);
        if *rest == Rest::Ending && self.matches.rest(partition) {
            *rest = Rest::Releasing;
            out.order_handler(HandlerOrder::Release(partition));
        }
        *rest == Rest::Released
    }

    /// A partition is packed: what it has of matches goes with it.
    pub(super) fn forget_rest(&mut self, partition: Partition) {
        self.rests.of.remove(&partition);
    }

    /// Goes on with matches that a living owner has handed over, as far as their log is here. With a match that only the log
    /// knows that owner was to go on too, and had not read it in time.
    pub(super) fn wake_matches(
        &mut self,
        now: Millis,
        partition: Partition,
        outlines: Vec<Outline>,
        out: &mut Effects,
    ) {
        let are_here: BTreeSet<MatchId> = outlines.iter().map(|outline| outline.id).collect();
        let further = outlines.into_iter().filter(|outline| !self.matches.contains(outline.id)).collect();
        let mut owning = self.owning(now, out);
        let mut effects = Vec::new();
        owning.matches.wake(now, partition, &are_here, &mut effects);
        owning.carry_out_matches(effects);
        self.resume_matches(now, partition, further, out);
    }

    /// These partitions are others', or this place's anew: what it has of their matches is put away.
    pub(super) fn forget_matches(&mut self, changed: &BTreeSet<Partition>, out: &mut Effects) {
        self.rests.of.retain(|partition, _| !changed.contains(partition));
        let mut lost = self.matches.forget(|partition| changed.contains(&partition));
        let has_some = |outlines: &Kept<Outline>| !matches!(outlines, Kept::Here(here) if here.is_empty());
        let rebuilding =
            self.rebuilding.iter().filter(|(partition, it)| changed.contains(partition) && has_some(&it.outlines));
        lost.extend(rebuilding.map(|(partition, _)| *partition));
        out.extend(lost.into_iter().map(HandlerOrder::Forget).map(Effect::Handler));
    }

    /// Has the engine take over the logs of partitions that are this place's from now on.
    pub(super) fn ask_for_matches(&mut self, now: Millis, partitions: Vec<(Partition, Epoch)>, out: &mut Effects) {
        if partitions.is_empty() {
            return;
        }
        let until = now + MATCH_RECOVERY_WAIT_MS;
        for (partition, _) in &partitions {
            if let Some(rebuilding) = self.rebuilding.get_mut(partition) {
                rebuilding.outlines = Kept::Awaited(until);
            }
        }
        self.wheel.set(until, Timer::RecoveryLate);
        out.order_handler(HandlerOrder::TakeOver(partitions));
    }

    /// Goes on without matches that were asked for long ago.
    pub(super) fn go_on_without_matches(&mut self, now: Millis, out: &mut Effects) {
        let late = self.rebuilding.iter().filter(|(_, rebuilding)| rebuilding.outlines.is_late(now));
        let late: Vec<(Partition, Epoch)> = late.map(|(partition, it)| (*partition, it.epoch)).collect();
        self.changes.count_late(late.len());
        late.into_iter().for_each(|(partition, epoch)| self.matches_taken_over(now, partition, epoch, Vec::new(), out));
    }
}

impl Owning<'_> {
    /// A match meets those who are in it by their places, or wait to be. Whether these are let in was perhaps decided, but
    /// they were told that there is no answer: they ask again.
    pub(super) fn meet_match(&mut self, stream: &StreamKey, outline: Outline, standings: Vec<Standing>) {
        let (inside, waiting) = self.install_those_inside(standings);
        self.send_rosters(stream, Cause::NewOwner);
        waiting.into_iter().for_each(|listener| self.expel(stream, listener, false));
        let mut effects = Vec::new();
        let inside = inside.into_iter().map(|(presence, listener)| Member { presence, listener });
        self.matches.resume(self.now, outline, inside.collect(), &mut effects);
        self.carry_out_matches(effects);
        self.drop_if_unused(stream);
    }

    /// A durable match of which nothing was kept has ended with its owner: its players see themselves go.
    pub(super) fn end_lost_match(&mut self, stream: &StreamKey, sessions: impl Iterator<Item = Listener>) {
        self.matches.lose();
        for listener in sessions {
            self.tell_of_leave(stream, listener.session);
            self.expel(stream, listener, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partitions_of_durable_matches_do_not_all_go_to_one_heir() {
        // A third of all, as one of three nodes has them; its orphans go to the others in turn.
        for own in [320, 340, 341, 342, 352] {
            let mut own: Vec<(usize, Partition)> = Partition::all().take(own).enumerate().collect();
            own.sort_unstable_by_key(|(_, partition)| scattered(*partition));
            let to_first = own.iter().take(DURABLE_PARTITIONS).filter(|(rank, _)| rank % 2 == 0).count();
            assert!((4..=12).contains(&to_first), "{to_first} of {DURABLE_PARTITIONS}");
        }
    }
}
