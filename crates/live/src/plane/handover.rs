//! Moving partitions from one living owner to the next, with all that is in them: nothing is lost, nothing comes twice,
//! and the order stays.
//!
//! Each place tells the former owner that it has told that all (*passed*), and tells everything further to the next one,
//! which holds it. The former owner goes on until all places have passed. Then it gives each place the word that it has
//! nothing more to say, and when all have heard that (*heard*), the next one the partition's state. So whatever the former
//! owner said has arrived before the next one speaks, even if the former one dies after that.
//!
//! If one of the two owners dies before the state has arrived, the view gives the partition a new epoch, and it is rebuilt
//! of what places know.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::{Effects, HandlerOrder};
use super::message::{Down, Message, Up};
use super::pool::POOL;
use super::rebuild::Rebuilding;
use super::recovery::Kept;
use super::{Carried, Plane};
use crate::place::{Epoch, Former, Partition, Place, Routes};
use crate::session::Millis;

/// Parts of a partition's state in one message.
const PARTS_MAX: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    /// What this place still owns, although it is another's next.
    leaving: BTreeMap<Partition, Leaving>,
    /// What it owns no more, until all places have heard so.
    packed: BTreeMap<Partition, Packed>,
    /// Who may still say something here of partitions that are another's, and since when they are.
    speaking: BTreeMap<Partition, (Place, Epoch)>,
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

/// The state of a partition that this place hands over.
#[derive(Debug)]
struct Packed {
    next: Place,
    epoch: Epoch,
    parts: Vec<Carried>,
    /// Places that have yet to hear what was said last.
    awaited: Vec<Place>,
}

impl Handovers {
    /// Since when this place owns a partition that it is handing over.
    pub(super) fn leaving(&self, partition: Partition) -> Option<Epoch> {
        self.leaving.get(&partition).map(|leaving| leaving.epoch)
    }

    /// Whether a place may still speak for a partition that another owns next.
    pub(super) fn speaks(&self, partition: Partition, former: Place) -> bool {
        self.speaking.get(&partition).is_some_and(|(place, _)| *place == former)
    }

    /// These partitions were lost on their way, or before it.
    pub(super) fn forget(&mut self, changed: &BTreeSet<Partition>) {
        self.leaving.retain(|partition, _| !changed.contains(partition));
        self.packed.retain(|partition, _| !changed.contains(partition));
        self.speaking.retain(|partition, _| !changed.contains(partition));
    }
}

impl Plane {
    /// Partitions are on their way: the former owners are told that nothing more comes to them from here.
    pub(super) fn begin_moves(&mut self, now: Millis, routes: Routes, out: &mut Effects) {
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
                let rebuilding = Rebuilding::new(next_epoch, vec![former], Kept::Here(Vec::new()));
                self.rebuilding.insert(partition, Rebuilding { former: Some(former), ..rebuilding });
            }
            self.handovers.speaking.insert(partition, (former, next_epoch));
            passed.entry(former).or_default().push((partition, next_epoch));
        }
        for (former, partitions) in passed {
            self.send_up(now, former, Up::Passed { partitions }, out);
        }
    }

    /// A place tells this former owner nothing more of these.
    pub(super) fn passed(&mut self, now: Millis, from: Place, partitions: &[(Partition, Epoch)], out: &mut Effects) {
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

    /// A place has heard all that this former owner had to say of these.
    pub(super) fn heard(&mut self, from: Place, partitions: &[(Partition, Epoch)], out: &mut Effects) {
        for (partition, epoch) in partitions {
            if let Some(packed) = self.handovers.packed.get_mut(partition).filter(|packed| packed.epoch == *epoch) {
                packed.awaited.retain(|place| *place != from);
            }
        }
        self.send_packed(out);
    }

    /// Nothing comes any more of places that have gone.
    pub(super) fn pass_without(&mut self, now: Millis, gone: &[Place], out: &mut Effects) {
        let Handovers { leaving, packed, speaking } = &mut self.handovers;
        let awaited = leaving.values_mut().map(|leaving| &mut leaving.awaited);
        for awaited in awaited.chain(packed.values_mut().map(|packed| &mut packed.awaited)) {
            awaited.retain(|place| !gone.contains(place));
        }
        // Of those that are not lost this place came too late to be told anything.
        speaking.retain(|_, (former, _)| !gone.contains(former));
        self.hand_over(now, out);
        self.send_packed(out);
    }

    /// Packs what is complete, and says that nothing more will be said of it.
    pub(super) fn hand_over(&mut self, now: Millis, out: &mut Effects) {
        if self.handovers.leaving.is_empty() {
            return;
        }
        let is_passed = |(partition, leaving): &(&Partition, &Leaving)| {
            leaving.awaited.is_empty()
                && !self.rebuilding.contains_key(partition)
                && (**partition != POOL.partition() || self.pool.asked.is_empty())
                && !self.held.iter().any(|(_, up)| up.concerns(|about| about == **partition))
        };
        let passed = self.handovers.leaving.iter().filter(is_passed);
        let mut complete: BTreeSet<Partition> = passed.map(|(partition, _)| *partition).collect();
        complete.retain(|partition| self.rest(*partition, out));
        if complete.is_empty() {
            return;
        }
        self.owning(now, out).leave_rosters(|partition| complete.contains(&partition));
        let mut carried = self.carry_out(now, &complete);
        let places = self.local.routes.places().to_vec();
        let mut over = Vec::new();
        for partition in complete {
            let Some(Leaving { next, next_epoch: epoch, .. }) = self.handovers.leaving.remove(&partition) else {
                continue;
            };
            self.forget_rest(partition);
            let parts = carried.remove(&partition).unwrap_or_default();
            self.handovers.packed.insert(partition, Packed { next, epoch, parts, awaited: places.clone() });
            over.push((partition, epoch));
        }
        let me = self.local.me;
        for place in places.into_iter().filter(|place| *place != me) {
            self.local.down(place, Down::HandedOver { partitions: over.clone() }, out);
        }
        self.hear_over(now, me, over, out);
    }

    /// Sends to their next owners the partitions of which all places have heard the last.
    fn send_packed(&mut self, out: &mut Effects) {
        for (partition, packed) in self.handovers.packed.extract_if(.., |_, packed| packed.awaited.is_empty()) {
            let Packed { next, epoch, mut parts, .. } = packed;
            loop {
                let rest = parts.split_off(parts.len().min(PARTS_MAX));
                let ends = rest.is_empty();
                // Before what waits for credit, which is perhaps held there until this comes.
                out.send(next, Message::Up(Up::Carried { partition, epoch, parts, ends }));
                if ends {
                    break;
                }
                parts = rest;
            }
        }
    }

    /// A former owner has nothing more to say of these.
    pub(super) fn hear_over(
        &mut self,
        now: Millis,
        former: Place,
        partitions: Vec<(Partition, Epoch)>,
        out: &mut Effects,
    ) {
        for (partition, epoch) in &partitions {
            let speaking = &mut self.handovers.speaking;
            if speaking.get(partition) == Some(&(former, *epoch)) {
                speaking.remove(partition);
            }
        }
        self.send_up(now, former, Up::Heard { partitions }, out);
    }

    /// A part of a partition's state comes from its former owner.
    pub(super) fn receive_carried(
        &mut self,
        now: Millis,
        from: Place,
        (partition, epoch): (Partition, Epoch),
        parts: Vec<Carried>,
        ends: bool,
        out: &mut Effects,
    ) {
        let rebuilding = self.rebuilding.get_mut(&partition);
        let Some(rebuilding) = rebuilding.filter(|it| it.epoch == epoch && it.former == Some(from)) else { return };
        if ends {
            rebuilding.awaited.clear();
        }
        rebuilding.has_matches |= parts.iter().any(|part| matches!(part, Carried::Match(_)));
        let has_matches = rebuilding.has_matches;
        rebuilding.streams.extend(parts.iter().filter_map(|part| match part {
            Carried::Stream(carried) => Some(carried.stream.clone()),
            _ => None,
        }));
        self.carry_in(now, partition, parts);
        if ends && has_matches {
            // The former owner has given their log up.
            self.ask_for_matches(now, vec![(partition, epoch)], out);
        } else if ends && self.config.recover.matches {
            // For matches that are yet to be made.
            out.order_handler(HandlerOrder::TakeOver(vec![(partition, epoch)]));
        }
        self.complete_moves(now, out);
    }

    /// Goes on with partitions that have arrived here.
    pub(super) fn complete_moves(&mut self, now: Millis, out: &mut Effects) {
        let arrived = self.rebuilding.iter().filter_map(|(partition, rebuilding)| {
            let former = rebuilding.former?;
            let is_here = rebuilding.awaited.is_empty() && rebuilding.outlines.is_here();
            is_here.then_some((former, *partition, rebuilding.epoch))
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
