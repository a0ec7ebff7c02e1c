//! Moving partitions from one living owner to the next, with all that is in them: nothing is lost, nothing comes twice,
//! and the order stays.
//!
//! Each place tells the former owner that it has told that all (*passed*), and tells everything further to the next one,
//! which holds it. The former owner goes on until all places have passed, then gives the next one the partition's state,
//! and each place the word that it has nothing more to say. Until that word came a place keeps what the next owner says
//! of the partition.
//!
//! If one of the two owners dies before the state has arrived, the view gives the partition a new epoch, and it is rebuilt
//! of what places know.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Plane;
use super::message::{Down, Message, Up};
use super::output::Output;
use super::rebuild::Rebuilding;
use crate::place::{Epoch, Former, Partition, Place, Routes};
use crate::session::Millis;
use crate::stream::StreamKey;

/// Parts of a partition's state in one message.
const PARTS_MAX: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    /// What this place still owns, although it is another's next.
    leaving: BTreeMap<Partition, Leaving>,
    /// Partitions of which former owners still have something to say here.
    passing: BTreeMap<Partition, Passing>,
}

/// A partition that this place hands over.
#[derive(Debug)]
struct Leaving {
    /// Since when this place owns it.
    epoch: Epoch,
    next: Place,
    next_epoch: Epoch,
    /// Places that may still tell this one something.
    awaited: Vec<Place>,
}

/// A partition of which former owners still have something to say here.
#[derive(Debug, Default)]
struct Passing {
    /// They, the earliest first, and since when the partition is another's.
    formers: VecDeque<(Place, Epoch)>,
    /// What those that come later have said, in order.
    kept: VecDeque<(Place, Word)>,
}

/// What an owner says of a partition.
#[derive(Debug)]
enum Word {
    Something(Down),
    /// It has nothing more to say: since this epoch another owns it.
    Over(Epoch),
}

impl Passing {
    /// The next word of who may speak now.
    fn next(&mut self) -> Option<(Place, Word)> {
        let speaker = self.formers.front().map(|(former, _)| *former);
        let position = self.kept.iter().position(|(from, _)| speaker.is_none_or(|speaker| speaker == *from))?;
        self.kept.remove(position)
    }
}

impl Handovers {
    /// Since when this place owns a partition that it is handing over.
    pub(super) fn leaving(&self, partition: Partition) -> Option<Epoch> {
        self.leaving.get(&partition).map(|leaving| leaving.epoch)
    }

    /// Whether a place may still speak for a partition that another owns next.
    pub(super) fn speaks(&self, partition: Partition, former: Place) -> bool {
        let passing = self.passing.get(&partition);
        passing.is_some_and(|passing| passing.formers.iter().any(|(place, _)| *place == former))
    }

    /// Whether a former owner still has something to say of a partition here.
    fn is_passing(&self, partition: Partition) -> bool {
        self.passing.contains_key(&partition)
    }

    /// Messages that wait for their turn.
    pub(super) fn kept(&self) -> usize {
        self.passing.values().map(|passing| passing.kept.len()).sum()
    }

    /// These partitions were lost on their way, or before it.
    pub(super) fn forget(&mut self, changed: &BTreeSet<Partition>) {
        self.leaving.retain(|partition, _| !changed.contains(partition));
        let lost = self.passing.iter_mut().filter(|(partition, _)| changed.contains(partition));
        lost.for_each(|(_, passing)| passing.formers.clear());
    }
}

impl Plane {
    /// Partitions are on their way: the former owners are told that nothing more comes to them from here.
    pub(super) fn begin_moves(&mut self, now: Millis, routes: Routes, out: &mut Output) {
        let before = std::mem::replace(&mut self.local.routes, routes);
        let routes = &self.local.routes;
        let is_new = |partition: &Partition| routes.epoch(*partition) > before.epoch(*partition);
        let mut passed: BTreeMap<Place, Vec<(Partition, Epoch)>> = BTreeMap::new();
        for partition in Partition::all().filter(is_new) {
            let Some(Former { owner: former, epoch }) = routes.former(partition) else { continue };
            let (next, next_epoch) = (routes.owner(partition), routes.epoch(partition));
            if former == self.local.me {
                let leaving = Leaving { epoch, next, next_epoch, awaited: routes.places().to_vec() };
                self.handovers.leaving.insert(partition, leaving);
            }
            if next == self.local.me {
                let rebuilding = Rebuilding {
                    epoch: next_epoch,
                    former: Some(former),
                    awaited: vec![former],
                    streams: BTreeSet::new(),
                    missed: BTreeSet::new(),
                    held: VecDeque::new(),
                };
                self.rebuilding.insert(partition, rebuilding);
            }
            let passing = self.handovers.passing.entry(partition).or_default();
            passing.formers.push_back((former, next_epoch));
            passed.entry(former).or_default().push((partition, next_epoch));
        }
        for (former, partitions) in passed {
            self.send_up(now, former, Up::Passed { partitions }, out);
        }
    }

    /// A place tells this former owner nothing more of these.
    pub(super) fn passed(&mut self, now: Millis, from: Place, partitions: &[(Partition, Epoch)], out: &mut Output) {
        let mut over = Vec::new();
        for (partition, epoch) in partitions.iter().copied() {
            match self.handovers.leaving.get_mut(&partition) {
                Some(leaving) if leaving.next_epoch == epoch => leaving.awaited.retain(|place| *place != from),
                // It came when all was over, and was told nothing yet.
                _ => over.push((partition, epoch)),
            }
        }
        if !over.is_empty() {
            self.local.down(from, Down::HandedOver { partitions: over }, out);
        }
        self.hand_over(now, out);
    }

    /// Nothing comes any more of places that have gone.
    pub(super) fn pass_without(&mut self, now: Millis, gone: &[Place], out: &mut Output) {
        for leaving in self.handovers.leaving.values_mut() {
            leaving.awaited.retain(|place| !gone.contains(place));
        }
        self.hand_over(now, out);
        // What they handed over has arrived where it was to; what they had to say here may be lost.
        for passing in self.handovers.passing.values_mut() {
            passing.formers.retain(|(former, _)| !gone.contains(former));
            passing.kept.retain(|(from, _)| !gone.contains(from));
        }
        self.hear_kept(now, true, out);
        self.complete_moves(now, out);
    }

    /// Hands over what is complete.
    pub(super) fn hand_over(&mut self, now: Millis, out: &mut Output) {
        if self.handovers.leaving.is_empty() {
            return;
        }
        let is_complete = |partition: &Partition, leaving: &Leaving| {
            leaving.awaited.is_empty()
                && !self.rebuilding.contains_key(partition)
                && !self.held.iter().any(|(_, up)| up.concerns(|about| about == *partition))
        };
        let complete: BTreeSet<Partition> = self
            .handovers
            .leaving
            .iter()
            .filter(|(partition, leaving)| is_complete(partition, leaving))
            .map(|(partition, _)| *partition)
            .collect();
        self.owning(now, out).leave_rosters(|partition| complete.contains(&partition));
        let mut carried = self.carry_out(now, &complete);
        let mut said = Vec::new();
        for partition in complete {
            let Some(Leaving { next, next_epoch: epoch, .. }) = self.handovers.leaving.remove(&partition) else {
                continue;
            };
            let mut parts = carried.remove(&partition).unwrap_or_default();
            loop {
                let rest = parts.split_off(parts.len().min(PARTS_MAX));
                let ends = rest.is_empty();
                // Before what waits for credit, which is perhaps held there until this comes.
                out.sends.push((next, Message::Up(Up::Carried { partition, epoch, parts, ends })));
                if ends {
                    break;
                }
                parts = rest;
            }
            said.push((partition, epoch));
        }
        if said.is_empty() {
            return;
        }
        for place in self.local.routes.places().to_vec() {
            if place == self.local.me {
                self.hear_over(now, place, &said, out);
            } else {
                self.local.down(place, Down::HandedOver { partitions: said.clone() }, out);
            }
        }
    }

    /// What an owner says of a partition before its turn is kept.
    pub(super) fn keep_for_later(&mut self, from: Place, down: Down) -> Option<Down> {
        let partition = down.stream().map(StreamKey::partition);
        match partition.and_then(|partition| self.handovers.passing.get_mut(&partition)) {
            Some(passing) if passing.formers.front().is_some_and(|(former, _)| *former != from) => {
                passing.kept.push_back((from, Word::Something(down)));
                None
            }
            _ => Some(down),
        }
    }

    /// A former owner has nothing more to say of these.
    pub(super) fn hear_over(
        &mut self,
        now: Millis,
        former: Place,
        partitions: &[(Partition, Epoch)],
        out: &mut Output,
    ) {
        for (partition, epoch) in partitions {
            if let Some(passing) = self.handovers.passing.get_mut(partition) {
                passing.kept.push_back((former, Word::Over(*epoch)));
            }
        }
        self.hear_kept(now, false, out);
        self.complete_moves(now, out);
    }

    /// Hears whose turn it is. `with_gaps`: former owners have gone, and what they said last may be missing.
    pub(super) fn hear_kept(&mut self, now: Millis, with_gaps: bool, out: &mut Output) {
        let partitions: Vec<Partition> = self.handovers.passing.keys().copied().collect();
        for partition in partitions {
            while let Some(passing) = self.handovers.passing.get_mut(&partition)
                && let Some((from, word)) = passing.next()
            {
                match word {
                    Word::Over(epoch) => drop(passing.formers.pop_front_if(|former| *former == (from, epoch))),
                    Word::Something(mut down) => {
                        if let Down::Roster { is_anew, .. } = &mut down {
                            *is_anew |= with_gaps;
                        }
                        self.receive_down(now, from, down, out);
                    }
                }
            }
        }
        self.handovers.passing.retain(|_, passing| !passing.formers.is_empty());
    }

    /// A part of a partition's state comes from its former owner.
    pub(super) fn receive_carried(
        &mut self,
        now: Millis,
        from: Place,
        (partition, epoch): (Partition, Epoch),
        parts: Vec<super::Carried>,
        ends: bool,
        out: &mut Output,
    ) {
        let rebuilding = self.rebuilding.get_mut(&partition);
        let Some(rebuilding) = rebuilding.filter(|it| it.epoch == epoch && it.former == Some(from)) else { return };
        if ends {
            rebuilding.awaited.clear();
        }
        rebuilding.streams.extend(parts.iter().filter_map(|part| match part {
            super::Carried::Stream(carried) => Some(carried.stream.clone()),
            _ => None,
        }));
        self.carry_in(now, partition, parts);
        self.complete_moves(now, out);
    }

    /// Goes on with partitions that have arrived here.
    fn complete_moves(&mut self, now: Millis, out: &mut Output) {
        let arrived = self.rebuilding.iter().filter_map(|(partition, rebuilding)| {
            let former = rebuilding.former?;
            let is_complete = rebuilding.awaited.is_empty() && !self.handovers.is_passing(*partition);
            is_complete.then_some((former, *partition, rebuilding.epoch))
        });
        let arrived: Vec<(Place, Partition, Epoch)> = arrived.collect();
        let mut taken: BTreeMap<Place, Vec<(Partition, Epoch)>> = BTreeMap::new();
        for (former, partition, epoch) in arrived {
            taken.entry(former).or_default().push((partition, epoch));
            self.rebuilt(now, partition, out);
        }
        for (former, partitions) in taken {
            self.local.down(former, Down::Taken { partitions }, out);
        }
    }
}
